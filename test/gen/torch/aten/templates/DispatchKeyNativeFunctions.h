# DispatchKeyNativeFunctions.h
generated_comment:
// ${generated_comment}
namespace_prologue:
  ${namespace_prologue}
class_name:
${class_name}
dispatch_declarations:
  ${dispatch_declarations}
namespace_epilogue:
${namespace_epilogue}
