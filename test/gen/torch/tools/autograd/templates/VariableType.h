// ${generated_comment}
namespace VariableType {}
