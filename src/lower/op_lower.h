/* op_lower.h - lowering an operator of the table by its number. */
#ifndef LZ_LOWER_OP_LOWER_H
#define LZ_LOWER_OP_LOWER_H

#include "lower/lower.h"
#include <lazuli/schema.h>

/* Whether there is something to lower it to. */
bool lz_op_can_lower(const lz_op_row *op);

/* The results of an operator of op's kind: args are those of its schema, none left out.
 * An operator that writes gives what it writes; nothing is written here. *n is how many
 * results there are, at most LZ_ARGS_MAX. */
LZ_MUST_USE lz_err *lz_op_lower(lz_lower *b, const lz_op_row *op, const lz_lv *args, lz_lv *results,
                                size_t *n);

/* The same without carrying f16 and bf16 in f32: for operators that only look. */
LZ_MUST_USE lz_err *lz_op_lower_as_is(lz_lower *b, const lz_op_row *op, const lz_lv *args, lz_lv *results,
                                      size_t *n);

#endif
