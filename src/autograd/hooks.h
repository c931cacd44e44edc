/* hooks.h - calls the hooks that users have added to tensors. */
#ifndef LZ_AUTOGRAD_HOOKS_H
#define LZ_AUTOGRAD_HOOKS_H

#include "autograd/tape.h"

/* grads: of the node's results, one count each; hooks may replace them. */
LZ_MUST_USE lz_err *lz_hooks_call(lz_ctx *c, const lz_tape_node *n, lz_tensor **grads, bool create,
                                  lz_loc at);
/* Calls the hooks of a leaf after a gradient was added to it. */
LZ_MUST_USE lz_err *lz_hooks_accumulated(lz_ctx *c, const lz_grad_meta *m);

#endif
