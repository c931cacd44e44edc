/* hooks.h - calling what users have hung on tensors. */
#ifndef LZ_AUTOGRAD_HOOKS_H
#define LZ_AUTOGRAD_HOOKS_H

#include "autograd/tape.h"

/* grads: of the node's results, one count each; hooks may replace them. */
LZ_MUST_USE lz_err *lz_hooks_call(lz_ctx *c, const lz_gnode *n, lz_tensor **grads, bool create, lz_loc at);
/* The gradient of a leaf has been added up. */
void lz_hooks_left(lz_ctx *c, const lz_grad_meta *m);

#endif
