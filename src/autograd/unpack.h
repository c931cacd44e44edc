/* unpack.h - what nodes kept, as formulas want it. */
#ifndef LZ_AUTOGRAD_UNPACK_H
#define LZ_AUTOGRAD_UNPACK_H

#include "autograd/tape.h"

/* Arguments and results of a call, as kept, for lz_grad_call; with `attached` they are
 * differentiable: arguments lead where they led, results to the node itself. Refused if
 * something was written to since. */
LZ_MUST_USE lz_err *lz_unpack_call(lz_recorder *r, lz_gnode *n, bool attached, lz_lv *args, lz_lv *results);
/* Something that was kept whole; from: where its gradient goes, NULL: it has none. */
LZ_MUST_USE lz_err *lz_unpack_item(const lz_gnode *n, const lz_gitem *x, const lz_gedge *from,
                                   lz_tensor **out);

#endif
