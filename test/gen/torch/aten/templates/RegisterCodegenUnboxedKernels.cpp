# RegisterCodegenUnboxedKernels.cpp
generated_comment:
// ${generated_comment}
unboxed_ops:
  ${unboxed_ops}
