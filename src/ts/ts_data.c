#include "ts/ts_data.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/strided_array.h"
#include "core/strides.h"
#include <assert.h>
#include <string.h>

lz_err *lz_ts_data_create(lz_buffer *buffer, lz_data_type type, lz_backend_device device, lz_ts_data **out)
{
    size_t n = (size_t)type.sizes.n;
    lz_ts_data *d = lz_mem_alloc(sizeof *d + n * sizeof *d->sizes);
    lz_err *e = d ? lz_shape_numel(type.sizes, &d->numel) : lz_err_oom();
    if (e) {
        lz_mem_free(d);
        lz_buffer_release(buffer);
        return e;
    }
    assert(!buffer || buffer->size >= (size_t)d->numel * lz_dtype_size(type.dtype)); /* dense */
    d->buffer = buffer;
    d->device = device;
    d->dtype = type.dtype;
    d->ndim = type.sizes.n;
    if (n)
        memcpy(d->sizes, type.sizes.v, n * sizeof *d->sizes);
    *out = d;
    return NULL;
}

void lz_ts_data_destroy(lz_ts_data *d)
{
    if (d)
        lz_buffer_release(d->buffer);
    lz_mem_free(d);
}

/* ---- host memory ---- */

/* An array that is a view of the host tensor's memory. */
static lz_err *view_host(const lz_host_tensor *t, lz_array *out)
{
    int64_t low = 0, high = -1, numel, size = (int64_t)lz_dtype_size(t->type.dtype);
    lz_buffer *b;
    LZ_TRY(lz_shape_numel(t->type.sizes, &numel));
    if (numel)
        LZ_TRY(lz_strides_extent(t->type.sizes, t->strides, 0, &low, &high));
    LZ_TRY(lz_buffer_wrap((char *)t->data + low * size, (size_t)((high - low + 1) * size), false, NULL, NULL,
                          &b));
    lz_err *e = lz_array_init_view(out, b, t->type.dtype, t->type.sizes, t->strides, -low);
    lz_buffer_release(b);
    return e;
}

static bool is_row_major(const lz_host_tensor *t)
{
    return !t->strides.v || lz_strides_are_contiguous(t->type.sizes, t->strides);
}

/* ---- upload ---- */

typedef struct foreign {
    void (*drop)(void *owner);
    void *owner;
} foreign;

static void drop_foreign(void *user, void *data, size_t size)
{
    foreign *f = user;
    (void)data, (void)size;
    if (f->drop)
        f->drop(f->owner);
    lz_mem_free(f);
}

/* Wraps the caller's memory. Until f->drop is set, the caller keeps the ownership. */
static lz_err *keep_foreign(const lz_host_tensor *t, size_t bytes, foreign **f, lz_buffer **out)
{
    *f = lz_mem_alloc(sizeof **f);
    if (!*f)
        return lz_err_oom();
    **f = (foreign){ NULL, t->owner };
    lz_err *e = lz_buffer_wrap(t->data, bytes, true, drop_foreign, *f, out);
    if (e)
        lz_mem_free(*f);
    return e;
}

static lz_err *copy_host(lz_buffer_pool *memory, const lz_host_tensor *t, lz_buffer **out)
{
    lz_array from, to;
    LZ_TRY(view_host(t, &from));
    lz_err *e = lz_array_init_clone(&to, memory, &from, t->type.dtype);
    if (!e) {
        *out = lz_buffer_retain(to.buffer);
        lz_array_deinit(&to);
    }
    lz_array_deinit(&from);
    return e;
}

static lz_err *copy_dense(lz_buffer_pool *memory, const void *data, size_t bytes, lz_buffer **out)
{
    LZ_TRY(lz_buffer_create(memory, bytes, out));
    if (bytes)
        memcpy((*out)->data, data, bytes);
    return NULL;
}

/* A single value is read at once, so that the caller's memory is free when the function returns. */
static lz_err *fill_one(lz_buffer_pool *memory, lz_dtype d, lz_scalar v, lz_buffer **out)
{
    LZ_TRY(lz_buffer_create(memory, lz_dtype_size(d), out));
    lz_element_set(d, v, (*out)->data);
    return NULL;
}

lz_err *lz_ts_data_upload(lz_buffer_pool *memory, const lz_host_tensor *t, lz_backend_device device,
                          lz_ts_data **out)
{
    int64_t numel;
    size_t size = lz_dtype_size(t->type.dtype);
    lz_buffer *buffer;
    foreign *kept = NULL;
    LZ_TRY(lz_shape_numel(t->type.sizes, &numel));
    bool dense = is_row_major(t), aligned = (uintptr_t)t->data % size == 0;
    bool keep = t->drop && dense && aligned && numel > 1;
    if (keep)
        LZ_TRY(keep_foreign(t, (size_t)numel * size, &kept, &buffer));
    else if (numel == 1)
        LZ_TRY(fill_one(memory, t->type.dtype, lz_element_get(t->type.dtype, t->data), &buffer));
    else if (dense)
        LZ_TRY(copy_dense(memory, t->data, (size_t)numel * size, &buffer));
    else
        LZ_TRY(copy_host(memory, t, &buffer));
    LZ_TRY(lz_ts_data_create(buffer, t->type, device, out));
    if (kept)
        kept->drop = t->drop;
    else if (t->drop)
        t->drop(t->owner);
    return NULL;
}

static lz_dtype dtype_of(lz_scalar_kind kind)
{
    static const lz_dtype dtypes[] = { [LZ_SCALAR_NONE] = LZ_F64,
                                       [LZ_SCALAR_BOOL] = LZ_BOOL,
                                       [LZ_SCALAR_INT] = LZ_I64,
                                       [LZ_SCALAR_FLOAT] = LZ_F64,
                                       [LZ_SCALAR_COMPLEX] = LZ_C128 };
    return dtypes[kind];
}

lz_err *lz_ts_data_of_scalar(lz_buffer_pool *memory, lz_scalar v, lz_backend_device device, lz_ts_data **out)
{
    lz_data_type type = { dtype_of(v.kind), { NULL, 0 } };
    lz_buffer *buffer;
    LZ_TRY(fill_one(memory, type.dtype, v, &buffer));
    return lz_ts_data_create(buffer, type, device, out);
}

/* ---- download ---- */

lz_err *lz_ts_data_download(const lz_ts_data *d, const lz_host_tensor *out)
{
    lz_shape dense;
    lz_array from, to;
    size_t bytes = (size_t)d->numel * lz_dtype_size(d->dtype);
    assert(d->buffer); /* only an execution's own results have no elements yet */
    if (!lz_shape_eq(out->type.sizes, (lz_ints){ d->sizes, d->ndim }))
        return lz_errf(LZ_ERR_ARG, "the sizes of the host tensor differ from those of the data");
    if (out->type.dtype == d->dtype && is_row_major(out)) {
        if (bytes)
            memcpy(out->data, d->buffer->data, bytes);
        return NULL;
    }
    LZ_TRY(lz_strides_contiguous((lz_ints){ d->sizes, d->ndim }, &dense));
    LZ_TRY(lz_array_init_view(&from, d->buffer, d->dtype, (lz_ints){ d->sizes, d->ndim },
                              lz_shape_ints(&dense), 0));
    lz_err *e = view_host(out, &to);
    if (!e) {
        e = lz_array_copy(&from, &to);
        lz_array_deinit(&to);
    }
    lz_array_deinit(&from);
    return e;
}
