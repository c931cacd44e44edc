/* fuse.h - from the lowered DAG to groups and calls, in an order to run them.
 *
 * Requires a finished DAG. Nodes are visited once, users before operands, so each visit
 * knows which groups use the node. A node that one group uses is computed in that group. A node
 * that several groups use gets a buffer, unless computing it again is cheaper than storing it. So
 * a chain of pointwise nodes, a reduction with the nodes before and after it, and several
 * reductions over one row become one group each. At the end, groups over the same loops that load
 * a common buffer are merged.
 *
 * Every node that has a buffer is written by exactly one group or call (CAT and UPDATE:
 * by several), row-major and dense, before anyone reads it. */
#ifndef LZ_PLAN_FUSE_H
#define LZ_PLAN_FUSE_H

#include "kernel/kernels.h"
#include "plan/group.h"

typedef struct lz_fused_call {
    const lz_low_node *node;
    const lz_low_node *target; /* the node whose buffer the call writes */
    lz_group_view in[LZ_CALL_INPUTS];
} lz_fused_call;

typedef struct lz_fused_step {
    lz_group *group; /* or */
    lz_fused_call *call;
    uint32_t origin; /* of the node that the step computes */
    uint32_t after;  /* a step that must run before, besides the writers of the operands; or LZ_NO_STEP */
    bool waited_for; /* some step is `after` this one */
    uint32_t into;   /* the step that this one was merged into, or LZ_NO_STEP */
    uint32_t place;  /* index in a valid order of the steps: fuse_impl.h */
    uint32_t seen, wanted; /* stamps of the last searches that visited the step, that look for the step */
} lz_fused_step;

enum { LZ_NO_STEP = UINT32_MAX };

typedef struct lz_fused_node {
    bool must;                /* the node needs a buffer */
    bool buffer;              /* the node has a buffer */
    uint32_t demand;          /* 1 + index of the first lz_fuse_demand_item for the node */
    uint32_t writer, reader;  /* 1 + index of the first step that writes, reads the buffer */
    uint32_t writers_end;     /* 1 + a place in the order after all writers; 0: not known */
    uint32_t seen;            /* stamp of the last search that visited the node */
    const lz_low_node *alias; /* a reshape: the node whose buffer this node uses */
} lz_fused_node;

typedef struct lz_fused {
    lz_arena *arena; /* borrowed */
    const lz_lower *dag;
    int room;             /* items of a group, at most */
    bool separate;        /* every node by itself */
    lz_fused_node *nodes; /* by id */
    LZ_VEC(lz_fused_step) steps;
    LZ_VEC(uint32_t) order; /* of the steps */
    struct lz_fuse_lists *lists;
} lz_fused;

/* room: items of a group, up to LZ_GROUP_ITEMS; with 1 each node is a group of its own. */
LZ_MUST_USE
lz_err *lz_fuse(lz_fused *out, const lz_lower *dag, const lz_low_node *const *outputs, size_t n, int room);
void lz_fused_deinit(lz_fused *f);

/* The node whose buffer holds n's elements. */
const lz_low_node *lz_fused_owner(const lz_fused *f, const lz_low_node *n);

/* The first node of the step that can fail: by an index out of range, an integer division by zero, or lack
 * of memory. NULL: the step cannot fail. */
const lz_low_node *lz_fused_step_risk(const lz_fused_step *s);

/* For each node that the step reads from a buffer or input; stops when fn returns false. */
typedef bool lz_read_fn(void *user, const lz_low_node *base);
bool lz_fused_step_reads(const lz_fused_step *s, lz_read_fn *fn, void *user);

#endif
