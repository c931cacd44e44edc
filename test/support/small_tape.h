/* small_tape.h - the shortest tape that gradients of any order need, for tests.
 *
 * Calls that have derivatives are written down as they are recorded, with what must be kept of
 * them and no more; going back calls their formulas, whose calls are written down too if higher
 * gradients are wanted. */
#ifndef LZ_SMALL_TAPE_H
#define LZ_SMALL_TAPE_H

#include "lazy/recorder.h"

typedef struct tape_call {
    uint16_t op;
    uint64_t wanted;
    const lz_lv *args, *results; /* where gradients go and come from */
    const lz_lv *kept_args, *kept_results;
} tape_call;

typedef struct small_tape {
    lz_recorder r;
    LZ_VEC(tape_call) calls;
    LZ_VEC(bool) wanted; /* by slot: has, or may have, a gradient */
    LZ_VEC(lz_lv) grads; /* by slot, while going back; None: none */
    bool on;
} small_tape;

void small_tape_init(small_tape *t, lz_ctx *c);
void small_tape_deinit(small_tape *t);

/* Gradients for this value are wanted. */
LZ_MUST_USE lz_err *small_tape_want(small_tape *t, const lz_lv *v);
/* Calls an operator of any kind. */
LZ_MUST_USE lz_err *small_tape_call(small_tape *t, uint16_t op, const lz_lv *args, lz_lv *results);
/* Gradients of values x from gradients of values y; None where none comes. again: what is
 * called on the way is written down as well. */
LZ_MUST_USE lz_err *small_tape_back(small_tape *t, const lz_lv *y, const lz_lv *gy, size_t ny, const lz_lv *x,
                                    lz_lv *gx, size_t nx, bool again);

#endif
