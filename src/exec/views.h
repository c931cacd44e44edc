/* views.h - nodes that only look at others: index maps and reshapes as strides.
 *
 * A chain of unbounded index maps and reshapes over something that lies in memory is a
 * strided view of it, unless a reshape joins what does not lie together. */
#ifndef LZ_EXEC_VIEWS_H
#define LZ_EXEC_VIEWS_H

#include "exec/lower.h"

/* The elements of a buffer that something looks at: numbers are in elements. */
typedef struct lz_gview {
    const lz_ln *base; /* the node whose buffer it is */
    int64_t offset;
    int64_t *strides; /* one for each dimension of the node that looks */
} lz_gview;

void lz_row_major(lz_ints sizes, int64_t *strides);

/* A view of the whole node: as an input lies in memory, otherwise dense. */
LZ_MUST_USE lz_err *lz_dense_view(lz_arena *a, const lz_ln *n, lz_gview *out);

/* n as a view of the farthest node that it is a view of. */
LZ_MUST_USE lz_err *lz_view_resolve(lz_arena *a, const lz_ln *n, lz_gview *out);

/* What is computed of each element alone and cannot fail, whichever elements are asked for. */
bool lz_ln_is_pointwise(const lz_ln *n);
enum { LZ_LN_OPERANDS = 4 }; /* of such a node, at most */

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
