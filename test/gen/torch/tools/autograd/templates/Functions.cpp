// ${generated_comment}
namespace nodes {

${autograd_function_definitions}
}
