/* recurrent.h - one step of a recurrent cell, forward and backward, for one row of the batch. */
#ifndef LZ_KERNEL_RECURRENT_H
#define LZ_KERNEL_RECURRENT_H

#include "core/recurrent_cell.h"

/* Rows of `n` elements; gates and slopes lie one behind the other. */
typedef struct lz_cell_step {
    int64_t n;
    const void *x, *h, *bias; /* gates: of the input, of the state, and what is added to the latter */
    void *state, *memory;     /* read and written; memory: LSTM only */
    void *saved[8];           /* the first two: the output, the state before */
    const void
        *grad;    /* backward: of the output. state, memory: gradients from later steps, then for earlier */
    void *slopes; /* backward: of the state's gates; then of the input's gate that differs (GRU) */
    void *extra;
} lz_cell_step;

typedef void lz_cell_fn(const lz_cell_step *s);

/* One step of a linear recurrence: gate g is slope[g] times what the weight makes of the state before. All
 * gates add to the state; with a memory, all but the last add to the memory, of which the state takes open
 * times. */
typedef struct lz_linear_step {
    int64_t n;
    int gates;
    const void *slope[4], *keep, *open; /* keep: of the memory, or of the state; open: with a memory only */
    const void *in[4];    /* forward: added to state and memory; backward: gradients of the four results */
    const void *gates_in; /* forward: the product; backward: added to the gradients of the gates */
    void *state, *memory;
    void *out[4];    /* forward: state, state before, memory, memory before; backward: gradients of `in` */
    void *gates_out; /* backward only */
} lz_linear_step;

typedef void lz_linear_fn(const lz_linear_step *s);

/* By cell, or by the number of states - 1; then f32 or f64. The gradient of the state is without what goes
 * through the gates. */
typedef struct lz_cell_math {
    lz_cell_fn *forward[LZ_CELLS][2], *backward[LZ_CELLS][2];
    lz_linear_fn *linear[2][2], *linear_backward[2][2];
} lz_cell_math;

extern const lz_cell_math lz_cell_base, lz_cell_avx2, lz_cell_avx512;

#endif
