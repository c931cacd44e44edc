/* plan_impl.h - the inside of a plan. */
#ifndef LZ_EXEC_PLAN_IMPL_H
#define LZ_EXEC_PLAN_IMPL_H

#include "exec/emit.h"
#include "exec/fuse.h"
#include "exec/plan.h"
#include "kernel/kernels.h"

enum { LZ_NO_BUFFER = UINT32_MAX };

typedef enum lz_pbuffer_kind {
    LZ_PB_INPUT,  /* of slot `where` */
    LZ_PB_TEMP,   /* `where` bytes into the block of temporaries */
    LZ_PB_OUTPUT, /* its own */
} lz_pbuffer_kind;

typedef struct lz_pbuffer {
    lz_pbuffer_kind kind;
    size_t bytes;
    size_t where;
    uint32_t first, last; /* launches that touch it */
    int64_t donor;        /* OUTPUT: the input slot whose memory it may take; -1: none */
} lz_pbuffer;

typedef struct lz_paccess {
    uint32_t buffer; /* LZ_NO_BUFFER: an index without memory */
    bool store;
    int64_t offset;
    const int64_t *strides;
} lz_paccess;

typedef struct lz_plaunch {
    uint32_t origin;
    /* a kernel of a group, or */
    lz_kernel *kernel;
    const int64_t *extents;
    const lz_paccess *access;
    const lz_eparam *params;
    size_t n_access, n_params;
    int n_outer, n_row;
    bool copy; /* it only copies access 0 to access 1, element by element in place */
    /* a call */
    lz_kcall_fn *call;
    lz_kcall args; /* data is filled in for each run */
    lz_paccess call_in[LZ_CALL_INPUTS], call_out;
    size_t n_in;
    const int64_t *call_params;
} lz_plaunch;

struct lz_plan {
    lz_arena arena;
    lz_plaunch *launches;
    size_t n_launches;
    lz_pbuffer *buffers;
    size_t n_buffers;
    lz_plan_output *outputs;
    uint32_t *output_buffers;
    size_t n_outputs;
    size_t temp_bytes, peak;
    size_t most_access, most_params;
    bool may_fail;
};

/* ---- plan_memory.c ---- */

/* Finds out how long each buffer lives, which can share memory, and where they lie. */
LZ_MUST_USE lz_err *lz_plan_memory(lz_plan *p);

#endif
