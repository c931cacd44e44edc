/* function.h - nodes that a user's function is behind. */
#ifndef LZ_AUTOGRAD_FUNCTION_H
#define LZ_AUTOGRAD_FUNCTION_H

#include "autograd/tape.h"

typedef struct lz_function_item {
    lz_gitem item;
    int origin; /* an input, then come results; -1: neither */
} lz_function_item;

struct lz_function_call {
    lz_function f; /* a copy: the caller's may go */
    void *user;
    lz_ctx *ctx;
    lz_gnode *node;             /* whose it is; NULL: going forward */
    LZ_VEC(lz_tensor *) saving; /* while going forward, one count each */
    lz_function_item *saved;
    size_t nsaved;
    uint64_t fixed; /* results that never have a gradient */
    uint64_t needs; /* going back: inputs whose gradient is wanted */
    bool attached;  /* the same: what was saved is differentiable */
};

/* Gradients of inputs, of the scope; NULL where there is none. */
LZ_MUST_USE lz_err *lz_function_back(lz_gnode *n, lz_tensor *const *grads, uint64_t needs, bool create,
                                     lz_tensor **out);
bool lz_function_spend(lz_function_call *call); /* forgets what it kept; false: that was nothing */
void lz_function_free(lz_function_call *call);

#endif
