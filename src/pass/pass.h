/* pass.h - passes: graph in, the same graph improved. Those on graphs of operators are
 * here; those below, on lowered graphs, are in plan/lowered.h, with the list of all.
 *
 * A pass changes the graph it is given and nothing else, gives the same results for the
 * same inputs, and takes time linear in nodes and uses. Should it fail, memory being out,
 * the graph is one that passes the verifier, improved in part. */
#ifndef LZ_PASS_PASS_H
#define LZ_PASS_PASS_H

#include "graph/ir.h"

typedef lz_err *lz_pass_fn(lz_graph *g);

typedef struct lz_pass {
    const char *name;
    const char *help; /* what it does */
    const char *asks; /* what the graph must be like, and what of it is kept */
    lz_pass_fn *run;
} lz_pass;

enum { LZ_PASSES = 4 };
extern const lz_pass lz_passes[LZ_PASSES];

const lz_pass *lz_pass_find(lz_str name); /* NULL: none */

lz_pass_fn lz_pass_dce, lz_pass_cse, lz_pass_constprop, lz_pass_peephole;

#endif
