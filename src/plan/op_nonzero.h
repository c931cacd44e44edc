/* op_nonzero.h - finds sizes that depend on elements by running the part of the graph that computes these
 * elements. */
#ifndef LZ_PLAN_OP_NONZERO_H
#define LZ_PLAN_OP_NONZERO_H

#include "base/vec.h"
#include "core/strided_array.h"
#include "plan/plan.h"

/* Makes the array an input of later runs and gives its slot. Takes over the array, also on failure. */
typedef lz_err *lz_op_add_input_fn(void *user, lz_array *a, int64_t *slot);

/* A node that was computed on the way to a size, and the input that has its elements now. */
typedef struct lz_op_known {
    const lz_low_node *node, *input;
} lz_op_known;

typedef struct lz_op_found {
    lz_op_add_input_fn *add_input;
    void *user;
    LZ_VEC(lz_op_known) known;
} lz_op_found;

void lz_op_found_deinit(lz_op_found *f);

/* Runs the nodes that x needs now. *out: an input with the indices where x is not zero, i64 [n, x->ndim].
 * Kernels that do not fuse, reductions and gathers among these nodes become known. For lz_lower.nonzero. */
LZ_MUST_USE lz_err *lz_op_nonzero(lz_lower *b, const lz_low_node *x, const lz_run_args *args, lz_op_found *f,
                                  const lz_low_node **out);

/* The same computation with inputs in place of known nodes. */
LZ_MUST_USE lz_err *lz_op_use_known(lz_lower *b, const lz_op_found *f, const lz_low_node *n,
                                    const lz_low_node **out);

#endif
