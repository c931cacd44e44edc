#include "core/convert.h"
#include "core/half.h"
#include "kernel/walk.h"
#include <math.h>
#include <string.h>

/* Combining one element into another, for each dtype and mode. Halves are computed in f32
 * and rounded each time. */
typedef void combine_fn(void *at, const void *v);

#define SET(T)   *(T *)at = *(const T *)v;
#define ADD(T)   *(T *)at = (T)(*(T *)at + *(const T *)v);
#define MUL(T)   *(T *)at = (T)(*(T *)at * *(const T *)v);
#define LEAST(T) *(T *)at = *(const T *)v < *(T *)at ? *(const T *)v : *(T *)at;
#define MOST(T)  *(T *)at = *(const T *)v > *(T *)at ? *(const T *)v : *(T *)at;

#define WHOLE(name, T, U)                                                                                    \
    static void add_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        ADD(U)                                                                                               \
    }                                                                                                        \
    static void mul_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        *(U *)at = (U)((uint64_t) * (U *)at * (uint64_t) * (const U *)v);                                    \
    }                                                                                                        \
    static void min_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        LEAST(T)                                                                                             \
    }                                                                                                        \
    static void max_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        MOST(T)                                                                                              \
    }

WHOLE(u8, uint8_t, uint8_t)
WHOLE(i8, int8_t, uint8_t)
WHOLE(i16, int16_t, uint16_t)
WHOLE(i32, int32_t, uint32_t)
WHOLE(i64, int64_t, uint64_t)

/* NaN wins. */
#define REAL(name, T)                                                                                        \
    static void add_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        ADD(T)                                                                                               \
    }                                                                                                        \
    static void mul_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        MUL(T)                                                                                               \
    }                                                                                                        \
    static void min_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        if (!isnan(*(T *)at) && !(*(const T *)v >= *(T *)at))                                                \
            *(T *)at = *(const T *)v;                                                                        \
    }                                                                                                        \
    static void max_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        if (!isnan(*(T *)at) && !(*(const T *)v <= *(T *)at))                                                \
            *(T *)at = *(const T *)v;                                                                        \
    }

REAL(f32, float)
REAL(f64, double)

#define HALF(name, widen, round)                                                                             \
    static void add_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        *(uint16_t *)at = round(widen(*(uint16_t *)at) + widen(*(const uint16_t *)v));                       \
    }                                                                                                        \
    static void mul_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        *(uint16_t *)at = round(widen(*(uint16_t *)at) * widen(*(const uint16_t *)v));                       \
    }                                                                                                        \
    static void min_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        float x = widen(*(uint16_t *)at), y = widen(*(const uint16_t *)v);                                   \
        if (!isnan(x) && !(y >= x))                                                                          \
            *(uint16_t *)at = *(const uint16_t *)v;                                                          \
    }                                                                                                        \
    static void max_##name(void *at, const void *v)                                                          \
    {                                                                                                        \
        float x = widen(*(uint16_t *)at), y = widen(*(const uint16_t *)v);                                   \
        if (!isnan(x) && !(y <= x))                                                                          \
            *(uint16_t *)at = *(const uint16_t *)v;                                                          \
    }

HALF(f16, lz_f16_to_f32, lz_f32_to_f16)
HALF(bf16, lz_bf16_to_f32, lz_f32_to_bf16)

static void or_bool(void *at, const void *v)
{
    *(uint8_t *)at = *(uint8_t *)at || *(const uint8_t *)v;
}

static void and_bool(void *at, const void *v)
{
    *(uint8_t *)at = *(uint8_t *)at && *(const uint8_t *)v;
}

static void set1(void *at, const void *v)
{
    memcpy(at, v, 1);
}

static void set2(void *at, const void *v)
{
    memcpy(at, v, 2);
}

static void set4(void *at, const void *v)
{
    memcpy(at, v, 4);
}

static void set8(void *at, const void *v)
{
    memcpy(at, v, 8);
}

enum { SETS, ADDS, MULS, MINS, MAXS, MODES }; /* lz_lscatter */

#define MODES_OF(set, name)                                                                                  \
    {                                                                                                        \
        [SETS] = set, [ADDS] = add_##name, [MULS] = mul_##name, [MINS] = min_##name, [MAXS] = max_##name     \
    }

static combine_fn *const combiners[LZ_DTYPE_NUMBERS][MODES] = {
    [LZ_BOOL] = { [SETS] = set1, [ADDS] = or_bool, [MULS] = and_bool, [MINS] = and_bool, [MAXS] = or_bool },
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

/* ---- scattering ---- */

typedef struct sum_line {
    void *out;
    const void *base, *source;
    int64_t size, step; /* of out; of base */
    const int64_t *at;
    int64_t n;
} sum_line;

typedef void line_fn(const sum_line *l);

typedef struct scatter {
    const lz_kcall *c;
    combine_fn *combine;
    line_fn *line;      /* a whole line at once, or NULL */
    int64_t dim, along; /* the size of the index there */
} scatter;

/* The dimensions behind dim, in all three arrays. */
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

/* ---- sums along lines that lie together ---- */

#define LINE(name, T)                                                                                        \
    static void line_##name(const sum_line *l)                                                               \
    {                                                                                                        \
        T *out = l->out;                                                                                     \
        const T *base = l->base, *source = l->source;                                                        \
        const int64_t *at = l->at;                                                                           \
        T first = *base;                                                                                     \
        for (int64_t k = 0; l->step == 0 && k < l->size; k++)                                                \
            out[k] = first;                                                                                  \
        for (int64_t k = 0; l->step != 0 && k < l->size; k++)                                                \
            out[k] = base[k * l->step];                                                                      \
        for (int64_t k = 0, n = l->n; k < n; k++)                                                            \
            out[at[k]] += source[k];                                                                         \
    }

LINE(f32, float)
LINE(f64, double)

/* For all lines: base has a line for each of the index. */
static line_fn *line_of(const scatter *s)
{
    const lz_kcall *c = s->c;
    const lz_strided *ix = &c->in[1], *src = &c->in[2];
    int64_t last = ix->ndim - 1;
    bool ok = c->params[0] == ADDS && ix->ndim > 0 && s->dim == last && ix->strides[last] == 1
              && src->strides[last] == 1 && src->dtype == c->out.dtype && c->in[0].dtype == c->out.dtype;
    for (int64_t d = 0; ok && d < last; d++)
        ok = ix->sizes[d] == c->out.sizes[d];
    return !ok ? NULL : c->out.dtype == LZ_F32 ? line_f32 : c->out.dtype == LZ_F64 ? line_f64 : NULL;
}

/* Each line begins as that of the base. */
static lz_err *add_lines(void *user, int64_t begin, int64_t end, int worker)
{
    const scatter *s = user;
    const lz_strided *base = &s->c->in[0], *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    (void)worker;
    for (int64_t number = begin; number < end; number++) {
        int64_t b, i, v;
        offsets(s, number, &b, &i, &v);
        s->line(&(sum_line){ .out = lz_strided_at(out, b),
                             .base = lz_strided_at(base, lz_strided_offset(base, s->dim, number)),
                             .source = lz_strided_at(src, v),
                             .size = out->sizes[s->dim],
                             .step = base->strides[s->dim],
                             .at = (const int64_t *)(const void *)lz_strided_at(ix, i),
                             .n = s->along });
    }
    return NULL;
}

/* ---- anything else ---- */

/* Lines along dim do not meet; within one the order is that of the index. */
static lz_err *scatter_lines(void *user, int64_t begin, int64_t end, int worker)
{
    const scatter *s = user;
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t bs = out->ndim ? out->strides[s->dim] : 0, is = ix->ndim ? ix->strides[s->dim] : 0;
    int64_t ss = src->ndim ? src->strides[s->dim] : 0;
    (void)worker;
    for (int64_t number = begin; number < end; number++) {
        int64_t b, i, v;
        offsets(s, number, &b, &i, &v);
        for (int64_t k = 0; k < s->along; k++) {
            int64_t at = *(const int64_t *)(const void *)lz_strided_at(ix, i + k * is);
            s->combine(lz_strided_at(out, b + at * bs), lz_strided_at(src, v + k * ss));
        }
    }
    return NULL;
}

/* ---- whole rows ---- */

/* One index for all elements of a row, and rows lie together: as the gradient of an embedding. */
static bool is_by_rows(const scatter *s)
{
    const lz_strided *ix = &s->c->in[1];
    int64_t last = ix->ndim - 1;
    return last > 0 && s->dim != last && ix->strides[last] == 0 && s->c->out.strides[last] == 1
           && s->c->in[2].strides[last] == 1 && s->c->out.dtype == LZ_F32 && s->c->params[0] == ADDS;
}

static void add_row(float *at, const float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        at[i] += v[i];
}

/* Lines as above, those of a row together. */
static lz_err *scatter_rows(void *user, int64_t begin, int64_t end, int worker)
{
    const scatter *s = user;
    const lz_strided *out = &s->c->out, *ix = &s->c->in[1], *src = &s->c->in[2];
    int64_t row = ix->sizes[ix->ndim - 1];
    (void)worker;
    for (int64_t line = begin, n; line < end; line += n) {
        int64_t b, i, v;
        n = row - line % row < end - line ? row - line % row : end - line;
        offsets(s, line, &b, &i, &v);
        for (int64_t k = 0; k < s->along; k++) {
            int64_t at = *(const int64_t *)(const void *)lz_strided_at(ix, i + k * ix->strides[s->dim]);
            add_row((void *)lz_strided_at(out, b + at * out->strides[s->dim]),
                    (const void *)lz_strided_at(src, v + k * src->strides[s->dim]), n);
        }
    }
    return NULL;
}

static void copy_base(const lz_kcall *c)
{
    const lz_strided *base = &c->in[0], *out = &c->out;
    int64_t n = lz_strided_count(out, out->ndim), last = out->ndim ? out->sizes[out->ndim - 1] : 1;
    ptrdiff_t size = (ptrdiff_t)lz_dtype_size(out->dtype);
    ptrdiff_t step = out->ndim ? base->strides[out->ndim - 1] * size : size;
    for (int64_t at = 0; at < n; at += last)
        lz_convert_run(base->dtype,
                       lz_strided_at(base, lz_strided_offset(base, out->ndim ? out->ndim - 1 : 0, at / last)),
                       step, out->dtype, (char *)out->data + at * size, size, last);
}

lz_err *lz_scatter_into(const lz_kcall *c)
{
    const lz_strided *ix = &c->in[1];
    scatter s = { .c = c, .dim = c->params[1] };
    combine_fn *fn = combiners[c->out.dtype][c->params[0]];
    if (!fn)
        return lz_errf(LZ_ERR_UNSUPPORTED, "scatter is not implemented for %s",
                       lz_dtype_get(c->out.dtype)->name);
    s.combine = fn;
    s.along = ix->ndim ? ix->sizes[s.dim] : 1;
    int64_t n = lz_strided_count(ix, ix->ndim), lines = s.along ? n / s.along : 0;
    int64_t grain = 4096 / (s.along ? s.along : 1);
    s.line = lines ? line_of(&s) : NULL;
    if (s.line)
        return lz_pool_for(c->pool, lines, 1 + grain, add_lines, &s);
    bool rows = is_by_rows(&s);
    int64_t least = rows ? 64 : 1;
    copy_base(c);
    return lz_pool_for(c->pool, lines, grain > least ? grain : least, rows ? scatter_rows : scatter_lines,
                       &s);
}

/* ---- where x is not zero ---- */

static bool is_true(const lz_strided *x, int64_t number)
{
    lz_scalar v = lz_element_get(x->dtype, lz_strided_at(x, lz_strided_offset(x, x->ndim, number)));
    return v.kind == LZ_SCALAR_FLOAT ? v.re != 0 : v.i != 0;
}

int64_t lz_count_nonzero(const lz_strided *x)
{
    int64_t count = lz_strided_count(x, x->ndim), n = 0;
    for (int64_t i = 0; i < count; i++)
        n += is_true(x, i);
    return n;
}

void lz_list_nonzero(const lz_strided *x, int64_t *dst)
{
    int64_t count = lz_strided_count(x, x->ndim);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        if (!is_true(x, i))
            continue;
        for (int64_t d = x->ndim; d-- > 0; rest /= x->sizes[d])
            dst[d] = rest % x->sizes[d];
        dst += x->ndim;
    }
}
