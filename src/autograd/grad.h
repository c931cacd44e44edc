/* grad.h - what a tape needs of derivatives: what to keep of a call, and how to
 * differentiate it.
 *
 * Calls are known by operator and values (lz_low_value) of a recorder; whatever is called in the
 * backward pass goes through the recorder's apply, so a tape that sets `apply` sees the whole pass and
 * gradients of gradients need nothing else. */
#ifndef LZ_AUTOGRAD_GRAD_H
#define LZ_AUTOGRAD_GRAD_H

#include "autograd/grad_row.h"
#include "lazy/recorder.h"

/* What a node saves. Bit i stands for argument i (without out arguments); the results follow. */
typedef struct lz_grad_needs {
    uint64_t whole; /* elements are needed */
    uint64_t facts; /* dtype and sizes are needed */
} lz_grad_needs;

/* The number of arguments with bits. */
int lz_grad_nargs(uint16_t op);
/* What a call must save for gradients of the arguments `wanted`. Requires an operator with derivatives of its
 * own. */
lz_grad_needs lz_grad_keeps(uint16_t op, uint64_t wanted);
/* What is saved of a value: the whole, its facts, or None. Numbers and texts are unchanged. Lists are copied
 * to the recorder's arena. */
LZ_MUST_USE lz_err *lz_grad_keep(lz_recorder *r, const lz_low_value *v, bool whole, bool facts,
                                 lz_low_value *out);

/* Gradients of arguments from gradients of results; at least one gradient must be given. args and results: as
 * lz_grad_keep saves them. grads: one for each result, None if there is none; a list for a list. out: one for
 * each argument, summed and cast to the argument's sizes and dtype; a list for a list; None if the gradient
 * is not wanted or does not exist. */
LZ_MUST_USE lz_err *lz_grad_call(lz_recorder *r, uint16_t op, const lz_low_value *args,
                                 const lz_low_value *results, const lz_low_value *grads, uint64_t wanted,
                                 lz_low_value *out);

/* Tangents of results from tangents of arguments; args and results must be whole. A missing tangent is None;
 * at least one must be given. LZ_ERR_UNSUPPORTED: the operator needs two backward steps. */
LZ_MUST_USE lz_err *lz_grad_forward(lz_recorder *r, uint16_t op, const lz_low_value *args,
                                    const lz_low_value *results, const lz_low_value *tangents,
                                    lz_low_value *out);

#endif
