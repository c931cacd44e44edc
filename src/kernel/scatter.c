/* Scatters: elements of a source are set or combined at positions that an index gives. */
#include "core/convert.h"
#include "core/half.h"
#include "core/shape.h"
#include "kernel/index_range.h"
#include "kernel/strided_walk.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- combining elements ---- */

/* Combines n elements of `source`, `source_step` elements apart, into `out`. Element i goes to by_index *
 * index[i * index_step] + out_step * i. Negative indices count from `size`. Sums of f32 and f64 add the
 * elements times `scale`. */
typedef struct span {
    void *out;
    const void *source;
    const int64_t *index;
    int64_t by_index, out_step, source_step, index_step; /* in elements */
    int64_t least, size, n;                              /* an index is right if least <= index < size */
    double scale;
} span;

/* False at the first wrong index, with all elements before it combined. */
typedef bool span_fn(const span *s);
/* Combines n contiguous elements into n contiguous ones. */
typedef void row_fn(void *out, const void *source, int64_t n, double scale);

static inline bool is_right(const span *s, int64_t index)
{
    return (uint64_t)(index - s->least) < (uint64_t)(s->size - s->least);
}

static inline int64_t place(const span *s, int64_t index)
{
    return index + (index < 0 ? s->size : 0);
}

/* `o` points to the element, `v` is the new value, `times` the scale. */
#define COMBINE(name, T, step)                                                                               \
    static bool span_##name(const span *s)                                                                   \
    {                                                                                                        \
        const span k = *s;                                                                                   \
        const T *source = k.source;                                                                          \
        const T times = (T)k.scale;                                                                          \
        bool line = k.out_step == 0 && k.by_index == 1 && k.index_step == 1 && k.source_step == 1;           \
        for (int64_t i = 0, n = line ? k.n : 0; i < n; i++) {                                                \
            if (!is_right(&k, k.index[i]))                                                                   \
                return false;                                                                                \
            T *o = (T *)k.out + place(&k, k.index[i]), v = source[i];                                        \
            step;                                                                                            \
        }                                                                                                    \
        for (int64_t i = 0, n = line ? 0 : k.n; i < n; i++) {                                                \
            int64_t index = k.index[i * k.index_step];                                                       \
            if (!is_right(&k, index))                                                                        \
                return false;                                                                                \
            T *o = (T *)k.out + i * k.out_step + place(&k, index) * k.by_index,                              \
              v = source[i * k.source_step];                                                                 \
            step;                                                                                            \
        }                                                                                                    \
        (void)times;                                                                                         \
        return true;                                                                                         \
    }                                                                                                        \
    static void row_##name(void *out, const void *source, int64_t n, double scale)                           \
    {                                                                                                        \
        const T *x = source, times = (T)scale;                                                               \
        T *o = out;                                                                                          \
        (void)times;                                                                                         \
        for (int64_t i = 0; i < n; i++, o++) {                                                               \
            T v = x[i];                                                                                      \
            step;                                                                                            \
        }                                                                                                    \
    }

#define WHOLE(name, T, U)                                                                                    \
    COMBINE(add_##name, T, *o = (T)((U)*o + (U)v))                                                           \
    COMBINE(mul_##name, T, *o = (T)((uint64_t)*o * (uint64_t)v))                                             \
    COMBINE(min_##name, T, *o = v < *o ? v : *o)                                                             \
    COMBINE(max_##name, T, *o = v > *o ? v : *o)

WHOLE(u8, uint8_t, uint8_t)
WHOLE(i8, int8_t, uint8_t)
WHOLE(i16, int16_t, uint16_t)
WHOLE(i32, int32_t, uint32_t)
WHOLE(i64, int64_t, uint64_t)

/* NaN wins. */
#define REAL(name, T)                                                                                        \
    COMBINE(add_##name, T, *o += v * times)                                                                  \
    COMBINE(mul_##name, T, *o *= v)                                                                          \
    COMBINE(min_##name, T, *o = !isnan(*o) && !(v >= *o) ? v : *o)                                           \
    COMBINE(max_##name, T, *o = !isnan(*o) && !(v <= *o) ? v : *o)

REAL(f32, float)
REAL(f64, double)

/* Computed in f32 and rounded after each step. */
#define HALF(name, widen, round)                                                                             \
    COMBINE(add_##name, uint16_t, *o = round(widen(*o) + widen(v)))                                          \
    COMBINE(mul_##name, uint16_t, *o = round(widen(*o) * widen(v)))                                          \
    COMBINE(min_##name, uint16_t, *o = !isnan(widen(*o)) && !(widen(v) >= widen(*o)) ? v : *o)               \
    COMBINE(max_##name, uint16_t, *o = !isnan(widen(*o)) && !(widen(v) <= widen(*o)) ? v : *o)

HALF(f16, lz_f16_to_f32, lz_f32_to_f16)
HALF(bf16, lz_bf16_to_f32, lz_f32_to_bf16)

COMBINE(or_bool, uint8_t, *o = *o || v)
COMBINE(and_bool, uint8_t, *o = *o && v)
COMBINE(set1, uint8_t, *o = v)
COMBINE(set2, uint16_t, *o = v)
COMBINE(set4, uint32_t, *o = v)
COMBINE(set8, uint64_t, *o = v)

enum { SETS, ADDS, MULS, MINS, MAXS, MODES }; /* lz_low_scatter_mode */

typedef struct combiner {
    span_fn *span;
    row_fn *row;
} combiner;

#define PAIR(name)                                                                                           \
    {                                                                                                        \
        span_##name, row_##name                                                                              \
    }
#define MODES_OF(set, name)                                                                                  \
    {                                                                                                        \
        [SETS] = PAIR(set), [ADDS] = PAIR(add_##name), [MULS] = PAIR(mul_##name), [MINS] = PAIR(min_##name), \
        [MAXS] = PAIR(max_##name)                                                                            \
    }

static const combiner combiners[LZ_DTYPE_NUMBERS][MODES] = {
    [LZ_BOOL] = { [SETS] = PAIR(set1),
                  [ADDS] = PAIR(or_bool),
                  [MULS] = PAIR(and_bool),
                  [MINS] = PAIR(and_bool),
                  [MAXS] = PAIR(or_bool) },
    [LZ_U8] = MODES_OF(set1, u8),
    [LZ_I8] = MODES_OF(set1, i8),
    [LZ_I16] = MODES_OF(set2, i16),
    [LZ_I32] = MODES_OF(set4, i32),
    [LZ_I64] = MODES_OF(set8, i64),
    [LZ_F16] = MODES_OF(set2, f16),
    [LZ_BF16] = MODES_OF(set2, bf16),
    [LZ_F32] = MODES_OF(set4, f32),
    [LZ_F64] = MODES_OF(set8, f64),
};

/* ---- the base ---- */

/* Fills n elements at `at` with copies of the first. */
static void repeat_first(char *at, size_t size, int64_t n)
{
    size_t have = size, all = size * (size_t)n;
    for (; have < all; have *= 2)
        memcpy(at + have, at, have < all - have ? have : all - have);
}

static void copy_row(const lz_kernel_call *c, int64_t row)
{
    const lz_strided *base = &c->in[0], *out = &c->out;
    int64_t last = out->ndim - 1, n = out->ndim ? out->sizes[last] : 1;
    int64_t step = out->ndim ? base->strides[last] : 1;
    size_t size = lz_dtype_size(out->dtype);
    char *to = lz_strided_at(out, row * n);
    const char *from = lz_strided_at(base, lz_strided_offset(base, last < 0 ? 0 : last, row));
    if (step == 1)
        memcpy(to, from, size * (size_t)n);
    else
        lz_convert_run(base->dtype, from, step * (ptrdiff_t)size, out->dtype, to, (ptrdiff_t)size,
                       step ? n : 1);
    if (step == 0)
        repeat_first(to, size, n);
}

static lz_err *copy_rows(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t row = begin; row < end; row++)
        copy_row(user, row);
    return NULL;
}

static lz_err *copy_base(const lz_kernel_call *c)
{
    enum { GRAIN = 1 << 15 };
    int64_t n = lz_strided_count(&c->out, c->out.ndim), row = c->out.ndim ? c->out.sizes[c->out.ndim - 1] : 1;
    return n ? lz_pool_for(c->pool, n / row, 1 + GRAIN / row, copy_rows, (void *)c) : NULL;
}

/* ---- the index ---- */

static const int64_t *index_at(const lz_strided *ix, int64_t offset)
{
    return (const int64_t *)ix->data + offset;
}

typedef struct checker {
    lz_strided index; /* dimensions with stride 0 have size 1 */
    int64_t sizes[LZ_MAX_DIMS];
    int64_t size, dim, least; /* least <= index < size */
} checker;

static lz_err *check_rows(void *user, int64_t begin, int64_t end, int worker)
{
    const checker *c = user;
    int64_t last = c->index.ndim - 1, n = last < 0 ? 1 : c->sizes[last];
    int64_t step = last < 0 ? 0 : c->index.strides[last];
    (void)worker;
    for (int64_t row = begin; row < end; row++) {
        const int64_t *index = index_at(&c->index, lz_strided_offset(&c->index, last < 0 ? 0 : last, row));
        if (!lz_index_range_holds(index, step, n, c->least, c->size))
            return lz_index_range_err(index, step, n, c->least, c->size, c->dim);
    }
    return NULL;
}

/* params: see lz_scatter_into. */
static void init_checker(checker *k, const lz_kernel_call *c)
{
    int64_t size = c->out.ndim ? c->out.sizes[c->params[1]] : 1;
    *k = (checker){ .index = c->in[1],
                    .size = size,
                    .dim = c->params[3],
                    .least = c->params[4] || !c->params[2] ? -size : 0 };
    for (int64_t d = 0; d < k->index.ndim; d++)
        k->sizes[d] = k->index.strides[d] ? k->index.sizes[d] : 1;
    k->index.sizes = k->sizes;
}

static int64_t index_rows(const checker *k)
{
    int64_t n = lz_strided_count(&k->index, k->index.ndim);
    return k->index.ndim ? n / k->sizes[k->index.ndim - 1] : n;
}

/* ---- scattering ---- */

typedef struct scatter {
    const lz_kernel_call *c;
    combiner combine;
    int64_t dim, along; /* along: the size of the index in dimension dim */
    int64_t run;        /* neighbouring lines taken together; 1 if dim is the last dimension */
    bool begins;        /* each result line has one source line and starts as a copy of the base */
    checker check;
    double scale;
} scatter;

/* Offsets of line `number` in all three arrays. Lines are numbered in row-major order without dim. */
static void offsets(const scatter *s, int64_t number, int64_t *base, int64_t *index, int64_t *source)
{
    const lz_strided *ix = &s->c->in[1];
    *base = *index = *source = 0;
    for (int64_t d = ix->ndim; d-- > 0;) {
        if (d == s->dim)
            continue;
        int64_t at = number % ix->sizes[d];
        number /= ix->sizes[d];
        *base += at * s->c->out.strides[d];
        *index += at * ix->strides[d];
        *source += at * s->c->in[2].strides[d];
    }
}

static int64_t stride_of(const lz_strided *x, int64_t dim)
{
    return x->ndim ? x->strides[dim] : 0;
}

/* One line: its elements in the order of the index. */
static bool scatter_line(const scatter *s, int64_t line)
{
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t b, i, v;
    offsets(s, line, &b, &i, &v);
    return s->combine.span(&(span){ .out = lz_strided_at(out, b),
                                    .source = lz_strided_at(src, v),
                                    .index = index_at(ix, i),
                                    .by_index = stride_of(out, s->dim),
                                    .source_step = stride_of(src, s->dim),
                                    .index_step = stride_of(ix, s->dim),
                                    .least = s->check.least,
                                    .size = s->check.size,
                                    .n = s->along,
                                    .scale = s->scale });
}

/* n neighbouring lines, one element of each at a time. If one index serves all of them, they are combined as
 * a row. */
static bool scatter_side_by_side(const scatter *s, int64_t line, int64_t n)
{
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t last = ix->ndim - 1, b, i, v;
    offsets(s, line, &b, &i, &v);
    span x = { .by_index = out->strides[s->dim],
               .out_step = out->strides[last],
               .source_step = src->strides[last],
               .index_step = ix->strides[last],
               .least = s->check.least,
               .size = s->check.size,
               .n = n,
               .scale = s->scale };
    bool rows = x.index_step == 0 && x.out_step == 1 && x.source_step == 1, right = true;
    for (int64_t k = 0; right && k < s->along; k++) {
        x.index = index_at(ix, i + k * ix->strides[s->dim]);
        x.source = lz_strided_at(src, v + k * src->strides[s->dim]);
        x.out = lz_strided_at(out, b);
        right = rows ? is_right(&x, *x.index) : s->combine.span(&x);
        if (rows && right)
            s->combine.row(lz_strided_at(out, b + place(&x, *x.index) * x.by_index), x.source, n, s->scale);
    }
    return right;
}

/* Lines do not overlap, so threads may share them in any way. The error is that of the first wrong index of
 * all, whichever line met one. */
static lz_err *scatter_lines(void *user, int64_t begin, int64_t end, int worker)
{
    const scatter *s = user;
    for (int64_t line = begin, n; line < end; line += n) {
        n = s->run - line % s->run < end - line ? s->run - line % s->run : end - line;
        if (s->begins)
            copy_row(s->c, line);
        if (!(s->run == 1 ? scatter_line(s, line) : scatter_side_by_side(s, line, n)))
            return check_rows((void *)&s->check, 0, index_rows(&s->check), worker);
    }
    return NULL;
}

/* Are the lines of the index the rows of the result? Then one pass completes a row while it is in the cache.
 */
static bool goes_by_rows(const lz_kernel_call *c, const checker *k)
{
    const lz_strided *ix = &c->in[1], *out = &c->out;
    int64_t last = ix->ndim - 1;
    bool same = last >= 0 && c->params[1] == last;
    for (int64_t d = 0; same && d <= last; d++)
        same = k->sizes[d] == ix->sizes[d] && (d == last || ix->sizes[d] == out->sizes[d]);
    return same;
}

/* A thread takes as long pieces of rows as possible: short ones far apart are slow to read. */
static int64_t grain_of(const scatter *s, int64_t lines)
{
    enum { GRAIN = 4096, SIDE_BY_SIDE = 64 };
    int64_t grain = 1 + GRAIN / (s->along + 1), threads = s->c->pool ? lz_pool_threads(s->c->pool) : 1;
    int64_t share = (lines + threads * SIDE_BY_SIDE - 1) / (threads * SIDE_BY_SIDE) * SIDE_BY_SIDE;
    return s->run > 1 && grain < share ? share : grain;
}

/* The fourth operand of a sum, if there is one. */
static double scale_of(const lz_strided *x)
{
    return !x->data ? 1 : x->dtype == LZ_F32 ? *(const float *)x->data : *(const double *)x->data;
}

lz_err *lz_scatter_into(const lz_kernel_call *c)
{
    const lz_strided *ix = &c->in[1];
    int64_t dim = c->params[1], along = ix->ndim ? ix->sizes[dim] : 1, last = ix->ndim - 1;
    assert(ix->dtype == LZ_I64 && c->in[2].dtype == c->out.dtype && (!ix->ndim || dim < ix->ndim));
    scatter s = { .c = c,
                  .combine = combiners[c->out.dtype][c->params[0]],
                  .dim = dim,
                  .along = along,
                  .scale = scale_of(&c->in[3]) };
    int64_t n = lz_strided_count(ix, ix->ndim), lines = along ? n / along : 0;
    if (!s.combine.span)
        return lz_errf(LZ_ERR_UNSUPPORTED, "scatter is not implemented for %s",
                       lz_dtype_get(c->out.dtype)->name);
    s.run = ix->ndim && dim != last ? ix->sizes[last] : 1;
    init_checker(&s.check, c);
    s.begins = lines && goes_by_rows(c, &s.check);
    if (!s.begins)
        LZ_TRY(copy_base(c));
    return lz_pool_for(c->pool, lines, grain_of(&s, lines), scatter_lines, &s);
}
