# DispatchKeyFunction.h
generated_comment:
// ${generated_comment}
dispatch_namespace:
  ${dispatch_namespace}
dispatch_namespaced_declarations:
${dispatch_namespaced_declarations}
