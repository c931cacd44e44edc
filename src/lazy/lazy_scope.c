/* Scopes: tensors that are released together, and the named path of a call. */
#include "lazy/lazy_scope.h"
#include "base/mem.h"
#include "lazy/debug.h"
#include "lazy/lazy_tensor.h"
#include "lazy/sync.h"
#include <assert.h>
#include <string.h>

typedef struct lz_scope_block {
    struct lz_scope_block *next;
    size_t pad; /* keeps the memory behind the header aligned */
} block;

lz_err *lz_scope_share(lz_scope *s, lz_tensor *t)
{
    lz_extra *x = lz_mem_alloc(sizeof *x);
    if (!x)
        return lz_err_oom();
    *x = (lz_extra){ .t = t, .scope = s, .next = t->extras, .scope_next = s->extras };
    if (s->extras)
        s->extras->scope_prev = x;
    s->extras = t->extras = x;
    t->count++;
    return NULL;
}

static void free_extra(lz_extra *x)
{
    lz_extra **p = &x->t->extras;
    while (*p != x)
        p = &(*p)->next;
    *p = x->next;
    *(x->scope_prev ? &x->scope_prev->scope_next : &x->scope->extras) = x->scope_next;
    if (x->scope_next)
        x->scope_next->scope_prev = x->scope_prev;
    lz_mem_free(x);
}

void lz_scope_unshare(lz_tensor *t)
{
    free_extra(t->extras);
}

void *lz_scope_alloc(lz_scope *s, size_t size)
{
    block *b = lz_mem_alloc(sizeof *b + size);
    if (!b)
        return NULL;
    b->next = s->blocks;
    s->blocks = b;
    return b + 1;
}

void *lz_scope_alloc_outer(const lz_scope *s, size_t size)
{
    return lz_scope_alloc(s->outer, size);
}

void *lz_ctx_scope_alloc(lz_ctx *c, size_t size)
{
    return lz_scope_alloc(c->scope, size);
}

void lz_scope_give_own(const lz_scope *s, lz_tensor *t)
{
    assert(s->outer);
    if (t->scope != s)
        return;
    lz_scope_remove(t);
    lz_scope_add(s->outer, t);
}

lz_err *lz_scope_give(const lz_scope *s, lz_tensor *t)
{
    assert(s->outer);
    if (t->scope != s)
        return lz_scope_share(s->outer, t);
    lz_scope_give_own(s, t);
    return NULL;
}

lz_err *lz_scope_begin(lz_ctx *c, lz_scope **out)
{
    lz_scope *s = lz_mem_zalloc(1, sizeof *s);
    if (!s)
        return lz_err_oom();
    s->ctx = c;
    s->outer = c->scope;
    s->path = c->scope ? c->scope->path : NULL;
    c->scope = *out = s;
    return NULL;
}

void lz_scope_end(lz_ctx *c)
{
    lz_scope *s = c->scope;
    while (s->extras) {
        lz_tensor *t = s->extras->t;
        free_extra(s->extras);
        lz_tensor_release(t);
    }
    for (lz_tensor *t = s->tensors; t; t = s->tensors) {
        s->tensors = t->scope_next;
        if (s->tensors)
            s->tensors->scope_prev = NULL;
        t->scope = NULL;
        lz_tensor_release(t);
    }
    while (s->blocks) {
        block *next = s->blocks->next;
        lz_mem_free(s->blocks);
        s->blocks = next;
    }
    c->scope = s->outer;
    if (c->debug)
        lz_debug_popped(s);
    else
        lz_mem_free(s);
}

lz_scope *lz_scope_push_at(lz_ctx *c, lz_loc at)
{
    lz_scope *s = NULL;
    if (!lz_ctx_enter(c, at))
        return NULL;
    lz_err *e = lz_scope_begin(c, &s);
    if (e)
        lz_ctx_fail(c, at, e);
    else
        s->pushed_at = at;
    lz_ctx_leave(c);
    return s;
}

lz_scope *(lz_scope_push)(lz_ctx *c)
{
    return lz_scope_push_at(c, (lz_loc){ 0 });
}

/* The part of the outer scope's path that the path of an inner scope begins with: the whole path, or the last
 * parts of a long path. Whole paths of n nested scopes would take n * n bytes. */
static const char *last_parts(const char *path, bool *cut)
{
    enum { MOST = 240 };
    size_t n = path ? strlen(path) : 0;
    *cut = n > MOST;
    if (!*cut)
        return path;
    const char *part = strchr(path + n - MOST, '/');
    return part ? part + 1 : path + n;
}

lz_scope *lz_scope_push_as_at(lz_ctx *c, lz_loc at, const char *name)
{
    lz_scope *s = lz_scope_push_at(c, at);
    lz_str path;
    if (!s || !c->options.scopes_in_graph || !name || !*name)
        return s;
    bool cut;
    const char *outer = last_parts(s->path, &cut);
    lz_err *e = lz_arena_printf(&c->names, &path, "%s%s%s%s.%lld", cut ? ".../" : "", outer ? outer : "",
                                outer && *outer ? "/" : "", name, (long long)++s->outer->inner);
    if (e)
        lz_ctx_fail(c, at, e);
    else
        s->path = path.ptr;
    return s;
}

lz_scope *(lz_scope_push_as)(lz_ctx *c, const char *name)
{
    return lz_scope_push_as_at(c, (lz_loc){ 0 }, name);
}

static bool is_open(const lz_ctx *c, const lz_scope *s)
{
    for (const lz_scope *x = c->scope; x; x = x->outer)
        if (x == s)
            return true;
    return false;
}

/* Cost: the number of scopes that are closed. */
static void pop(lz_ctx *c, const lz_scope *s)
{
    if (!is_open(c, s))
        return;
    const lz_scope *outer = s->outer;
    while (c->scope != outer)
        lz_scope_end(c);
}

void lz_scope_pop_at(lz_scope *s, lz_loc at)
{
    if (!s)
        return;
    lz_ctx *c = s->ctx;
    if (s->is_popped) {
        lz_debug_pop_again(s, at);
    } else if (s->outer && lz_ctx_enter(c, at)) {
        pop(c, s);
        lz_ctx_leave(c);
    }
}

void(lz_scope_pop)(lz_scope *s)
{
    lz_scope_pop_at(s, (lz_loc){ 0 });
}

/* ---- temporaries that need not be kept for a read ---- */

/* A longer expression is worth keeping. */
enum { MOST_STEPS = 32 };

/* Whether only views of the innermost scope keep the storage, and a pending node reads its value: the node
 * has more counts than the storage and the views explain. The outermost scope is excluded: it is never
 * popped. */
static bool is_temporary(const lz_lazy_storage *a)
{
    const lz_scope *s = a->ctx->scope;
    const lz_node *n = a->value.node;
    uint32_t own = 1;
    if (!s->outer || !a->views)
        return false;
    for (const lz_tensor *t = a->views; t; t = t->next) {
        if (t->scope != s || t->count != 1)
            return false;
        own += t->value.node == n;
    }
    return n->refs > own;
}

static bool is_step(const lz_node *n)
{
    return n->op && n->nout == 1 && !n->passed && (n->op->tags & LZ_TAG_BIT(pointwise));
}

/* Whether only element-wise operators lead from held data to n. Then all nodes below n are cheap too, and get
 * the mark. */
static bool is_cheap(lz_node *n, uint32_t mark)
{
    lz_node *steps[MOST_STEPS];
    size_t seen = 0;
    if (n->mark == mark)
        return true;
    if (!is_step(n))
        return false;
    steps[seen++] = n;
    for (size_t k = 0; k < seen; k++)
        for (uint32_t i = 0; i < steps[k]->nin; i++) {
            lz_node *in = (lz_node *)steps[k]->in[i].node;
            if (!in || !in->op)
                continue;
            if (!is_step(in) || seen == MOST_STEPS)
                return false;
            steps[seen++] = in;
        }
    while (seen)
        steps[--seen]->mark = mark;
    return true;
}

bool lz_is_unwanted_step(const lz_lazy_storage *a, uint32_t mark)
{
    lz_node *n = (lz_node *)a->value.node;
    if (!n->op || !is_temporary(a) || !is_cheap(n, mark))
        return false;
    n->passed = true;
    return true;
}
