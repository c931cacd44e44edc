/* ufunc_kernel.h - kernels around pointwise inner loops: per dtype a scalar and perhaps a
 * vector loop on the CPU, functors on CUDA. */
#ifndef LZG_UFUNC_KERNEL_H
#define LZG_UFUNC_KERNEL_H

#include "gen/model/model.h"

/* Whether the inner loops of g's out op make a kernel. An explicit key beats ScalarOnly,
 * which beats Generic; a dtype with a vector loop needs a scalar loop; two-tensor
 * operators also get functors that hold one operand. */
LZ_MUST_USE lz_err *lzg_ufunc_cpu(lz_arena *a, const lzg_group *g);
LZ_MUST_USE lz_err *lzg_ufunc_cuda(lz_arena *a, const lzg_group *g);

#endif
