/* lower_eval.h - what a lowered DAG computes, found the slow and simple way.
 *
 * Every node becomes an array of all its elements, one node after the other; nothing is
 * fused, tiled or approximated, and functions are libm's in double precision. It is
 * what engines are compared with. */
#ifndef LZ_TEST_LOWER_EVAL_H
#define LZ_TEST_LOWER_EVAL_H

#include "lower/lower.h"

/* An element: f of floats, i of bool and integers. */
typedef struct lz_cell {
    double f;
    int64_t i;
} lz_cell;

typedef struct lz_eval {
    lz_arena *arena;           /* borrowed; all arrays are its */
    const void *const *inputs; /* by slot: memory of the input node's dtype */
    const lz_scalar *scalars;  /* by slot */
    lz_cell **cells;           /* by node id */
    size_t cap;
} lz_eval;

/* The elements of n, row-major. LZ_ERR_ARG for an index out of range. */
LZ_MUST_USE lz_err *lz_eval_node(lz_eval *e, const lz_lower *b, const lz_low_node *n, const lz_cell **out);

/* Cells to elements of the dtype, dense. */
void lz_eval_store(lz_dtype d, const lz_cell *cells, int64_t n, void *out);

#endif
