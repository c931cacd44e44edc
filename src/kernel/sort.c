#include "base/mem.h"
#include "core/convert.h"
#include "kernel/walk.h"
#include <math.h>
#include <string.h>

/* Elements are sorted by integer keys of the same order, so that one sort serves every
 * dtype. A NaN has the greatest key, both zeros have one. */
typedef struct keyed {
    int64_t key, index;
} keyed;

static int64_t float_key(double v)
{
    int64_t bits;
    if (isnan(v))
        return INT64_MAX;
    if (v == 0)
        return 0;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static int64_t key_of(lz_dtype d, const void *p)
{
    lz_scalar v = lz_element_get(d, p);
    return v.kind == LZ_SCALAR_FLOAT ? float_key(v.re) : v.i;
}

static void merge(const keyed *a, int64_t na, const keyed *b, int64_t nb, keyed *out)
{
    while (na > 0 && nb > 0) {
        if (b->key < a->key) {
            *out++ = *b++;
            nb--;
        } else {
            *out++ = *a++;
            na--;
        }
    }
    memcpy(out, na ? a : b, (size_t)(na + nb) * sizeof *out);
}

/* Stable; *v and *room change places as needed. */
static void sort(keyed **v, keyed **room, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t na = width < n - i ? width : n - i, nb = n - i - na < width ? n - i - na : width;
            merge(*v + i, na, *v + i + na, nb, *room + i);
        }
        keyed *t = *v;
        *v = *room;
        *room = t;
    }
}

typedef struct rows {
    const lz_kcall *c;
    int64_t n, k; /* of a row: elements, results */
    bool down;
    keyed *room; /* 2 n for each worker */
} rows;

static lz_err *sort_rows(void *user, int64_t begin, int64_t end, int worker)
{
    const rows *r = user;
    const lz_strided *x = &r->c->in[0];
    int64_t step = x->ndim ? x->strides[x->ndim - 1] : 0;
    for (int64_t row = begin; row < end; row++) {
        keyed *v = r->room + 2 * r->n * worker, *other = v + r->n;
        int64_t at = lz_strided_offset(x, x->ndim ? x->ndim - 1 : 0, row);
        for (int64_t i = 0; i < r->n; i++) {
            int64_t key = key_of(x->dtype, lz_strided_at(x, at + i * step));
            v[i] = (keyed){ r->down ? ~key : key, i };
        }
        sort(&v, &other, r->n);
        int64_t *out = (int64_t *)r->c->out.data + row * r->k;
        for (int64_t i = 0; i < r->k; i++)
            out[i] = v[i].index;
    }
    return NULL;
}

static lz_err *run(const lz_kcall *c, bool down)
{
    const lz_strided *x = &c->in[0];
    int64_t n = x->ndim ? x->sizes[x->ndim - 1] : 1, k = c->out.ndim ? c->out.sizes[c->out.ndim - 1] : 1;
    int64_t count = lz_strided_count(x, x->ndim ? x->ndim - 1 : 0);
    rows r = { .c = c, .n = n, .k = k, .down = down };
    size_t threads = (size_t)(c->pool ? lz_pool_threads(c->pool) : 1), size;
    if (count == 0 || n == 0)
        return NULL;
    if (!lz_size_mul(threads * 2 * sizeof *r.room, (size_t)n, &size))
        return lz_err_oom();
    r.room = lz_mem_alloc(size);
    if (!r.room)
        return lz_err_oom();
    lz_err *e = lz_pool_for(c->pool, count, 1 + 4096 / n, sort_rows, &r);
    lz_mem_free(r.room);
    return e;
}

lz_err *lz_sort_indices(const lz_kcall *c)
{
    return run(c, c->params[0] != 0);
}

/* All of them are sorted whether or not that was asked for. */
lz_err *lz_topk_indices(const lz_kcall *c)
{
    return run(c, c->params[1] != 0);
}

/* ---- searching ---- */

typedef struct searching {
    const lz_kcall *c;
    int64_t n, m;
    bool right;
} searching;

static int order(lz_scalar a, lz_scalar b)
{
    if (a.kind == LZ_SCALAR_FLOAT)
        return (a.re > b.re) - (a.re < b.re);
    return (a.i > b.i) - (a.i < b.i);
}

static bool is_nan(lz_scalar v)
{
    return v.kind == LZ_SCALAR_FLOAT && isnan(v.re);
}

/* Whether the place lies behind s: s < v, or s <= v. Nothing is greater than a NaN. */
static bool is_behind(lz_scalar s, lz_scalar v, bool right)
{
    if (is_nan(v))
        return true;
    return !is_nan(s) && (right ? order(s, v) <= 0 : order(s, v) < 0);
}

static int64_t find(const searching *s, const lz_strided *seq, int64_t at, lz_scalar v)
{
    int64_t low = 0, high = s->n, step = seq->strides[seq->ndim - 1];
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (is_behind(lz_element_get(seq->dtype, lz_strided_at(seq, at + mid * step)), v, s->right))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static lz_err *search_range(void *user, int64_t begin, int64_t end, int worker)
{
    const searching *s = user;
    const lz_strided *seq = &s->c->in[0], *values = &s->c->in[1];
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = seq->ndim == 1 ? 0 : lz_strided_offset(seq, seq->ndim - 1, i / s->m);
        lz_scalar v =
            lz_element_get(values->dtype, lz_strided_at(values, lz_strided_offset(values, values->ndim, i)));
        ((int64_t *)s->c->out.data)[i] = find(s, seq, at, v);
    }
    return NULL;
}

lz_err *lz_search_sorted(const lz_kcall *c)
{
    const lz_strided *seq = &c->in[0], *values = &c->in[1];
    searching s = { .c = c,
                    .n = seq->sizes[seq->ndim - 1],
                    .m = values->ndim ? values->sizes[values->ndim - 1] : 1,
                    .right = c->params[0] != 0 };
    return lz_pool_for(c->pool, lz_strided_count(values, values->ndim), 1024, search_range, &s);
}
