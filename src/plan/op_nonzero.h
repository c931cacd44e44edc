/* op_nonzero.h - sizes that depend on elements: the graph is run so far to find them. */
#ifndef LZ_PLAN_OP_NONZERO_H
#define LZ_PLAN_OP_NONZERO_H

#include "core/array.h"
#include "plan/plan.h"

/* Where x is not zero, found by running what x is made of now: i64 [n, x->ndim]. For
 * lz_lower.nonzero; `found` is to be deinited. */
LZ_MUST_USE lz_err *lz_op_nonzero(lz_lower *b, const lz_ln *x, const lz_run_args *args, lz_array *found);

#endif
