# NativeFunction.h
generated_comment:
// ${generated_comment}
extra_includes:
  ${extra_includes}
native_function_declarations:
${native_function_declarations}
