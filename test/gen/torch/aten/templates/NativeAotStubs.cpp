# NativeAotStubs.cpp
generated_comment:
// ${generated_comment}
native_aot_stub_definitions:
  ${native_aot_stub_definitions}
