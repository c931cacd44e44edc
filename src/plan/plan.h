/* plan.h - how to compute some nodes of a lowered DAG: a flat list of launches over
 * planned buffers.
 *
 * A plan has no pointers to the DAG it was made from, never changes, and may run on several
 * threads at once. The temporaries of one run share one block of memory, laid out by their
 * lifetimes; so the peak memory of a run is known before the run. */
#ifndef LZ_PLAN_PLAN_H
#define LZ_PLAN_PLAN_H

#include "base/pool.h"
#include "core/buffer.h"
#include "lower/lower.h"

typedef struct lz_plan lz_plan;

typedef struct lz_plan_options {
    bool separate; /* every node a launch of its own: for tests */
} lz_plan_options;

LZ_MUST_USE lz_err *lz_plan_create(const lz_lower *dag, const lz_low_node *const *outputs, size_t n,
                                   const lz_plan_options *options, lz_plan **out);
void lz_plan_destroy(lz_plan *p); /* NULL does nothing */

/* Layout of an output. An output that is an unchanged input is a view of the buffer of that
 * input slot; the others are dense. */
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
/* The memory that a plan takes, by purpose; of kernels that several plans use, this plan's share. */
typedef struct lz_plan_bytes {
    size_t launches;  /* the table of launches */
    size_t arguments; /* of the launches: accesses, strides, numbers, origins; buffers and outputs; unused
                         memory of the arena */
    size_t kernels;
} lz_plan_bytes;
lz_plan_bytes lz_plan_measure(const lz_plan *p);
/* Peak bytes taken from the pool if no input is donated. */
size_t lz_plan_peak(const lz_plan *p);

typedef struct lz_run_input {
    lz_buffer *buffer;
    size_t offset; /* of the input's element with all indices 0, in bytes */
    bool donate;   /* the caller holds the only count and does not need the contents, and offset is 0 */
    bool keep;     /* with donate: a run that fails must leave the contents unchanged */
    bool constant; /* the contents change only by runs to which the input is donated */
} lz_run_input;

typedef struct lz_run_args {
    const lz_run_input *inputs;        /* by slot */
    const lz_scalar *scalars;          /* by slot of run-time numbers, of the kinds that the DAG says */
    lz_buffer_pool *memory;            /* may be NULL */
    lz_pool *threads;                  /* may be NULL */
    uint32_t *failed;                  /* set to the origin of the launch that failed; may be NULL */
    const struct lz_plan_names *names; /* of origins, for profiles; may be NULL */
} lz_run_args;

/* The nodes of the graph that origins refer to. */
typedef struct lz_plan_names {
    const struct lz_ssa_node *(*node)(const void *user, uint32_t origin); /* NULL: no node has this origin */
    const void *user;
    const char *file; /* the file that the graph was read from; NULL: the graph was recorded */
} lz_plan_names;

/* Peak bytes that a run with these inputs will take from the pool. */
size_t lz_plan_will_take(const lz_plan *p, const lz_run_input *inputs);

/* Gives one count of a buffer for each output; none on failure. A failure leaves inputs that are not donated,
 * or have `keep`, unchanged. The offset of an output that is an input is relative to lz_run_input.offset. */
LZ_MUST_USE lz_err *lz_plan_run(const lz_plan *p, const lz_run_args *args, lz_buffer **outputs);

#endif
