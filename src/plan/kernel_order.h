/* emit_order.h - in which order the parts of a group become parts of a kernel.
 *
 * It is a matter of what is computed, not of how nodes happened to be numbered: stores come by
 * what they store, everything else as a walk from them meets it. So the same update of two
 * parameters is one kernel. What no store needs is left out. */
#ifndef LZ_PLAN_KERNEL_ORDER_H
#define LZ_PLAN_KERNEL_ORDER_H

#include "plan/group.h"

typedef struct lz_eorder {
    uint32_t *items, *masks, *stores; /* operands before users, parents before children; all stores */
    size_t n_items, n_masks;
} lz_eorder;

LZ_MUST_USE lz_err *lz_emit_order(const lz_group *g, lz_arena *arena, lz_eorder *out);

#endif
