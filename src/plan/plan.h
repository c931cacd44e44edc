/* plan.h - how to compute some nodes of a lowered DAG: a flat list of launches over
 * planned buffers.
 *
 * A plan keeps nothing of the DAG it was made from, never changes, and may run on several
 * threads at once. Temporaries of one run share one block of memory, planned by when they
 * live; how much a run takes at most is known before it. */
#ifndef LZ_PLAN_PLAN_H
#define LZ_PLAN_PLAN_H

#include "base/pool.h"
#include "core/buffer.h"
#include "lower/lower.h"

typedef struct lz_plan lz_plan;

typedef struct lz_plan_options {
    bool separate; /* every node a launch of its own: for tests */
} lz_plan_options;

LZ_MUST_USE lz_err *lz_plan_create(const lz_lower *dag, const lz_ln *const *outputs, size_t n,
                                   const lz_plan_options *options, lz_plan **out);
void lz_plan_destroy(lz_plan *p); /* NULL does nothing */

/* What an output looks like. Those that are inputs, unchanged, are views of the buffer of
 * that input slot; the others are dense. */
typedef struct lz_plan_output {
    lz_dtype dtype;
    lz_ints sizes, strides;
    int64_t offset;
    int64_t slot; /* -1: a buffer of its own */
} lz_plan_output;

size_t lz_plan_outputs(const lz_plan *p);
const lz_plan_output *lz_plan_output_get(const lz_plan *p, size_t i);
size_t lz_plan_launches(const lz_plan *p);
void lz_plan_find_read(const lz_plan *p,
                       bool *read); /* read[slot] becomes true if a launch reads the input */
/* The memory that a plan takes, by what it is for; of kernels that others use too, its share. */
typedef struct lz_plan_bytes {
    size_t launches;  /* the table of them */
    size_t arguments; /* of the launches: accesses, strides, numbers, origins; buffers and outputs; what the
                         arena has not used */
    size_t kernels;
} lz_plan_bytes;
lz_plan_bytes lz_plan_measure(const lz_plan *p);
/* Bytes that a run takes from the pool at once, should no input be given away; and how many
 * fewer they are if all are that it has a use for. */
size_t lz_plan_peak(const lz_plan *p);
size_t lz_plan_donated(const lz_plan *p);

typedef struct lz_run_input {
    lz_buffer *buffer;
    size_t offset; /* in bytes: where the input's first element of all is */
    bool donate;   /* nobody needs it any more, nobody else has it, and it begins at offset 0 */
    bool keep;     /* ... but a run that fails must leave it as it was */
    bool constant; /* its contents change by being donated, and by nothing else */
} lz_run_input;

typedef struct lz_run_args {
    const lz_run_input *inputs;        /* by slot */
    const lz_scalar *scalars;          /* by slot of run-time numbers, of the kinds that the DAG says */
    lz_buffer_pool *memory;            /* may be NULL */
    lz_pool *threads;                  /* may be NULL */
    uint32_t *failed;                  /* set to the origin of the launch that failed; may be NULL */
    const struct lz_plan_names *names; /* of origins, for profiles; may be NULL */
} lz_run_args;

/* Which node of a graph an origin is. */
typedef struct lz_plan_names {
    const struct lz_ir_node *(*node)(const void *user, uint32_t origin); /* NULL: it is none */
    const void *user;
    const char *file; /* that the graph was read from; NULL: it was recorded */
} lz_plan_names;

/* Bytes that a run with these inputs will take from the pool at once: known before it. */
size_t lz_plan_will_take(const lz_plan *p, const lz_run_input *inputs);

/* Gives one count of a buffer for each output; none on failure, which leaves inputs that
 * are not donated, or to be kept, as they were. The offset of an output that is an input counts from where
 * the input begins. */
LZ_MUST_USE lz_err *lz_plan_run(const lz_plan *p, const lz_run_args *args, lz_buffer **outputs);

/* For people: each launch, what it reads and writes, and where. */
LZ_MUST_USE lz_err *lz_plan_print(const lz_plan *p, lz_text *out);

#endif
