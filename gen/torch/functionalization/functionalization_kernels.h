/* functionalization_kernels.h - the kernels of the key Functionalize, in C++.
 *
 * A view's kernel runs the view (or its copying twin) on the unwrapped tensor and remembers how in a ViewMeta
 * object. The kernel of an operator that writes calls the functional operator on unwrapped tensors, and
 * replaces what the written wrappers hold. Operators that only decompose are registered as they are. */
#ifndef LZG_FUNCTIONALIZATION_KERNELS_H
#define LZG_FUNCTIONALIZATION_KERNELS_H

#include "base/text.h"
#include "gen/model/model.h"

/* A group of views, a group, or an operator in neither; the others are NULL. */
typedef struct lzg_functionalized {
    const lzg_view_group *views;
    const lzg_group *group;
    const lzg_function *single;
} lzg_functionalized;

/* Every kernel begins with an empty line and ends its last line. */
LZ_MUST_USE lz_err *lzg_put_functionalization_kernels(lz_arena *a, const lzg_ops *ops, lzg_functionalized u,
                                                      lz_text *out);
/* Lines m.impl("add_.Tensor", ...); */
LZ_MUST_USE lz_err *lzg_put_functionalization_impls(lz_arena *a, const lzg_ops *ops, lzg_functionalized u,
                                                    lz_text *out);

/* All of them in torchgen's order: groups, groups of views, then other operators. */
typedef struct lzg_functionalized_list {
    const lzg_functionalized *at;
    size_t n;
} lzg_functionalized_list;
LZ_MUST_USE lz_err *lzg_functionalized_make(lz_arena *a, const lzg_ops *ops, lzg_functionalized_list *out);

#endif
