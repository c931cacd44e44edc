#include "lazy/debug.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct lz_debug {
    atomic_uintptr_t owner; /* the address of a variable of the thread inside; 0: none */
    unsigned depth;         /* of the owner's calls */
    atomic_int intruders;   /* calls of other threads since the owner entered */
    lz_loc intruder;        /* the first of these calls; read by the owner after `noted` */
    atomic_bool noted;
    bool is_closed;
    lz_scope *popped; /* by `outer` */
    lz_ctx *next;     /* in the list of closed contexts */
};

/* Closed contexts stay in a list, so that leak checkers reach them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lz_ctx *closed;

/* ---- on and off ---- */

lz_err *lz_debug_create(struct lz_debug **out)
{
    int64_t on = 0;
    LZ_TRY(lz_env_int(LZ_ENV_DEBUG, 0, 1, &on));
    if (!on)
        return NULL;
    *out = lz_mem_zalloc(1, sizeof **out);
    return *out ? NULL : lz_err_oom();
}

bool lz_debug_keep(lz_ctx *c)
{
    if (!c->debug)
        return false;
    c->debug->is_closed = true;
    pthread_mutex_lock(&lock);
    c->debug->next = closed;
    closed = c;
    pthread_mutex_unlock(&lock);
    return true;
}

size_t lz_debug_tensor_size(const lz_ctx *c)
{
    return sizeof(lz_tensor) + (c->debug ? sizeof(lz_debug_tensor) : 0);
}

/* ---- reports ---- */

/* "x.c:3", or "an unknown line". */
static const char *place_text(lz_loc at, char buf[256])
{
    if (at.file)
        snprintf(buf, 256, "%.200s:%u", at.file, (unsigned)at.line);
    else
        snprintf(buf, 256, "an unknown line");
    return buf;
}

/* Puts the error into the context. A closed context only logs the error. */
static void report(lz_ctx *c, lz_loc at, lz_err *e)
{
    char line[256];
    if (!c->debug->is_closed) {
        lz_ctx_fail(c, at, e);
        return;
    }
    lz_logf(LZ_LOG_ERROR, "%s: %s", place_text(at, line), lz_err_text(e));
    lz_err_free(e);
}

/* ---- threads ---- */

static uintptr_t this_thread(void)
{
    static _Thread_local char mark;
    return (uintptr_t)&mark;
}

static void note_intruder(struct lz_debug *d, lz_loc at)
{
    if (atomic_fetch_add(&d->intruders, 1) > 0)
        return;
    d->intruder = at;
    atomic_store(&d->noted, true);
}

bool lz_debug_enter(lz_ctx *c, lz_loc at)
{
    struct lz_debug *d = c->debug;
    uintptr_t none = 0, self = this_thread();
    if (d->is_closed) {
        report(c, at, lz_errf(LZ_ERR_ARG, "the context was closed before this call"));
        return false;
    }
    if (atomic_load(&d->owner) != self && !atomic_compare_exchange_strong(&d->owner, &none, self)) {
        note_intruder(d, at);
        return false;
    }
    d->depth++;
    return true;
}

void lz_debug_leave(lz_ctx *c)
{
    struct lz_debug *d = c->debug;
    char line[256];
    if (--d->depth > 0)
        return;
    if (atomic_exchange(&d->noted, false)) {
        lz_loc at = d->intruder;
        atomic_store(&d->intruders, 0);
        report(c, at,
               lz_errf(LZ_ERR_ARG, "two threads use one context at the same time: at %s, and here",
                       place_text(c->at, line)));
    }
    atomic_store(&d->owner, 0);
}

/* ---- tensors ---- */

static lz_debug_tensor *debug_of(const lz_tensor *t)
{
    return (lz_debug_tensor *)(t + 1);
}

static bool is_released(const lz_tensor *t)
{
    return t && t->ctx->debug && t != t->ctx->inert && debug_of(t)->is_released;
}

void lz_debug_made(lz_tensor *t)
{
    *debug_of(t) = (lz_debug_tensor){ .made_at = t->ctx->at };
}

void lz_debug_released(lz_tensor *t)
{
    debug_of(t)->is_released = true;
    t->storage = NULL;
    t->spec = NULL;
}

void lz_debug_use(const lz_tensor *t, lz_loc at, const char *what)
{
    char line[256];
    if (is_released(t))
        report(t->ctx, at,
               lz_errf(LZ_ERR_ARG, "%s: the tensor made at %s was released before this call", what,
                       place_text(debug_of(t)->made_at, line)));
}

static const lz_tensor *released_in(const lz_value *v)
{
    if (v->kind == LZ_KIND_TENSOR)
        return is_released(v->tensor) ? v->tensor : NULL;
    for (int64_t i = 0; v->kind == LZ_KIND_TENSORS && i < v->tensors.n; i++)
        if (v->tensors.v && is_released(v->tensors.v[i]))
            return v->tensors.v[i];
    return NULL;
}

lz_err *lz_debug_arguments(const lz_op_row *op, const lz_value *in)
{
    const lz_tensor *found = NULL;
    char line[256];
    for (uint32_t i = 0; !found && i < op->nargs; i++)
        found = released_in(&in[i]);
    return found ? lz_errf(LZ_ERR_ARG, "the tensor made at %s was released before this call",
                           place_text(debug_of(found)->made_at, line))
                 : NULL;
}

/* ---- scopes ---- */

void lz_debug_popped(lz_scope *s)
{
    s->is_popped = true;
    s->outer = s->ctx->debug->popped;
    s->ctx->debug->popped = s;
}

void lz_debug_pop_again(lz_scope *s, lz_loc at)
{
    char line[256];
    report(s->ctx, at,
           lz_errf(LZ_ERR_ARG, "lz_scope_pop: the scope pushed at %s is popped already",
                   place_text(s->pushed_at, line)));
}

/* ---- leaks ---- */

static uint32_t counts_of_program(const lz_tensor *t)
{
    uint32_t n = t->count - (t->scope != NULL);
    for (const lz_extra *x = t->extras; x; x = x->next)
        n--;
    return n;
}

void lz_debug_leaks(lz_ctx *c)
{
    enum { SHOWN = 20 };
    size_t found = 0;
    char line[256];
    for (const lz_scope *s = c->scope; s && s->outer; s = s->outer)
        lz_logf(LZ_LOG_WARN, "lz_close: the scope pushed at %s was never popped",
                place_text(s->pushed_at, line));
    for (const lz_lazy_storage *a = c->live; a; a = a->next)
        for (const lz_tensor *t = a->views; t; t = t->next)
            if (counts_of_program(t) > 0 && found++ < SHOWN)
                lz_logf(LZ_LOG_WARN, "lz_close: the tensor made at %s was retained and never released",
                        place_text(debug_of(t)->made_at, line));
    if (found > SHOWN)
        lz_logf(LZ_LOG_WARN, "lz_close: %zu tensors were retained and never released", found);
}
