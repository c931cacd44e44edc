/* kernel_order.h - in which order the parts of a group become parts of a kernel.
 *
 * The order depends on what is computed, not on how nodes happen to be numbered: stores are sorted by
 * what they store, and a walk from the stores orders everything else. So the same update of two
 * parameters is one kernel. Items that no store needs are left out. */
#ifndef LZ_PLAN_KERNEL_ORDER_H
#define LZ_PLAN_KERNEL_ORDER_H

#include "plan/group.h"

typedef struct lz_kernel_order {
    uint32_t *items, *masks, *stores; /* operands before users; parents before children; all stores */
    size_t n_items, n_masks;
} lz_kernel_order;

LZ_MUST_USE lz_err *lz_kernel_order_find(const lz_group *g, lz_arena *arena, lz_kernel_order *out);

#endif
