/* view_strides.h - the strides of views, as PyTorch gives them, also along dimensions of size 1
 * and of views without elements: nobody walks these, but users see them, and whether two
 * tensors overlap is decided by them. */
#ifndef LZ_LAZY_VIEW_STRIDES_H
#define LZ_LAZY_VIEW_STRIDES_H

#include "core/strides.h"
#include "lazy/pack.h"

/* Of a result of the packed call that looks at `self`, whose sizes are known to be right.
 * false: the operator is none of those that are known here. */
bool lz_view_strides(const lz_call *c, const lz_spec *self, lz_ints sizes, lz_shape *out);
/* Where a result without elements begins, counted from where `self` does. */
bool lz_view_offset(const lz_call *c, const lz_spec *self, int64_t *out);

#endif
