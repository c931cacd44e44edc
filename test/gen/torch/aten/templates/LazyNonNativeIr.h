# LazyNonNativeIr.h
lazy_non_native_ir_inc:
${lazy_non_native_ir_inc}
namespace_prologue:
  ${namespace_prologue}
non_native_ir_nodes:
${non_native_ir_nodes}
namespace_epilogue:
  ${namespace_epilogue}
