/* The greatest elements of windows in planes, and their positions. Of equal elements the first counts, and
 * the first NaN wins; padding never counts. */
#include "kernel/strided_walk.h"
#include <string.h>

typedef struct planes {
    const lz_kernel_call *c;
    int64_t h, w, oh, ow;  /* sizes of a plane, positions of the window */
    int64_t row, col;      /* strides of x */
    const int64_t *window; /* kernel[2], stride[2], padding[2], dilation[2] */
    bool pairs;            /* windows of 2 x 2 without overlap, contiguous rows */
} planes;

/* The part of window i inside the plane, along one dimension. */
typedef struct reach {
    int64_t first, last, step; /* [first, last) */
} reach;

static reach reach_of(const planes *p, int d, int64_t i, int64_t size)
{
    int64_t kernel = p->window[d], step = p->window[6 + d], from = i * p->window[2 + d] - p->window[4 + d];
    reach r = { from, from + (kernel - 1) * step + 1, step };
    if (r.first < 0)
        r.first += (-r.first + step - 1) / step * step;
    r.last = r.last > size ? size : r.last;
    return r;
}

#define BEST(name, T)                                                                                        \
    static T best_##name(const planes *p, const T *x, int64_t i, int64_t j, int64_t *at)                     \
    {                                                                                                        \
        reach r = reach_of(p, 0, i, p->h), c = reach_of(p, 1, j, p->w);                                      \
        T best = x[r.first * p->row + c.first * p->col];                                                     \
        *at = r.first * p->w + c.first;                                                                      \
        for (int64_t a = r.first; a < r.last; a += r.step)                                                   \
            for (int64_t b = c.first; b < c.last; b += c.step) {                                             \
                T v = x[a * p->row + b * p->col];                                                            \
                if (!(v <= best) && best == best) {                                                          \
                    best = v;                                                                                \
                    *at = a * p->w + b;                                                                      \
                }                                                                                            \
            }                                                                                                \
        return best;                                                                                         \
    }                                                                                                        \
    static void greatest_##name(const planes *p, const void *x, int64_t i, int64_t j, void *out)             \
    {                                                                                                        \
        int64_t at;                                                                                          \
        *(T *)out = best_##name(p, x, i, j, &at);                                                            \
    }                                                                                                        \
    static void place_##name(const planes *p, const void *x, int64_t i, int64_t j, void *out)                \
    {                                                                                                        \
        best_##name(p, x, i, j, out);                                                                        \
    }

BEST(f32, float)
BEST(f64, double)

/* ---- pairs of rows, four windows at a time ---- */

enum { LANES = 4 };
typedef float floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

static floats pick(ints take, floats a, floats b)
{
    return (floats)((take & (ints)a) | (~take & (ints)b));
}

/* Windows j to j + 3 of rows x and x + row: their greatest elements, and which of the four each is. */
static floats best_of_pairs(const float *x, int64_t row, ints *which)
{
    floats v[4], best;
    for (int64_t r = 0; r < 2; r++) {
        floats a = *(const floats *)(x + r * row), b = *(const floats *)(x + r * row + LANES);
        v[2 * r] = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        v[2 * r + 1] = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    }
    best = v[0];
    *which = (ints){ 0 };
    for (int k = 1; k < 4; k++) {
        ints number = (ints)(best == best); /* NOLINT(misc-redundant-expression): no NaN */
        ints take = ~(ints)(v[k] <= best) & number;
        best = pick(take, v[k], best);
        *which = (take & k) | (~take & *which);
    }
    return best;
}

static int64_t greatest_pairs(const planes *p, const float *x, float *out)
{
    int64_t j = 0;
    for (; j + LANES <= p->ow; j += LANES) {
        ints which;
        *(floats *)(out + j) = best_of_pairs(x + 2 * j, p->row, &which);
    }
    return j;
}

static int64_t place_pairs(const planes *p, const float *x, int64_t i, int64_t *out)
{
    int64_t j = 0, from[4] = { 0, 1, p->w, p->w + 1 };
    for (; j + LANES <= p->ow; j += LANES) {
        ints which;
        best_of_pairs(x + 2 * j, p->row, &which);
        for (int l = 0; l < LANES; l++)
            out[j + l] = 2 * i * p->w + 2 * (j + l) + from[which[l]];
    }
    return j;
}

/* ---- all windows ---- */

typedef void window_fn(const planes *p, const void *x, int64_t i, int64_t j, void *out);

static void do_row(const planes *p, const char *x, int64_t i, char *out, window_fn *fn, bool places)
{
    size_t size = lz_dtype_size(p->c->out.dtype);
    int64_t j = 0;
    if (p->pairs) {
        const float *at = (const float *)(const void *)x + 2 * i * p->row;
        j = places ? place_pairs(p, at, i, (int64_t *)(void *)out)
                   : greatest_pairs(p, at, (float *)(void *)out);
    }
    for (; j < p->ow; j++)
        fn(p, x, i, j, out + (size_t)j * size);
}

typedef struct job {
    planes p;
    window_fn *fn;
    bool places;
} job;

static lz_err *do_planes(void *user, int64_t begin, int64_t end, int worker)
{
    const job *j = user;
    const planes *p = &j->p;
    const lz_strided *x = &p->c->in[0], *out = &p->c->out;
    size_t row = (size_t)p->ow * lz_dtype_size(out->dtype);
    (void)worker;
    for (int64_t k = begin; k < end; k++) {
        const char *plane = lz_strided_at(x, lz_strided_offset(x, x->ndim - 2, k));
        for (int64_t i = 0; i < p->oh; i++)
            do_row(p, plane, i, (char *)out->data + (size_t)(k * p->oh + i) * row, j->fn, j->places);
    }
    return NULL;
}

static bool are_pairs(const planes *p, lz_dtype d)
{
    static const int64_t pairs[] = { 2, 2, 2, 2, 0, 0, 1, 1 };
    return d == LZ_F32 && p->col == 1 && memcmp(p->window, pairs, sizeof pairs) == 0 && p->oh * 2 <= p->h
           && p->ow * 2 <= p->w;
}

static lz_err *run(const lz_kernel_call *c, window_fn *f32, window_fn *f64, bool places)
{
    enum { GRAIN = 16384 };
    const lz_strided *x = &c->in[0];
    int64_t r = x->ndim - 2;
    job j = { .fn = x->dtype == LZ_F32 ? f32 : f64, .places = places };
    j.p = (planes){ .c = c,
                    .h = x->sizes[r],
                    .w = x->sizes[r + 1],
                    .oh = c->out.sizes[r],
                    .ow = c->out.sizes[r + 1],
                    .row = x->strides[r],
                    .col = x->strides[r + 1],
                    .window = c->params };
    if (x->dtype != LZ_F32 && x->dtype != LZ_F64)
        return lz_errf(LZ_ERR_INTERNAL, "pooling is not implemented for %s", lz_dtype_get(x->dtype)->name);
    j.p.pairs = are_pairs(&j.p, x->dtype);
    return lz_pool_for(c->pool, lz_strided_count(x, r), 1 + GRAIN / (j.p.h * j.p.w), do_planes, &j);
}

lz_err *lz_pool_greatest(const lz_kernel_call *c)
{
    return run(c, greatest_f32, greatest_f64, false);
}

lz_err *lz_pool_places(const lz_kernel_call *c)
{
    return run(c, place_f32, place_f64, true);
}
