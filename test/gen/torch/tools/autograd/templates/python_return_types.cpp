// ${generated_comment}
${py_return_types}
void initReturnTypes() {
    ${py_return_types_registrations}
}
