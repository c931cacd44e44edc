/* fuse_impl.h - what the files of fusion share. */
#ifndef LZ_PLAN_FUSE_IMPL_H
#define LZ_PLAN_FUSE_IMPL_H

#include "base/order_list.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "plan/fuse.h"
#include <assert.h>

typedef struct lz_fuse_demand_item {
    uint32_t step, item, next; /* next: 1 + index */
} lz_fuse_demand_item;

typedef struct lz_fuse_step_link {
    uint32_t step, next; /* next: 1 + index */
} lz_fuse_step_link;

/* places: all steps in an order in which they could run. The order stays valid while steps are added and
 * merged, so that a search for the steps that must run between two steps can skip all steps outside that
 * range. A step only ever moves towards the beginning. */
struct lz_fuse_lists {
    LZ_VEC(lz_fuse_demand_item) demands;
    LZ_VEC(lz_fuse_step_link) writers, readers;
    LZ_VEC(uint32_t) stack, seen; /* of a search: steps to look at; those that it met */
    lz_order_list places;
    uint32_t stamp; /* of the last search */
    size_t met;     /* steps that searches met, all together */
};

static inline lz_fused_node *lz_fused_node_of(lz_fused *f, const lz_low_node *n)
{
    assert(n->id < f->dag->n_nodes && f->dag->nodes[n->id] == n);
    return &f->nodes[n->id];
}

static inline int64_t lz_low_node_bytes(const lz_low_node *n)
{
    return n->numel * (int64_t)lz_dtype_size((lz_dtype)n->dtype);
}

/* Finds the nearest buffer of which n is a strided view. *out: that view. Demands the buffer and records that
 * the step reads it. */
LZ_MUST_USE lz_err *lz_fuse_resolve(lz_fused *f, uint32_t step, const lz_low_node *n, lz_group_view *out);

/* Demands the elements of a node given by `rows` (group.h) in a step's group. */
LZ_MUST_USE lz_err *lz_fuse_demand(lz_fused *f, uint32_t step, const lz_low_node *n, int64_t *rows,
                                   uint32_t mask, uint32_t *item);
/* Whether a reduction over `dims`, of `steps` elements each, runs along the other dimensions. Depends on the
 * node alone, because the order of the additions, and so the result, depends on it. */
bool lz_wants_columns(const lz_low_node *x, uint64_t dims, int64_t steps);
/* Makes an item a computed one: demands its operands. *ok false: the group cannot compute it. */
LZ_MUST_USE lz_err *lz_fuse_expand(lz_fused *f, uint32_t step, uint32_t item, bool *ok);

LZ_MUST_USE lz_err *lz_fuse_new_group(lz_fused *f, const lz_low_node *for_node, uint32_t *step);
/* Stores an item of the group to target's buffer, at the address expression `row`. */
LZ_MUST_USE lz_err *lz_fuse_store(lz_fused *f, uint32_t step, uint32_t item, const lz_low_node *target,
                                  const int64_t *row);
LZ_MUST_USE lz_err *lz_fuse_wrote(lz_fused *f, uint32_t step, const lz_low_node *target);
/* The step reads n's buffer. */
LZ_MUST_USE lz_err *lz_fuse_reads(lz_fused *f, uint32_t step, const lz_low_node *n);

/* The step that this one was merged into, or the step itself. */
uint32_t lz_fuse_step(lz_fused *f, uint32_t step);
LZ_MUST_USE lz_err *lz_fuse_add_step(lz_fused *f, lz_fused_step s, uint32_t *out);

/* Whether `host` can write n before all other users of n: *ok false if another user has to run before the
 * host, or if the search is cut off. */
LZ_MUST_USE lz_err *lz_fuse_can_write_first(lz_fused *f, const lz_low_node *n, uint32_t host, bool *ok);
/* *out: step a has to run before b, or the search was cut off. */
LZ_MUST_USE lz_err *lz_fuse_reaches(lz_fused *f, uint32_t a, uint32_t b, bool *out);
/* *ok: no step has to run between a and b, so the two can be merged. direct: one may read directly what the
 * other writes. Moves the two in the order so that lz_fuse_joined can follow at once. */
LZ_MUST_USE lz_err *lz_fuse_can_join(lz_fused *f, uint32_t a, uint32_t b, bool direct, bool *ok);
/* Records that b was merged into a; requires lz_fuse_can_join. */
void lz_fuse_joined(lz_fused *f, uint32_t a, uint32_t b);

LZ_MUST_USE lz_err *lz_fuse_siblings(lz_fused *f);
LZ_MUST_USE lz_err *lz_fuse_order(lz_fused *f);
LZ_MUST_USE lz_err *lz_fuse_order_for_memory(lz_fused *f, const lz_low_node *const *outputs,
                                             size_t n);         /* of the order, what frees memory */
LZ_MUST_USE lz_err *lz_fuse_order_overwrites_last(lz_fused *f); /* of the order, what writes over inputs */

#endif
