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
    lz_lower b; /* apply: lz_recorder_apply, user: this; may be set to something else */
    lz_arena arena;
    lz_arena_mark start; /* where the arena is empty; not set before it was first cleared */
    lz_ctx *ctx;
    lz_loc at;                   /* of the calls */
    LZ_VEC(lz_tensor *) tensors; /* by slot */
} lz_recorder;

void lz_recorder_init(lz_recorder *r, lz_ctx *c, lz_loc at);
void lz_recorder_deinit(lz_recorder *r);
void lz_recorder_clear(lz_recorder *r); /* as new, but with the memory it has */

/* A tensor as a value with a slot of its own; NULL is None. */
LZ_MUST_USE lz_err *lz_recorder_add(lz_recorder *r, lz_tensor *t, lz_lv *out);
/* A value of which dtype and sizes, which must live as long as it does, are known, and nothing else. */
LZ_MUST_USE lz_err *lz_recorder_facts(lz_recorder *r, lz_dtype d, lz_ints sizes, lz_lv *out);
/* The slot of a value's tensor; LZ_NO_ELEMENTS: it has none. */
int64_t lz_recorder_slot(const lz_lv *v);

/* The tensor that a value is; a number among tensors becomes one. None is NULL. */
LZ_MUST_USE lz_err *lz_recorder_tensor(lz_recorder *r, const lz_lv *v, lz_tensor **out);

/* Any argument of a call. */
LZ_MUST_USE lz_err *lz_recorder_take(lz_recorder *r, const lz_value *v, lz_lv *out);

/* Records an operator; results have slots of their own. A refused call is an error that the
 * context has, too. */
LZ_MUST_USE lz_err *lz_recorder_call(lz_recorder *r, uint16_t op, const lz_lv *args, lz_lv *results);
/* The same as an lz_lower_apply_fn. */
lz_lower_apply_fn lz_recorder_apply;

/* Records the operators of op's formula, which must have one, instead of op itself. Results belong to the
 * scope; a list is as long as the formula makes it. */
LZ_MUST_USE lz_err *lz_recorder_formula(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in,
                                        lz_value *out);

#endif
