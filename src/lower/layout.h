/* layout.h - the strides of new tensors: PyTorch's rules.
 *
 * The entry of an operator names its rule (fields `strides` and `memory`, docs/formulas.md):
 *   operands             as in PyTorch's TensorIterator: dimensions are ordered by the operands' strides;
 *                        the first operand whose strides differ for two dimensions decides their order
 *   operands_and_number  as `operands`, where one operand is a number
 *   like                 the strides of one argument, without gaps
 *   format               channels last if a certain argument is, else row-major
 *   common_format        channels last if all arguments are; any_format: if one argument is
 *   order                the order of dimensions of one argument, which may have other sizes
 *   index                indexing by tensors: dimensions without an index keep the argument's order; the
 *                        indices decide about the other dimensions
 *   rot90                like, with two dimensions exchanged for each quarter turn; a full turn: row-major
 *   roll                 format, if each named dimension is shifted
 *   stacked              common_format of the concatenated tensors, with the dimension split
 *   first_inner          row-major with the first dimension innermost, if the last argument has one
 *   transposed           a matrix in column-major order
 *   columns              matrices in column-major order, if the result has as many dimensions as an argument
 *   given                the argument `stride`
 *   preserved            format, if the argument `memory_format` is given
 *   physical             dense, dimensions in the order of the argument `physical_layout`
 *   contiguous           row-major; also where a rule does not apply */
#ifndef LZ_LOWER_LAYOUT_H
#define LZ_LOWER_LAYOUT_H

#include "core/spec.h"
#include "core/strides.h"
#include "lower/lower.h"
#include "op/op_table.h"

static inline const lz_layout_row *lz_layout_of(const lz_op_row *op)
{
    return &lz_op_layout[op - lz_op_table];
}

/* A call of an operator: the values of its arguments, and dtype, sizes and strides of its tensors in the
 * order of the arguments, including those inside lists. NULL for an omitted tensor of a list. */
typedef struct lz_op_call {
    const lz_op_row *op;
    const lz_low_value *args;
    const lz_spec *const *in;
    uint32_t item; /* of a result that is a list: which item the question is about */
} lz_op_call;

/* The number of tensors of argument `arg`; *first: the index of the first. */
uint32_t lz_op_call_operands(const lz_op_call *c, uint32_t arg, uint32_t *first);
/* The numbers of a list, or one number. False: the value of some number is not known, or there are too
 * many. */
bool lz_low_value_known_ints(const lz_low_value *v, lz_shape *out);

/* Strides of a new result with this dtype and these sizes. */
LZ_MUST_USE lz_err *lz_layout_fresh(const lz_op_call *c, lz_dtype d, lz_ints sizes, lz_shape *out);

/* For an operator whose result may be a view: whether the result must be a copy of `self`. */
bool lz_layout_must_copy(const lz_op_call *c, const lz_spec *self);

#endif
