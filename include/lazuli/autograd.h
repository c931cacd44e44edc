/* autograd.h - gradients: the tape, and the backward pass along it.
 *
 * A call with an argument that requires a gradient writes a tape entry: the operator's derivative and the
 * values that the derivative reads. lz_backward walks the tape backwards and adds gradients to the leaves.
 * The operators of the backward pass are recorded like all others, so forward pass, backward pass and update
 * become one graph. The rules are PyTorch's: what is a leaf, what may be written in place, when
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
/* The sum of the gradients of all lz_backward calls; borrowed until the next lz_backward or lz_set_grad.
 * NULL: no gradient. */
LZ_API lz_tensor *lz_grad_of(const lz_tensor *t);
LZ_API bool lz_set_grad(lz_tensor *t, lz_tensor *grad); /* grad NULL: removes the gradient */
LZ_API bool lz_retain_grad(lz_tensor *t);           /* keeps the gradient of a tensor that is not a leaf */
LZ_API const char *lz_grad_fn(const lz_tensor *t);  /* the operator that made t, "mul.Tensor"; or NULL */
LZ_API lz_loc lz_grad_fn_place(const lz_tensor *t); /* the source line of that operator */

/* A tensor that shares t's memory and is not part of the tape. */
LZ_API lz_tensor *lz_detached(lz_ctx *c, lz_tensor *t);

/* ---- the backward pass ---- */

typedef struct lz_backward_args {
    lz_tensor *gradient; /* of a root that has more than one element; cast to its dtype */
    bool retain_graph;   /* the tape stays; create_graph implies it */
    bool create_graph;   /* the backward pass writes tape entries: its gradients can be differentiated */
    lz_tensors inputs;   /* gradients are added to these only; n 0: to all leaves */
} lz_backward_args;

/* lz_backward(c, loss), lz_backward(c, loss, .create_graph = true): adds to the gradients of leaves.
 * In a context that has an error, this and all functions below do nothing and return false. args may be
 * NULL: all defaults. */
LZ_API bool lz_backward_at(lz_ctx *c, lz_loc at, lz_tensor *root, const lz_backward_args *args);

typedef struct lz_grad_args {
    lz_tensors gradients; /* one for each output, NULL: ones, for a scalar; n 0: all NULL */
    bool retain_graph, create_graph;
    bool allow_unused; /* out[i] is NULL where no output depends on input i, instead of an error */
} lz_grad_args;

/* lz_grad(c, LZ_TENSORS(loss), LZ_TENSORS(x, y), grads, .create_graph = true): gradients of the outputs with
 * respect to the inputs. lz_grad_of the inputs does not change. out: one for each input; they belong to the
 * current scope. */
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
    LZ_GRAD_OFF,      /* no tape entries are written */
    LZ_GRAD_INFERENCE /* like LZ_GRAD_OFF; tensors made in this mode can never be part of a tape */
} lz_grad_mode;

LZ_API lz_grad_mode lz_set_grad_mode(lz_ctx *c, lz_grad_mode mode); /* returns the previous mode */
LZ_API lz_grad_mode lz_get_grad_mode(const lz_ctx *c);

/* LZ_NO_GRAD(c) { ... }: do not leave the block by return, break or goto, which would keep the mode. */
#define LZ_NO_GRAD(c)   LZ_IN_GRAD_MODE((c), LZ_GRAD_OFF)
#define LZ_INFERENCE(c) LZ_IN_GRAD_MODE((c), LZ_GRAD_INFERENCE)
#define LZ_IN_GRAD_MODE(c, mode)                                                                             \
    for (int lz_mode_was = (int)lz_set_grad_mode((c), (mode)), lz_mode_once = 1; lz_mode_once;               \
         lz_mode_once = 0, (void)lz_set_grad_mode((c), (lz_grad_mode)lz_mode_was))

/* The backward pass does not keep the values recorded between the two calls. It computes them again from the
 * tensors that existed at lz_checkpoint_begin: less memory, more work. */
LZ_API bool lz_checkpoint_begin(lz_ctx *c);
LZ_API bool lz_checkpoint_end(lz_ctx *c);

/* ---- hooks ---- */

/* Called with the gradient of a tensor before the gradient is passed on. Returns a replacement of the same
 * sizes and dtype, or NULL to keep the gradient. A hook may add and remove hooks, also itself.
 * lz_add_grad_hook returns an id, 0 on failure. */
typedef lz_tensor *lz_grad_hook(lz_ctx *c, lz_tensor *grad, void *user);
LZ_API int64_t lz_add_grad_hook(lz_tensor *t, lz_grad_hook *hook, void *user);
/* Called after a gradient was added to that of a leaf. */
typedef void lz_leaf_hook(lz_ctx *c, lz_tensor *leaf, void *user);
LZ_API int64_t lz_add_leaf_hook(lz_tensor *t, lz_leaf_hook *hook, void *user);
LZ_API bool lz_remove_hook(lz_tensor *t, int64_t id);

/* ---- functions of the program ---- */

typedef struct lz_function_call lz_function_call;
typedef struct lz_function {
    const char *name;
    /* Runs with gradients off. Results belong to the scope. */
    lz_err *(*forward)(lz_function_call *call, lz_tensors in, lz_tensor **out);
    /* grad_out: NULL where there is none; grad_in: one for each input, NULL for none. */
    lz_err *(*backward)(lz_function_call *call, lz_tensors grad_out, lz_tensor **grad_in);
    /* Called once, when the call is no longer needed, also if the call failed; may be NULL. */
    void (*drop)(void *user);
} lz_function;

/* The struct is copied, the name is not: the name must outlive all tensors computed by the function. */
LZ_API bool lz_function_apply(lz_ctx *c, const lz_function *f, void *user, lz_tensors in, lz_tensor **out,
                              size_t nout);
LZ_API lz_ctx *lz_function_ctx(lz_function_call *call);
LZ_API void *lz_function_user(lz_function_call *call);
LZ_API bool lz_function_save(lz_function_call *call, lz_tensor *t); /* forward: inputs, results, anything */
LZ_API lz_tensor *lz_function_saved(lz_function_call *call, size_t i); /* backward: in the order of saving */
LZ_API bool lz_function_needs(const lz_function_call *call, size_t input); /* backward: gradient is wanted */
LZ_API bool lz_function_no_grad(lz_function_call *call, size_t output); /* forward: no gradient for output */

/* ---- forward mode ---- */

/* Tangents of outputs along tangents of inputs, without a backward pass. f is called with gradients on, and
 * each operator that f records is differentiated at once. out, out_tangents: nout tensors each; they belong
 * to the current scope. A tangent is NULL where an output does not depend on the inputs. Outputs and tangents
 * have a history where gradients are on and they depend on a tensor that requires a gradient (an input, a
 * tangent, or another tensor that f uses). So tangents can be differentiated, backward or by another lz_jvp
 * around this one. */
typedef lz_err *lz_tangent_fn(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user);
LZ_API bool lz_jvp(lz_ctx *c, lz_tangent_fn *f, void *user, lz_tensors in, lz_tensors tangents,
                   lz_tensor **out, lz_tensor **out_tangents, size_t nout);

#ifdef __cplusplus
}
#endif
#endif
