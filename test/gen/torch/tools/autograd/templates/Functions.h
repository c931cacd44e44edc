// ${generated_comment}
${autograd_function_declarations}
