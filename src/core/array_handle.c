#include "core/array_handle.h"
#include "base/mem.h"
#include "core/array_print.h"
#include "core/strides.h"

typedef struct counted {
    lz_array array; /* must be first */
    atomic_size_t count;
    lz_text text; /* the result of the last text request */
} counted;

/* ---- creation ---- */

lz_err *lz_array_create_from(lz_array *a, lz_array **out)
{
    counted *c = lz_mem_zalloc(1, sizeof *c);
    if (!c) {
        lz_array_deinit(a);
        return lz_err_oom();
    }
    c->array = *a;
    *a = (lz_array){ .dtype = LZ_DTYPE_NONE };
    atomic_init(&c->count, 1);
    *out = &c->array;
    return NULL;
}

lz_err *lz_array_create(lz_dtype dtype, lz_ints sizes, lz_array **out)
{
    lz_array a;
    LZ_TRY(lz_array_init_zero(&a, NULL, dtype, sizes));
    return lz_array_create_from(&a, out);
}

/* The caller's drop function and the address that the caller passed, which may not be the buffer's first. */
typedef struct foreign {
    lz_array_drop_fn *drop;
    void *user, *data;
} foreign;

static void drop(void *user, void *data, size_t size)
{
    foreign *f = user;
    (void)data, (void)size;
    if (f->drop)
        f->drop(f->user, f->data);
    lz_mem_free(f);
}

/* The range of elements around m->data that the view touches: a buffer begins at the lowest. Without elements
 * both stay 0. */
static lz_err *find_extent(const lz_foreign *m, lz_ints strides, int64_t *low, size_t *bytes)
{
    int64_t numel, high, element = (int64_t)lz_dtype_size(m->dtype), n;
    if (element == 0)
        return lz_err_because(LZ_REASON_DTYPE, "an array needs a dtype; %d is none", (int)m->dtype);
    if (strides.n != m->sizes.n)
        return lz_errf(LZ_ERR_ARG, "expected as many strides as sizes, found %lld sizes and %lld strides",
                       (long long)m->sizes.n, (long long)strides.n);
    LZ_TRY(lz_shape_check(m->sizes));
    LZ_TRY(lz_shape_numel(m->sizes, &numel));
    if (numel == 0)
        return NULL;
    if (!m->data)
        return lz_errf(LZ_ERR_ARG, "an array of %lld elements needs memory", (long long)numel);
    if ((uintptr_t)m->data % lz_dtype_size(lz_dtype_get(m->dtype)->part))
        return lz_errf(LZ_ERR_ARG, "elements of %s lie at multiples of %zu", lz_dtype_name(m->dtype),
                       lz_dtype_size(lz_dtype_get(m->dtype)->part));
    LZ_TRY(lz_strides_extent(m->sizes, strides, 0, low, &high));
    if (__builtin_sub_overflow(high, *low, &n) || __builtin_add_overflow(n, 1, &n)
        || __builtin_mul_overflow(n, element, &n))
        return lz_errf(LZ_ERR_LIMIT, "an array exceeds the address space");
    *bytes = (size_t)n;
    return NULL;
}

/* Wraps the memory in a buffer that owns *f; (*f)->drop is not set yet. */
static lz_err *wrap_buffer(const lz_foreign *m, int64_t low, size_t bytes, foreign **f, lz_buffer **out)
{
    *f = lz_mem_zalloc(1, sizeof **f);
    if (!*f)
        return lz_err_oom();
    char *first = m->data;
    if (bytes) /* without elements m->data may be NULL */
        first += low * (int64_t)lz_dtype_size(m->dtype);
    lz_err *e = lz_buffer_wrap(first, bytes, m->read_only, drop, *f, out);
    if (e)
        lz_mem_free(*f);
    return e;
}

static lz_err *view_buffer(const lz_foreign *m, lz_ints strides, lz_buffer *b, int64_t low, lz_array **out)
{
    lz_array a;
    LZ_TRY(lz_array_init_view(&a, b, m->dtype, m->sizes, strides, -low));
    return lz_array_create_from(&a, out);
}

lz_err *lz_array_wrap(const lz_foreign *m, lz_array **out)
{
    lz_shape dense;
    lz_ints strides = m->strides;
    lz_buffer *b = NULL;
    foreign *f = NULL;
    int64_t low = 0;
    size_t bytes = 0;
    if (!strides.v && m->sizes.n) {
        LZ_TRY(lz_strides_contiguous(m->sizes, &dense));
        strides = lz_shape_ints(&dense);
    }
    LZ_TRY(find_extent(m, strides, &low, &bytes));
    LZ_TRY(wrap_buffer(m, low, bytes, &f, &b));
    lz_err *e = view_buffer(m, strides, b, low, out);
    if (!e)
        *f = (foreign){ .drop = m->drop, .user = m->user, .data = m->data };
    lz_buffer_release(b);
    return e;
}

lz_array *lz_array_retain(lz_array *a)
{
    atomic_fetch_add_explicit(&((counted *)a)->count, 1, memory_order_relaxed);
    return a;
}

void lz_array_release(lz_array *a)
{
    counted *c = (counted *)a;
    if (!a || atomic_fetch_sub_explicit(&c->count, 1, memory_order_acq_rel) != 1)
        return;
    lz_text_deinit(&c->text);
    lz_array_deinit(a);
    lz_mem_free(c);
}

/* ---- access ---- */

lz_dtype lz_array_dtype(const lz_array *a)
{
    return a->dtype;
}

lz_ints lz_array_sizes(const lz_array *a)
{
    return lz_shape_ints(&a->sizes);
}

lz_ints lz_array_strides(const lz_array *a)
{
    return lz_shape_ints(&a->strides);
}

int64_t lz_array_numel(const lz_array *a)
{
    return a->numel;
}

void *lz_array_data(const lz_array *a)
{
    return (char *)a->buffer->data + a->offset * (int64_t)lz_dtype_size(a->dtype);
}

lz_err *lz_array_element(const lz_array *a, int64_t position, lz_scalar *out)
{
    if (position < 0 || position >= a->numel)
        return lz_err_because(LZ_REASON_INDEX, "element %lld of an array with %lld", (long long)position,
                              (long long)a->numel);
    *out = lz_array_get(a, position);
    return NULL;
}

lz_err *lz_array_text(lz_array *a, lz_str *out)
{
    lz_text *t = &((counted *)a)->text;
    lz_text_clear(t);
    LZ_TRY(lz_array_print(a, NULL, t));
    LZ_TRY(lz_text_check(t));
    *out = lz_text_view(t);
    return NULL;
}

const char *lz_dtype_name(lz_dtype d)
{
    return lz_dtype_size(d) ? lz_dtype_get(d)->name : NULL;
}
