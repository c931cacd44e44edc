/* debug.h - LAZULI_DEBUG=1: finds misuse of contexts, tensors and scopes, and names the lines.
 *
 * A context with `debug` gives no tensor or scope back to the allocator before it is closed, and is itself
 * kept then: whatever a program still points to is there to be recognised. Without it all this costs one
 * comparison a call. */
#ifndef LZ_LAZY_DEBUG_H
#define LZ_LAZY_DEBUG_H

#include "lazy/ctx.h"

/* What stands behind each tensor of a context with `debug`. */
typedef struct lz_debug_tensor {
    lz_loc made_at;
    bool is_released;
} lz_debug_tensor;

/* Reads LAZULI_DEBUG; *out NULL: it is off. */
LZ_MUST_USE lz_err *lz_debug_create(struct lz_debug **out);
/* At the end of lz_close: true, the context is kept from now on, and must not be freed. */
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

/* false: one of the arguments was released; the context has the error. */
bool lz_debug_arguments(lz_ctx *c, const lz_op_row *op, lz_loc at, const lz_value *in);
/* The same of one tensor that has no storage, and is used by `what`. */
void lz_debug_use(const lz_tensor *t, lz_loc at, const char *what);

void lz_debug_made(lz_tensor *t);
void lz_debug_released(lz_tensor *t); /* keeps its memory */
void lz_debug_popped(lz_scope *s);    /* the same of a scope */
void lz_debug_pop_again(lz_scope *s, lz_loc at);

/* Logs scopes that were never popped, and tensors that were retained and never released. */
void lz_debug_leaks(lz_ctx *c);

#endif
