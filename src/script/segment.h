/* segment.h - a run of operators that is planned as a whole.
 *
 * A plan is made for what the segment is given: dtypes, sizes and strides of tensors, the
 * values of numbers, strings and lists; of numbers that only ever are Scalars of operators
 * just the kind. It is kept and used again for the same. Within a segment tensors may be
 * views of each other and be written through: the plan computes new values, and at the
 * end those that storages have changed to are put there. */
#ifndef LZ_SCRIPT_SEGMENT_H
#define LZ_SCRIPT_SEGMENT_H

#include "base/lock.h"
#include "base/pool.h"
#include "core/buffer.h"
#include "script/graph_program.h"
#include <stdatomic.h>

typedef struct lz_seg_input {
    uint32_t slot, local; /* of the program, of the segment */
    bool run_time;        /* a number that is only used as a Scalar */
} lz_seg_input;

typedef struct lz_seg_output {
    uint32_t slot, local;
} lz_seg_output;

typedef struct lz_seg_entry lz_seg_entry;

struct lz_segment {
    lz_inst *insts;
    uint32_t n, n_local;
    lz_seg_input *inputs;
    lz_seg_output *outputs;
    uint32_t n_inputs, n_outputs;
    lz_pconstant *constants; /* in local slots */
    uint32_t n_constants;
    bool writes;         /* some operator writes to a tensor */
    atomic_bool statics; /* run_time turned out to be wrong: values are needed */
    lz_lock lock;
    lz_seg_entry *entries; /* newest first */
    uint32_t n_entries;
};

typedef struct lz_exec_env {
    lz_pool *threads;       /* may be NULL */
    lz_buffer_pool *memory; /* may be NULL */
    uint64_t seed;
    uint64_t stream; /* random operators so far */
    bool separate;   /* nothing is fused: for tests */
    /* counted as it runs */
    size_t launches;
    size_t held; /* bytes asked of `memory` when the run began */
    size_t peak; /* the most that a plan, with what there was before it, was predicted to take */
} lz_exec_env;

/* Reads inputs from slots, writes outputs to them. `dying`: input slots that nobody reads
 * afterwards. */
LZ_MUST_USE lz_err *lz_segment_run(const lz_gprogram *p, lz_segment *s, lz_gv *slots, const uint32_t *dying,
                                   uint32_t ndying, lz_exec_env *env);

void lz_segment_deinit(lz_segment *s);

/* How many plans there are. */
uint32_t lz_segment_entries(lz_segment *s);

#endif
