/* Hooks: functions of the user that see or replace gradients, and gradients that are retained. */
#include "autograd/hooks.h"
#include "autograd/engine.h"
#include "base/mem.h"

/* ---- adding and removing ---- */

static lz_err *list_of(lz_tensor *t, lz_tape_hook ***out, uint32_t *index)
{
    lz_grad_meta *m;
    lz_tape_edge e;
    if (!lz_grad_required(t))
        return lz_errf(LZ_ERR_ARG, "cannot register a hook on a tensor that doesn't require gradient");
    LZ_TRY(lz_edge_of(t, (lz_loc){ 0 }, &e)); /* renews a stale history */
    lz_tape_node_release(e.node);
    LZ_TRY(lz_meta_of(t, &m));
    *index = m->fn.index;
    *out = m->fn.node ? &m->fn.node->hooks : &m->hooks;
    return NULL;
}

/* Appends the hook: hooks are called in the order of adding. */
static lz_err *add(lz_tensor *t, const lz_tape_hook *h, int64_t *id)
{
    lz_tape_hook **list, *own;
    uint32_t index;
    LZ_TRY(list_of(t, &list, &index));
    own = lz_mem_alloc(sizeof *own);
    if (!own)
        return lz_err_oom();
    *own = *h;
    own->next = NULL;
    own->index = index;
    own->id = *id = ++lz_ctx_tape(lz_tensor_ctx(t))->hook_id;
    while (*list)
        list = &(*list)->next;
    *list = own;
    return NULL;
}

int64_t lz_add_grad_hook(lz_tensor *t, lz_grad_hook *hook, void *user)
{
    int64_t id = 0;
    if (lz_tensor_is_inert(t))
        return 0;
    lz_err *e = hook ? add(t, &(lz_tape_hook){ .fn = hook, .user = user }, &id)
                     : lz_errf(LZ_ERR_ARG, "expected a hook, found NULL");
    return lz_ctx_report(lz_tensor_ctx(t), (lz_loc){ 0 }, e) ? id : 0;
}

int64_t lz_add_leaf_hook(lz_tensor *t, lz_leaf_hook *hook, void *user)
{
    int64_t id = 0;
    if (lz_tensor_is_inert(t))
        return 0;
    lz_err *e = NULL;
    if (!hook)
        e = lz_errf(LZ_ERR_ARG, "expected a hook, found NULL");
    else if (!lz_is_leaf(t))
        e = lz_errf(LZ_ERR_ARG, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    else
        e = add(t, &(lz_tape_hook){ .leaf = hook, .user = user }, &id);
    return lz_ctx_report(lz_tensor_ctx(t), (lz_loc){ 0 }, e) ? id : 0;
}

bool lz_retain_grad(lz_tensor *t)
{
    int64_t id = 0;
    lz_grad_meta *m;
    if (lz_tensor_is_inert(t))
        return false;
    lz_err *e = lz_grad_required(t)
                    ? lz_meta_of(t, &m)
                    : lz_errf(LZ_ERR_ARG, "can't retain_grad on Tensor that has requires_grad=False");
    if (!e && !lz_is_leaf(t) && !m->retains) {
        e = add(t, &(lz_tape_hook){ .meta = m }, &id);
        if (!e) {
            lz_meta_retain(m);
            m->retains = true;
        }
    }
    return lz_ctx_report(lz_tensor_ctx(t), (lz_loc){ 0 }, e);
}

static bool remove_from(lz_tape_hook **list, int64_t id)
{
    while (*list && (*list)->id != id)
        list = &(*list)->next;
    lz_tape_hook *h = *list;
    if (!h || h->meta)
        return false;
    *list = h->next;
    lz_mem_free(h);
    return true;
}

/* An in-place operator may have given the tensor another node since the hook was added, so that all nodes are
 * searched. */
bool lz_remove_hook(lz_tensor *t, int64_t id)
{
    lz_grad_meta *m = lz_tensor_is_inert(t) ? NULL : lz_meta_at(t);
    if (!m)
        return false;
    lz_tape_node *own = m->fn.node;
    if (remove_from(&m->hooks, id) || (own && remove_from(&own->hooks, id)))
        return true;
    for (lz_tape_node *n = lz_ctx_tape(m->ctx)->last; n; n = n->prev)
        if (n->hooks && remove_from(&n->hooks, id))
            return true;
    return false;
}

/* ---- calling ---- */

/* The next hook after `id` among those that existed when calling began. A hook may add and remove hooks, also
 * itself. */
static const lz_tape_hook *next_hook(const lz_tape_hook *list, int64_t id, int64_t last)
{
    while (list && list->id <= id)
        list = list->next;
    return list && list->id <= last ? list : NULL;
}

static lz_err *call_hook(lz_ctx *c, const lz_tape_hook *h, lz_tensor **grad)
{
    lz_ctx_begin_callback(c);
    lz_tensor *other = h->fn(c, *grad, h->user);
    lz_ctx_end_callback(c);
    LZ_TRY(lz_ctx_take_error(c));
    if (!other || other == *grad)
        return NULL;
    LZ_TRY(lz_engine_fits(c, "the hook's replacement of gradient", h->index, other, lz_tensor_spec(*grad),
                          true));
    lz_retain(other);
    lz_release(*grad);
    *grad = other;
    return NULL;
}

/* Retained gradients are stored last: with the replacements of all hooks. */
lz_err *lz_hooks_call(lz_ctx *c, const lz_tape_node *n, lz_tensor **grads, bool create, lz_loc at)
{
    lz_tape_hook *const *list = n->kind == LZ_TAPE_NODE_LEAF ? &n->meta->hooks : &n->hooks;
    int64_t id = 0, last = lz_ctx_tape(c)->hook_id;
    for (const lz_tape_hook *h; (h = next_hook(*list, id, last)) != NULL;) {
        id = h->id;
        if (h->fn && grads[h->index])
            LZ_TRY(call_hook(c, h, &grads[h->index]));
    }
    for (const lz_tape_hook *h = *list; h; h = h->next)
        if (h->meta && grads[h->index])
            LZ_TRY(lz_engine_accumulate(h->meta, grads[h->index], create, at));
    return NULL;
}

lz_err *lz_hooks_accumulated(lz_ctx *c, const lz_grad_meta *m)
{
    int64_t id = 0, last = lz_ctx_tape(c)->hook_id;
    for (const lz_tape_hook *h; (h = next_hook(m->hooks, id, last)) != NULL;) {
        id = h->id;
        if (!h->leaf || !m->base.tensor)
            continue;
        lz_ctx_begin_callback(c);
        h->leaf(c, m->base.tensor, h->user);
        lz_ctx_end_callback(c);
    }
    return lz_ctx_take_error(c);
}
