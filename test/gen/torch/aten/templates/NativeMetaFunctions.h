# NativeMetaFunctions.h
generated_comment:
// ${generated_comment}
NativeMetaFunctions_includes:
  ${NativeMetaFunctions_includes}
NativeMetaFunctions_declarations:
${NativeMetaFunctions_declarations}
