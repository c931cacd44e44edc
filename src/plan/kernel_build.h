/* kernel_build.h - a fusion group as a kernel and the arguments it runs with.
 *
 * Neighbouring loops that every access walks as one are merged first, so that one kernel
 * serves many shapes. Sizes and strides are arguments, never part of the kernel. */
#ifndef LZ_PLAN_KERNEL_BUILD_H
#define LZ_PLAN_KERNEL_BUILD_H

#include "plan/group.h"

typedef struct lz_built_access {
    const lz_low_node *base; /* whose buffer; NULL: an index, without memory */
    bool store;
    int64_t offset;
    int64_t *strides;   /* outer loops, then row */
    int64_t slot, step; /* step != 0: `step` times the run-time number in the slot is added to the offset */
} lz_built_access;

typedef struct lz_built_param {
    int64_t slot; /* of run-time numbers; -1: value */
    lz_kernel_scalar value;
    lz_kernel_type type;
} lz_built_param;

typedef struct lz_built_kernel {
    lz_kernel *kernel; /* owned: lz_kernel_release */
    int n_outer, n_row;
    int64_t *extents;
    size_t n_access, n_params;
    lz_built_access *access; /* in scratch memory */
    lz_built_param *params;
} lz_built_kernel;

/* extents, strides and params are in `arena`; access and temporary data are in `scratch`. LZ_ERR_LIMIT if the
 * kernel would be too large. */
LZ_MUST_USE lz_err *lz_kernel_build(const lz_group *g, lz_arena *arena, lz_arena *scratch,
                                    lz_built_kernel *out);

#endif
