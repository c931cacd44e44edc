/* views.h - nodes that are views of others: index maps and reshapes as strides.
 *
 * A chain of unbounded index maps and reshapes over a node in memory is a strided view of that
 * node, unless a reshape joins dimensions that are not adjacent in memory. */
#ifndef LZ_LOWER_VIEWS_H
#define LZ_LOWER_VIEWS_H

#include "lower/lower.h"

/* A strided view of a buffer: numbers are in elements. */
typedef struct lz_group_view {
    const lz_low_node *base; /* the node whose buffer it is */
    int64_t offset;
    int64_t *strides; /* one for each dimension of the node that looks */
} lz_group_view;

void lz_row_major(lz_ints sizes, int64_t *strides);

/* A view of a whole node: with the strides of an input, otherwise row-major. */
LZ_MUST_USE lz_err *lz_dense_view(lz_arena *a, const lz_low_node *n, lz_group_view *out);

/* n as a view of the last node of a chain of views. */
LZ_MUST_USE lz_err *lz_view_resolve(lz_arena *a, const lz_low_node *n, lz_group_view *out);

/* Whether each element is computed independently and cannot fail. */
bool lz_low_node_is_pointwise(const lz_low_node *n);
enum { LZ_LOW_OPERANDS = 4 }; /* most operands of a pointwise node */

#endif
