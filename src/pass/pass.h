/* pass.h - passes that improve a graph of operators in place. Those on lowered graphs are in plan/lowered.h,
 * with the list of all.
 *
 * A pass changes only the graph it is given, keeps the results for all inputs, and takes time linear in nodes
 * and uses. If it fails because memory is out, the graph is valid (it passes the verifier) and partly
 * improved. */
#ifndef LZ_PASS_PASS_H
#define LZ_PASS_PASS_H

#include "graph/ir.h"

typedef lz_err *lz_pass_fn(lz_graph *g);

typedef struct lz_pass {
    const char *name;
    const char *help; /* what it does */
    const char *asks; /* requirements on the graph, and what is kept */
    lz_pass_fn *run;
} lz_pass;

enum { LZ_PASSES = 4 };
extern const lz_pass lz_passes[LZ_PASSES];

lz_pass_fn lz_pass_dce, lz_pass_cse, lz_pass_constprop, lz_pass_peephole;

#endif
