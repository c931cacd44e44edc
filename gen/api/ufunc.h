/* ufunc.h - signatures around a pointwise inner loop: the template function a user
 * writes, the CUDA functor that holds some of its arguments, the CPU stub. */
#ifndef LZG_API_UFUNC_H
#define LZG_API_UFUNC_H

#include "gen/api/types.h"

/* ufunc_<op>_<Key>, of the group's out op. */
LZ_MUST_USE lz_err *lzg_ufunc_kernel_name(lz_arena *a, const lzg_group *g, lzg_dispatch_key key, lz_str *out);

/* The template function: tensors and Scalars come in the computation's type. */
LZ_MUST_USE lz_err *lzg_ufunc_arguments(lz_arena *a, const lzg_group *g, const lzg_ctype *compute,
                                        lzg_bindings *out);

typedef struct lzg_ufunctor {
    lzg_bindings ctor; /* host side: arguments that are no tensors, and the chosen one; at opmath precision */
    lzg_bindings apply; /* device side: the tensors */
} lzg_ufunctor;

/* scalar_tensor: the tensor (from 0) that moves into the constructor; -1: none. */
LZ_MUST_USE lz_err *lzg_ufunctor_arguments(lz_arena *a, const lzg_group *g, int scalar_tensor,
                                           lzg_ufunctor *out);

/* Arguments that are no tensors; the tensors are in the iterator. */
LZ_MUST_USE lz_err *lzg_ufunc_stub_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out);

#endif
