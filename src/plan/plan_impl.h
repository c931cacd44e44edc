/* plan_impl.h - the inside of a plan. */
#ifndef LZ_PLAN_PLAN_IMPL_H
#define LZ_PLAN_PLAN_IMPL_H

#include "base/profile.h"
#include "kernel/kernels.h"
#include "lower/guard.h"
#include "plan/fuse.h"
#include "plan/kernel_build.h"
#include "plan/plan.h"

enum { LZ_NO_BUFFER = UINT32_MAX };

typedef enum lz_pbuffer_kind {
    LZ_PB_INPUT,  /* of slot `where` */
    LZ_PB_TEMP,   /* `where` bytes into the block of temporaries */
    LZ_PB_OUTPUT, /* its own */
} lz_pbuffer_kind;

typedef struct lz_pbuffer {
    lz_pbuffer_kind kind;
    size_t bytes; /* unless it is an INPUT */
    size_t item;  /* bytes of an element */
    size_t where;
    bool kept;            /* an INPUT that is an output as well */
    bool given;           /* an INPUT whose memory an OUTPUT may have */
    uint32_t turned;      /* an INPUT of which turned.h may make a copy: 1 + its first product */
    uint32_t first, last; /* launches that touch it; UINT32_MAX: none yet; for good */
    uint32_t shares;      /* the buffer whose memory it has, or LZ_NO_BUFFER; of an OUTPUT an INPUT, if that
                             is given away; of a TEMP one that has died, or an OUTPUT that is yet to come */
} lz_pbuffer;

typedef struct lz_paccess {
    uint32_t buffer; /* LZ_NO_BUFFER: an index without memory */
    bool store;
    int64_t offset;
    const int64_t *strides;
    int64_t slot, step; /* as in lz_eaccess */
} lz_paccess;

/* turned.h: a product that can use a transposed copy of its second matrix; the first of this matrix, or
 * another. */
typedef enum lz_turned { LZ_TURNED_NOT, LZ_TURNED_FIRST, LZ_TURNED_AGAIN } lz_turned;

/* An operator that a launch computes a part of, and how large a part, for profiles: elements, each as often
 * as operations are made of it. */
typedef struct lz_porigin {
    uint32_t origin;
    float work;
} lz_porigin;

typedef struct lz_plaunch {
    uint32_t origin;
    uint32_t n_origins; /* 0: `origin` alone */
    const lz_porigin *origins;
    /* a kernel of a group, or */
    lz_kernel *kernel;
    const int64_t *extents;
    const lz_paccess *access;
    const lz_eparam *params;
    const char *const *rules; /* messages of its checks that are no indices */
    size_t n_access, n_params;
    int n_outer, n_row;
    bool copy; /* it only copies access 0 to access 1, element by element in place */
    /* a call */
    lz_kcall_fn *call;
    lz_kcall args; /* data is filled in for each run */
    lz_paccess call_in[LZ_CALL_INPUTS], call_out;
    size_t n_in;
    const int64_t *call_params;
    lz_turned turned;
    bool tail; /* the next launch, a kernel, goes over each part of the result as it is there */
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
    size_t temp_bytes, peak, donated;
    size_t scratch; /* bytes that calls need for each thread */
    size_t most_access, most_params;
    bool turns;         /* a product may have turned weights */
    uint32_t safe_from; /* no launch from here on can fail */
    const lz_guard *guards;
    uint64_t number; /* no two plans of the process have the same */
};

/* ---- plan.c ---- */

/* Launches and buffers of what has been fused, into an empty plan. *buffer_of (may be NULL): by
 * the id of a node that owns a buffer, 1 + its number; of the fused DAG's arena. */
LZ_MUST_USE lz_err *lz_plan_lay(lz_plan *p, const lz_fused *f, const lz_ln *const *outputs, size_t n,
                                uint32_t **buffer_of);
lz_plan *lz_plan_new(void); /* empty; NULL: memory is out */

/* The number of a kernel that does not fuse, by its name; LZ_CALLS: none. */
const char *lz_call_name(lz_lcall_op op);
lz_lcall_op lz_call_find(lz_str name);
const char *lz_plan_call_name(lz_kcall_fn *call); /* of a launch; "kernel": it is none */

/* ---- plan_tail.c ---- */

/* Marks matrix products whose result the next launch goes over in rows. Needs to know which
 * buffers share memory. */
void lz_plan_find_tails(lz_plan *p);
/* The loops and accesses of a product's tail, cut to rows [begin, end) of all its matrices. */
void lz_plan_cut_tail(const lz_plaunch *call, const lz_plaunch *tail, int64_t begin, int64_t end,
                      int64_t *extents, lz_kaccess *access);

/* ---- plan_profile.c ---- */

/* The operators of a group, in the plan's arena. */
LZ_MUST_USE lz_err *lz_plan_find_origins(const lz_group *g, lz_arena *a, lz_plaunch *out);
/* The numbers that the launches have in the profile that is being taken. */
lz_launch_numbers lz_plan_describe(const lz_plan *p, const lz_plan_names *names);

/* ---- plan_memory.c ---- */

typedef bool lz_paccess_fn(void *user, lz_paccess *a);
/* For each access to memory; stops when fn returns false. */
bool lz_plaunch_accesses(lz_plaunch *l, lz_paccess_fn *fn, void *user);
void lz_plan_find_lives(lz_plan *p); /* first and last of the buffers */
/* The buffer whose memory it is in the end: of a TEMP itself, another TEMP, or an OUTPUT. */
uint32_t lz_plan_root(const lz_plan *p, uint32_t i);

/* The pass "memory": where each buffer lies, and how much is taken at most. */
LZ_MUST_USE lz_err *lz_plan_memory(lz_plan *p);

/* ---- pass_inplace.c ---- */

/* The pass "inplace", before and after launches are made. */
LZ_MUST_USE lz_err *lz_fused_drop_copies(lz_fused *f, const lz_ln *const *outputs, size_t n);
LZ_MUST_USE lz_err *lz_plan_in_place(lz_plan *p);

#endif
