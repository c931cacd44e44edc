/* debug.h - LAZULI_DEBUG=1: finds misuse of contexts, tensors and scopes, and names the lines.
 *
 * A context with `debug` frees no tensor or scope before it is closed, and its own memory is never freed. So
 * every pointer that a program still has can be recognised. Without `debug` the checks cost one comparison a
 * call. */
#ifndef LZ_LAZY_DEBUG_H
#define LZ_LAZY_DEBUG_H

#include "lazy/lazy_tensor.h"

/* A tensor's part for the checks, behind the tensor in memory. */
typedef struct lz_debug_tensor {
    lz_loc made_at;
    bool is_released;
} lz_debug_tensor;

/* Reads LAZULI_DEBUG; *out NULL: the checks are off. */
LZ_MUST_USE lz_err *lz_debug_create(struct lz_debug **out);
/* Called at the end of lz_close. true: the context's memory is kept and must not be freed. */
bool lz_debug_keep(lz_ctx *c);
/* Bytes of a tensor in the context's slab. */
size_t lz_debug_tensor_size(const lz_ctx *c);

/* Around each call that uses the context. false: another thread is inside, or the context is closed; the
 * call does nothing then, and the thread that is inside reports it. Calls nest. */
bool lz_debug_enter(lz_ctx *c, lz_loc at);
void lz_debug_leave(lz_ctx *c);

static inline bool lz_ctx_enter(lz_ctx *c, lz_loc at)
{
    return !c->debug || lz_debug_enter(c, at);
}

static inline void lz_ctx_leave(lz_ctx *c)
{
    if (c->debug)
        lz_debug_leave(c);
}

/* An error if one of the arguments was released. */
LZ_MUST_USE lz_err *lz_debug_arguments(const lz_op_row *op, const lz_value *in);
/* Called when `what` uses a tensor that has no storage: if the tensor was released, the context gets an
 * error.
 */
void lz_debug_use(const lz_tensor *t, lz_loc at, const char *what);

/* Whether t is NULL, inert or released; then the caller, `what`, does nothing. Reports a released tensor. */
static inline bool lz_debug_inert(const lz_tensor *t, lz_loc at, const char *what)
{
    if (t && t->storage)
        return false;
    if (t && t->ctx->debug)
        lz_debug_use(t, at, what);
    return true;
}

void lz_debug_made(lz_tensor *t);
void lz_debug_released(lz_tensor *t); /* keeps its memory */
void lz_debug_popped(lz_scope *s);    /* keeps the scope's memory */
void lz_debug_pop_again(lz_scope *s, lz_loc at);

/* Logs scopes that were never popped, and tensors that were retained and never released. */
void lz_debug_leaks(lz_ctx *c);

#endif
