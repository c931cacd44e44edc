/* fuse.h - from the lowered DAG to groups and calls, in an order to run them.
 *
 * Requires a finished DAG. Nodes are visited once, users before operands. Each visit
 * knows where the node is asked for: in one group, it is computed there; in several, it
 * gets a buffer, unless computing it again is cheaper than storing it. So chains of
 * pointwise nodes, reductions with what comes before and after, and several reductions
 * over one row become one group each. Groups over the same loops that share something
 * they load become one at the end.
 *
 * Every node that has a buffer is written by exactly one group or call (CAT and UPDATE:
 * by several), row-major and dense, before anyone reads it. */
#ifndef LZ_PLAN_FUSE_H
#define LZ_PLAN_FUSE_H

#include "plan/group.h"

typedef struct lz_gcall {
    const lz_ln *node;
    const lz_ln *target; /* whose buffer it writes: that of the node */
    lz_gview in[4];
} lz_gcall;

typedef struct lz_step {
    lz_group *group; /* or */
    lz_gcall *call;
    uint32_t origin; /* of the node that it is for */
    uint32_t after;  /* a step that must have run, besides those that write what is read; or LZ_NO_STEP */
    bool waited_for; /* some step is `after` this one */
    uint32_t into;   /* the step that this one became part of, or LZ_NO_STEP */
    uint32_t place;  /* in an order in which the steps could run: fuse_impl.h */
    uint32_t seen, wanted; /* stamps of the searches that met it, that look for it */
} lz_step;

enum { LZ_NO_STEP = UINT32_MAX };

typedef struct lz_fnode {
    bool must;               /* someone needs its buffer */
    bool buffer;             /* it has one */
    uint32_t demand;         /* 1 + index of the first place where it is asked for */
    uint32_t writer, reader; /* 1 + index of the first step that does */
    uint32_t writers_end;    /* 1 + a place that all writers are before; 0: not known */
    uint32_t seen;           /* stamp of the last search that met it */
    const lz_ln *alias;      /* its buffer is that of this node: a reshape */
} lz_fnode;

typedef struct lz_fused {
    lz_arena *arena; /* borrowed */
    const lz_lower *dag;
    int room;        /* items of a group, at most */
    bool separate;   /* every node by itself */
    lz_fnode *nodes; /* by id */
    LZ_VEC(lz_step) steps;
    LZ_VEC(uint32_t) order; /* of the steps */
    struct lz_fuse_lists *lists;
} lz_fused;

/* room: items of a group, up to LZ_GROUP_ITEMS; with 1 each node is a group of its own. */
LZ_MUST_USE
lz_err *lz_fuse(lz_fused *out, const lz_lower *dag, const lz_ln *const *outputs, size_t n, int room);
void lz_fused_deinit(lz_fused *f);

/* The node whose buffer holds n's elements. */
const lz_ln *lz_fused_owner(const lz_fused *f, const lz_ln *n);

/* The first node where something can go wrong: an index may be out of range, an integer
 * divided by zero, memory out. NULL: nothing can. */
const lz_ln *lz_step_risk(const lz_step *s);

/* For each node that the step reads from a buffer or input; stops when fn returns false. */
typedef bool lz_read_fn(void *user, const lz_ln *base);
bool lz_step_reads(const lz_step *s, lz_read_fn *fn, void *user);

#endif
