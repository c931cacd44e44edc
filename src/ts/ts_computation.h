/* ts_computation.h - a compiled graph: the TorchScript graph, and what runs it.
 *
 * A graph on inputs of known sizes runs as a static graph; only graphs with sizes that depend on
 * elements are run by the executor. After compilation only two members change: `ran`, and the text,
 * which is made on demand. Any thread may run a computation. */
#ifndef LZ_TS_TS_COMPUTATION_H
#define LZ_TS_TS_COMPUTATION_H

#include "base/lock.h"
#include "base/pool.h"
#include "plan/static_graph.h"
#include "script/executor.h"
#include "ts/ts_data.h"
#include "ts/ts_lowering.h"
#include <stdatomic.h>

/* The memory of a computation, by purpose. */
typedef enum lz_ts_part {
    LZ_TS_GRAPH,     /* the TorchScript graph */
    LZ_TS_STEPS,     /* how its nodes became plans: inputs, places, origins */
    LZ_TS_LAUNCHES,  /* of the plans */
    LZ_TS_ARGUMENTS, /* of the launches */
    LZ_TS_KERNELS,
    LZ_TS_PARTS
} lz_ts_part;

typedef struct lz_ts_computation {
    uint32_t stamp; /* identifies this backend's computations: other memory has another value here */
    lz_ts_graph graph;
    lz_static_graph *static_graph; /* NULL: the executor runs the graph */
    lz_executor *executor;
    lz_static_graph_input *inputs; /* sizes lie in the graph's types */
    size_t n_inputs, n_outputs;
    atomic_bool ran; /* the computation has run */
    lz_lock lock;    /* of the text */
    char *text;
    size_t bytes[LZ_TS_PARTS]; /* measured after compiling */
} lz_ts_computation;

/* The arguments of a run. */
typedef struct lz_ts_env {
    lz_buffer_pool *memory;
    lz_pool *threads;
    bool again; /* on entry each result is data of an earlier run, to be filled anew, or NULL */
} lz_ts_env;

/* Statistics of a run. */
typedef struct lz_ts_figures {
    size_t launches;
    size_t planned; /* predicted peak bytes; 0: not known before the run */
} lz_ts_figures;

LZ_MUST_USE lz_err *lz_ts_compile(lz_lowering *l, lz_ts_computation **out);
void lz_ts_computation_destroy(lz_ts_computation *c); /* NULL does nothing */

LZ_MUST_USE lz_err *lz_ts_execute(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                                  lz_ts_figures *out);

/* The graph's text; belongs to the computation. "" if memory runs out. */
const char *lz_ts_computation_text(lz_ts_computation *c);

#endif
