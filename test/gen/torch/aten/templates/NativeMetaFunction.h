# NativeMetaFunction.h
generated_comment:
// ${generated_comment}
meta_function_declarations:
  ${meta_function_declarations}
