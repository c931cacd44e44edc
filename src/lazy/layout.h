/* layout.h - how a new tensor lies in memory: PyTorch's rules for strides of results.
 *
 * The entry of an operator names its rule (fields `strides` and `memory`, docs/formulas.md):
 *   operands             as PyTorch's TensorIterator has it: the order of dimensions that the operands'
 *                        strides have, the first one that can tell decides
 *   operands_and_number  the same, where one operand is a number
 *   like                 as one argument lies, without gaps
 *   format               channels last if one argument lies so, else row-major
 *   common_format        the same if all arguments lie so; any_format: if one of them does
 *   order                the order of dimensions of one argument, whose sizes may be others
 *   index                of an argument that is indexed: the order of what is not, indices decide the rest
 *   rot90                like, with two dimensions exchanged for each quarter turn
 *   first_inner          row-major with the first dimension innermost, if the last argument has one
 *   transposed           a matrix with its columns behind each other
 *   contiguous           row-major; also where a rule has nothing to say */
#ifndef LZ_LAZY_LAYOUT_H
#define LZ_LAZY_LAYOUT_H

#include "core/strides.h"
#include "lazy/pack.h"
#include "op/op_table.h"

static inline const lz_layout_row *lz_layout_of(const lz_op_row *op)
{
    return &lz_op_layout[op - lz_op_table];
}

/* Strides of a new result with this dtype and these sizes. in: specs of the operands. */
LZ_MUST_USE lz_err *lz_layout_fresh(const lz_call *c, const lz_spec *const *in, lz_dtype d, lz_ints sizes,
                                    lz_shape *out);

/* Of an operator whose result may look at its argument: it must not, for this one. */
bool lz_layout_must_copy(const lz_call *c, const lz_spec *self);

#endif
