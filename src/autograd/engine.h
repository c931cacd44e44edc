/* engine.h - one way back along a tape.
 *
 * Gradients wait at nodes until the node is the last one recorded of all that wait: then
 * nothing can be added to them any more, because edges lead to earlier nodes only. No
 * recursion, whatever the depth. */
#ifndef LZ_AUTOGRAD_ENGINE_H
#define LZ_AUTOGRAD_ENGINE_H

#include "autograd/tape.h"

/* Where a gradient is taken out: of a tensor that was asked for. */
typedef struct lz_capture {
    lz_gedge edge;           /* borrowed */
    lz_tensor *grad;         /* found, one count; NULL: none came */
    struct lz_capture *next; /* of the same node */
} lz_capture;

typedef struct lz_going {
    lz_loc at;
    const lz_gedge *roots; /* borrowed */
    lz_tensor *const *grads;
    size_t nroots;
    lz_capture *captures; /* n 0: gradients are left in all leaves */
    size_t ncaptures;
    bool retain, create;
} lz_going;

LZ_MUST_USE lz_err *lz_engine_run(lz_ctx *c, const lz_going *g);
/* Through one node: gradients of its arguments, by edge, of the scope; NULL where there is none. */
LZ_MUST_USE lz_err *lz_engine_node(lz_ctx *c, lz_gnode *n, lz_tensor *const *grads, uint64_t wanted,
                                   bool create, lz_tensor **out);
/* Where the backward pass of a node is recorded: its line, marked (LZ_COL_BACKWARD). */
lz_loc lz_engine_place(const lz_gnode *n);
typedef LZ_VEC(lz_gnode *) lz_gnodes;
/* All nodes behind some edges, the first recorded first. */
LZ_MUST_USE lz_err *lz_engine_reach(lz_ctx *c, const lz_gedge *roots, size_t n, lz_gnodes *out);
LZ_MUST_USE lz_err *lz_engine_zeros(lz_ctx *c, lz_loc at, const lz_spec *s, lz_tensor **out);
/* An error unless t is a tensor of the context with these sizes and, unless that does not matter, this dtype;
 * `what` and `i` name it there. */
LZ_MUST_USE lz_err *lz_engine_fits(const lz_ctx *c, const char *what, size_t i, const lz_tensor *t,
                                   const lz_spec *due, bool same_dtype);
/* What such a node kept is gone. */
LZ_MUST_USE lz_err *lz_engine_spent(const lz_gnode *n);
/* Adds to what a leaf has. */
LZ_MUST_USE lz_err *lz_engine_leave(lz_grad_meta *m, lz_tensor *grad, bool create, lz_loc at);

#endif
