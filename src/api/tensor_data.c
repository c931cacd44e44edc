/* Elements of tensors: copied from memory, to memory, to other contexts and devices. */
#include "core/array_print.h"
#include "core/convert.h"
#include "core/device.h"
#include "core/strides.h"
#include "lazy/debug.h"
#include "lazy/lazy_tensor.h"
#include "lazy/record.h"
#include "lazy/registry.h"
#include "lazy/sync.h"
#include <assert.h>
#include <lazuli/autograd.h>
#include <math.h>

/* ---- from memory ---- */

/* *taken: the backend has taken over the memory; may be NULL. */
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
    return lz_ctx_report(c, at, e) ? t : c->inert;
}

static lz_err *check_memory(lz_dtype d, lz_ints sizes, const void *data)
{
    int64_t numel;
    if (!lz_dtype_size(d))
        return lz_err_because(LZ_REASON_DTYPE, "expected a dtype, got %d", (int)d);
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    return data || numel == 0 ? NULL : lz_errf(LZ_ERR_ARG, "expected memory, found NULL");
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

static lz_err *read_elements(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    lz_array from, to;
    lz_buffer *memory;
    lz_shape strides;
    size_t need;
    LZ_TRY(lz_shape_bytes(lz_spec_sizes(t->spec), lz_dtype_size((lz_dtype)t->spec->dtype), &need));
    if (size < need)
        return lz_errf(LZ_ERR_ARG, "the memory has %zu bytes, but the elements need %zu", size, need);
    if (!data && need)
        return lz_errf(LZ_ERR_ARG, "expected memory, found NULL");
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

/* false: the error is in the context. */
static bool read_all(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    lz_ctx *c = t->ctx;
    if (!lz_ctx_enter(c, at))
        return false;
    bool ok = lz_ctx_report(c, at, read_elements(t, at, data, size));
    lz_ctx_leave(c);
    return ok;
}

bool lz_read_at(lz_tensor *t, lz_loc at, void *data, size_t size)
{
    if (lz_debug_inert(t, at, "lz_read"))
        return false;
    return read_all(t, at, data, size);
}

bool(lz_read)(lz_tensor *t, void *data, size_t size)
{
    return lz_read_at(t, (lz_loc){ 0 }, data, size);
}

/* Sets both numbers of a real scalar, whatever its kind. */
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
    if (lz_debug_inert(t, at, "lz_item"))
        return nothing;
    if (t->spec->numel != 1) {
        lz_ctx_fail(t->ctx, at,
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
    return lz_ctx_report(c, at, e);
}

const char *lz_print_at(lz_tensor *t, lz_loc at)
{
    if (lz_debug_inert(t, at, "lz_print") || !lz_ctx_enter(t->ctx, at))
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

/* ---- to other contexts and devices ---- */

/* The spec of context c that equals s. */
static lz_err *spec_in(lz_ctx *c, const lz_spec *s, const lz_spec **out)
{
    return lz_spec_get(c->specs, (lz_dtype)s->dtype, lz_spec_sizes(s), lz_spec_strides(s), out);
}

static lz_err *share(lz_ctx *to, lz_loc at, lz_tensor *t, lz_tensor **out)
{
    const lz_spec *base, *view;
    lz_tensor *whole = NULL;
    LZ_TRY(lz_lazy_storage_make_held(t->storage, at));
    LZ_TRY(spec_in(to, t->storage->spec, &base));
    LZ_TRY(spec_in(to, t->spec, &view));
    LZ_TRY(lz_tensor_of_data(to, base, t->storage->device, lz_data_retain(t->storage->data), &whole));
    assert(whole);
    *out = whole;
    if (lz_tensor_is_base(t))
        return NULL;
    lz_err *e = lz_tensor_create(whole->storage, view, t->offset, out);
    lz_release(whole);
    return e;
}

lz_tensor *lz_share_at(lz_ctx *to, lz_loc at, lz_tensor *held)
{
    lz_tensor *t = NULL;
    if (lz_debug_inert(held, at, "lz_share"))
        return to->inert;
    lz_err *e = share(to, at, held, &t);
    return give(to, at, e, t);
}

lz_tensor *(lz_share)(lz_ctx *to, lz_tensor *held)
{
    return lz_share_at(to, (lz_loc){ 0 }, held);
}

/* Copies a whole storage, possibly without the host. */
static lz_err *copy_base(lz_tensor *t, lz_loc at, const lz_backend *b, lz_device d, lz_data **out)
{
    LZ_TRY(lz_lazy_storage_make_held(t->storage, at));
    return lz_data_copy(t->storage->data, b, d, out);
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

/* A new tensor with the same elements on device d. */
static lz_err *copy_to(lz_ctx *c, lz_loc at, lz_tensor *t, lz_device d, lz_tensor **out)
{
    lz_data *data = NULL;
    const lz_spec *s;
    const lz_backend *b = lz_backend_of(d.type);
    if (!b)
        return lz_errf(LZ_ERR_NOT_FOUND, "no backend has devices of type %d", (int)d.type);
    LZ_TRY(lz_ctx_allows_copy(c));
    lz_ctx_uses(c, d);
    LZ_TRY(lz_spec_get(c->specs, (lz_dtype)t->spec->dtype, lz_spec_sizes(t->spec), (lz_ints){ NULL, 0 }, &s));
    bool whole = lz_tensor_is_base(t) && t->spec->numel > 0 && t->storage->device.type == d.type;
    LZ_TRY(whole && b->copy_data ? copy_base(t, at, b, d, &data) : copy_elements(c, at, t, b, d, &data));
    return lz_tensor_of_data(c, s, d, data, out);
}

/* A view of the whole tensor, recorded so that gradients pass. */
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
    if (lz_debug_inert(t, at, "lz_copy_to"))
        return c->inert;
    lz_err *e = lz_backend_device_of(d, &d);
    if (e)
        return give(c, at, e, NULL);
    bool here = lz_device_eq(d, t->storage->device);
    if (here && t->ctx != c)
        return lz_share_at(c, at, t);
    if (here && c->tape)
        return same_elements(c, at, t);
    e = here ? lz_tensor_create(t->storage, t->spec, t->offset, &out) : copy_to(c, at, t, d, &out);
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
        return lz_err_because(LZ_REASON_CONTEXT, "the tensor belongs to another context: lz_share it");
    if (!lz_dtype_is_float((lz_dtype)data->spec->dtype) && lz_requires_grad(t))
        return lz_err_because(LZ_REASON_DTYPE,
                              "data set to a tensor that requires gradients must be of a floating dtype");
    return NULL;
}

bool lz_set_data(lz_tensor *t, lz_tensor *data)
{
    if (!t || !data || !t->storage || !data->storage)
        return false;
    lz_err *e = check_data(t, data);
    if (e)
        return lz_ctx_report(t->ctx, (lz_loc){ 0 }, e);
    lz_tensor_look(t, data->storage, data->spec, data->offset);
    return true;
}
