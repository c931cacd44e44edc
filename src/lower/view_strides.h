/* view_strides.h - PyTorch's strides of views, also along dimensions of size 1 and of views without
 * elements. No kernel uses these strides, but users see them, and the test whether two tensors overlap
 * depends on them. */
#ifndef LZ_LOWER_VIEW_STRIDES_H
#define LZ_LOWER_VIEW_STRIDES_H

#include "lower/layout.h"

/* The strides of a result of the call that is a view of `self`; `sizes` must be right. false: this file has
 * no rule for the operator. */
bool lz_view_strides(const lz_op_call *c, const lz_spec *self, lz_ints sizes, lz_shape *out);
/* The offset of a view without elements, relative to `self`. */
bool lz_view_offset(const lz_op_call *c, const lz_spec *self, int64_t *out);

#endif
