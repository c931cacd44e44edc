/* emit.h - a fusion group as a kernel and the arguments it runs with.
 *
 * Neighbouring loops that every access walks as one are merged first, so that one kernel
 * serves many shapes. Sizes and strides are arguments, never part of the kernel. */
#ifndef LZ_PLAN_KERNEL_BUILD_H
#define LZ_PLAN_KERNEL_BUILD_H

#include "plan/group.h"

typedef struct lz_eaccess {
    const lz_ln *base; /* whose buffer; NULL: an index, without memory */
    bool store;
    int64_t offset;
    int64_t *strides;   /* outer loops, then row */
    int64_t slot, step; /* with a step: the offset is that many elements times the run-time number in the slot
                           greater */
} lz_eaccess;

typedef struct lz_eparam {
    int64_t slot; /* of run-time numbers; -1: value */
    lz_kscalar value;
    lz_ktype type;
} lz_eparam;

typedef struct lz_emitted {
    lz_kernel *kernel; /* owned: lz_kernel_release */
    int n_outer, n_row;
    int64_t *extents;
    size_t n_access, n_params;
    lz_eaccess *access; /* in scratch memory */
    lz_eparam *params;
} lz_emitted;

/* extents, strides and params are in `arena`; what only the caller looks at (access), and what
 * nobody needs afterwards, in `scratch`. LZ_ERR_LIMIT if the kernel would be too large. */
LZ_MUST_USE lz_err *lz_emit(const lz_group *g, lz_arena *arena, lz_arena *scratch, lz_emitted *out);

#endif
