/* recorder.h - formulas that record: a builder whose operators are recorded.
 *
 * The functions that formulas are made into (lower/lower_table.h, autograd/grad_table.h) then
 * work on tensors of a context: a tensor is an input of the builder, and every operator that
 * a formula calls is recorded by its number. Sizes and dtypes are those of the tensors;
 * numbers are known. Tensors are borrowed: they belong to the scope, as all results do. */
#ifndef LZ_LAZY_RECORDER_H
#define LZ_LAZY_RECORDER_H

#include "base/vec.h"
#include "lower/lower.h"
#include <lazuli/schema.h>
#include <lazuli/tensor.h>

enum { LZ_NO_ELEMENTS = -1 };

typedef struct lz_recorder {
    lz_lower b; /* apply: lz_recorder_apply, user: the recorder; callers may set another apply */
    lz_arena arena;
    lz_arena_mark start; /* the empty arena; not set before the first lz_recorder_clear */
    lz_ctx *ctx;
    lz_loc at;                   /* of the calls */
    lz_generator *generator;     /* that the formula's call names; NULL: calls name theirs */
    bool below_tape;             /* calls are recorded as if there were no tape */
    LZ_VEC(lz_tensor *) tensors; /* by slot */
} lz_recorder;

void lz_recorder_init(lz_recorder *r, lz_ctx *c, lz_loc at);
void lz_recorder_deinit(lz_recorder *r);
void lz_recorder_clear(lz_recorder *r); /* empties the recorder and keeps its memory */

/* A value for a tensor, with a slot of its own; t NULL: None. */
LZ_MUST_USE lz_err *lz_recorder_add(lz_recorder *r, lz_tensor *t, lz_low_value *out);
/* A value of which only dtype and sizes are known; `sizes` must live as long as the value. */
LZ_MUST_USE lz_err *lz_recorder_facts(lz_recorder *r, lz_dtype d, lz_ints sizes, lz_low_value *out);
/* The slot of a value's tensor; LZ_NO_ELEMENTS: it has none. */
int64_t lz_recorder_slot(const lz_low_value *v);

/* The tensor of a value. A number becomes a tensor; None becomes NULL. */
LZ_MUST_USE lz_err *lz_recorder_tensor(lz_recorder *r, const lz_low_value *v, lz_tensor **out);

/* Converts any argument of a call. */
LZ_MUST_USE lz_err *lz_recorder_take(lz_recorder *r, const lz_value *v, lz_low_value *out);

/* Records an operator; results have slots of their own. */
LZ_MUST_USE lz_err *lz_recorder_call(lz_recorder *r, uint16_t op, const lz_low_value *args,
                                     lz_low_value *results);
/* lz_recorder_call as an lz_lower_apply_fn. */
lz_lower_apply_fn lz_recorder_apply;

/* Records the operators of op's formula, which must have one, instead of op itself and below the tape.
 * Results belong to the scope; a list is as long as the formula makes it. */
LZ_MUST_USE lz_err *lz_recorder_formula(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                        lz_value *out);

#endif
