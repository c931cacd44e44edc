# NativeAotStubs.h
generated_comment:
// ${generated_comment}
native_aot_stub_declarations:
  ${native_aot_stub_declarations}
