#include "core/strided_array.h"
#include "core/convert.h"
#include "core/strides.h"
#include <assert.h>

/* Refuses sizes and strides that reach beyond the buffer, so later accesses need no check. */
static lz_err *init(lz_array *out, lz_dtype d, lz_ints sizes, lz_ints strides, int64_t offset, lz_buffer *b)
{
    lz_array a = { .dtype = d, .offset = offset };
    LZ_TRY(lz_strides_check(sizes, strides, offset, lz_dtype_size(d), b->size));
    LZ_TRY(lz_shape_numel(sizes, &a.numel));
    LZ_TRY(lz_shape_copy(sizes, &a.sizes));
    LZ_TRY(lz_shape_copy(strides, &a.strides));
    a.buffer = lz_buffer_retain(b);
    *out = a;
    return NULL;
}

static lz_err *check_dtype(lz_dtype d)
{
    if (lz_dtype_size(d) == 0)
        return lz_err_because(LZ_REASON_DTYPE, "an array needs a dtype; %d is none", (int)d);
    return NULL;
}

lz_err *lz_array_init_view(lz_array *out, lz_buffer *b, lz_dtype d, lz_ints sizes, lz_ints strides,
                           int64_t offset)
{
    *out = (lz_array){ .dtype = LZ_DTYPE_NONE };
    LZ_TRY(check_dtype(d));
    return init(out, d, sizes, strides, offset, b);
}

lz_err *lz_array_init(lz_array *out, lz_buffer_pool *pool, lz_dtype d, lz_ints sizes)
{
    lz_shape strides;
    lz_buffer *b;
    size_t bytes;
    *out = (lz_array){ .dtype = LZ_DTYPE_NONE };
    LZ_TRY(check_dtype(d));
    LZ_TRY(lz_shape_bytes(sizes, lz_dtype_size(d), &bytes));
    LZ_TRY(lz_strides_contiguous(sizes, &strides));
    LZ_TRY(lz_buffer_create(pool, bytes, &b));
    lz_err *e = init(out, d, sizes, lz_shape_ints(&strides), 0, b);
    lz_buffer_release(b);
    return e;
}

lz_err *lz_array_init_zero(lz_array *out, lz_buffer_pool *pool, lz_dtype d, lz_ints sizes)
{
    LZ_TRY(lz_array_init(out, pool, d, sizes));
    memset(out->buffer->data, 0, out->buffer->size);
    return NULL;
}

void lz_array_deinit(lz_array *a)
{
    lz_buffer_release(a->buffer);
    *a = (lz_array){ .dtype = LZ_DTYPE_NONE };
}

bool lz_array_is_contiguous(const lz_array *a)
{
    return lz_strides_are_contiguous(lz_array_sizes(a), lz_array_strides(a));
}

static char *base(const lz_array *a)
{
    return (char *)a->buffer->data + a->offset * (int64_t)lz_dtype_size(a->dtype);
}

void *lz_array_at(const lz_array *a, const int64_t *index)
{
    int64_t at = 0;
    for (int64_t d = 0; d < a->sizes.n; d++)
        at += index[d] * a->strides.v[d];
    return base(a) + at * (int64_t)lz_dtype_size(a->dtype);
}

void lz_array_index_of(const lz_array *a, int64_t position, int64_t index[LZ_MAX_DIMS])
{
    assert(position >= 0 && position < a->numel);
    for (int64_t d = a->sizes.n - 1; d >= 0; d--) {
        index[d] = position % a->sizes.v[d];
        position /= a->sizes.v[d];
    }
}

void *lz_array_at_flat(const lz_array *a, int64_t position)
{
    int64_t index[LZ_MAX_DIMS];
    lz_array_index_of(a, position, index);
    return lz_array_at(a, index);
}

lz_scalar lz_array_get(const lz_array *a, int64_t position)
{
    return lz_element_get(a->dtype, lz_array_at_flat(a, position));
}

void lz_array_set(const lz_array *a, int64_t position, lz_scalar v)
{
    lz_element_set(a->dtype, v, lz_array_at_flat(a, position));
}

/* Two arrays of equal sizes, walked together; strides in bytes. The last dimension is processed as a run. */
typedef struct walk {
    int64_t rank;
    int64_t sizes[LZ_MAX_DIMS], src[LZ_MAX_DIMS], dst[LZ_MAX_DIMS];
} walk;

static void plan(walk *w, lz_ints sizes, lz_ints src, size_t src_size, lz_ints dst, size_t dst_size)
{
    int64_t *strides[] = { w->src, w->dst };
    for (int64_t d = 0; d < sizes.n; d++) {
        w->sizes[d] = sizes.v[d];
        w->src[d] = src.v[d];
        w->dst[d] = dst.v[d];
    }
    w->rank = lz_dims_collapse(sizes.n, w->sizes, strides, 2);
    if (w->rank == 0) {
        w->rank = 1;
        w->sizes[0] = 1;
        w->src[0] = w->dst[0] = 0;
    }
    for (int64_t d = 0; d < w->rank; d++) {
        w->src[d] *= (int64_t)src_size;
        w->dst[d] *= (int64_t)dst_size;
    }
}

/* Advances to the next run, like an odometer; false after the last. */
static bool advance(const walk *w, int64_t *index, const char **src, char **dst)
{
    for (int64_t d = w->rank - 2; d >= 0; d--) {
        *src += w->src[d];
        *dst += w->dst[d];
        if (++index[d] < w->sizes[d])
            return true;
        *src -= w->src[d] * w->sizes[d];
        *dst -= w->dst[d] * w->sizes[d];
        index[d] = 0;
    }
    return false;
}

static void copy_runs(const walk *w, lz_dtype from, const char *src, lz_dtype to, char *dst)
{
    int64_t index[LZ_MAX_DIMS] = { 0 }, run = w->rank - 1;
    do
        lz_convert_run(from, src, w->src[run], to, dst, w->dst[run], w->sizes[run]);
    while (advance(w, index, &src, &dst));
}

static bool may_share(const lz_array *a, const lz_array *b)
{
    if (a->buffer != b->buffer)
        return false;
    if (lz_dtype_size(a->dtype) != lz_dtype_size(b->dtype))
        return true;
    const lz_extent x = { lz_array_sizes(a), lz_array_strides(a), a->offset };
    const lz_extent y = { lz_array_sizes(b), lz_array_strides(b), b->offset };
    return lz_strides_share(&x, &y) != LZ_SHARE_NOTHING;
}

/* Requires that the two share no memory. */
static lz_err *transfer(const lz_array *src, const lz_array *dst)
{
    lz_shape sizes, strides;
    walk w;
    LZ_TRY(
        lz_strides_expand(lz_array_sizes(src), lz_array_strides(src), lz_array_sizes(dst), &sizes, &strides));
    if (dst->numel == 0)
        return NULL;
    plan(&w, lz_array_sizes(dst), lz_shape_ints(&strides), lz_dtype_size(src->dtype), lz_array_strides(dst),
         lz_dtype_size(dst->dtype));
    copy_runs(&w, src->dtype, base(src), dst->dtype, base(dst));
    return NULL;
}

lz_err *lz_array_init_clone(lz_array *out, lz_buffer_pool *pool, const lz_array *src, lz_dtype d)
{
    LZ_TRY(lz_array_init(out, pool, d, lz_array_sizes(src)));
    lz_err *e = transfer(src, out);
    if (e)
        lz_array_deinit(out);
    return e;
}

lz_err *lz_array_copy(const lz_array *src, const lz_array *dst)
{
    lz_array apart;
    if (dst->buffer->read_only)
        return lz_errf(LZ_ERR_ARG, "cannot copy into read-only memory");
    if (!may_share(src, dst))
        return transfer(src, dst);
    LZ_TRY(lz_array_init_clone(&apart, NULL, src, src->dtype));
    lz_err *e = transfer(&apart, dst);
    lz_array_deinit(&apart);
    return e;
}
