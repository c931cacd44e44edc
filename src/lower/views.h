/* views.h - nodes that only look at others: index maps and reshapes as strides.
 *
 * A chain of unbounded index maps and reshapes over something that lies in memory is a
 * strided view of it, unless a reshape joins what does not lie together. */
#ifndef LZ_LOWER_VIEWS_H
#define LZ_LOWER_VIEWS_H

#include "lower/lower.h"

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

#endif
