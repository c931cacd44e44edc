# NativeFunctions.h
generated_comment:
// ${generated_comment}
NativeFunctions_includes:
  ${NativeFunctions_includes}
NativeFunctions_declarations:
${NativeFunctions_declarations}
