/* grad.h - what a tape needs of derivatives: what to keep of a call, and how to go back
 * through it.
 *
 * Calls are known by operator and values (lz_lv) of a recorder; whatever is called on the
 * way back goes through the recorder's apply, so a tape that sets it sees all of it and
 * gradients of gradients need nothing else. */
#ifndef LZ_AUTOGRAD_GRAD_H
#define LZ_AUTOGRAD_GRAD_H

#include "autograd/grad_row.h"
#include "lazy/recorder.h"

/* Bit i stands for argument i (without out arguments), then come results. */
typedef struct lz_grad_needs {
    uint64_t whole; /* elements */
    uint64_t facts; /* dtype and sizes */
} lz_grad_needs;

/* How many arguments have bits. */
int lz_grad_nargs(uint16_t op);
/* Of a call of an operator with derivatives of its own, if gradients of the arguments
 * `wanted`, a part of those in its row, will be asked for. */
lz_grad_needs lz_grad_keeps(uint16_t op, uint64_t wanted);
/* A value as it is kept: whole, its facts, or None; numbers and the like stay. Lists are the
 * recorder's own afterwards. */
LZ_MUST_USE lz_err *lz_grad_keep(lz_recorder *r, const lz_lv *v, bool whole, bool facts, lz_lv *out);

/* Gradients of arguments from gradients of results, of which at least one is there. args and
 * results: as kept. grads: one for each result, None if there is none; of a result that is a
 * list, a list. out: one for each argument, None if it is not wanted or gets none; summed to
 * the sizes and cast to the dtype of the argument; of a list, a list. */
LZ_MUST_USE lz_err *lz_grad_call(lz_recorder *r, uint16_t op, const lz_lv *args, const lz_lv *results,
                                 const lz_lv *grads, uint64_t wanted, lz_lv *out);

/* Tangents of results from tangents of arguments; args and results are whole. Tangents that
 * are missing are None, but not all of them. LZ_ERR_UNSUPPORTED: by two backward steps only. */
LZ_MUST_USE lz_err *lz_grad_forward(lz_recorder *r, uint16_t op, const lz_lv *args, const lz_lv *results,
                                    const lz_lv *tangents, lz_lv *out);

#endif
