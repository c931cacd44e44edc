/* small_tape.h - the tape for those who call operators by number, with values of a recorder. */
#ifndef LZ_SMALL_TAPE_H
#define LZ_SMALL_TAPE_H

#include "lazy/recorder.h"

typedef struct small_tape {
    lz_recorder r;
    bool on; /* false: nothing is written down */
} small_tape;

void small_tape_init(small_tape *t, lz_ctx *c);
void small_tape_deinit(small_tape *t);

/* Gradients for this value are wanted. */
LZ_MUST_USE lz_err *small_tape_want(small_tape *t, const lz_low_value *v);
/* Calls an operator of any kind. */
LZ_MUST_USE lz_err *small_tape_call(small_tape *t, uint16_t op, const lz_low_value *args,
                                    lz_low_value *results);
/* Gradients of values x from gradients of values y; None where none comes. again: what is
 * called on the way is written down as well. */
LZ_MUST_USE lz_err *small_tape_back(small_tape *t, const lz_low_value *y, const lz_low_value *gy, size_t ny,
                                    const lz_low_value *x, lz_low_value *gx, size_t nx, bool again);

#endif
