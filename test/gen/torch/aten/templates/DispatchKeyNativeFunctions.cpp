# DispatchKeyNativeFunctions.cpp
generated_comment:
// ${generated_comment}
includes:
  ${includes}
native_functions_include:
${native_functions_include}
helper_fns:
  ${helper_fns}
namespace_prologue:
${namespace_prologue}
native_function_definitions:
  ${native_function_definitions}
namespace_epilogue:
${namespace_epilogue}
