/* backward.h - gradients of tensors: one backward pass from roots to leaves, or to inputs. */
#ifndef LZ_AUTOGRAD_BACKWARD_H
#define LZ_AUTOGRAD_BACKWARD_H

#include "autograd/tape.h"

/* Accumulates gradients in the leaves behind root, or in args->inputs: lz_backward. */
LZ_MUST_USE lz_err *lz_backward_leaves(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args);
/* Gives the gradients of the inputs: lz_grad. out: one for each input, owned by the scope; NULL where there
 * is none, and after an error. */
LZ_MUST_USE lz_err *lz_backward_inputs(lz_ctx *c, lz_loc at, lz_tensors outputs, lz_tensors inputs,
                                       lz_tensor **out, const lz_grad_args *args);

#endif
