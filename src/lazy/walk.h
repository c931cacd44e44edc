/* walk.h - from wanted outputs to a flat graph.
 *
 * A walk visits every node below its roots once, without recursion, operands in their order,
 * and writes the graph's words. Its memory is used again by the next walk of the context. */
#ifndef LZ_LAZY_WALK_H
#define LZ_LAZY_WALK_H

#include "base/arena.h"
#include "base/hash_table.h"
#include "lazy/flat.h"

typedef struct lz_walk_step {
    lz_node *node;
    uint32_t next; /* the next operand */
} lz_walk_step;

typedef struct lz_walk {
    uint32_t number;           /* of the walk: the mark of visited nodes */
    const lz_backend *backend; /* says which data a leaf is */
    LZ_VEC(lz_walk_step) stack;
    LZ_VEC(lz_node *) nodes;    /* in post-order; leaves with the same data are listed once */
    LZ_VEC(lz_node *) numbered; /* those of them that have run-time numbers */
    LZ_VEC(lz_data *) leaves;   /* borrowed, each once */
    LZ_VEC(lz_loc) locs;        /* of the nodes */
    LZ_VEC(lz_output) results;  /* the requested outputs, each once */
    LZ_VEC(uint32_t) result_of; /* by requested output: number of the result */
    LZ_VEC(uint32_t) first;     /* by place: 1 + the first result of the node; 0: none */
    LZ_VEC(uint32_t) others;    /* by result: 1 + another result of its node */
    lz_hash_table by_data;      /* leaves by the address of their data */
    lz_arena arena;             /* memory of by_data */
    lz_words words;
    size_t nnumbers;
    const struct lz_walk_guess *guess; /* nodes are compared with this graph; NULL: their words are written */
    bool differs;                      /* from the guess */
    lz_flat flat;                      /* of `words`; or the guess */
} lz_walk;

/* A graph that a walk probably meets again. Comparing nodes with it takes less than writing, hashing and
 * comparing their words: nodes of one form are equal but for their operands. */
typedef struct lz_walk_guess {
    lz_flat flat; /* the words belong to the cache: valid only while their executable is held */
    LZ_VEC(struct lz_walk_place {
        uint64_t form; /* lz_node.form */
        uint32_t at;   /* where the words of the node begin */
    })
    places; /* by place; at the end that of the roots */
} lz_walk_guess;

void lz_walk_deinit(lz_walk *w);

/* A mark that no node has. */
uint32_t lz_walk_mark(lz_walk *w);
/* Whether an operator is needed both by the first `na` roots and by those behind them. */
LZ_MUST_USE lz_err *lz_walk_shares(lz_walk *w, const lz_output *roots, size_t na, size_t n, bool *out);
/* Like lz_walk_run, if the graph equals the guess, whose words are valid. *same false: it does not, and the
 * walk has to be run. */
LZ_MUST_USE lz_err *lz_walk_compare(lz_walk *w, const lz_walk_guess *g, const lz_output *roots, size_t n,
                                    lz_device d, uint64_t forced_hash, bool *same);
/* Makes the graph of the last walk the guess. words: the same words, with a longer life. */
LZ_MUST_USE lz_err *lz_walk_expect(const lz_walk *w, const uint64_t *words, lz_walk_guess *g);
void lz_walk_guess_deinit(lz_walk_guess *g);
/* Writes the graph below these outputs of operators, for a device. `forced_hash`: a hash of the operators
 * that must not run on the device. */
LZ_MUST_USE lz_err *lz_walk_run(lz_walk *w, const lz_output *roots, size_t n, lz_device d,
                                uint64_t forced_hash);

#endif
