/* gen_inplace_or_view_type.h - kernels that count writes and make results views of their base:
 * ADInplaceOrViewType. */
#ifndef LZG_GEN_INPLACE_OR_VIEW_TYPE_H
#define LZG_GEN_INPLACE_OR_VIEW_TYPE_H

#include "gen/api/derivative.h"
#include "gen/torch/autograd/autograd_kernel.h"

/* Empty if the operator needs no such kernel. */
typedef struct lzg_view_kernel {
    lz_str header, definition, registration;
} lzg_view_kernel;

LZ_MUST_USE
lz_err *lzg_view_kernel_print(lzg_snippets *s, const lzg_ops *ops, const lzg_differentiable *d,
                              lzg_view_kernel *out);

/* The argument that the results view, or ptr NULL. */
lz_str lzg_viewed_argument(const lzg_ops *ops, const lzg_function *f);

/* Kernels for autograd are written for it. */
bool lzg_use_derived(const lzg_ops *ops, const lzg_differentiable *d, lz_str cpp_name);

#endif
