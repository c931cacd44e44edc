/* autograd.h - gradients: the tape, and the way back along it.
 *
 * A tensor that requires a gradient makes the operators that see it write down how they are
 * differentiated. lz_backward goes back along that and leaves gradients in the leaves; what it
 * computes is recorded like everything else, so forward pass, backward pass and update become
 * one graph. The rules are PyTorch's: what is a leaf, what may be written in place, when
 * gradients are added, when the tape is freed. */
#ifndef LAZULI_AUTOGRAD_H
#define LAZULI_AUTOGRAD_H

#include <lazuli/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tensors that require gradients ---- */

/* Leaves of a floating dtype only. */
LZ_API bool lz_set_requires_grad(lz_tensor *t, bool on);
LZ_API bool lz_requires_grad(const lz_tensor *t);
LZ_API bool lz_is_leaf(const lz_tensor *t); /* made by the program, not by a differentiated operator */
/* What lz_backward left; borrowed until the next one or lz_set_grad. NULL: nothing. */
LZ_API lz_tensor *lz_grad_of(const lz_tensor *t);
LZ_API bool lz_set_grad(lz_tensor *t, lz_tensor *grad); /* NULL: forgets it */
LZ_API bool lz_retain_grad(lz_tensor *t);               /* of a tensor that is no leaf, too */
LZ_API const char *lz_grad_fn(const lz_tensor *t);      /* the operator behind it, "mul.Tensor"; NULL: none */
LZ_API lz_loc lz_grad_fn_place(const lz_tensor *t);     /* and the line */

/* Shares memory, has no gradient. */
LZ_API lz_tensor *lz_detached(lz_ctx *c, lz_tensor *t);

/* ---- going back ---- */

typedef struct lz_backward_args {
    lz_tensor *gradient; /* of a root that has more than one element; cast to its dtype */
    bool retain_graph;   /* the tape stays; create_graph implies it */
    bool create_graph;   /* gradients can be differentiated */
    lz_tensors inputs;   /* gradients are left in these only; n 0: in all leaves */
} lz_backward_args;

/* lz_backward(c, loss), lz_backward(c, loss, .create_graph = true): adds to the gradients of leaves.
 * args NULL, here and below: all defaults. */
LZ_API bool lz_backward_at(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args);

typedef struct lz_grad_args {
    lz_tensors gradients; /* one for each output, NULL: ones, for a scalar; n 0: all NULL */
    bool retain_graph, create_graph;
    bool allow_unused; /* out[i] NULL where an input has no part in the outputs, instead of an error */
} lz_grad_args;

/* lz_grad(c, LZ_TENSORS(loss), LZ_TENSORS(x, y), grads, .create_graph = true): gradients of outputs for
 * inputs, which get no .grad. out: one for each input, of the scope. */
LZ_API bool lz_grad_at(lz_ctx *c, lz_loc at, lz_tensors outputs, lz_tensors inputs, lz_tensor **out,
                       const lz_grad_args *args);

#ifndef __cplusplus
#define lz_backward(c, ...)                                                                                  \
    LZ_CALL(lz_backward_at((c), LZ_HERE, LZ_LAST(__VA_ARGS__),                                               \
                           &(lz_backward_args){ .retain_graph = false, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_grad(c, outputs, inputs, ...)                                                                     \
    LZ_CALL(lz_grad_at((c), LZ_HERE, (outputs), (inputs), LZ_LAST(__VA_ARGS__),                              \
                       &(lz_grad_args){ .retain_graph = false, LZ_KEYWORDS(__VA_ARGS__) }))
#endif

/* ---- scopes ---- */

typedef enum lz_grad_mode {
    LZ_GRAD_ON,
    LZ_GRAD_OFF,      /* nothing is written down */
    LZ_GRAD_INFERENCE /* and what is made here can never be part of a tape */
} lz_grad_mode;

LZ_API lz_grad_mode lz_set_grad_mode(lz_ctx *c, lz_grad_mode mode); /* what it was */
LZ_API lz_grad_mode lz_get_grad_mode(const lz_ctx *c);

/* LZ_NO_GRAD(c) { ... }: leave it by its end, not by return, break or goto. */
#define LZ_NO_GRAD(c)   LZ_IN_GRAD_MODE((c), LZ_GRAD_OFF)
#define LZ_INFERENCE(c) LZ_IN_GRAD_MODE((c), LZ_GRAD_INFERENCE)
#define LZ_IN_GRAD_MODE(c, mode)                                                                             \
    for (int lz_mode_was = (int)lz_set_grad_mode((c), (mode)), lz_mode_once = 1; lz_mode_once;               \
         lz_mode_once = 0, (void)lz_set_grad_mode((c), (lz_grad_mode)lz_mode_was))

/* What is recorded between the two is not kept for the way back, but computed again there from
 * what it began with: less memory, more work. */
LZ_API bool lz_checkpoint_begin(lz_ctx *c);
LZ_API bool lz_checkpoint_end(lz_ctx *c);

/* ---- hooks ---- */

/* Sees the gradient of a tensor before it goes on; may give another of the same sizes and dtype, or NULL
 * to leave it. It may add and remove hooks, also itself. Returns an id, 0 on failure. */
typedef lz_tensor *lz_grad_hook(lz_ctx *c, lz_tensor *grad, void *user);
LZ_API int64_t lz_add_grad_hook(lz_tensor *t, lz_grad_hook *hook, void *user);
/* After the gradient of a leaf was added up. */
typedef void lz_leaf_hook(lz_ctx *c, lz_tensor *leaf, void *user);
LZ_API int64_t lz_add_leaf_hook(lz_tensor *t, lz_leaf_hook *hook, void *user);
LZ_API bool lz_remove_hook(lz_tensor *t, int64_t id);

/* ---- functions of one's own ---- */

typedef struct lz_function_call lz_function_call;
typedef struct lz_function {
    const char *name;
    /* Runs with gradients off. Results are the scope's. */
    lz_err *(*forward)(lz_function_call *call, lz_tensors in, lz_tensor **out);
    /* grad_out: NULL where there is none; grad_in: one for each input, NULL for none. */
    lz_err *(*backward)(lz_function_call *call, lz_tensors grad_out, lz_tensor **grad_in);
    /* When nobody needs the call any more, once, also if it failed; may be NULL. */
    void (*drop)(void *user);
} lz_function;

/* The function is copied, its name is not: that outlives what was computed. */
LZ_API bool lz_function_apply(lz_ctx *c, const lz_function *f, void *user, lz_tensors in, lz_tensor **out,
                              size_t nout);
LZ_API lz_ctx *lz_function_ctx(lz_function_call *call);
LZ_API void *lz_function_user(lz_function_call *call);
LZ_API bool lz_function_save(lz_function_call *call, lz_tensor *t); /* forward: inputs, results, anything */
LZ_API lz_tensor *lz_function_saved(lz_function_call *call, size_t i); /* backward: in the order of saving */
LZ_API bool lz_function_needs(const lz_function_call *call,
                              size_t input);                            /* backward: its gradient is wanted */
LZ_API bool lz_function_no_grad(lz_function_call *call, size_t output); /* forward: it never has a gradient */

/* ---- forward mode ---- */

/* Tangents of outputs along tangents of inputs, without going back: f is called with gradients
 * on, and what it computes is differentiated as it goes. out, out_tangents: nout, of the scope;
 * a tangent is NULL where nothing depends on the inputs. Results have a history where gradients are
 * on and they depend on something that requires them: inputs, tangents, what f looks at. So tangents
 * can be differentiated, backward or by another lz_jvp around this one. */
typedef lz_err *lz_tangent_fn(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user);
LZ_API bool lz_jvp(lz_ctx *c, lz_tangent_fn *f, void *user, lz_tensors in, lz_tensors tangents,
                   lz_tensor **out, lz_tensor **out_tangents, size_t nout);

#ifdef __cplusplus
}
#endif
#endif
