// ${generated_comment}
${py_return_types_declarations}
