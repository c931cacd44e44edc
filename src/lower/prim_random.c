/* Random numbers: Philox words, counted by the element's place in row-major order. Each
 * call of an operator is a stream of its own. */
#include "lower/prim_impl.h"

typedef struct source {
    const lz_ln *seed, *stream, *index;
} source;

static lz_err *open_source(lz_lower *b, lz_ints sizes, source *out)
{
    int64_t strides[LZ_MAX_DIMS], numel;
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_shape_numel(sizes, &numel));
    lz_prim_strides(sizes, strides);
    out->seed = b->seed;
    if (!b->seed)
        LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, &out->seed));
    LZ_TRY(lz_low_const(b, lz_scalar_int((int64_t)b->next_stream++), LZ_I64, &out->stream));
    return lz_low_iota(b, sizes, 0, (lz_ints){ strides, sizes.n }, &out->index);
}

static lz_err *word(lz_lower *b, const source *s, int i, const lz_ln **out)
{
    return lz_low_philox(b, i, s->seed, s->stream, s->index, out);
}

/* The upper bits of a word, and their weight: 0 <= x < 1. */
static lz_err *fraction(lz_lower *b, const source *s, int i, int bits, lz_dtype d, const lz_ln **out)
{
    LZ_TRY(word(b, s, i, out));
    LZ_TRY(lz_prim_map_number(b, LZ_K_SHR, *out, 32 - bits, out));
    LZ_TRY(lz_low_cast(b, *out, d, out));
    return lz_prim_map_number(b, LZ_K_MUL, *out, 1.0 / (double)(INT64_C(1) << bits), out);
}

/* 53 bits of two words: 26 and 27. */
static lz_err *fraction64(lz_lower *b, const source *s, int i, const lz_ln **out)
{
    const lz_ln *low;
    LZ_TRY(fraction(b, s, i, 26, LZ_F64, out));
    LZ_TRY(fraction(b, s, i + 1, 27, LZ_F64, &low));
    LZ_TRY(lz_prim_map_number(b, LZ_K_MUL, low, 0x1p-26, &low));
    return lz_prim_map2(b, LZ_K_ADD, *out, low, out);
}

/* As many bits as a number below 1 has in the dtype, so that rounding never gives 1. */
static lz_err *uniform(lz_lower *b, const source *s, lz_dtype d, const lz_ln **out)
{
    if (d == LZ_F64)
        return fraction64(b, s, 0, out);
    return fraction(b, s, 0, d == LZ_F16 ? 11 : d == LZ_BF16 ? 8 : 24, LZ_F32, out);
}

static lz_err *check_float(const char *name, lz_dtype d)
{
    if (lz_dtype_is_float(d))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "\"%s\" not implemented for '%s'", name, lz_dtype_get(d)->script);
}

lz_err *lz_lower_rand(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_dtype d = lz_prim_dtype(&args[1], b->default_float);
    lz_ints sizes;
    source s;
    const lz_ln *n;
    LZ_TRY(check_float("rand", d));
    LZ_TRY(lz_lv_get_ints(b, &args[0], &sizes));
    LZ_TRY(open_source(b, sizes, &s));
    LZ_TRY(uniform(b, &s, d, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

/* sqrt(-2 log u) cos(2 pi v), with 0 < u <= 1. */
static lz_err *normal(lz_lower *b, const source *s, lz_dtype d, const lz_ln **out)
{
    const lz_ln *u, *v;
    if (d == LZ_F64) {
        LZ_TRY(fraction64(b, s, 0, &u));
        LZ_TRY(fraction64(b, s, 2, &v));
    } else {
        LZ_TRY(fraction(b, s, 0, 24, LZ_F32, &u));
        LZ_TRY(fraction(b, s, 1, 24, LZ_F32, &v));
    }
    LZ_TRY(lz_prim_map1(b, LZ_K_NEG, u, &u));
    LZ_TRY(lz_prim_map1(b, LZ_K_LOG1P, u, &u));
    LZ_TRY(lz_prim_map_number(b, LZ_K_MUL, u, -2, &u));
    LZ_TRY(lz_prim_map1(b, LZ_K_SQRT, u, &u));
    LZ_TRY(lz_prim_map_number(b, LZ_K_MUL, v, 6.28318530717958647692, &v));
    LZ_TRY(lz_prim_map1(b, LZ_K_COS, v, &v));
    return lz_prim_map2(b, LZ_K_MUL, u, v, out);
}

lz_err *lz_lower_randn(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_dtype d = lz_prim_dtype(&args[1], b->default_float);
    lz_ints sizes;
    source s;
    const lz_ln *n;
    LZ_TRY(check_float("normal_kernel_cpu", d));
    LZ_TRY(lz_lv_get_ints(b, &args[0], &sizes));
    LZ_TRY(open_source(b, sizes, &s));
    LZ_TRY(normal(b, &s, d, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}
