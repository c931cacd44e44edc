/* fuse_impl.h - what the files of fusion share. */
#ifndef LZ_PLAN_FUSE_IMPL_H
#define LZ_PLAN_FUSE_IMPL_H

#include "base/order_list.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "plan/fuse.h"

typedef struct lz_demand {
    uint32_t step, item, next; /* next: 1 + index */
} lz_demand;

typedef struct lz_toucher {
    uint32_t step, next; /* next: 1 + index */
} lz_toucher;

/* places: all steps in an order in which they could run. It is kept up while steps are added and
 * become part of each other, so that a search for what has to run before a step can leave out all
 * that is too early to matter. A step only ever moves towards the beginning. */
struct lz_fuse_lists {
    LZ_VEC(lz_demand) demands;
    LZ_VEC(lz_toucher) writers, readers;
    LZ_VEC(uint32_t) stack, seen; /* of a search: steps to look at; those that it met */
    lz_order_list places;
    uint32_t stamp; /* of the last search */
    size_t met;     /* steps that searches met, all together */
};

static inline lz_fnode *lz_fnode_of(lz_fused *f, const lz_ln *n)
{
    return &f->nodes[n->id];
}

static inline int64_t lz_ln_bytes(const lz_ln *n)
{
    return n->numel * (int64_t)lz_dtype_size((lz_dtype)n->dtype);
}

/* What n shows of the nearest buffer that it is a strided view of; that one is asked for,
 * and the step will read it. */
LZ_MUST_USE lz_err *lz_fuse_resolve(lz_fused *f, uint32_t step, const lz_ln *n, lz_gview *out);

/* Asks for a node at a place of a step's group. */
LZ_MUST_USE lz_err *lz_fuse_demand(lz_fused *f, uint32_t step, const lz_ln *n, int64_t *rows, uint32_t mask,
                                   uint32_t *item);
/* Whether a reduction over these dimensions, of so many steps, walks along the others. It is
 * a matter of the node alone: the order in which elements are added up depends on it. */
bool lz_wants_columns(const lz_ln *x, uint64_t dims, int64_t steps);
/* Computes an item: asks for its operands. *ok false: it cannot be computed there. */
LZ_MUST_USE lz_err *lz_fuse_expand(lz_fused *f, uint32_t step, uint32_t item, bool *ok);

LZ_MUST_USE lz_err *lz_fuse_new_group(lz_fused *f, const lz_ln *for_node, uint32_t *step);
/* Stores an item of the group into target, at the address that `row` is. */
LZ_MUST_USE lz_err *lz_fuse_store(lz_fused *f, uint32_t step, uint32_t item, const lz_ln *target,
                                  const int64_t *row);
LZ_MUST_USE lz_err *lz_fuse_wrote(lz_fused *f, uint32_t step, const lz_ln *target);
/* The step reads n's buffer. */
LZ_MUST_USE lz_err *lz_fuse_reads(lz_fused *f, uint32_t step, const lz_ln *n);

/* The step that this one is part of now. */
uint32_t lz_fuse_step(lz_fused *f, uint32_t step);
LZ_MUST_USE lz_err *lz_fuse_add_step(lz_fused *f, lz_step s, uint32_t *out);

/* Whether n can be written by `host` before all others that want it: *ok false if one of them has
 * to run before the host, or it would take too long to tell. */
LZ_MUST_USE lz_err *lz_fuse_can_write_first(lz_fused *f, const lz_ln *n, uint32_t host, bool *ok);
/* Whether step a has to run before b, or it would take too long to tell. */
LZ_MUST_USE lz_err *lz_fuse_reaches(lz_fused *f, uint32_t a, uint32_t b, bool *out);
/* Whether nothing has to run between two steps, which then can be one: *ok. direct: not counting
 * what one reads directly from the other. The places are such that they can be joined at once. */
LZ_MUST_USE lz_err *lz_fuse_can_join(lz_fused *f, uint32_t a, uint32_t b, bool direct, bool *ok);
/* b has become part of a; requires lz_fuse_can_join. */
void lz_fuse_joined(lz_fused *f, uint32_t a, uint32_t b);

LZ_MUST_USE lz_err *lz_fuse_siblings(lz_fused *f);
LZ_MUST_USE lz_err *lz_fuse_order(lz_fused *f);
LZ_MUST_USE lz_err *lz_fuse_free_soon(lz_fused *f, const lz_ln *const *outputs,
                                      size_t n);   /* of the order, what frees memory */
LZ_MUST_USE lz_err *lz_fuse_put_late(lz_fused *f); /* of the order, what writes over inputs */

#endif
