/* checkpoint.h - values that are computed again on the way back.
 *
 * What was recorded in the scope is a graph of nodes that never change, so computing it again is
 * copying that graph, down to the values that came from outside. Those are made to wait for the
 * gradient that arrives: or the copy would be the same nodes, and would be there from the start. */
#ifndef LZ_AUTOGRAD_CHECKPOINT_H
#define LZ_AUTOGRAD_CHECKPOINT_H

#include "autograd/tape.h"

/* Everything that the node's scope kept is there again, after this gradient. */
LZ_MUST_USE lz_err *lz_checkpoint_restore(lz_gnode *n, lz_tensor *grad);
void lz_checkpoint_forget(lz_gnode *n); /* the node needs nothing of it any more */
void lz_checkpoints_close(lz_tape *t);  /* scopes that are still open */

#endif
