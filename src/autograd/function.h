/* function.h - nodes of functions that the user defines. */
#ifndef LZ_AUTOGRAD_FUNCTION_H
#define LZ_AUTOGRAD_FUNCTION_H

#include "autograd/tape.h"

typedef struct lz_function_item {
    lz_saved item;
    int origin; /* number of an input; results follow the inputs; -1: neither */
} lz_function_item;

struct lz_function_call {
    lz_function f; /* a copy of the caller's struct */
    void *user;
    lz_ctx *ctx;
    lz_tape_node *node;         /* the node of the call; NULL: in the forward pass */
    LZ_VEC(lz_tensor *) saving; /* in the forward pass, one count each */
    lz_function_item *saved;
    size_t nsaved;
    uint64_t fixed; /* results that never have a gradient */
    uint64_t needs; /* in the backward pass: inputs whose gradient is wanted */
    bool attached;  /* in the backward pass: saved values get a history */
};

/* Gives the gradients of the inputs, owned by the scope; NULL where there is none. */
LZ_MUST_USE lz_err *lz_function_back(lz_tape_node *n, lz_tensor *const *grads, uint64_t needs, bool create,
                                     lz_tensor **out);
bool lz_function_free_saved_values(lz_function_call *call); /* false: no values were saved */
void lz_function_free(lz_function_call *call);

#endif
