// ${generated_comment}
namespace VariableType {
  ${type_derived_method_definitions}
}

${wrapper_registrations}
