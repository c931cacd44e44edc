/* tape.h - what is written down while operators are recorded: nodes, and the edges between
 * them.
 *
 * A node stands for one differentiated call and never changes, except that it can be spent:
 * what it kept is then gone. Edges lead from a call to the calls that made its arguments, so a
 * node's number is above those of all nodes that it leads to. Tensors count their node, nodes
 * count what they lead to and the storages they keep, and nothing counts the other way round:
 * dropping the last tensor drops the tape behind it, without recursion. */
#ifndef LZ_AUTOGRAD_TAPE_H
#define LZ_AUTOGRAD_TAPE_H

#include "autograd/grad.h"
#include "lazy/ctx.h"
#include <lazuli/autograd.h>

typedef struct lz_gnode lz_gnode;

/* Result `index` of a node; node NULL: nothing. */
typedef struct lz_gedge {
    lz_gnode *node;
    uint32_t index;
} lz_gedge;

typedef enum lz_gkind {
    LZ_GNODE_OP,       /* an operator of the table */
    LZ_GNODE_LEAF,     /* where gradients are left */
    LZ_GNODE_CUT,      /* gives zeros */
    LZ_GNODE_FUNCTION, /* of the user */
    LZ_GNODE_KINDS
} lz_gkind;

/* A tensor among arguments or results, as far as it was kept. */
typedef struct lz_gitem {
    const lz_spec *spec; /* NULL: an absent tensor */
    lz_alias *alias;     /* kept whole, one count; NULL: its facts */
    int64_t offset;
    uint32_t writes; /* of the storage when it was kept */
} lz_gitem;

typedef struct lz_ghook {
    struct lz_ghook *next;
    int64_t id;
    uint32_t index; /* of the result */
    lz_grad_hook *fn;
    lz_leaf_hook *leaf;
    lz_grad_meta *meta; /* neither: the gradient is left there; one count */
    void *user;
} lz_ghook;

struct lz_gnode {
    uint32_t refs;
    uint16_t op;
    uint8_t kind;
    bool spent;
    bool
        moves; /* OP: a view of a part of held data; the gradient, too, has its offset as a run-time number */
    uint32_t nargs, nresults; /* values */
    uint32_t nin, nout;       /* tensors among them */
    uint32_t place;           /* of what it kept, in redo */
    uint32_t order;           /* in a list of nodes that tangents go along */
    uint64_t seq, wanted, mark;
    lz_loc at;
    lz_tape *tape;
    lz_gnode *prev, *next; /* all of the tape */
    struct lz_gpending *pending;
    struct lz_redo *redo; /* where missing values are found again; NULL: none is missing */
    lz_ghook *hooks;
    union {
        lz_grad_meta *meta;          /* LEAF: one count */
        struct lz_function_call *fn; /* FUNCTION */
        const lz_spec *cut;          /* CUT: of the zeros */
    };
    lz_value *values; /* [nargs + nresults]; of tensors only kinds and numbers mean something */
    lz_gitem *items;  /* [nin + nout] */
    lz_gedge *edges;  /* [nin], one count each */
};

/* What a tape knows of a tensor; counted by the tensor, and by the leaf's node. Of the tensor
 * that others are views of, the storage has one, too. */
struct lz_grad_meta {
    uint32_t refs;
    uint32_t family;
    lz_ctx *ctx;
    lz_tensor *t;        /* NULL: gone */
    lz_grad_meta *next;  /* of the storage */
    const lz_spec *spec; /* of a tensor that is gone */
    int64_t offset;
    lz_gedge fn;     /* one count; node NULL: a leaf */
    lz_gnode *leaf;  /* its node; weak */
    lz_tensor *grad; /* one count */
    lz_ghook *hooks; /* of a leaf */
    bool retains;    /* no leaf, but its gradient is left, too */
    bool requires;   /* a leaf, and the user has said so */
};

struct lz_tape {
    lz_ctx *ctx;
    lz_gnode *first, *last;
    uint64_t seq, mark;
    int64_t hook_id;
    uint64_t orders;            /* how often nodes were given one */
    lz_gnode *dead;             /* being freed; by `next` */
    struct lz_spare *spare;     /* recorders that nobody uses */
    struct lz_open_scope *open; /* of checkpoints, the innermost */
    bool keeps_all;             /* values are kept whole, as they were: for tangents */
    bool freeing;
};

/* ---- life (tape.c) ---- */

LZ_MUST_USE lz_err *lz_tape_of(lz_ctx *c, lz_tape **out); /* made if need be */
/* A recorder for one call, to be given back. */
LZ_MUST_USE lz_err *lz_tape_recorder(lz_tape *t, lz_loc at, lz_recorder **out);
void lz_tape_recorder_done(lz_tape *t, lz_recorder *r);
LZ_MUST_USE lz_err *lz_gnode_alloc(lz_tape *t, lz_gkind kind, size_t more, lz_gnode **out);
lz_gnode *lz_gnode_retain(lz_gnode *n);
const char *lz_gnode_name(const lz_gnode *n); /* of its operator or function */
void lz_gnode_release(lz_gnode *n);           /* NULL does nothing */
void lz_gnode_spend(lz_gnode *n);             /* forgets what it kept */
void lz_edges_release(const lz_gedge *edges, size_t n);

LZ_MUST_USE lz_err *lz_meta_create(lz_ctx *c, uint32_t family, lz_grad_meta **out);
void lz_meta_make_base(lz_grad_meta *m, lz_alias *a); /* all views of its family are views of it */
LZ_MUST_USE lz_err *lz_meta_of(lz_tensor *t, lz_grad_meta **out); /* made if need be */
lz_grad_meta *lz_meta_retain(lz_grad_meta *m);
void lz_meta_release(lz_grad_meta *m);
void lz_meta_set_fn(lz_grad_meta *m, lz_gedge e); /* takes over one count */

/* A node for a call of an operator with derivatives of its own. out: the results; of tensors
 * that are not kept whole only the spec is looked at. edges: one for each tensor among the
 * arguments, taken over, also on failure. */
LZ_MUST_USE lz_err *lz_gnode_of_call(lz_tape *t, uint16_t op, lz_loc at, const lz_value *in,
                                     const lz_value *out, uint64_t wanted, const lz_gedge *edges,
                                     size_t nedges, lz_gnode **node);

/* ---- histories (history.c) ---- */

bool lz_grad_required(const lz_tensor *t);
/* Where the gradient of t goes, one count; found anew if the storage was written to since. */
LZ_MUST_USE lz_err *lz_edge_of(lz_tensor *t, lz_loc at, lz_gedge *out);
/* t was made, or rewritten, by this; takes over one count, also on failure. */
LZ_MUST_USE lz_err *lz_history_set(lz_tensor *t, lz_gedge e);
LZ_MUST_USE lz_err *lz_history_write(lz_tensor *t, lz_gedge e, lz_loc at);
/* t may be written to by a call that is differentiated. */
LZ_MUST_USE lz_err *lz_history_check(lz_tensor *t);
/* v shows the storage of t in some way; t has, or had, this spec, offset and edge, which is taken
 * over, also on failure. */
LZ_MUST_USE lz_err *lz_history_strided(lz_tensor *t, const lz_spec *spec, int64_t offset, lz_gedge e,
                                       lz_tensor *v, lz_loc at);
/* A new tensor with the elements that t has now, in a storage of its own, row-major. */
LZ_MUST_USE lz_err *lz_snapshot(lz_tensor *t, lz_tensor **out);

/* ---- calls (tape_record.c) ---- */

lz_err *lz_tape_record(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in, lz_value *out,
                       bool *done);

#endif
