/* What the user wants to see, or keep, of gradients on their way. */
#include "autograd/hooks.h"
#include "autograd/engine.h"
#include "base/mem.h"

/* ---- adding and removing ---- */

static lz_err *list_of(lz_tensor *t, lz_ghook ***out, uint32_t *index)
{
    lz_grad_meta *m;
    lz_gedge e;
    if (!lz_grad_required(t))
        return lz_errf(LZ_ERR_ARG, "cannot register a hook on a tensor that doesn't require gradient");
    LZ_TRY(lz_edge_of(t, (lz_loc){ 0 }, &e)); /* a stale history is found again */
    lz_gnode_release(e.node);
    LZ_TRY(lz_meta_of(t, &m));
    *index = m->fn.index;
    *out = m->fn.node ? &m->fn.node->hooks : &m->hooks;
    return NULL;
}

/* Behind those that are there: they are called in the order of adding. */
static lz_err *add(lz_tensor *t, const lz_ghook *h, int64_t *id)
{
    lz_ghook **list, *own;
    uint32_t index;
    LZ_TRY(list_of(t, &list, &index));
    own = lz_mem_alloc(sizeof *own);
    if (!own)
        return lz_err_oom();
    *own = *h;
    own->next = NULL;
    own->index = index;
    own->id = *id = ++t->ctx->tape->hook_id;
    while (*list)
        list = &(*list)->next;
    *list = own;
    return NULL;
}

static int64_t told(lz_tensor *t, lz_err *e, int64_t id)
{
    if (e)
        lz_ctx_fail(t->ctx, (lz_loc){ 0 }, NULL, e);
    return e ? 0 : id;
}

int64_t lz_add_grad_hook(lz_tensor *t, lz_grad_hook *hook, void *user)
{
    int64_t id = 0;
    if (!t || !t->alias)
        return 0;
    lz_err *e =
        hook ? add(t, &(lz_ghook){ .fn = hook, .user = user }, &id) : lz_errf(LZ_ERR_ARG, "no hook is given");
    return told(t, e, id);
}

int64_t lz_add_leaf_hook(lz_tensor *t, lz_leaf_hook *hook, void *user)
{
    int64_t id = 0;
    if (!t || !t->alias)
        return 0;
    lz_err *e = NULL;
    if (!hook)
        e = lz_errf(LZ_ERR_ARG, "no hook is given");
    else if (!lz_is_leaf(t))
        e = lz_errf(LZ_ERR_ARG, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    else
        e = add(t, &(lz_ghook){ .leaf = hook, .user = user }, &id);
    return told(t, e, id);
}

bool lz_retain_grad(lz_tensor *t)
{
    int64_t id = 0;
    lz_grad_meta *m;
    if (!t || !t->alias)
        return false;
    lz_err *e = lz_grad_required(t)
                    ? lz_meta_of(t, &m)
                    : lz_errf(LZ_ERR_ARG, "can't retain_grad on Tensor that has requires_grad=False");
    if (!e && !lz_is_leaf(t) && !m->retains) {
        e = add(t, &(lz_ghook){ .meta = m }, &id);
        if (!e) {
            lz_meta_retain(m);
            m->retains = true;
        }
    }
    return told(t, e, 1) != 0;
}

static bool remove_from(lz_ghook **list, int64_t id)
{
    while (*list && (*list)->id != id)
        list = &(*list)->next;
    lz_ghook *h = *list;
    if (!h || h->meta)
        return false;
    *list = h->next;
    lz_mem_free(h);
    return true;
}

/* The tensor may have been rewritten since the hook was added. */
bool lz_remove_hook(lz_tensor *t, int64_t id)
{
    if (!t || !t->alias || !t->meta)
        return false;
    lz_gnode *own = t->meta->fn.node;
    if (remove_from(&t->meta->hooks, id) || (own && remove_from(&own->hooks, id)))
        return true;
    for (lz_gnode *n = t->ctx->tape->last; n; n = n->prev)
        if (n->hooks && remove_from(&n->hooks, id))
            return true;
    return false;
}

/* ---- calling ---- */

/* The first behind `id` that was there when calling began: a hook may add and remove hooks, also itself. */
static const lz_ghook *next_hook(const lz_ghook *list, int64_t id, int64_t last)
{
    while (list && list->id <= id)
        list = list->next;
    return list && list->id <= last ? list : NULL;
}

static lz_err *call_hook(lz_ctx *c, const lz_ghook *h, lz_tensor **grad)
{
    c->callbacks++;
    lz_tensor *other = h->fn(c, *grad, h->user);
    c->callbacks--;
    if (lz_failed(c))
        return lz_errf(lz_code_of(c), "%s", lz_message(c));
    if (!other || other == *grad)
        return NULL;
    LZ_TRY(lz_engine_fits(c, "what a hook made of gradient", h->index, other, (*grad)->spec, true));
    lz_retain(other);
    lz_release(*grad);
    *grad = other;
    return NULL;
}

/* Those that keep gradients see what the others have made of them. */
lz_err *lz_hooks_call(lz_ctx *c, const lz_gnode *n, lz_tensor **grads, bool create, lz_loc at)
{
    lz_ghook *const *list = n->kind == LZ_GNODE_LEAF ? &n->meta->hooks : &n->hooks;
    int64_t id = 0, last = c->tape->hook_id;
    for (const lz_ghook *h; (h = next_hook(*list, id, last)) != NULL;) {
        id = h->id;
        if (h->fn && grads[h->index])
            LZ_TRY(call_hook(c, h, &grads[h->index]));
    }
    for (const lz_ghook *h = *list; h; h = h->next)
        if (h->meta && grads[h->index])
            LZ_TRY(lz_engine_leave(h->meta, grads[h->index], create, at));
    return NULL;
}

void lz_hooks_left(lz_ctx *c, const lz_grad_meta *m)
{
    int64_t id = 0, last = c->tape->hook_id;
    for (const lz_ghook *h; (h = next_hook(m->hooks, id, last)) != NULL;) {
        id = h->id;
        if (!h->leaf || !m->t)
            continue;
        c->callbacks++;
        h->leaf(c, m->t, h->user);
        c->callbacks--;
    }
}
