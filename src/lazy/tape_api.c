#include "lazy/tape_api.h"
#include "lazy/lazy_scope.h"
#include <assert.h>

/* ---- contexts ---- */

lz_tape *lz_ctx_tape(const lz_ctx *c)
{
    return c->tape;
}

void lz_ctx_set_tape(lz_ctx *c, lz_tape *t, const lz_tape_hooks *hooks)
{
    c->tape = t;
    c->tape_hooks = hooks;
}

lz_loc lz_ctx_line(const lz_ctx *c)
{
    return c->at;
}

lz_tensor *lz_ctx_inert(const lz_ctx *c)
{
    return c->inert;
}

lz_err *lz_ctx_spec(lz_ctx *c, lz_dtype d, lz_ints sizes, const lz_spec **out)
{
    return lz_spec_get(c->specs, d, sizes, (lz_ints){ NULL, 0 }, out);
}

void lz_ctx_begin_callback(lz_ctx *c)
{
    c->callbacks++;
}

void lz_ctx_end_callback(lz_ctx *c)
{
    assert(c->callbacks);
    c->callbacks--;
}

/* ---- tensors ---- */

lz_tape_slot *lz_tensor_slot(const lz_tensor *t)
{
    return (lz_tape_slot *)&t->tape;
}

bool lz_tensor_is_tracked(const lz_tensor *t)
{
    return t && t->storage && (t->tape.attached || t->storage->attached);
}

void lz_tensor_attach(lz_tensor *t, lz_attachment *a)
{
    assert(!t->tape.attached && !a->tensor);
    t->tape.attached = a;
    a->tensor = t;
}

void lz_tensor_attach_base(const lz_tensor *t, lz_attachment *a)
{
    assert(!a->next && a->history == t->tape.history);
    a->refs++;
    a->next = t->storage->attached;
    t->storage->attached = a;
}

lz_attachment *lz_tensor_base_attachment(const lz_tensor *t)
{
    lz_attachment *a = t->storage ? t->storage->attached : NULL;
    while (a && a->history != t->tape.history)
        a = a->next;
    return a;
}

lz_tensor *lz_tensor_base(const lz_tensor *t)
{
    lz_tensor *v = t->storage->views;
    while (v && (v->tape.history != t->tape.history || v->tape.creation & LZ_CREATED_VIEW))
        v = v->next;
    return v;
}

void lz_tensor_begin_history(lz_tensor *t)
{
    t->tape.history = ++t->ctx->histories;
}

const lz_spec *lz_tensor_spec(const lz_tensor *t)
{
    return t->spec;
}

const lz_spec *lz_tensor_storage_spec(const lz_tensor *t)
{
    return t->storage->spec;
}

uint32_t lz_tensor_storage_writes(const lz_tensor *t)
{
    return t->storage->writes;
}

bool lz_tensor_offset_is_number(const lz_tensor *t)
{
    return lz_lazy_storage_moves(t->storage);
}

void lz_tensor_make_offsets_numbers(const lz_tensor *base)
{
    base->storage->is_parted = true;
}

lz_err *lz_tensor_snapshot(lz_tensor *t, lz_tensor **out)
{
    lz_ctx *c = t->ctx;
    lz_lazy_storage *a = t->storage, *own;
    const lz_spec *s;
    lz_output v;
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 }, &s));
    if (a->data && lz_tensor_is_base(t) && a->spec == s)
        return lz_tensor_of_data(c, s, a->device, lz_data_retain(a->data), out);
    LZ_TRY(lz_tensor_value(t, &v));
    LZ_TRY(lz_lazy_storage_pending(c, s, v, &own));
    lz_node_retain((lz_node *)v.node);
    own->device = a->device;
    lz_err *e = lz_tensor_create(own, s, 0, out);
    lz_lazy_storage_release(own);
    return e;
}

/* ---- saved values ---- */

void lz_saved_init(lz_saved *x, const lz_tensor *t, bool with_elements)
{
    *x = (lz_saved){ .spec = t ? t->spec : NULL };
    if (!with_elements || !t || !t->storage)
        return;
    x->storage = t->storage;
    x->offset = t->offset;
    x->writes = t->storage->writes;
    t->storage->refs++;
}

void lz_saved_drop(lz_saved *x)
{
    lz_lazy_storage *a = x->storage;
    x->storage = NULL;
    if (a)
        lz_lazy_storage_release(a);
}

bool lz_saved_is_current(const lz_saved *x)
{
    return x->writes == x->storage->writes;
}

lz_last_write lz_saved_last_write(const lz_saved *x)
{
    const lz_lazy_storage *a = x->storage;
    return (lz_last_write){ a->written_by, a->written_at, a->writes };
}

lz_err *lz_saved_tensor(const lz_saved *x, lz_tensor **out)
{
    return lz_tensor_create(x->storage, x->spec, x->offset, out);
}

/* ---- recorded nodes ---- */

lz_nodes *lz_ctx_nodes(lz_ctx *c)
{
    return c->nodes;
}

bool lz_ctx_makes_own_nodes(const lz_ctx *c)
{
    return !c->builder;
}

lz_err *lz_saved_value(const lz_saved *x, lz_output *out)
{
    lz_tensor *t;
    LZ_TRY(lz_saved_tensor(x, &t));
    lz_err *e = lz_tensor_value(t, out);
    if (!e)
        lz_node_retain((lz_node *)out->node);
    lz_release(t);
    return e;
}

lz_err *lz_saved_init_output(lz_saved *x, lz_ctx *c, lz_output o)
{
    const lz_spec *s = o.node->specs[o.index];
    lz_lazy_storage *a;
    LZ_TRY(lz_ctx_spec(c, (lz_dtype)s->dtype, lz_spec_sizes(s), &s));
    LZ_TRY(lz_lazy_storage_pending(c, s, o, &a));
    lz_node_retain((lz_node *)o.node);
    *x = (lz_saved){ .spec = s, .storage = a };
    return NULL;
}

lz_err *lz_tensor_of_leaf(lz_ctx *c, const lz_node *leaf, lz_tensor **out)
{
    assert(!leaf->op);
    return lz_tensor_of_data(c, leaf->specs[0], c->device, lz_data_retain(leaf->data), out);
}
