#include "lazy/lazy_tensor.h"
#include "lazy/debug.h"
#include "lazy/lazy_scope.h"
#include "lazy/sync.h"
#include <lazuli/autograd.h>

/* ---- life ---- */

/* t takes over one count of the storage. */
static inline void look_first(lz_tensor *t, lz_lazy_storage *a, const lz_spec *s, int64_t offset)
{
    lz_ctx *c = a->ctx;
    t->count = 1;
    t->version = 0;
    t->ctx = c;
    t->storage = a;
    t->spec = s;
    t->offset = offset;
    t->id = ++c->next_id;
    t->value.node = NULL;
    t->extras = NULL;
    t->tape.attached = NULL;
    t->tape.history = 0;
    t->tape.writes = a->writes;
    t->tape.creation = c->grad_mode == LZ_GRAD_INFERENCE ? LZ_CREATED_INFERENCE : 0;
    lz_tensor_link(t);
    lz_scope_add(c->scope, t);
    if (c->debug)
        lz_debug_made(t);
    lz_ctx_count(c, LZ_COUNT_CREATE);
}

lz_err *lz_tensor_create(lz_lazy_storage *a, const lz_spec *s, int64_t offset, lz_tensor **out)
{
    lz_tensor *t = lz_slab_take(&a->ctx->tensors);
    if (!t)
        return lz_err_oom();
    a->refs++;
    look_first(t, a, s, offset);
    *out = t;
    return NULL;
}

lz_err *lz_tensor_pending(lz_ctx *c, const lz_spec *s, lz_device d, lz_output v, lz_tensor **out)
{
    lz_lazy_storage *a = lz_slab_take(&c->storages);
    lz_tensor *t = a ? lz_slab_take(&c->tensors) : NULL;
    if (!t) {
        if (a)
            lz_slab_give(&c->storages, a);
        return lz_err_oom();
    }
    lz_lazy_storage_begin(a, c, s, d, v);
    look_first(t, a, s, 0);
    *out = t;
    return NULL;
}

static __attribute__((noinline)) void forget_history(lz_lazy_storage *a)
{
    while (a->attached) {
        lz_attachment *x = a->attached;
        a->attached = x->next;
        x->next = NULL;
        lz_attachment_release(x);
    }
}

/* Drops one count. A storage without views loses its history. */
static inline void drop_storage(lz_lazy_storage *a)
{
    if (a->attached && !a->views)
        forget_history(a);
    lz_lazy_storage_release(a);
}

/* An attachment may outlive the tensor, so it gets the tensor's view of the storage. */
static __attribute__((noinline)) void detach(lz_tensor *t)
{
    lz_attachment *x = t->tape.attached;
    t->tape.attached = NULL;
    x->tensor = NULL;
    x->spec = t->spec;
    x->offset = t->offset;
    lz_attachment_release(x);
}

void lz_tensor_destroy(lz_tensor *t)
{
    lz_ctx *c = t->ctx;
    lz_scope_remove(t);
    while (t->extras)
        lz_scope_unshare(t);
    if (t->tape.attached)
        detach(t);
    lz_tensor_unlink(t);
    lz_node_release(c->nodes, (lz_node *)t->value.node);
    drop_storage(t->storage);
    if (c->debug)
        lz_debug_released(t);
    else
        lz_slab_give(&c->tensors, t);
    lz_ctx_count(c, LZ_COUNT_DESTROY);
}

lz_tensor *lz_retain(lz_tensor *t)
{
    if (!lz_debug_inert(t, (lz_loc){ 0 }, "lz_retain"))
        t->count++;
    return t;
}

static uint32_t counts_of_scopes(const lz_tensor *t)
{
    uint32_t n = t->scope != NULL;
    for (const lz_extra *x = t->extras; x; x = x->next)
        n++;
    return n;
}

void lz_tensor_release(lz_tensor *t)
{
    if (--t->count == 0)
        lz_tensor_destroy(t);
    else if (t->extras && t->count < counts_of_scopes(t))
        lz_scope_unshare(t);
}

static void release_checked(lz_tensor *t)
{
    lz_ctx *c = t->ctx;
    if (lz_debug_inert(t, (lz_loc){ 0 }, "lz_release") || !lz_debug_enter(c, (lz_loc){ 0 }))
        return;
    lz_tensor_release(t);
    lz_debug_leave(c);
}

void lz_release(lz_tensor *t)
{
    if (t && t->ctx->debug)
        release_checked(t);
    else if (t && t->storage)
        lz_tensor_release(t);
}

void lz_tensor_look(lz_tensor *t, lz_lazy_storage *a, const lz_spec *s, int64_t offset)
{
    lz_lazy_storage *old = t->storage;
    a->refs++;
    lz_tensor_unlink(t);
    lz_node_release(t->ctx->nodes, (lz_node *)t->value.node);
    t->value.node = NULL;
    t->storage = a;
    t->spec = s;
    t->offset = offset;
    lz_tensor_link(t);
    drop_storage(old);
}

lz_err *lz_tensor_resize(lz_tensor *t, const lz_spec *s)
{
    lz_lazy_storage *a = t->storage;
    if (t->offset + s->extent > a->spec->numel)
        LZ_TRY(lz_lazy_storage_grow(a, t->offset + s->extent));
    lz_tensor_look(t, a, s, t->offset);
    return NULL;
}

void lz_tensor_written(lz_tensor *t, const lz_op_row *op, lz_loc at)
{
    lz_lazy_storage *a = t->storage;
    a->writes++;
    a->written_by = op;
    a->written_at = at;
}

void lz_tensor_shows(lz_tensor *v, const lz_tensor *t, unsigned creation)
{
    v->tape.history = t->tape.history;
    v->tape.creation = (uint8_t)(t->tape.creation | LZ_CREATED_VIEW | creation);
    if (v->ctx->grad_mode != LZ_GRAD_ON)
        v->tape.creation |= LZ_CREATED_NO_GRAD;
}

lz_err *lz_tensor_of_data(lz_ctx *c, const lz_spec *s, lz_device d, lz_data *data, lz_tensor **out)
{
    lz_lazy_storage *a;
    lz_err *e = lz_lazy_storage_create(c, s, &a);
    if (e) {
        lz_data_release(data);
        return e;
    }
    a->device = d;
    a->data = data;
    e = lz_tensor_create(a, s, 0, out);
    lz_lazy_storage_release(a);
    return e;
}

/* ---- elements in host memory ---- */

static lz_err *fetch_data(lz_ctx *c, lz_data *d, const lz_spec *s, lz_array *out)
{
    LZ_TRY(lz_array_init(out, c->host_memory, (lz_dtype)s->dtype, lz_spec_sizes(s)));
    lz_host_tensor h = {
        { out->dtype, lz_array_sizes(out) }, lz_array_strides(out), out->buffer->data, NULL, NULL
    };
    lz_err *e = lz_data_read(d, out->dtype, &h);
    if (e)
        lz_array_deinit(out);
    return e;
}

/* A read syncs everything that is pending. If this storage succeeds and another fails, the error goes into
 * the context and the read succeeds. */
lz_err *lz_lazy_storage_make_held(lz_lazy_storage *a, lz_loc at)
{
    bool wait = a->ctx->options.async; /* the read that meets a failure reports it, no later call does */
    lz_err *e = a->value.node || wait ? lz_ctx_sync(a->ctx, &a, 1, LZ_CAUSE_READ, at) : NULL;
    if (!e || !a->data)
        return e;
    lz_err *own = lz_data_wait(a->data);
    if (!own)
        (void)lz_ctx_report(a->ctx, at, e);
    lz_err_free(own);
    return own ? e : NULL;
}

/* A view of a large storage is computed on the device, so that only the view's elements are copied. */
static lz_err *fetch_part(lz_tensor *t, lz_loc at, lz_array *out)
{
    const lz_spec *dense;
    lz_lazy_storage *a;
    lz_output v;
    LZ_TRY(lz_spec_get(t->ctx->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 },
                       &dense));
    LZ_TRY(lz_tensor_value(t, &v));
    LZ_TRY(lz_lazy_storage_create(t->ctx, dense, &a));
    lz_node_retain((lz_node *)v.node);
    lz_lazy_storage_set(a, v);
    a->device = t->storage->device;
    lz_err *e = lz_lazy_storage_make_held(a, at);
    if (!e)
        e = fetch_data(t->ctx, a->data, dense, out);
    lz_lazy_storage_release(a);
    return e;
}

/* Requires a storage with row-major elements. */
static lz_err *fetch_view(lz_tensor *t, lz_array *out)
{
    lz_array base;
    LZ_TRY(fetch_data(t->ctx, t->storage->data, t->storage->spec, &base));
    lz_err *e = lz_array_init_view(out, base.buffer, base.dtype, lz_spec_sizes(t->spec),
                                   lz_spec_strides(t->spec), t->offset);
    lz_array_deinit(&base);
    return e;
}

lz_err *lz_ctx_allows_copy(const lz_ctx *c)
{
    return c->forbidden & LZ_COPY
               ? lz_errf(LZ_ERR_ARG, "a copy between devices or to the host is forbidden here")
               : NULL;
}

lz_err *lz_tensor_fetch(lz_tensor *t, lz_loc at, lz_array *out)
{
    enum { SMALL = 1 << 18 };
    lz_lazy_storage *a = t->storage;
    t->ctx->at = at;
    LZ_TRY(lz_ctx_allows_copy(t->ctx));
    if (t->spec->numel == 0)
        return lz_array_init(out, NULL, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec));
    LZ_TRY(lz_lazy_storage_make_held(a, at));
    if (lz_tensor_is_base(t))
        return fetch_data(t->ctx, a->data, a->spec, out);
    if (a->spec->contiguous && a->spec->numel <= SMALL)
        return fetch_view(t, out);
    return fetch_part(t, at, out);
}

/* ---- dtype, sizes, device ---- */

/* Sizes and strides of an inert tensor point here. */
static const int64_t zeros[LZ_MAX_DIMS];

static const lz_spec *spec_of(const lz_tensor *t)
{
    return t ? t->spec : NULL;
}

static lz_lazy_storage *storage_of(const lz_tensor *t)
{
    return t ? t->storage : NULL;
}

lz_dtype lz_tensor_dtype(const lz_tensor *t)
{
    return spec_of(t) ? (lz_dtype)t->spec->dtype : LZ_DTYPE_NONE;
}

int64_t lz_tensor_ndim(const lz_tensor *t)
{
    return spec_of(t) ? t->spec->ndim : 0;
}

lz_ints lz_tensor_sizes(const lz_tensor *t)
{
    return spec_of(t) ? lz_spec_sizes(t->spec) : (lz_ints){ zeros, 0 };
}

lz_ints lz_tensor_strides(const lz_tensor *t)
{
    return spec_of(t) ? lz_spec_strides(t->spec) : (lz_ints){ zeros, 0 };
}

int64_t lz_tensor_offset(const lz_tensor *t)
{
    return t ? t->offset : 0;
}

int64_t lz_tensor_numel(const lz_tensor *t)
{
    return spec_of(t) ? t->spec->numel : 0;
}

lz_device lz_tensor_device(const lz_tensor *t)
{
    return storage_of(t) ? t->storage->device : LZ_DEVICE_NONE;
}

lz_ctx *lz_tensor_ctx(const lz_tensor *t)
{
    return t ? t->ctx : NULL;
}

int64_t lz_tensor_id(const lz_tensor *t)
{
    return t ? t->id : 0;
}

bool lz_tensor_is_inert(const lz_tensor *t)
{
    return !storage_of(t);
}

bool lz_tensor_is_held(const lz_tensor *t)
{
    return storage_of(t) && t->storage->data;
}

bool lz_is_alias_of(const lz_tensor *a, const lz_tensor *b)
{
    return storage_of(a) && a->storage == storage_of(b);
}
