/* Scatters: elements of a source are set or combined at places that an index names. */
#include "core/convert.h"
#include "core/half.h"
#include "core/shape.h"
#include "kernel/index_range.h"
#include "kernel/walk.h"
#include <math.h>
#include <string.h>

/* ---- combining elements ---- */

/* n elements of `source`, `source_step` elements apart, each into the element of `out` that its index
 * and its own number lead to. Negative indices count from `size`. */
typedef struct span {
    void *out;
    const void *source;
    const int64_t *index;
    int64_t by_index, out_step, source_step, index_step; /* in elements */
    int64_t size, n;
} span;

typedef void span_fn(const span *s);
/* n elements that lie together into n that do. */
typedef void row_fn(void *out, const void *source, int64_t n);

static inline int64_t place(const span *s, int64_t index)
{
    return index + (index < 0 ? s->size : 0);
}

/* `o` points to the element, `v` is what comes to it. */
#define COMBINE(name, T, step)                                                                               \
    static void span_##name(const span *s)                                                                   \
    {                                                                                                        \
        const T *source = s->source;                                                                         \
        bool line = s->out_step == 0 && s->by_index == 1 && s->index_step == 1 && s->source_step == 1;       \
        for (int64_t i = 0, n = line ? s->n : 0; i < n; i++) {                                               \
            T *o = (T *)s->out + place(s, s->index[i]), v = source[i];                                       \
            step;                                                                                            \
        }                                                                                                    \
        for (int64_t i = 0, n = line ? 0 : s->n; i < n; i++) {                                               \
            int64_t at = place(s, s->index[i * s->index_step]);                                              \
            T *o = (T *)s->out + i * s->out_step + at * s->by_index, v = source[i * s->source_step];         \
            step;                                                                                            \
        }                                                                                                    \
    }                                                                                                        \
    static void row_##name(void *out, const void *source, int64_t n)                                         \
    {                                                                                                        \
        const T *x = source;                                                                                 \
        T *o = out;                                                                                          \
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
    COMBINE(add_##name, T, *o += v)                                                                          \
    COMBINE(mul_##name, T, *o *= v)                                                                          \
    COMBINE(min_##name, T, *o = !isnan(*o) && !(v >= *o) ? v : *o)                                           \
    COMBINE(max_##name, T, *o = !isnan(*o) && !(v <= *o) ? v : *o)

REAL(f32, float)
REAL(f64, double)

/* Computed in f32 and rounded each time. */
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

enum { SETS, ADDS, MULS, MINS, MAXS, MODES }; /* lz_lscatter */

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

/* n elements at `at`, of which the first is there. */
static void repeat_first(char *at, size_t size, int64_t n)
{
    size_t have = size, all = size * (size_t)n;
    for (; have < all; have *= 2)
        memcpy(at + have, at, have < all - have ? have : all - have);
}

static void copy_row(const lz_kcall *c, int64_t row)
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

static lz_err *copy_base(const lz_kcall *c)
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
    lz_strided index; /* dimensions along which it stands still have size 1 */
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

/* ---- scattering ---- */

typedef struct scatter {
    const lz_kcall *c;
    combiner combine;
    int64_t dim, along; /* the size of the index there */
    int64_t run;        /* lines that lie side by side: 1 if dim is the last dimension */
    bool begins;        /* each line of the result is that of one line: it begins as the base's there */
    checker *check;     /* ... and its index is checked then; NULL: all were before */
} scatter;

/* Where line `number` begins in all three arrays. Lines are counted in row-major order without dim. */
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
static void scatter_line(const scatter *s, int64_t line)
{
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t b, i, v;
    offsets(s, line, &b, &i, &v);
    s->combine.span(&(span){ .out = lz_strided_at(out, b),
                             .source = lz_strided_at(src, v),
                             .index = index_at(ix, i),
                             .by_index = stride_of(out, s->dim),
                             .source_step = stride_of(src, s->dim),
                             .index_step = stride_of(ix, s->dim),
                             .size = out->ndim ? out->sizes[s->dim] : 1,
                             .n = s->along });
}

/* n lines side by side, one element of each at a time. What has one index for all goes as a row. */
static void scatter_side_by_side(const scatter *s, int64_t line, int64_t n)
{
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t last = ix->ndim - 1, b, i, v;
    offsets(s, line, &b, &i, &v);
    span x = { .by_index = out->strides[s->dim],
               .out_step = out->strides[last],
               .source_step = src->strides[last],
               .index_step = ix->strides[last],
               .size = out->sizes[s->dim],
               .n = n };
    bool rows = x.index_step == 0 && x.out_step == 1 && x.source_step == 1;
    for (int64_t k = 0; k < s->along; k++) {
        x.index = index_at(ix, i + k * ix->strides[s->dim]);
        x.source = lz_strided_at(src, v + k * src->strides[s->dim]);
        x.out = lz_strided_at(out, b);
        if (rows)
            s->combine.row(lz_strided_at(out, b + place(&x, *x.index) * x.by_index), x.source, n);
        else
            s->combine.span(&x);
    }
}

/* Lines do not meet, so threads may share them in any way. */
static lz_err *scatter_lines(void *user, int64_t begin, int64_t end, int worker)
{
    const scatter *s = user;
    for (int64_t line = begin, n; line < end; line += n) {
        n = s->run - line % s->run < end - line ? s->run - line % s->run : end - line;
        if (s->check)
            LZ_TRY(check_rows(s->check, line, line + 1, worker));
        if (s->begins)
            copy_row(s->c, line);
        if (s->run == 1)
            scatter_line(s, line);
        else
            scatter_side_by_side(s, line, n);
    }
    return NULL;
}

/* params: mode, dim, whether the index is to be checked, which dimension a message names, and whether
 * negative ones count from the end. */
static void init_checker(checker *k, const lz_kcall *c)
{
    int64_t size = c->out.ndim ? c->out.sizes[c->params[1]] : 1;
    *k = (checker){ .index = c->in[1], .size = size, .dim = c->params[3], .least = c->params[4] ? -size : 0 };
    for (int64_t d = 0; d < k->index.ndim; d++)
        k->sizes[d] = k->index.strides[d] ? k->index.sizes[d] : 1;
    k->index.sizes = k->sizes;
}

static lz_err *check_index(const lz_kcall *c, checker *k)
{
    enum { GRAIN = 1 << 15 };
    int64_t n = lz_strided_count(&k->index, k->index.ndim),
            row = k->index.ndim ? k->sizes[k->index.ndim - 1] : 1;
    return lz_pool_for(c->pool, n / row, 1 + GRAIN / row, check_rows, k);
}

/* Whether lines of the index and rows of the result are the same, so that one pass makes a row while it is in
 * the cache. The result must not lie where the base does: an error leaves that as it was. */
static bool goes_by_rows(const lz_kcall *c, const checker *k)
{
    const lz_strided *ix = &c->in[1], *out = &c->out;
    int64_t last = ix->ndim - 1;
    bool same = last >= 0 && c->params[1] == last && c->in[0].data != out->data;
    for (int64_t d = 0; same && d <= last; d++)
        same = k->sizes[d] == ix->sizes[d] && (d == last || ix->sizes[d] == out->sizes[d]);
    return same;
}

lz_err *lz_scatter_into(const lz_kcall *c)
{
    enum { GRAIN = 4096, SIDE_BY_SIDE = 64 };
    const lz_strided *ix = &c->in[1];
    checker check;
    int64_t dim = c->params[1], along = ix->ndim ? ix->sizes[dim] : 1, last = ix->ndim - 1;
    scatter s = { .c = c, .combine = combiners[c->out.dtype][c->params[0]], .dim = dim, .along = along };
    int64_t n = lz_strided_count(ix, ix->ndim), lines = along ? n / along : 0,
            grain = 1 + GRAIN / (along + 1);
    if (!s.combine.span)
        return lz_errf(LZ_ERR_UNSUPPORTED, "scatter is not implemented for %s",
                       lz_dtype_get(c->out.dtype)->name);
    s.run = ix->ndim && dim != last ? ix->sizes[last] : 1;
    init_checker(&check, c);
    s.begins = lines && goes_by_rows(c, &check);
    if (c->params[2] && s.begins)
        s.check = &check;
    else if (c->params[2] && lines)
        LZ_TRY(check_index(c, &check));
    if (!s.begins)
        LZ_TRY(copy_base(c));
    return lz_pool_for(c->pool, lines, s.run > 1 && grain < SIDE_BY_SIDE ? SIDE_BY_SIDE : grain,
                       scatter_lines, &s);
}
