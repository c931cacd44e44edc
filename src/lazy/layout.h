/* layout.h - how a new tensor lies in memory: PyTorch's rules for strides of results.
 *
 * An element-wise operator keeps the order that its operands' strides have; clone, *_like and
 * casts keep that of their operand unless a memory format is asked for; everything else is
 * row-major. */
#ifndef LZ_LAZY_LAYOUT_H
#define LZ_LAZY_LAYOUT_H

#include "core/strides.h"
#include "lazy/pack.h"

LZ_MUST_USE lz_err *lz_layout_fresh(const lz_call *c, const lz_spec *const *in, lz_ints sizes, lz_shape *out);

/* Of an operator whose result may look at its argument: it must not, for this one. */
bool lz_layout_must_copy(const lz_call *c, const lz_spec *self);
/* It may give a copy where a view cannot be had: reshape, but not view. */
bool lz_layout_may_copy(const lz_op_row *op);

/* Where nothing is to be done it gives its argument back, not another view of it. */
bool lz_layout_may_return(const lz_op_row *op);

#endif
