/* ufunc_kernel.h - kernels around pointwise inner loops: per dtype a scalar and perhaps a vector loop on the
 * CPU, functors on CUDA.
 *
 * An explicit key beats ScalarOnly, which beats Generic; a dtype with a vector loop needs a scalar loop;
 * operators on two tensors also get functors that hold one operand. */
#ifndef LZG_UFUNC_KERNEL_H
#define LZG_UFUNC_KERNEL_H

#include "base/text.h"
#include "gen/model/model.h"

/* The definitions in UfuncCPU_NAME.cpp, UfuncCPUKernel_NAME.cpp and UfuncCUDA_NAME.cu of a structured group
 * whose out op has inner loops. */
LZ_MUST_USE lz_err *lzg_put_ufunc_cpu(lz_arena *a, const lzg_group *g, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_ufunc_cpu_kernel(lz_arena *a, const lzg_group *g, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_ufunc_cuda(lz_arena *a, const lzg_group *g, lz_text *out);

/* Whether all three can be made. */
LZ_MUST_USE lz_err *lzg_ufunc_check(lz_arena *a, const lzg_group *g);

#endif
