/* segment.h - a sequence of operators that is planned as a whole: a static graph for each kind of inputs.
 *
 * A segment makes a static graph for each combination of dtypes, sizes and strides of its tensors and of
 * values of its numbers, strings and lists, and keeps it for later calls. Of numbers that are used only as
 * Scalars of operators, just the kind counts. Functionalization (functionalize.h) removes views and writes:
 * the graph computes new values, and at the end the segment sets the storages that were written.
 *
 * Where sizes depend on elements, the segment is split: the instructions before that operator run first, then
 * the operator, then the rest. */
#ifndef LZ_SCRIPT_SEGMENT_H
#define LZ_SCRIPT_SEGMENT_H

#include "base/lock.h"
#include "base/pool.h"
#include "core/buffer.h"
#include "script/graph_program.h"
#include <stdatomic.h>

typedef struct lz_segment_input {
    uint32_t slot, local; /* of the program, of the segment */
    bool run_time;        /* a number that is only used as a Scalar */
} lz_segment_input;

typedef struct lz_segment_output {
    uint32_t slot, local;
} lz_segment_output;

typedef struct lz_segment_entry lz_segment_entry;

struct lz_segment {
    lz_script_instr *insts;
    uint32_t n, n_local;
    lz_segment_input *inputs;
    lz_segment_output *outputs;
    uint32_t n_inputs, n_outputs;
    lz_script_constant *constants; /* in local slots */
    uint32_t n_constants;
    uint32_t *first;     /* by local: 1 + the instruction that makes it; 0: an input or constant */
    uint32_t *last;      /* by local: the last instruction that reads it; n: read outside the segment */
    bool *is_constant;   /* by local */
    bool whole;          /* some operator writes to a tensor, or reads a storage beyond the tensor's view */
    atomic_bool statics; /* lowering needed the value of a run_time number: all values are fixed */
    lz_lock lock;
    lz_segment_entry *entries; /* newest first */
    uint32_t n_entries;
};

typedef struct lz_script_env {
    lz_pool *threads;       /* may be NULL */
    lz_buffer_pool *memory; /* may be NULL */
    uint64_t seed;
    uint64_t stream; /* random operators so far */
    bool separate;   /* nothing is fused: for tests */
    /* counted while it runs: */
    size_t launches;
    size_t held; /* live bytes of `memory` when the run began */
    size_t peak; /* the largest predicted peak of a plan, with the memory in use before it */
} lz_script_env;

/* Reads inputs from slots and writes outputs to slots. `dying`: input slots that are not read afterwards. */
LZ_MUST_USE lz_err *lz_segment_run(const lz_script_program *p, lz_segment *s, lz_script_value *slots,
                                   const uint32_t *dying, uint32_t ndying, lz_script_env *env);

void lz_segment_deinit(lz_segment *s);

/* How many static graphs there are. */
uint32_t lz_segment_entries(lz_segment *s);

#endif
