/* op_lower.h - lowering an operator of the table by its number. */
#ifndef LZ_LOWER_OP_LOWER_H
#define LZ_LOWER_OP_LOWER_H

#include "lower/lower.h"
#include <lazuli/schema.h>

/* Whether the operator has a lowering function. */
bool lz_op_can_lower(const lz_op_row *op);
/* The error for an operator without a lowering function. */
LZ_MUST_USE lz_err *lz_op_unsupported(const lz_op_row *op);

/* The results of an operator. args: all arguments of the schema. For an operator that writes, the results
 * are the new values; nothing is written here. *n: the number of results, at most LZ_ARGS_MAX. */
LZ_MUST_USE lz_err *lz_op_lower(lz_lower *b, const lz_op_row *op, const lz_low_value *args,
                                lz_low_value *results, size_t *n);

/* As lz_op_lower, but f16 and bf16 are not converted to f32: for operators that compute no elements. */
LZ_MUST_USE lz_err *lz_op_lower_as_is(lz_lower *b, const lz_op_row *op, const lz_low_value *args,
                                      lz_low_value *results, size_t *n);

#endif
