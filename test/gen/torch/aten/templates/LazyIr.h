# LazyIr.h
lazy_ir_sysinc:
${lazy_ir_sysinc}
lazy_ir_inc:
  ${lazy_ir_inc}
namespace_prologue:
${namespace_prologue}
ir_declarations:
  ${ir_declarations}
namespace_epilogue:
${namespace_epilogue}
