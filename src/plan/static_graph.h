/* static_graph.h - a graph without control flow whose inputs are known: plans made once.
 *
 * Dtypes, sizes and strides of input tensors are known beforehand; output tensors are row-major. Of numbers
 * only the kinds are known; the values are passed at run time. So all plans are made before the first run. A
 * large graph becomes several plans, which run one after the other. A static graph never changes: several
 * threads may run it at once.
 *
 * Lazy steps (src/ts) and segments of TorchScript graphs (src/script) are both run as static graphs; the
 * pass "lower" prints the lowered form of one.
 *
 * A random operator has an attribute `random`, the number of the input that is its seed; the next input is
 * its position among the draws of that seed. Operators without the attribute draw one after the other from
 * the seed that the options name. */
#ifndef LZ_PLAN_STATIC_GRAPH_H
#define LZ_PLAN_STATIC_GRAPH_H

#include "base/pool.h"
#include "core/buffer.h"
#include "graph/ir.h"
#include "plan/plan.h"

typedef struct lz_static_graph lz_static_graph;

#define LZ_STATIC_GRAPH_RANDOM "random"

enum {
    LZ_STATIC_GRAPH_OPS = 4096, /* operators of one plan, unless the options say otherwise */
    LZ_STATIC_GRAPH_DRAWS = 64  /* distance between positions, because an operator may draw more than once */
};

typedef struct lz_static_graph_input {
    lz_scalar_kind number; /* LZ_SCALAR_NONE: a tensor */
    lz_dtype dtype;
    lz_ints sizes;
    lz_ints strides; /* v NULL: row-major */
} lz_static_graph_input;

typedef struct lz_static_graph_options {
    size_t ops;    /* of one plan, at most; 0: LZ_STATIC_GRAPH_OPS */
    bool separate; /* nothing is fused: for tests */
    uint32_t seed; /* 1 + the input that is the seed of random operators without a position; the next input is
                      the number of earlier draws. 0: random operators without a position are refused */
} lz_static_graph_options;

/* in: one for each input of the graph. LZ_ERR_UNSUPPORTED for control flow, writes, and sizes that depend on
 * elements: lz_executor runs such graphs. An error of an operator names its node. The graph must not change
 * during the life of the static graph; `options` may be NULL. */
LZ_MUST_USE lz_err *lz_static_graph_create(lz_graph *g, const lz_static_graph_input *in,
                                           const lz_static_graph_options *options, lz_static_graph **out);
void lz_static_graph_destroy(lz_static_graph *x); /* NULL does nothing */

/* An input slot behind the inputs of the graph: the part of another input slot that begins `bytes` times a
 * run-time number behind it. */
typedef struct lz_static_graph_part {
    uint32_t of, number; /* input slot, here or before; input of the graph */
    int64_t bytes;
} lz_static_graph_part;

/* The lowered graph, before plans are made from it. */
typedef struct lz_static_graph_lowering {
    lz_lower
        *dag; /* input slots and slots of numbers are inputs of the graph, further input slots are parts */
    const lz_static_graph_part *parts;
    size_t n_parts;
    const lz_low_node *const *outputs; /* nodes to be computed */
    size_t n;
    const uint32_t *results; /* of the graph: an input, or the number of inputs and an index of outputs */
    const lz_ssa_node *const *nodes; /* by origin */
    size_t n_nodes;
} lz_static_graph_lowering;

typedef lz_err *lz_static_graph_take_fn(void *user, const lz_static_graph_lowering *l);

/* Does what lz_static_graph_create does up to the plan, as one plan: `take` gets the lowered graph. */
LZ_MUST_USE lz_err *lz_static_graph_lower(lz_graph *g, const lz_static_graph_input *in,
                                          const lz_static_graph_options *options,
                                          lz_static_graph_take_fn *take, void *user);

typedef struct lz_static_graph_output {
    lz_dtype dtype;
    lz_ints sizes;
    int64_t input; /* the output is this input, unchanged, and shares its memory; -1: none */
} lz_static_graph_output;

size_t lz_static_graph_outputs(const lz_static_graph *x);
lz_static_graph_output lz_static_graph_output_get(const lz_static_graph *x, size_t i);
size_t lz_static_graph_launches(const lz_static_graph *x);
/* The draws of one run by random operators without a position: how much the number of earlier draws grows. */
uint64_t lz_static_graph_draws(const lz_static_graph *x);
/* The memory of the static graph without that of `graph`: `plans` gets the memory of its plans, the result is
 * the rest. */
size_t lz_static_graph_measure(const lz_static_graph *x, lz_plan_bytes *plans);

typedef struct lz_static_graph_arg {
    lz_buffer *buffer; /* of a tensor */
    size_t offset;     /* of a tensor: its element with all indices 0, in bytes */
    lz_scalar number;
    bool donate;   /* the elements are not needed afterwards, and the caller has the only count */
    bool spare;    /* a run that fails may overwrite the elements too */
    bool constant; /* the contents change only by runs to which the argument is donated */
} lz_static_graph_arg;

typedef struct lz_static_graph_run_args {
    const lz_static_graph_arg *in;
    lz_buffer_pool *memory;     /* may be NULL */
    lz_pool *threads;           /* may be NULL */
    const lz_ssa_node **failed; /* set to the node that failed, where it is known; may be NULL */
    size_t *planned;            /* set to the predicted peak bytes of the run before it begins; may be NULL */
} lz_static_graph_run_args;

/* Gives one count of a buffer for each output; none on failure, which leaves all inputs unchanged. */
LZ_MUST_USE lz_err *lz_static_graph_run(const lz_static_graph *x, const lz_static_graph_run_args *args,
                                        lz_buffer **out);

#endif
