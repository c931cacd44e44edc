/* walk.h - from wanted outputs to a flat graph.
 *
 * A walk visits every node below its roots once, without recursion, operands in their order,
 * and writes the graph's words. Its memory is used again by the next walk of the context. */
#ifndef LZ_LAZY_WALK_H
#define LZ_LAZY_WALK_H

#include "lazy/flat.h"

typedef struct lz_walk_step {
    lz_node *node;
    uint32_t next; /* operand to look at */
} lz_walk_step;

typedef struct lz_walk {
    uint32_t number;           /* of the walk: marks nodes that were visited */
    const lz_backend *backend; /* says which data a leaf is */
    LZ_VEC(lz_walk_step) stack;
    LZ_VEC(lz_node *) nodes;     /* in post-order; a leaf that is the same data as another is left out */
    LZ_VEC(lz_data *) leaves;    /* borrowed, each once */
    LZ_VEC(uint32_t) leaf_place; /* of each */
    LZ_VEC(lz_loc) locs;         /* of the nodes */
    LZ_VEC(lz_output) results;   /* the outputs asked for, each once */
    LZ_VEC(uint32_t) result_of;  /* by output asked for: which result */
    LZ_VEC(uint32_t) first;      /* by place: 1 + the first result of that node; 0: none */
    LZ_VEC(uint32_t) others;     /* by result: 1 + another result of the same node */
    LZ_VEC(uint32_t) table;      /* 1 + index into leaves, by data; a power of two */
    lz_words words;
    size_t nnumbers;
    lz_flat flat; /* of `words` */
} lz_walk;

void lz_walk_deinit(lz_walk *w);

/* A mark that no node has. */
uint32_t lz_walk_mark(lz_walk *w);
/* Whether an operator is needed both by the first `na` roots and by those behind them. */
LZ_MUST_USE lz_err *lz_walk_shares(lz_walk *w, const lz_output *roots, size_t na, size_t n, bool *out);
/* The graph below these outputs of operators, for a device; `fence` is a hash of what must not
 * run on it. */
LZ_MUST_USE lz_err *lz_walk_run(lz_walk *w, const lz_output *roots, size_t n, lz_device d, uint64_t fence);

#endif
