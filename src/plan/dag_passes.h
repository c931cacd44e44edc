/* dag_passes.h - passes from one lowered graph to another, before fusion. */
#ifndef LZ_PLAN_DAG_PASSES_H
#define LZ_PLAN_DAG_PASSES_H

#include "lower/views.h"

/* Replaces a gather of a computed node by the computation on gathered operands. *out NULL: a gather is
 * cheaper.
 */
LZ_MUST_USE lz_err *lz_gather_operands(lz_lower *b, const lz_low_node *data, const lz_low_node *index,
                                       int64_t dim, const lz_low_node **out);

/* Computes matrix products transposed where all users read them transposed. *dag becomes a new DAG in the
 * same arena. */
LZ_MUST_USE lz_err *lz_transpose_products(lz_lower *dag, const lz_low_node **outputs, size_t n);

/* Copies inputs that short reductions read across and many times into an order that vectors can read. *dag
 * becomes a new DAG in the same arena. */
LZ_MUST_USE lz_err *lz_relayout_inputs(lz_lower *dag, const lz_low_node **outputs, size_t n);

/* The pass "views" (pass_views.c): a new DAG in the same arena, without unused nodes, in which views are as
 * near to the inputs as possible. moved: the outputs in the new DAG. An output that was no input does not
 * become an input. */
LZ_MUST_USE lz_err *lz_move_views(const lz_lower *dag, const lz_low_node *const *outputs, size_t n,
                                  lz_lower *out, const lz_low_node **moved);

#endif
