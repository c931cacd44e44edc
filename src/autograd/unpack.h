/* unpack.h - the saved values of nodes, in the form that formulas take. */
#ifndef LZ_AUTOGRAD_UNPACK_H
#define LZ_AUTOGRAD_UNPACK_H

#include "autograd/tape.h"

/* The saved arguments and results of a call, for lz_grad_call. With `attached` they have histories: arguments
 * those of the call, results that of the node. An error if a saved value was overwritten. */
LZ_MUST_USE lz_err *lz_unpack_call(lz_recorder *r, lz_tape_node *n, bool attached, lz_low_value *args,
                                   lz_low_value *results);
/* A value that was saved whole. from: its history; NULL: none. */
LZ_MUST_USE lz_err *lz_unpack_item(const lz_tape_node *n, const lz_saved *x, const lz_tape_edge *from,
                                   lz_tensor **out);

#endif
