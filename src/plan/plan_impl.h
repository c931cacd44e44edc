/* plan_impl.h - the inside of a plan. */
#ifndef LZ_PLAN_PLAN_IMPL_H
#define LZ_PLAN_PLAN_IMPL_H

#include "base/profiler.h"
#include "kernel/kernels.h"
#include "lower/guard.h"
#include "plan/fuse.h"
#include "plan/kernel_build.h"
#include "plan/plan.h"

enum { LZ_NO_BUFFER = UINT32_MAX };

typedef enum lz_plan_buffer_kind {
    LZ_PLAN_BUFFER_INPUT,  /* of slot `where` */
    LZ_PLAN_BUFFER_TEMP,   /* `where` bytes into the block of temporaries */
    LZ_PLAN_BUFFER_OUTPUT, /* its own */
} lz_plan_buffer_kind;

typedef struct lz_plan_buffer {
    lz_plan_buffer_kind kind;
    size_t bytes; /* unless it is an INPUT */
    size_t item;  /* bytes of an element */
    size_t where;
    bool kept;       /* an INPUT that is an output as well */
    bool given;      /* an INPUT whose memory an OUTPUT may use */
    uint32_t packed; /* an INPUT of which packed_weights.h may make a copy: 1 + its first product */
    uint32_t first,
        last;        /* launches that use the buffer; first UINT32_MAX: none; last UINT32_MAX: to the end */
    uint32_t shares; /* the buffer whose memory this one uses, or LZ_NO_BUFFER. An OUTPUT uses an INPUT's
                        if that is donated; a TEMP uses a dead TEMP's, or that of a later OUTPUT */
} lz_plan_buffer;

typedef struct lz_plan_access {
    uint32_t buffer; /* LZ_NO_BUFFER: an index without memory */
    bool store;
    int64_t offset;
    const int64_t *strides;
    int64_t slot, step; /* as in lz_built_access */
} lz_plan_access;

/* packed_weights.h: a product that can use a transposed copy of its second matrix; the first product of that
 * matrix, or a later one. */
typedef enum lz_packed_weights { LZ_PACKED_NOT, LZ_PACKED_FIRST, LZ_PACKED_AGAIN } lz_packed_weights;

/* For profiles: an operator that a launch computes completely or in part. work: the sum of elements over the
 * operator's operations in the launch. */
typedef struct lz_plan_origin {
    uint32_t origin;
    float work;
} lz_plan_origin;

/* A call of a kernel that does not fuse. */
typedef struct lz_plan_call {
    lz_kernel_call_fn *fn;
    lz_kernel_call args; /* data is filled in for each run */
    lz_packed_weights packed;
    lz_plan_access out;
    size_t n_in;
    lz_plan_access in[];
} lz_plan_call;

typedef struct lz_plan_launch {
    uint32_t origin;
    uint32_t n_origins; /* 0: `origin` alone */
    const lz_plan_origin *origins;
    lz_plan_call *call; /* or */
    lz_kernel *kernel;  /* of a group: */
    const int64_t *extents;
    const lz_plan_access *access;
    const lz_built_param *params;
    const char *const *rules; /* messages of its checks that are no indices */
    size_t n_access, n_params;
    int n_outer, n_row;
    bool copy; /* the kernel only copies access 0 to access 1, element by element */
    bool tail; /* the next launch, a kernel, runs on each part of the result as soon as that is computed */
} lz_plan_launch;

struct lz_plan {
    lz_arena arena;
    lz_plan_launch *launches;
    size_t n_launches;
    lz_plan_buffer *buffers;
    size_t n_buffers;
    lz_plan_output *outputs;
    uint32_t *output_buffers;
    size_t n_outputs;
    size_t temp_bytes, peak, donated;
    size_t scratch; /* bytes that calls need for each thread */
    size_t most_access, most_params;
    bool packs_weights; /* a product may have packed weights */
    uint32_t safe_from; /* no launch from here on can fail */
    const lz_guard *guards;
    uint64_t number; /* no other plan of the process has this number */
};

/* ---- plan_object.c ---- */

lz_plan *lz_plan_new(void);     /* empty; NULL: out of memory */
void lz_plan_clear(lz_plan *p); /* empty again */

/* ---- plan_layout.c ---- */

/* Adds the launches and buffers of a fused DAG to an empty plan. *buffer_of (may be NULL): by
 * the id of a node that owns a buffer, 1 + the buffer's index; in the fused DAG's arena. */
LZ_MUST_USE lz_err *lz_plan_lay(lz_plan *p, const lz_fused *f, const lz_low_node *const *outputs, size_t n,
                                uint32_t **buffer_of);

/* The number of a kernel that does not fuse, by its name; LZ_CALLS: none. */
const char *lz_call_name(lz_low_call_op op);
lz_low_call_op lz_call_find(lz_str name);
const char *lz_plan_call_name(lz_kernel_call_fn *fn);

/* ---- plan_tail.c ---- */

/* Marks matrix products whose result the next launch processes row by row. Requires lz_plan_buffer.shares. */
void lz_plan_find_tails(lz_plan *p);
/* The loops and accesses of a product's tail, cut to rows [begin, end) of all its matrices. */
void lz_plan_cut_tail(const lz_plan_launch *call, const lz_plan_launch *tail, int64_t begin, int64_t end,
                      int64_t *extents, lz_kernel_access *access);

/* ---- plan_profile.c ---- */

/* The operators of a group, in the plan's arena. */
LZ_MUST_USE lz_err *lz_plan_find_origins(const lz_group *g, lz_arena *a, lz_plan_launch *out);
/* The numbers that the launches have in the profile that is being taken. */
lz_launch_numbers lz_plan_describe(const lz_plan *p, const lz_plan_names *names);

/* ---- plan_memory.c ---- */

typedef bool lz_plan_access_fn(void *user, lz_plan_access *a);
/* For each access to memory; stops when fn returns false. */
bool lz_plan_launch_accesses(lz_plan_launch *l, lz_plan_access_fn *fn, void *user);
void lz_plan_find_lives(lz_plan *p); /* sets first and last of the buffers */
/* Follows `shares` of a TEMP to the buffer that owns the memory: itself, another TEMP, or an OUTPUT. */
uint32_t lz_plan_root(const lz_plan *p, uint32_t i);

/* The pass "memory": sets the offset of each buffer and the peak. */
LZ_MUST_USE lz_err *lz_plan_memory(lz_plan *p);

/* ---- pass_inplace.c ---- */

/* The pass "inplace", before and after launches are made. */
LZ_MUST_USE lz_err *lz_fused_drop_copies(lz_fused *f, const lz_low_node *const *outputs, size_t n);
LZ_MUST_USE lz_err *lz_plan_in_place(lz_plan *p);

#endif
