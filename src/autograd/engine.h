/* engine.h - one backward pass along a tape.
 *
 * Gradients wait at nodes until the node is the last one recorded of all that wait: then
 * nothing can be added to them any more, because edges lead to earlier nodes only. No
 * recursion, whatever the depth. */
#ifndef LZ_AUTOGRAD_ENGINE_H
#define LZ_AUTOGRAD_ENGINE_H

#include "autograd/tape.h"

/* A requested gradient: of lz_grad, or of lz_backward with inputs. */
typedef struct lz_capture {
    lz_tape_edge edge;       /* borrowed */
    lz_tensor *grad;         /* the gradient, one count; NULL: none arrived */
    struct lz_capture *next; /* the next capture of the same node */
} lz_capture;

typedef struct lz_backward_run {
    lz_loc at;
    const lz_tape_edge *roots; /* borrowed */
    lz_tensor *const *grads;
    size_t nroots;
    lz_capture *captures; /* n 0: gradients are accumulated in all leaves */
    size_t ncaptures;
    bool retain, create;
} lz_backward_run;

LZ_MUST_USE lz_err *lz_engine_run(lz_ctx *c, const lz_backward_run *g);
/* Runs the backward pass of one node. Gives the gradients of its arguments, by edge, owned by the scope; NULL
 * where there is none. */
LZ_MUST_USE lz_err *lz_engine_node(lz_ctx *c, lz_tape_node *n, lz_tensor *const *grads, uint64_t wanted,
                                   bool create, lz_tensor **out);
/* Where the backward pass of a node is recorded: the node's line, marked with LZ_COL_BACKWARD. */
lz_loc lz_engine_place(const lz_tape_node *n);
typedef LZ_VEC(lz_tape_node *) lz_tape_nodes;
/* All nodes that can be reached from the edges, in the order of recording. */
LZ_MUST_USE lz_err *lz_engine_reach(lz_ctx *c, const lz_tape_edge *roots, size_t n, lz_tape_nodes *out);
LZ_MUST_USE lz_err *lz_engine_zeros(lz_ctx *c, lz_loc at, const lz_spec *s, lz_tensor **out);
/* Checks that t is a tensor of the context with these sizes and, if required, this dtype. `what` and `i` name
 * t in the message. */
LZ_MUST_USE lz_err *lz_engine_fits(const lz_ctx *c, const char *what, size_t i, const lz_tensor *t,
                                   const lz_spec *expected, bool same_dtype);
/* The error for a node whose saved values were freed. */
LZ_ERROR lz_err *lz_engine_values_were_freed(const lz_tape_node *n);
/* Adds a gradient to the gradient of a leaf. */
LZ_MUST_USE lz_err *lz_engine_accumulate(lz_grad_meta *m, lz_tensor *grad, bool create, lz_loc at);

#endif
