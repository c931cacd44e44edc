/* Tensors: their life, and the questions of the public interface. */
#include "base/mem.h"
#include "core/array_print.h"
#include "core/convert.h"
#include "core/device.h"
#include "core/strides.h"
#include "lazy/debug.h"
#include "lazy/registry.h"
#include "lazy/sync.h"
#include <assert.h>
#include <lazuli/autograd.h>
#include <math.h>
#include <string.h>

/* ---- life ---- */

/* t takes over one count of the storage. */
static inline void look_first(lz_tensor *t, lz_alias *a, const lz_spec *s, int64_t offset)
{
    lz_ctx *c = a->ctx;
    t->count = 1;
    t->version = 0;
    t->ctx = c;
    t->alias = a;
    t->spec = s;
    t->offset = offset;
    t->id = ++c->next_id;
    t->value.node = NULL;
    t->extras = NULL;
    t->meta = NULL;
    t->family = 0;
    t->writes = a->writes;
    t->made = c->grad_mode == LZ_GRAD_INFERENCE ? LZ_MADE_INFERENCE : 0;
    lz_tensor_link(t);
    lz_scope_add(c->scope, t);
    if (c->debug)
        lz_debug_made(t);
    lz_ctx_count(c, LZ_COUNT_CREATE);
}

lz_err *lz_tensor_create(lz_alias *a, const lz_spec *s, int64_t offset, lz_tensor **out)
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
    lz_alias *a = lz_slab_take(&c->aliases);
    lz_tensor *t = a ? lz_slab_take(&c->tensors) : NULL;
    if (!t) {
        if (a)
            lz_slab_give(&c->aliases, a);
        return lz_err_oom();
    }
    lz_alias_begin(a, c, s, d, v);
    look_first(t, a, s, 0);
    *out = t;
    return NULL;
}

/* What nobody looks at any more has no history. */
static inline void let_go(lz_alias *a)
{
    if (a->bases && !a->views)
        a->ctx->tape_hooks->drop_storage(a);
    lz_alias_release(a);
}

void lz_tensor_destroy(lz_tensor *t)
{
    lz_ctx *c = t->ctx;
    lz_scope_remove(t);
    while (t->extras)
        lz_scope_unshare(t);
    if (t->meta)
        c->tape_hooks->drop_tensor(t);
    lz_tensor_unlink(t);
    lz_node_release(c->nodes, (lz_node *)t->value.node);
    let_go(t->alias);
    if (c->debug)
        lz_debug_released(t);
    else
        lz_slab_give(&c->tensors, t);
    lz_ctx_count(c, LZ_COUNT_DESTROY);
}

/* NULL, of a call that failed, or released. `what` uses it. */
static bool is_inert(const lz_tensor *t, lz_loc at, const char *what)
{
    if (t && t->alias)
        return false;
    if (t && t->ctx->debug)
        lz_debug_use(t, at, what);
    return true;
}

lz_tensor *lz_retain(lz_tensor *t)
{
    if (!is_inert(t, (lz_loc){ 0 }, "lz_retain"))
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
    if (is_inert(t, (lz_loc){ 0 }, "lz_release") || !lz_debug_enter(c, (lz_loc){ 0 }))
        return;
    lz_tensor_release(t);
    lz_debug_leave(c);
}

void lz_release(lz_tensor *t)
{
    if (t && t->ctx->debug)
        release_checked(t);
    else if (t && t->alias)
        lz_tensor_release(t);
}

void lz_tensor_look(lz_tensor *t, lz_alias *a, const lz_spec *s, int64_t offset)
{
    lz_alias *old = t->alias;
    a->refs++;
    lz_tensor_unlink(t);
    lz_node_release(t->ctx->nodes, (lz_node *)t->value.node);
    t->value.node = NULL;
    t->alias = a;
    t->spec = s;
    t->offset = offset;
    lz_tensor_link(t);
    let_go(old);
}

void lz_tensor_written(lz_tensor *t, const lz_op_row *op, lz_loc at)
{
    lz_alias *a = t->alias;
    a->writes++;
    a->written_by = op;
    a->written_at = at;
}

void lz_tensor_shows(lz_tensor *v, const lz_tensor *t, unsigned made)
{
    v->family = t->family;
    v->made = (uint8_t)(t->made | LZ_MADE_VIEW | made);
    if (v->ctx->grad_mode != LZ_GRAD_ON)
        v->made |= LZ_MADE_OFF;
}

lz_err *lz_tensor_of_data(lz_ctx *c, const lz_spec *s, lz_device d, lz_data *data, lz_tensor **out)
{
    lz_alias *a;
    lz_err *e = lz_alias_create(c, s, &a);
    if (e) {
        lz_data_release(data);
        return e;
    }
    a->device = d;
    a->data = data;
    e = lz_tensor_create(a, s, 0, out);
    lz_alias_release(a);
    return e;
}

/* ---- from memory ---- */

/* *taken: the memory is somebody else's to drop; may be NULL. */
static lz_err *upload(lz_ctx *c, const lz_host_tensor *h, bool *taken, lz_tensor **out)
{
    const lz_spec *s;
    lz_data *d;
    if (!c->backend)
        return lz_errf(LZ_ERR_NOT_FOUND, "the context has no device");
    LZ_TRY(lz_spec_get(c->specs, h->type.dtype, h->type.sizes, (lz_ints){ NULL, 0 }, &s));
    LZ_TRY(lz_ctx_upload(c, c->backend, c->device, h, &d));
    if (taken)
        *taken = true;
    return lz_tensor_of_data(c, s, c->device, d, out);
}

static lz_tensor *give(lz_ctx *c, lz_loc at, lz_err *e, lz_tensor *t)
{
    return lz_ctx_told(c, at, e) ? t : c->inert;
}

static lz_err *check_memory(lz_dtype d, lz_ints sizes, const void *data)
{
    int64_t numel;
    if (!lz_dtype_size(d))
        return lz_errf(LZ_ERR_ARG, "there is no dtype %d", (int)d);
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    return data || numel == 0 ? NULL : lz_errf(LZ_ERR_ARG, "no memory is given");
}

lz_tensor *lz_from_memory_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, const void *data)
{
    lz_tensor *t = NULL;
    lz_shape strides;
    if (!lz_ctx_enter(c, at))
        return c->inert;
    c->at = at;
    lz_err *e = check_memory(d, sizes, data);
    if (!e)
        e = lz_strides_contiguous(sizes, &strides);
    if (!e) {
        lz_host_tensor h = { { d, sizes }, lz_shape_ints(&strides), (void *)data, NULL, NULL };
        e = upload(c, &h, NULL, &t);
    }
    t = give(c, at, e, t);
    lz_ctx_leave(c);
    return t;
}

lz_tensor *(lz_from_memory)(lz_ctx *c, lz_dtype d, lz_ints sizes, const void *data)
{
    return lz_from_memory_at(c, (lz_loc){ 0 }, d, sizes, data);
}

lz_tensor *lz_from_foreign_at(lz_ctx *c, lz_loc at, lz_dtype d, lz_ints sizes, lz_ints strides, void *data,
                              void (*drop)(void *owner), void *owner)
{
    lz_tensor *t = NULL;
    lz_shape dense;
    bool taken = false;
    if (!lz_ctx_enter(c, at)) {
        if (drop)
            drop(owner);
        return c->inert;
    }
    c->at = at;
    lz_err *e = check_memory(d, sizes, data);
    if (!e && !strides.v) {
        e = lz_strides_contiguous(sizes, &dense);
        strides = lz_shape_ints(&dense);
    }
    if (!e && strides.n != sizes.n)
        e = lz_errf(LZ_ERR_ARG, "mismatch in length of strides and shape");
    if (!e) {
        lz_host_tensor h = { { d, sizes }, strides, data, drop, owner };
        e = upload(c, &h, &taken, &t);
    }
    if (!taken && drop)
        drop(owner);
    t = give(c, at, e, t);
    lz_ctx_leave(c);
    return t;
}

lz_tensor *(lz_from_foreign)(lz_ctx *c, lz_dtype d, lz_ints sizes, lz_ints strides, void *data,
                             void (*drop)(void *owner), void *owner)
{
    return lz_from_foreign_at(c, (lz_loc){ 0 }, d, sizes, strides, data, drop, owner);
}

/* ---- to memory ---- */

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

/* A read runs what else is pending. Where something of that failed and this did not, it is told, and the
 * read goes on. */
static lz_err *hold(lz_alias *a, lz_loc at)
{
    bool wait = a->ctx->options.async; /* a failure is told by the read that meets it, not again later */
    lz_err *e = a->value.node || wait ? lz_ctx_sync(a->ctx, &a, 1, LZ_CAUSE_READ, at) : NULL;
    if (!e || !a->data)
        return e;
    lz_err *own = lz_data_wait(a->data);
    if (!own)
        (void)lz_ctx_told(a->ctx, at, e);
    lz_err_free(own);
    return own ? e : NULL;
}

/* A view of something large is computed where it is. */
static lz_err *fetch_part(lz_tensor *t, lz_loc at, lz_array *out)
{
    const lz_spec *dense;
    lz_alias *a;
    lz_output v;
    LZ_TRY(lz_spec_get(t->ctx->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 },
                       &dense));
    LZ_TRY(lz_tensor_value(t, &v));
    LZ_TRY(lz_alias_create(t->ctx, dense, &a));
    lz_node_retain((lz_node *)v.node);
    lz_alias_set(a, v);
    a->device = t->alias->device;
    lz_err *e = hold(a, at);
    if (!e)
        e = fetch_data(t->ctx, a->data, dense, out);
    lz_alias_release(a);
    return e;
}

/* Of a base that lies row-major, as its data does. */
static lz_err *fetch_view(lz_tensor *t, lz_array *out)
{
    lz_array base;
    LZ_TRY(fetch_data(t->ctx, t->alias->data, t->alias->spec, &base));
    lz_err *e = lz_array_init_view(out, base.buffer, base.dtype, lz_spec_sizes(t->spec),
                                   lz_spec_strides(t->spec), t->offset);
    lz_array_deinit(&base);
    return e;
}

static lz_err *check_copy(const lz_ctx *c)
{
    return c->forbidden & LZ_COPY
               ? lz_errf(LZ_ERR_ARG, "a copy between devices or to the host is forbidden here")
               : NULL;
}

lz_err *lz_tensor_fetch(lz_tensor *t, lz_loc at, lz_array *out)
{
    enum { SMALL = 1 << 18 };
    lz_alias *a = t->alias;
    t->ctx->at = at;
    LZ_TRY(check_copy(t->ctx));
    if (t->spec->numel == 0)
        return lz_array_init(out, NULL, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec));
    LZ_TRY(hold(a, at));
    if (lz_tensor_is_base(t))
        return fetch_data(t->ctx, a->data, a->spec, out);
    if (a->spec->contiguous && a->spec->numel <= SMALL)
        return fetch_view(t, out);
    return fetch_part(t, at, out);
}

static lz_err *read_elements(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    lz_array from, to;
    lz_buffer *memory;
    lz_shape strides;
    size_t need;
    LZ_TRY(lz_shape_bytes(lz_spec_sizes(t->spec), lz_dtype_size((lz_dtype)t->spec->dtype), &need));
    if (size < need)
        return lz_errf(LZ_ERR_ARG, "%zu bytes are not enough for %zu", size, need);
    if (!data && need)
        return lz_errf(LZ_ERR_ARG, "no memory is given");
    LZ_TRY(lz_strides_contiguous(lz_spec_sizes(t->spec), &strides));
    LZ_TRY(lz_tensor_fetch(t, at, &from));
    lz_err *e = lz_buffer_wrap(data, need, false, NULL, NULL, &memory);
    if (!e) {
        e = lz_array_init_view(&to, memory, from.dtype, lz_array_sizes(&from), lz_shape_ints(&strides), 0);
        if (!e) {
            e = lz_array_copy(&from, &to);
            lz_array_deinit(&to);
        }
        lz_buffer_release(memory);
    }
    lz_array_deinit(&from);
    return e;
}

/* Whether it went well; the error is the context's. */
static bool read_all(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    lz_ctx *c = t->ctx;
    if (!lz_ctx_enter(c, at))
        return false;
    bool ok = lz_ctx_told(c, at, read_elements(t, at, data, size));
    lz_ctx_leave(c);
    return ok;
}

bool lz_read_at(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    if (is_inert(t, at, "lz_read"))
        return false;
    return read_all(t, at, data, size);
}

bool(lz_read)(lz_tensor *t, void *data, size_t size)
{
    return lz_read_at(t, (lz_loc){ 0 }, data, size);
}

/* Both numbers of a real one, whatever its kind. */
static lz_scalar fill_item(lz_scalar s)
{
    const double beyond = 9223372036854775808.0; /* 2^63 */
    if (s.kind == LZ_SCALAR_BOOL || s.kind == LZ_SCALAR_INT)
        s.re = (double)s.i;
    else if (s.re >= -beyond && s.re < beyond)
        s.i = (int64_t)s.re;
    else if (!isnan(s.re))
        s.i = s.re < 0 ? INT64_MIN : INT64_MAX;
    return s;
}

lz_scalar lz_item_at(lz_tensor *t, lz_loc at)
{
    char element[16];
    const lz_scalar nothing = { LZ_SCALAR_NONE, 0, NAN, NAN };
    if (is_inert(t, at, "lz_item"))
        return nothing;
    if (t->spec->numel != 1) {
        lz_ctx_fail(t->ctx, at, NULL,
                    lz_errf(LZ_ERR_ARG, "a Tensor with %lld elements cannot be converted to Scalar",
                            (long long)t->spec->numel));
        return nothing;
    }
    return read_all(t, at, element, sizeof element)
               ? fill_item(lz_element_get((lz_dtype)t->spec->dtype, element))
               : nothing;
}

double lz_item_double_at(lz_tensor *t, lz_loc at)
{
    return lz_item_at(t, at).re;
}

int64_t lz_item_int_at(lz_tensor *t, lz_loc at)
{
    return lz_item_at(t, at).i;
}

lz_scalar(lz_item)(lz_tensor *t)
{
    return lz_item_at(t, (lz_loc){ 0 });
}

double(lz_item_double)(lz_tensor *t)
{
    return lz_item_double_at(t, (lz_loc){ 0 });
}

int64_t(lz_item_int)(lz_tensor *t)
{
    return lz_item_int_at(t, (lz_loc){ 0 });
}

static bool print(lz_tensor *t, lz_loc at)
{
    lz_ctx *c = t->ctx;
    lz_array a;
    lz_text_clear(&c->printed);
    lz_err *e = lz_tensor_fetch(t, at, &a);
    if (!e) {
        e = lz_array_print(&a, NULL, &c->printed);
        lz_array_deinit(&a);
    }
    lz_text_putc(&c->printed, '\0');
    if (!e)
        e = lz_text_check(&c->printed);
    return lz_ctx_told(c, at, e);
}

const char *lz_print_at(lz_tensor *t, lz_loc at)
{
    if (is_inert(t, at, "lz_print") || !lz_ctx_enter(t->ctx, at))
        return "";
    lz_ctx *c = t->ctx;
    const char *text = print(t, at) ? c->printed.ptr : "";
    lz_ctx_leave(c);
    return text;
}

const char *(lz_print)(lz_tensor *t)
{
    return lz_print_at(t, (lz_loc){ 0 });
}

/* ---- what it looks like ---- */

/* What sizes and strides of an inert tensor point to. */
static const int64_t zeros[LZ_MAX_DIMS];

static const lz_spec *spec_of(const lz_tensor *t)
{
    return t ? t->spec : NULL;
}

static lz_alias *storage_of(const lz_tensor *t)
{
    return t ? t->alias : NULL;
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
    return storage_of(t) ? t->alias->device : LZ_DEVICE_NONE;
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
    return storage_of(t) && t->alias->data;
}

bool lz_is_alias_of(const lz_tensor *a, const lz_tensor *b)
{
    return storage_of(a) && a->alias == storage_of(b);
}

/* ---- elsewhere ---- */

/* Specs belong to contexts. */
static lz_err *spec_in(lz_ctx *c, const lz_spec *s, const lz_spec **out)
{
    return lz_spec_get(c->specs, (lz_dtype)s->dtype, lz_spec_sizes(s), lz_spec_strides(s), out);
}

static lz_err *share(lz_ctx *to, lz_loc at, lz_tensor *t, lz_tensor **out)
{
    const lz_spec *base, *view;
    lz_tensor *whole = NULL;
    LZ_TRY(hold(t->alias, at));
    LZ_TRY(spec_in(to, t->alias->spec, &base));
    LZ_TRY(spec_in(to, t->spec, &view));
    LZ_TRY(lz_tensor_of_data(to, base, t->alias->device, lz_data_retain(t->alias->data), &whole));
    assert(whole);
    *out = whole;
    if (lz_tensor_is_base(t))
        return NULL;
    lz_err *e = lz_tensor_create(whole->alias, view, t->offset, out);
    lz_release(whole);
    return e;
}

lz_tensor *lz_share_at(lz_ctx *to, lz_loc at, lz_tensor *held)
{
    lz_tensor *t = NULL;
    if (is_inert(held, at, "lz_share"))
        return to->inert;
    lz_err *e = share(to, at, held, &t);
    return give(to, at, e, t);
}

lz_tensor *(lz_share)(lz_ctx *to, lz_tensor *held)
{
    return lz_share_at(to, (lz_loc){ 0 }, held);
}

/* A whole storage: the backend may know a way that does not lead through the host. */
static lz_err *copy_base(lz_tensor *t, lz_loc at, const lz_backend *b, lz_device d, lz_data **out)
{
    LZ_TRY(hold(t->alias, at));
    return lz_data_copy(t->alias->data, b, d, out);
}

static lz_err *copy_elements(lz_ctx *c, lz_loc at, lz_tensor *t, const lz_backend *b, lz_device d,
                             lz_data **out)
{
    lz_array a;
    LZ_TRY(lz_tensor_fetch(t, at, &a));
    lz_host_tensor h = { { a.dtype, lz_array_sizes(&a) },
                         lz_array_strides(&a),
                         (char *)a.buffer->data + (size_t)a.offset * lz_dtype_size(a.dtype),
                         NULL,
                         NULL };
    lz_err *e = lz_ctx_upload(c, b, d, &h, out);
    lz_array_deinit(&a);
    return e;
}

/* A tensor of its own with the same elements on device d. */
static lz_err *copy_to(lz_ctx *c, lz_loc at, lz_tensor *t, lz_device d, lz_tensor **out)
{
    lz_data *data = NULL;
    const lz_spec *s;
    const lz_backend *b = lz_backend_of(d.type);
    if (!b)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend serves devices of type %d", (int)d.type);
    LZ_TRY(check_copy(c));
    lz_ctx_uses(c, d);
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 }, &s));
    bool whole = lz_tensor_is_base(t) && t->spec->numel > 0 && t->alias->device.type == d.type;
    LZ_TRY(whole && b->copy_data ? copy_base(t, at, b, d, &data) : copy_elements(c, at, t, b, d, &data));
    return lz_tensor_of_data(c, s, d, data, out);
}

/* Gradients go through it. */
static lz_tensor *same_elements(lz_ctx *c, lz_loc at, lz_tensor *t)
{
    const lz_value in = lz_value_tensor(t);
    lz_value out = lz_value_tensor(c->inert);
    lz_record(c, &lz_op_table[LZ_OP_alias], at, &in, &out);
    return out.tensor;
}

lz_tensor *lz_copy_to_at(lz_ctx *c, lz_loc at, lz_tensor *t, lz_device d)
{
    lz_tensor *out = NULL;
    if (is_inert(t, at, "lz_copy_to"))
        return c->inert;
    lz_err *e = lz_backend_device_of(d, &d);
    if (e)
        return give(c, at, e, NULL);
    bool here = lz_device_eq(d, t->alias->device);
    if (here && t->ctx != c)
        return lz_share_at(c, at, t);
    if (here && c->tape)
        return same_elements(c, at, t);
    e = here ? lz_tensor_create(t->alias, t->spec, t->offset, &out) : copy_to(c, at, t, d, &out);
    if (!e && here)
        lz_tensor_shows(out, t, 0);
    return give(c, at, e, out);
}

lz_tensor *(lz_copy_to)(lz_ctx *c, lz_tensor *t, lz_device d)
{
    return lz_copy_to_at(c, (lz_loc){ 0 }, t, d);
}

static lz_err *check_data(const lz_tensor *t, const lz_tensor *data)
{
    lz_ctx *c = t->ctx;
    if (data->ctx != c)
        return lz_errf(LZ_ERR_ARG, "the tensor belongs to another context: lz_share it");
    if (c->tape && !lz_dtype_is_float((lz_dtype)data->spec->dtype) && c->tape_hooks->is_required(t))
        return lz_errf(LZ_ERR_ARG,
                       "data set to a tensor that requires gradients must be of a floating dtype");
    return NULL;
}

bool lz_set_data(lz_tensor *t, lz_tensor *data)
{
    if (!t || !data || !t->alias || !data->alias)
        return false;
    lz_err *e = check_data(t, data);
    if (e)
        return lz_ctx_told(t->ctx, (lz_loc){ 0 }, e);
    lz_tensor_look(t, data->alias, data->spec, data->offset);
    return true;
}
