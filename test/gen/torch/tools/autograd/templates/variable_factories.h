// ${generated_comment}
${ops_headers}
namespace torch {
${function_definitions}
}
