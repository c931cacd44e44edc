/* ts_lowering.h - recorded nodes as a TorchScript graph.
 *
 * Each operator becomes an aten:: node that takes all arguments of its schema; parameters
 * are the graph's inputs p0, p1, ... in their order, numbers included. Lists that operators
 * return are unpacked at once. Nodes keep their source lines in the user's program. */
#ifndef LZ_TS_TS_LOWERING_H
#define LZ_TS_TS_LOWERING_H

#include "graph/ir.h"
#include <lazuli/backend.h>

typedef struct lz_ts_graph {
    lz_graph *graph;          /* one count */
    const lz_ssa_node **made; /* by lz_lowering_index; NULL for data. Passes may have erased some nodes */
    size_t n;
} lz_ts_graph;

/* After an error the node that could not be lowered is LZ_EMITTING. */
LZ_MUST_USE lz_err *lz_ts_lower(lz_lowering *l, lz_ts_graph *out);
void lz_ts_graph_deinit(lz_ts_graph *g);

#endif
