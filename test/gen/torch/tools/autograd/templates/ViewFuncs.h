// ${generated_comment}
${view_func_declarations}
