/* composite_kernels.h - CompositeViewCopyKernels.cpp: kernels that call another form of their operator.
 *
 * The copying twin of a view runs the view and clones its result. Of generated operators, the functional one
 * clones what the inplace or mutable one writes, and calls that; the out one calls the functional one, and
 * copies its results. */
#ifndef LZG_COMPOSITE_KERNELS_H
#define LZG_COMPOSITE_KERNELS_H

#include "base/text.h"
#include "gen/model/model.h"

/* Nothing is appended where no kernel is made; every other text ends its line. */
LZ_MUST_USE lz_err *lzg_put_view_copy_kernel(lz_arena *a, const lzg_view_group *g, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_composite_functional(lz_arena *a, const lzg_group *g, lz_text *out);
LZ_MUST_USE lz_err *lzg_put_composite_out(lz_arena *a, const lzg_group *g, lz_text *out);

/* Whether the kernel of a view's copying twin can be made. */
LZ_MUST_USE lz_err *lzg_view_copy_check(lz_arena *a, const lzg_view_group *g);

#endif
