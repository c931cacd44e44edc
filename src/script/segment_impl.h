/* segment_impl.h - what the files of segments share. */
#ifndef LZ_SCRIPT_SEGMENT_IMPL_H
#define LZ_SCRIPT_SEGMENT_IMPL_H

#include "base/vec.h"
#include "plan/plan.h"
#include "script/inst.h"
#include "script/segment.h"
#include "script/xtensor.h"

enum {
    LZ_SEG_SEED = 0, /* slots of run-time numbers: the seed, */
    LZ_SEG_STREAM,   /* how many random operators ran before, */
    LZ_SEG_NUMBERS,  /* and the segment's inputs */
};

/* What several tensors may look at: while lowering, the value that it has come to. */
typedef struct lz_cell {
    const lz_ln *base; /* its elements, row-major */
    int64_t numel;
    uint32_t generation; /* counts writes */
    int32_t input;       /* the tensor whose storage it is at the beginning; -1: it is new */
    int32_t output;      /* of the plan; -1: none */
} lz_cell;

/* A tensor while a segment is lowered, and later the pattern for one. */
typedef struct lz_stensor {
    lz_gv_tensor head;
    lz_cell *cell;
    const lz_ln *node; /* its elements, as of `generation` of the cell */
    uint32_t generation;
    uint32_t number; /* among those of the entry */
    int32_t self;    /* the input tensor that it is; -1: none */
    bool is_number;  /* not a tensor at all: its one element is the value */
    lz_dtype dtype;
    int64_t ndim, offset;
    int64_t *strides; /* behind the sizes */
    int64_t sizes[];
} lz_stensor;

typedef struct lz_seg_write {
    uint32_t tensor; /* whose storage gets */
    uint32_t output; /* the buffer of this */
} lz_seg_write;

/* What was made for one kind of inputs. */
struct lz_seg_entry {
    lz_seg_entry *next;
    char *key; /* NULL: not to be kept */
    size_t key_len;
    uint64_t hash;
    lz_arena arena;
    lz_plan *plan;
    lz_gv *patterns; /* of the outputs: tensors in them are lz_stensor */
    uint32_t n_patterns, n_stensors, n_writes;
    lz_seg_write *writes;
    bool *kept;       /* tensors whose storage an output looks at */
    uint64_t streams; /* random operators in it */
};

/* Takes what a segment has been lowered to, instead of a plan being made: `outputs` are
 * the nodes that a plan would compute, as entry->patterns and entry->writes number them. */
typedef struct lz_seg_call lz_seg_call;
typedef lz_err *lz_seg_take_fn(lz_seg_call *c, lz_seg_entry *e, lz_lower *dag, const lz_ln *const *outputs,
                               size_t n);

/* One call of a segment. */
struct lz_seg_call {
    const lz_gprogram *program;
    lz_segment *seg;
    lz_gv *slots;
    lz_exec_env *env;
    bool statics; /* of the segment, when the key was made */
    LZ_VEC(char) key;
    LZ_VEC(lz_xtensor *) tensors; /* of the inputs, in their order; borrowed */
    LZ_VEC(lz_buffer *) extra;    /* found out while lowering: inputs behind the tensors */
    lz_run_input *inputs;         /* of both */
    lz_scalar *scalars;
    const lz_inst *at;    /* what is being lowered */
    lz_seg_take_fn *take; /* NULL: a plan is made; otherwise tensors have no elements */
    void *user;           /* of take */
};

/* ---- segment_lower.c ---- */

LZ_MUST_USE lz_err *lz_segment_lower(lz_seg_call *c, lz_seg_entry *out);
/* Sets c->inputs and c->scalars. */
LZ_MUST_USE lz_err *lz_segment_args(lz_seg_call *c);

/* ---- segment_tensor.c ---- */

bool lz_gv_is_stensor(lz_gv v);
static inline lz_stensor *lz_stensor_of(lz_gv v)
{
    return (lz_stensor *)v.tensor;
}
LZ_MUST_USE lz_err *lz_stensor_create(lz_cell *cell, lz_dtype d, lz_ints sizes, lz_ints strides,
                                      int64_t offset, lz_gv *out);

#endif
