/* tape.h - the tape: a node for each differentiated call, and the edges between nodes.
 *
 * A node stands for one differentiated call and never changes, except that its saved values can
 * be freed. Edges lead from a call to the calls that made its arguments, so a
 * node's number is above those of all nodes that it leads to. Tensors count their node, nodes
 * count what they lead to and the storages they keep, and nothing counts the other way round:
 * dropping the last tensor drops the tape behind it, without recursion. */
#ifndef LZ_AUTOGRAD_TAPE_H
#define LZ_AUTOGRAD_TAPE_H

#include "autograd/grad.h"
#include "lazy/tape_api.h"
#include <lazuli/autograd.h>

typedef struct lz_tape_node lz_tape_node;
typedef struct lz_grad_meta lz_grad_meta;

/* Result `index` of a node; node NULL: nothing. */
typedef struct lz_tape_edge {
    lz_tape_node *node;
    uint32_t index;
} lz_tape_edge;

typedef enum lz_tape_node_kind {
    LZ_TAPE_NODE_OP,       /* an operator of the table */
    LZ_TAPE_NODE_LEAF,     /* where gradients are accumulated */
    LZ_TAPE_NODE_CUT,      /* the gradient becomes zeros */
    LZ_TAPE_NODE_FUNCTION, /* a function of the user */
    LZ_TAPE_NODE_KINDS
} lz_tape_node_kind;

typedef struct lz_tape_hook {
    struct lz_tape_hook *next;
    int64_t id;
    uint32_t index; /* of the result */
    lz_grad_hook *fn;
    lz_leaf_hook *leaf;
    lz_grad_meta *meta; /* neither fn nor leaf is set: the gradient is accumulated there; one count */
    void *user;
} lz_tape_hook;

struct lz_tape_node {
    uint32_t refs;
    uint16_t op;
    uint8_t kind;
    bool freed_saved_values;
    /* OP: the result is a view of a part of held data; the offset of its gradient is a run-time number too */
    bool moves;
    uint32_t nargs, nresults; /* values */
    uint32_t nin, nout;       /* tensors among them */
    uint32_t place;           /* number of the node's first value in recomputation->kept */
    uint32_t order;           /* number in the list of a forward-mode pass */
    uint64_t seq, wanted, mark;
    lz_loc at;
    lz_tape *tape;
    lz_tape_node *prev, *next; /* all nodes of the tape */
    struct lz_tape_pending *pending;
    struct lz_recomputation *recomputation; /* recomputes missing values; NULL: no value is missing */
    lz_tape_hook *hooks;
    union {
        lz_grad_meta *meta;          /* LEAF: one count */
        struct lz_function_call *fn; /* FUNCTION */
        const lz_spec *cut;          /* CUT: the spec of the zeros */
    };
    lz_value *values;    /* [nargs + nresults]; of tensors only kinds and list lengths are valid */
    lz_saved *items;     /* [nin + nout] */
    lz_tape_edge *edges; /* [nin], one count each */
};

/* What a tape knows of a tensor. Counted by the tensor and by the leaf's node; also by the storage, if other
 * tensors are views of the tensor. */
struct lz_grad_meta {
    lz_attachment base;
    lz_ctx *ctx;
    lz_tape_edge fn;     /* one count; node NULL: a leaf */
    lz_tape_node *leaf;  /* its node; weak */
    lz_tensor *grad;     /* one count */
    lz_tape_hook *hooks; /* of a leaf */
    bool retains;        /* the tensor is not a leaf, but its gradient is accumulated */
    bool requires;       /* a leaf for which the user has required a gradient */
};

struct lz_tape {
    lz_ctx *ctx;
    lz_tape_node *first, *last;
    uint64_t seq, mark;
    int64_t hook_id;
    uint64_t orders;            /* the number of numberings that lz_tape_node.order has had */
    lz_tape_node *dead;         /* nodes that wait to be freed, linked by `next` */
    struct lz_spare *spare;     /* unused recorders */
    struct lz_open_scope *open; /* the innermost open checkpoint */
    bool keeps_all;             /* saved values are whole copies, for tangents */
    bool freeing;
};

/* ---- life (tape.c) ---- */

LZ_MUST_USE lz_err *lz_tape_of(lz_ctx *c, lz_tape **out); /* created by the first call */
/* A recorder for one call; give it back with lz_tape_recorder_done. */
LZ_MUST_USE lz_err *lz_tape_recorder(lz_tape *t, lz_loc at, lz_recorder **out);
void lz_tape_recorder_done(lz_tape *t, lz_recorder *r);
LZ_MUST_USE lz_err *lz_tape_node_alloc(lz_tape *t, lz_tape_node_kind kind, size_t more, lz_tape_node **out);
lz_tape_node *lz_tape_node_retain(lz_tape_node *n);
const char *lz_tape_node_name(const lz_tape_node *n); /* of its operator or function */
void lz_tape_node_release(lz_tape_node *n);           /* NULL does nothing */
void lz_tape_node_free_saved_values(lz_tape_node *n);
void lz_edges_release(const lz_tape_edge *edges, size_t n);

/* New attachment with the history of t; the caller has the only count. */
LZ_MUST_USE lz_err *lz_meta_create(const lz_tensor *t, lz_grad_meta **out);
LZ_MUST_USE lz_err *lz_meta_of(lz_tensor *t, lz_grad_meta **out); /* created by the first call */
static inline lz_grad_meta *lz_meta_at(const lz_tensor *t)        /* NULL: nothing is attached */
{
    return (lz_grad_meta *)(void *)lz_tensor_slot(t)->attached;
}
lz_grad_meta *lz_meta_retain(lz_grad_meta *m);
void lz_meta_release(lz_grad_meta *m);
void lz_meta_set_fn(lz_grad_meta *m, lz_tape_edge e); /* takes over one count */

/* A node for a call of an operator with derivatives of its own. out: the results; a tensor that is not saved
 * whole gives only its spec. edges: one for each tensor among the arguments, taken over, also on failure. */
LZ_MUST_USE lz_err *lz_tape_node_of_call(lz_tape *t, uint16_t op, lz_loc at, const lz_value *in,
                                         const lz_value *out, uint64_t wanted, const lz_tape_edge *edges,
                                         size_t nedges, lz_tape_node **node);

/* ---- histories (history.c) ---- */

bool lz_grad_required(const lz_tensor *t);
/* Sets whether t, a leaf, requires a gradient. */
LZ_MUST_USE lz_err *lz_grad_require(lz_tensor *t, bool on);
/* Where the gradient of t goes, one count. Derives the history again if the storage was written to. */
LZ_MUST_USE lz_err *lz_edge_of(lz_tensor *t, lz_loc at, lz_tape_edge *out);
/* Sets the history of t after a call that made or rewrote t; takes over one count, also on failure. */
LZ_MUST_USE lz_err *lz_history_set(lz_tensor *t, lz_tape_edge e);
LZ_MUST_USE lz_err *lz_history_write(lz_tensor *t, lz_tape_edge e, lz_loc at);
/* Checks that a differentiated call may write to t. */
LZ_MUST_USE lz_err *lz_history_check(lz_tensor *t);
/* Sets the history of v, a strided view of t's storage. t has, or had, this spec, offset and edge; the edge
 * is taken over, also on failure. */
LZ_MUST_USE lz_err *lz_history_strided(lz_tensor *t, const lz_spec *spec, int64_t offset, lz_tape_edge e,
                                       lz_tensor *v, lz_loc at);

/* ---- calls (tape_record.c) ---- */

lz_err *lz_tape_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                       bool *done);

#endif
