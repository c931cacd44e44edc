/* Storages of tensors: pending and held values, views, writes. */
#include "lazy/lazy_storage.h"
#include "lazy/ir_builder.h"
#include "lazy/lazy_scope.h"
#include "lazy/lazy_tensor.h"
#include "op/op_table.h"
#include <assert.h>

static void link_last(lz_lazy_storage *a)
{
    lz_ctx *c = a->ctx;
    a->next = NULL;
    a->prev = c->last;
    *(c->last ? &c->last->next : &c->live) = a;
    c->last = a;
}

/* ---- life ---- */

lz_err *lz_lazy_storage_create(lz_ctx *c, const lz_spec *s, lz_lazy_storage **out)
{
    lz_lazy_storage *a = lz_slab_take(&c->storages);
    if (!a)
        return lz_err_oom();
    *a = (lz_lazy_storage){ .ctx = c, .refs = 1, .id = ++c->next_id, .spec = s, .device = c->device };
    link_last(a);
    *out = a;
    return NULL;
}

lz_err *lz_lazy_storage_pending(lz_ctx *c, const lz_spec *s, lz_output v, lz_lazy_storage **out)
{
    lz_lazy_storage *a = lz_slab_take(&c->storages);
    if (!a)
        return lz_err_oom();
    lz_lazy_storage_begin(a, c, s, c->device, v);
    *out = a;
    return NULL;
}

static inline void release_output(lz_ctx *c, lz_output *o)
{
    lz_node_release(c->nodes, (lz_node *)o->node);
    o->node = NULL;
}

static inline void forget_value(lz_lazy_storage *a)
{
    assert(!(a->value.node && a->data)); /* pending or held, never both */
    if (a->value.node) {
        assert(a->ctx->n_pending > 0);
        a->ctx->n_pending--;
        release_output(a->ctx, &a->value);
    }
    if (a->leaf)
        lz_node_release(a->ctx->nodes, a->leaf);
    if (a->data)
        lz_data_release(a->data);
    a->leaf = NULL;
    a->data = NULL;
}

void lz_lazy_storage_free(lz_lazy_storage *a)
{
    assert(a->refs == 0);
    forget_value(a);
    lz_lazy_storage_unlink(a);
    lz_slab_give(&a->ctx->storages, a);
}

/* ---- values ---- */

void lz_lazy_storage_set(lz_lazy_storage *a, lz_output v)
{
    assert(v.node && v.index < v.node->nout && a->refs > 0);
    if (!a->value.node) {
        lz_lazy_storage_unlink(a);
        lz_lazy_storage_link_first(a);
    }
    if (a->data)
        a->origin = a->data->id;
    forget_value(a);
    a->ctx->n_pending++;
    a->value = v;
    a->is_parted = false;
    lz_storage_changed(&a->head);
}

void lz_lazy_storage_hold(lz_lazy_storage *a, lz_data *d)
{
    assert(d && a->refs > 0);
    forget_value(a);
    lz_lazy_storage_unlink(a);
    link_last(a);
    a->data = d;
    a->origin = 0;
    lz_storage_changed(&a->head);
    lz_infer_restart(a->ctx->infer);
    for (lz_tensor *t = a->views; t; t = t->next)
        release_output(a->ctx, &t->value);
}

static lz_err *built_leaf(lz_lazy_storage *a)
{
    lz_ctx *c = a->ctx;
    lz_output o;
    LZ_TRY(c->builder->make_device_data(c->backend->self, lz_ir_of(c), a->data, &o));
    a->leaf = (lz_node *)o.node;
    return NULL;
}

static lz_err *own_leaf(lz_lazy_storage *a)
{
    lz_data *d = lz_data_retain(a->data);
    lz_err *e = lz_node_data(a->ctx->nodes, d, a->spec, a->ctx->at, &a->leaf);
    if (e)
        lz_data_release(d);
    return e;
}

lz_err *lz_lazy_storage_leaf(lz_lazy_storage *a, lz_node **out)
{
    assert(a->data && !a->value.node);
    if (!a->leaf)
        LZ_TRY(a->ctx->builder ? built_leaf(a) : own_leaf(a));
    *out = a->leaf;
    return NULL;
}

lz_err *lz_lazy_storage_value(lz_lazy_storage *a, lz_output *out)
{
    lz_node *leaf;
    *out = a->value;
    if (a->value.node)
        return NULL;
    LZ_TRY(lz_lazy_storage_leaf(a, &leaf));
    *out = (lz_output){ leaf, 0 };
    return NULL;
}

static lz_window window_of(const lz_tensor *t)
{
    const lz_ctx *c = t->ctx;
    return (lz_window){ .base = t->storage->spec,
                        .view = t->spec,
                        .offset = t->offset,
                        .moves = lz_lazy_storage_moves(t->storage),
                        .at = c->at,
                        .scope = c->scope->path };
}

/* Requires a view that is not current. */
static lz_err *read_view(lz_tensor *t, lz_output *out)
{
    lz_output base;
    LZ_TRY(lz_lazy_storage_value(t->storage, &base));
    lz_window w = window_of(t);
    LZ_TRY(lz_views_read(t->ctx->views, &w, base, out));
    release_output(t->ctx, &t->value);
    t->value = *out;
    t->version = t->storage->head.version;
    return NULL;
}

lz_err *lz_tensor_value(lz_tensor *t, lz_output *out)
{
    if (lz_tensor_is_base(t))
        return lz_lazy_storage_value(t->storage, out);
    if (!lz_tensor_is_current(t))
        return read_view(t, out);
    *out = t->value;
    return NULL;
}

lz_err *lz_tensor_write(lz_tensor *t, lz_output v, lz_loc at)
{
    lz_output base, value;
    t->ctx->at = at;
    if (t->spec->numel == 0)
        return NULL;
    lz_node_retain((lz_node *)v.node);
    if (lz_tensor_is_base(t)) {
        lz_lazy_storage_set(t->storage, v);
        return NULL;
    }
    lz_window w = window_of(t);
    lz_err *e = lz_lazy_storage_value(t->storage, &base);
    if (!e)
        e = lz_views_write(t->ctx->views, &w, base, v, &value);
    if (e) {
        release_output(t->ctx, &v);
        return e;
    }
    lz_lazy_storage_set(t->storage, value);
    t->storage->is_parted = w.moves;
    release_output(t->ctx, &t->value);
    t->value = v;
    t->version = t->storage->head.version;
    return NULL;
}

/* ---- growing ---- */

/* Operators that make one tensor from another, with fixed arguments. */
static lz_err *derive(lz_ctx *c, lz_op op, const lz_value *args, lz_output x, const lz_spec *s, lz_node **out)
{
    return lz_node_op_create(c->nodes, &lz_op_table[op], args, &x, 1, &s, 1, c->at, out);
}

static lz_err *own_padding(lz_ctx *c, lz_output run, int64_t more, const lz_spec *s, lz_output *out)
{
    lz_value self = lz_value_tensor(c->inert), zero = lz_value_scalar(lz_scalar_int(0));
    lz_value args[] = { self, lz_value_ints(LZ_INTS(0, more)), zero };
    lz_node *padded;
    LZ_TRY(derive(c, LZ_OP_constant_pad_nd, args, run, s, &padded));
    *out = (lz_output){ padded, 0 };
    return NULL;
}

/* The padded run, made by a backend's own builder: concatenates with expanded zeros. */
static lz_err *built_padding(lz_ctx *c, lz_output run, int64_t more, const lz_spec *s, lz_output *out)
{
    const lz_ir_builder *b = c->builder;
    void *self = c->backend->self;
    lz_output zero, zeros;
    LZ_TRY(b->make_scalar(self, lz_ir_of(c), lz_scalar_int(0), (lz_dtype)s->dtype, &zero));
    lz_err *e = b->make_expand(self, lz_ir_of(c), zero, LZ_DIMS(more), true, &zeros);
    release_output(c, &zero);
    LZ_TRY(e);
    lz_output both[] = { run, zeros };
    lz_value args[] = { lz_value_none(), lz_value_integer(0) };
    e = b->make_generic(self, lz_ir_of(c), &lz_op_table[LZ_OP_cat], args, &(lz_operands){ both, 2 }, 1, out);
    release_output(c, &zeros);
    return e;
}

/* Makes the storage one run of n elements: the old elements first, then zeros. */
lz_err *lz_lazy_storage_grow(lz_lazy_storage *a, int64_t n)
{
    lz_ctx *c = a->ctx;
    const lz_spec *flat, *more;
    lz_output old, run, padded;
    int64_t used = a->spec->numel;
    lz_dtype d = (lz_dtype)a->spec->dtype;
    if (n <= used)
        return NULL;
    LZ_TRY(lz_spec_get(c->specs, d, LZ_DIMS(used), (lz_ints){ NULL, 0 }, &flat));
    LZ_TRY(lz_spec_get(c->specs, d, LZ_DIMS(n), (lz_ints){ NULL, 0 }, &more));
    LZ_TRY(lz_lazy_storage_value(a, &old));
    lz_window w = { .base = a->spec, .view = flat, .at = c->at };
    LZ_TRY(lz_views_read(c->views, &w, old, &run));
    lz_err *e = (c->builder ? built_padding : own_padding)(c, run, n - used, more, &padded);
    release_output(c, &run);
    if (e)
        return e;
    lz_lazy_storage_set(a, padded);
    a->spec = more;
    return NULL;
}
