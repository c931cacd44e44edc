/* straight.h - a graph without control flow whose inputs are known: plans made once.
 *
 * Tensors that go in and come out are dense and row-major, of dtypes and sizes that are
 * known beforehand; numbers are passed at run time and only their kinds are known. So
 * nothing is left to be found out when it runs. A large graph becomes several plans, one
 * behind the other. Nothing changes after it is made: several threads may run it at once.
 *
 * A random operator has an attribute `random`, the number of the input that is its seed;
 * the next input is its position among the draws of that seed. */
#ifndef LZ_PLAN_STATIC_GRAPH_H
#define LZ_PLAN_STATIC_GRAPH_H

#include "base/pool.h"
#include "core/buffer.h"
#include "graph/ir.h"
#include "plan/plan.h"

typedef struct lz_straight lz_straight;

#define LZ_STRAIGHT_RANDOM "random"

enum {
    LZ_STRAIGHT_OPS = 4096, /* operators of one plan, unless said otherwise */
    LZ_STRAIGHT_DRAWS = 64  /* positions are this far apart: an operator may draw more than once */
};

typedef struct lz_straight_input {
    lz_scalar_kind number; /* LZ_SCALAR_NONE: a tensor */
    lz_dtype dtype;
    lz_ints sizes;
} lz_straight_input;

typedef struct lz_straight_options {
    size_t ops;    /* of one plan, at most; 0: LZ_STRAIGHT_OPS */
    bool separate; /* nothing is fused: for tests */
} lz_straight_options;

/* in: one for each input of the graph. LZ_ERR_UNSUPPORTED for control flow, writes, and
 * sizes that only elements tell: lz_executor runs those. An error of an operator names its
 * node. The graph must not be changed as long as this lives; `options` may be NULL. */
LZ_MUST_USE lz_err *lz_straight_create(lz_graph *g, const lz_straight_input *in,
                                       const lz_straight_options *options, lz_straight **out);
void lz_straight_destroy(lz_straight *x); /* NULL does nothing */

typedef struct lz_straight_output {
    lz_dtype dtype;
    lz_ints sizes;
} lz_straight_output;

size_t lz_straight_outputs(const lz_straight *x);
lz_straight_output lz_straight_output_get(const lz_straight *x, size_t i);
size_t lz_straight_plans(const lz_straight *x);
size_t lz_straight_launches(const lz_straight *x);
/* The memory that it takes, that of the graph excepted. */
/* The memory that it takes without the graph's: `plans` gets that of its plans, the result is the rest. */
size_t lz_straight_measure(const lz_straight *x, lz_plan_bytes *plans);

typedef struct lz_straight_arg {
    lz_buffer *buffer; /* of a tensor */
    lz_scalar number;
    bool donate;   /* nobody needs the elements any more, and the caller has the only count */
    bool constant; /* the contents change by runs to which it is donated, and by nothing else */
} lz_straight_arg;

typedef struct lz_straight_run_args {
    const lz_straight_arg *in;
    lz_buffer_pool *memory;    /* may be NULL */
    lz_pool *threads;          /* may be NULL */
    const lz_ir_node **failed; /* set to the node that failed, where it is known; may be NULL */
    size_t *planned;           /* set to the bytes that the run takes at once, before it does; may be NULL */
} lz_straight_run_args;

/* Gives one count of a buffer for each output; none on failure, which leaves all inputs as
 * they were. */
LZ_MUST_USE lz_err *lz_straight_run(const lz_straight *x, const lz_straight_run_args *args, lz_buffer **out);

#endif
