#include "io/elements.h"
#include "core/strides.h"
#include <assert.h>

lz_err *lz_elements_bytes(const lz_elements *s, size_t *out)
{
    return lz_shape_bytes(s->sizes, lz_dtype_size(s->dtype), out);
}

/* In Fortran order the strides are those of the reversed sizes, reversed. */
static lz_err *strides_of(const lz_elements *s, lz_shape *out)
{
    lz_shape reversed, strides;
    lz_ints sizes = s->sizes;
    if (!s->fortran)
        return lz_strides_contiguous(sizes, out);
    LZ_TRY(lz_shape_copy(sizes, &reversed));
    for (int64_t i = 0; i < sizes.n; i++)
        reversed.v[i] = sizes.v[sizes.n - 1 - i];
    LZ_TRY(lz_strides_contiguous(lz_shape_ints(&reversed), &strides));
    for (int64_t i = 0; i < sizes.n; i++)
        out->v[i] = strides.v[sizes.n - 1 - i];
    out->n = sizes.n;
    return NULL;
}

static lz_err *view(const lz_elements *s, lz_buffer *b, size_t at, lz_array *out)
{
    assert(at <= b->size);
    lz_shape strides;
    LZ_TRY(strides_of(s, &strides));
    return lz_array_init_view(out, b, s->dtype, s->sizes, lz_shape_ints(&strides),
                              (int64_t)(at / lz_dtype_size(s->dtype)));
}

static void swap_bytes(char *p, size_t size, size_t count)
{
    for (; count--; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            char t = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = t;
        }
}

/* Converts stored bytes to the machine's byte order, and bools to 0 and 1. */
static void change(const lz_elements *s, char *p, size_t bytes)
{
    size_t part = lz_dtype_size(lz_dtype_get(s->dtype)->part);
    if (s->swapped)
        swap_bytes(p, part, bytes / part);
    for (size_t i = 0; s->dtype == LZ_BOOL && i < bytes; i++)
        p[i] = p[i] != 0;
}

lz_err *lz_elements_adopt(const lz_elements *s, lz_buffer *b, lz_array *out)
{
    change(s, b->data, b->size);
    return view(s, b, 0, out);
}

static bool all_bools(const unsigned char *p, size_t n)
{
    unsigned char bits = 0;
    for (size_t i = 0; i < n; i++)
        bits |= p[i];
    return bits <= 1;
}

static bool as_they_are(const lz_elements *s, const lz_buffer *b, size_t at, size_t bytes)
{
    const char *p = (const char *)b->data + at;
    size_t size = lz_dtype_size(s->dtype);
    return !s->swapped && at % size == 0 && (uintptr_t)p % size == 0
           && (s->dtype != LZ_BOOL || all_bools((const unsigned char *)p, bytes));
}

static lz_err *copy(const lz_elements *s, const void *from, size_t bytes, lz_buffer_pool *pool, lz_array *out)
{
    lz_buffer *b;
    LZ_TRY(lz_buffer_create(pool, bytes, &b));
    if (bytes)
        memcpy(b->data, from, bytes);
    lz_err *e = lz_elements_adopt(s, b, out);
    lz_buffer_release(b);
    return e;
}

lz_err *lz_elements_array(const lz_elements *s, lz_buffer *b, size_t at, lz_buffer_pool *pool, lz_array *out)
{
    size_t bytes;
    *out = (lz_array){ .dtype = LZ_DTYPE_NONE };
    LZ_TRY(lz_elements_bytes(s, &bytes));
    if (at > b->size || b->size - at < bytes)
        return lz_errf(LZ_ERR_INTERNAL, "the elements exceed the buffer");
    if (as_they_are(s, b, at, bytes))
        return view(s, b, at, out);
    return copy(s, (const char *)b->data + at, bytes, pool, out);
}
