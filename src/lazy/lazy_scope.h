/* lazy_scope.h - scopes: tensors that are released together, and the path that names of scopes make.
 *
 * The innermost scope of a context owns one count of every tensor that is made. */
#ifndef LZ_LAZY_LAZY_SCOPE_H
#define LZ_LAZY_LAZY_SCOPE_H

#include "lazy/lazy_tensor.h"
#include "lazy/recording_scope.h"

struct lz_scope {
    lz_ctx *ctx;
    lz_scope *outer;
    lz_tensor *tensors; /* tensors that the scope will release */
    lz_extra *extras;
    struct lz_scope_block *blocks;
    const char *path; /* "encoder.1/block.2"; NULL: no names */
    int64_t inner;    /* named scopes in it so far */
    lz_loc pushed_at;
    bool is_popped; /* kept for debug.h */
};

static inline void lz_scope_add(lz_scope *s, lz_tensor *t)
{
    t->scope = s;
    t->scope_prev = NULL;
    t->scope_next = s->tensors;
    if (s->tensors)
        s->tensors->scope_prev = t;
    s->tensors = t;
}

static inline void lz_scope_remove(lz_tensor *t)
{
    if (!t->scope)
        return;
    *(t->scope_prev ? &t->scope_prev->scope_next : &t->scope->tensors) = t->scope_next;
    if (t->scope_next)
        t->scope_next->scope_prev = t->scope_prev;
    t->scope = NULL;
}

/* Removes one of the counts that lz_scope_share made from its scope, without releasing the tensor. */
void lz_scope_unshare(lz_tensor *t);
void lz_scope_end(lz_ctx *c); /* ends the innermost scope */

#endif
