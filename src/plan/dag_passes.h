/* dag_passes.h - passes from one lowered graph to another, before fusion. */
#ifndef LZ_PLAN_DAG_PASSES_H
#define LZ_PLAN_DAG_PASSES_H

#include "lower/views.h"

/* The gather as a computation on gathered elements; *out NULL: it had better be a gather. */
LZ_MUST_USE lz_err *lz_gather_operands(lz_lower *b, const lz_ln *data, const lz_ln *index, int64_t dim,
                                       const lz_ln **out);

/* Products that are only looked at transposed are made transposed; the DAG becomes another one in the
 * same arena. */
LZ_MUST_USE lz_err *lz_turn_products(lz_lower *dag, const lz_ln **outputs, size_t n);

/* The pass "views" (pass_views.c): another DAG in the same arena, without what nobody
 * needs, where views stand as near to inputs as they can. moved: what the outputs are
 * there; one that was no input does not become one. */
LZ_MUST_USE lz_err *lz_move_views(const lz_lower *dag, const lz_ln *const *outputs, size_t n, lz_lower *out,
                                  const lz_ln **moved);

#endif
