/* checkpoint.h - values that are computed again in the backward pass.
 *
 * The scope's nodes are a graph that never changes, so computing its values again means copying that
 * graph, down to the values from outside the scope. The copy makes these values depend on the gradient
 * that arrives: otherwise hash-consing would find the old nodes, and nothing would be recomputed. */
#ifndef LZ_AUTOGRAD_CHECKPOINT_H
#define LZ_AUTOGRAD_CHECKPOINT_H

#include "autograd/tape.h"

/* Restores all saved values of the node's checkpoint. They are computed after this gradient. */
LZ_MUST_USE lz_err *lz_checkpoint_restore(lz_tape_node *n, lz_tensor *grad);
void lz_checkpoint_forget(lz_tape_node *n); /* the node no longer needs values of its checkpoint */
void lz_checkpoints_close(lz_tape *t);      /* closes checkpoints that are still open */

#endif
