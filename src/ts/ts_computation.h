/* ts_computation.h - a compiled graph: the TorchScript graph, and what runs it.
 *
 * A graph on inputs of known sizes runs straight; only what cannot be planned beforehand,
 * because sizes depend on elements, goes through the executor. Nothing changes once it is
 * compiled, but that it ran, and the text, which is made when somebody asks. Any thread may run it. */
#ifndef LZ_TS_TS_COMPUTATION_H
#define LZ_TS_TS_COMPUTATION_H

#include "base/lock.h"
#include "base/pool.h"
#include "plan/static_graph.h"
#include "script/executor.h"
#include "ts/ts_data.h"
#include "ts/ts_lowering.h"
#include <stdatomic.h>

/* The memory of a computation, by what it is for. */
typedef enum lz_ts_part {
    LZ_TS_GRAPH,     /* the TorchScript graph */
    LZ_TS_STEPS,     /* how its nodes became plans: inputs, places, origins */
    LZ_TS_LAUNCHES,  /* of the plans */
    LZ_TS_ARGUMENTS, /* of the launches */
    LZ_TS_KERNELS,
    LZ_TS_PARTS
} lz_ts_part;

typedef struct lz_ts_computation {
    uint32_t stamp; /* what is none of ours has another */
    lz_ts_graph graph;
    lz_straight *straight; /* or */
    lz_executor *executor;
    lz_straight_input *inputs; /* sizes lie in the graph's types */
    size_t n_inputs, n_outputs;
    atomic_bool ran; /* once at least */
    lz_lock lock;    /* of the text */
    char *text;
    size_t bytes[LZ_TS_PARTS]; /* as it was compiled */
} lz_ts_computation;

/* What running takes. */
typedef struct lz_ts_env {
    lz_buffer_pool *memory;
    lz_pool *threads;
} lz_ts_env;

/* What a run came to. */
typedef struct lz_ts_figures {
    size_t launches;
    size_t planned; /* bytes taken at once, as was known before the run; 0: it could not be known */
} lz_ts_figures;

LZ_MUST_USE lz_err *lz_ts_compile(lz_lowering *l, lz_ts_computation **out);
void lz_ts_computation_destroy(lz_ts_computation *c); /* NULL does nothing */

LZ_MUST_USE lz_err *lz_ts_execute(lz_ts_computation *c, const lz_ts_env *env, const lz_execution *x,
                                  lz_ts_figures *out);

/* The graph's text; belongs to the computation. "" when memory is out. */
const char *lz_ts_computation_text(lz_ts_computation *c);

#endif
