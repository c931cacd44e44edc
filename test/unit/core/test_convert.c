#include "check.h"
#include "core/convert.h"
#include "core/half.h"
#include <math.h>

/* The slow version: one value, one target, by the C language and the stated rules. */
static int64_t cut_off(double v, bool wide)
{
    double low = wide ? -0x1p63 : -0x1p31, high = -low, whole = trunc(v);
    if (isnan(v) || whole < low || whole >= high)
        return wide ? INT64_MIN : INT32_MIN;
    return (int64_t)whole;
}

static int64_t low_bits(uint64_t v, unsigned bits, bool is_signed)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, top = UINT64_C(1) << (bits - 1);
    v &= mask;
    return is_signed && (v & top) ? (int64_t)(v | ~mask) : (int64_t)v;
}

static double narrowed(lz_dtype d, double v)
{
    switch ((int)d) {
    case LZ_F16:
    case LZ_C32:
        return (double)lz_f16_to_f32(lz_f32_to_f16((float)v));
    case LZ_BF16:
        return (double)lz_bf16_to_f32(lz_f32_to_bf16((float)v));
    case LZ_F32:
    case LZ_C64:
        return (double)(float)v;
    default:
        return v;
    }
}

static lz_scalar slow(lz_scalar v, lz_dtype to)
{
    const lz_dtype_info *t = lz_dtype_get(to);
    bool whole = v.kind == LZ_SCALAR_BOOL || v.kind == LZ_SCALAR_INT, complex = v.kind == LZ_SCALAR_COMPLEX;
    if (t->category == LZ_CATEGORY_BOOL)
        return lz_scalar_bool(whole ? v.i != 0 : v.re != 0 || (complex && v.im != 0));
    if (t->category == LZ_CATEGORY_INT)
        return lz_scalar_int(
            low_bits((uint64_t)(whole ? v.i : cut_off(v.re, to == LZ_I64)), t->size * 8U, to != LZ_U8));
    double im = complex ? v.im : 0, re = whole ? (double)v.i : v.re;
    if (whole && to != LZ_F64 && to != LZ_C128)
        re = (double)(float)v.i; /* not over double, which would round twice */
    if (t->category == LZ_CATEGORY_FLOAT)
        return lz_scalar_float(narrowed(to, re));
    return lz_scalar_complex(narrowed(to, re), narrowed(to, im));
}

static bool same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static bool same(lz_scalar a, lz_scalar b)
{
    if (a.kind != b.kind)
        return false;
    return a.kind <= LZ_SCALAR_INT ? a.i == b.i : same_number(a.re, b.re) && same_number(a.im, b.im);
}

static const lz_scalar *samples(size_t *n)
{
    static lz_scalar s[200];
    static const double floats[] = {
        0.0,         -0.0,  1,      -1,     1.5,     -1.9,       255.9,
        256,         300,   -300.5, 70000,  0x1p31,  0x1p31 - 1, -0x1p31,
        -0x1p31 - 1, 3e9,   -3e9,   0x1p63, -0x1p63, 1e20,       -1e20,
        1e-8,        6e-8,  65519,  65520,  1e39,    -1e39,      1 + 0x1p-11 + 0x1p-30,
        0.1,         1e300, 5e-324, 3.3e38
    };
    static const int64_t ints[] = { 0,
                                    1,
                                    -1,
                                    127,
                                    128,
                                    255,
                                    256,
                                    -129,
                                    300,
                                    32768,
                                    65535,
                                    -32769,
                                    INT32_MAX,
                                    INT32_MIN,
                                    INT64_MAX,
                                    INT64_MIN,
                                    2049,
                                    16777217,
                                    INT64_C(1) << 53,
                                    (INT64_C(1) << 56) + (INT64_C(1) << 48) + 1,
                                    (INT64_C(1) << 40) + 5 };
    size_t k = 0;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        s[k++] = lz_scalar_float(floats[i]);
        s[k++] = lz_scalar_complex(floats[i], floats[(i * 7 + 3) % 32]);
    }
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
        s[k++] = lz_scalar_int(ints[i]);
    const lz_scalar more[] = { lz_scalar_bool(true),       lz_scalar_bool(false),
                               lz_scalar_float(NAN),       lz_scalar_float(INFINITY),
                               lz_scalar_float(-INFINITY), lz_scalar_complex(0, NAN),
                               lz_scalar_complex(-0.0, 2) };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        s[k++] = more[i];
    *n = k;
    return s;
}

/* Any value into any dtype, and from there into any other. */
static lz_err *test_all_pairs_follow_the_rules(void)
{
    size_t n;
    const lz_scalar *s = samples(&n);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < LZ_DTYPE_COUNT; f++)
            for (size_t t = 0; t < LZ_DTYPE_COUNT; t++) {
                char from[16], to[16];
                lz_dtype df = lz_dtypes[f], dt = lz_dtypes[t];
                lz_element_set(df, s[i], from);
                lz_scalar held = lz_element_get(df, from);
                lz_convert_run(df, from, 0, dt, to, 0, 1);
                lz_scalar got = lz_element_get(dt, to);
                if (!same(held, slow(s[i], df)) || !same(got, slow(held, dt)))
                    fail_msg("sample %zu: %s to %s", i, lz_dtype_get(df)->abbr, lz_dtype_get(dt)->abbr);
            }
    return NULL;
}

/* What PyTorch 1.12 gives on x86. */
static lz_err *test_floats_become_integers_as_in_pytorch(void)
{
    static const struct {
        double v;
        int64_t u8, i8, i16, i32, i64;
    } rows[] = {
        { NAN, 0, 0, 0, INT32_MIN, INT64_MIN },  { INFINITY, 0, 0, 0, INT32_MIN, INT64_MIN },
        { 3e9, 0, 0, 0, INT32_MIN, 3000000000 }, { -1e20, 0, 0, 0, INT32_MIN, INT64_MIN },
        { -1.9, 255, -1, -1, -1, -1 },           { 255.9, 255, -1, 255, 255, 255 },
        { 300, 44, 44, 300, 300, 300 },          { -300, 212, -44, -300, -300, -300 },
        { 70000, 112, 112, 4464, 70000, 70000 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t want[] = { rows[i].u8, rows[i].i8, rows[i].i16, rows[i].i32, rows[i].i64 };
        for (int d = LZ_U8; d <= LZ_I64; d++) {
            int64_t element = 0;
            lz_convert_run(LZ_F64, &rows[i].v, 0, (lz_dtype)d, &element, 0, 1);
            assert_int_equal(lz_element_get((lz_dtype)d, &element).i, want[d]);
        }
    }
    return NULL;
}

enum { LONGEST = 700 };

/* Runs of every length around the inner tile, strided, unaligned, backwards. */
static lz_err *test_runs_are_elements_one_by_one(void)
{
    static const ptrdiff_t steps[] = { 1, 3, -2 };
    static const int64_t lengths[] = { 0, 1, 2, 255, 256, 257, 512, LONGEST };
    static char src[LONGEST * 3 * 16 + 1], dst[LONGEST * 3 * 16 + 1];
    for (size_t k = 0; k < sizeof steps / sizeof *steps * 8; k++) {
        lz_dtype from = lz_dtypes[k % LZ_DTYPE_COUNT], to = lz_dtypes[k * 5 % LZ_DTYPE_COUNT];
        ptrdiff_t fs = (ptrdiff_t)lz_dtype_size(from), ts = (ptrdiff_t)lz_dtype_size(to);
        ptrdiff_t sstep = steps[k % 3] * fs, dstep = steps[k / 8] * ts;
        int64_t n = lengths[k % 8];
        char *s = src + 1 + (sstep < 0 ? 2 * LONGEST * fs : 0),
             *d = dst + 1 + (dstep < 0 ? 2 * LONGEST * ts : 0);
        memset(dst, 0x5a, sizeof dst);
        for (int64_t i = 0; i < n; i++)
            lz_element_set(from, lz_scalar_int(i - 100), s + i * sstep);
        lz_convert_run(from, s, sstep, to, d, dstep, n);
        size_t changed = 0;
        for (int64_t i = 0; i < n; i++) {
            char one[16];
            lz_convert_run(from, s + i * sstep, 0, to, one, 0, 1);
            assert_memory_equal(d + i * dstep, one, (size_t)ts);
            memset(d + i * dstep, 0x5a, (size_t)ts);
        }
        for (size_t i = 0; i < sizeof dst; i++)
            changed += dst[i] != 0x5a;
        assert_int_equal(changed, 0);
    }
    return NULL;
}

static lz_err *test_the_same_memory_converts_in_place(void)
{
    int32_t v[100];
    for (int i = 0; i < 100; i++)
        v[i] = i * i;
    lz_convert_run(LZ_I32, v, 4, LZ_I32, v, 4, 100);
    lz_convert_run(LZ_I32, v, 8, LZ_I32, v, 8, 50);
    for (int i = 0; i < 100; i++)
        assert_int_equal(v[i], i * i);
    return NULL;
}

/* A byte that is neither 0 nor 1 is true, and leaves as 1. */
static lz_err *test_any_byte_is_a_bool(void)
{
    const unsigned char in[] = { 0, 1, 2, 128, 255 };
    unsigned char out[5];
    lz_convert_run(LZ_BOOL, in, 1, LZ_BOOL, out, 1, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(out[i], i > 0);
        assert_int_equal(lz_element_get(LZ_BOOL, &in[i]).i, i > 0);
    }
    return NULL;
}

static lz_err *test_no_dtype_does_nothing(void)
{
    int64_t v = 5;
    lz_convert_run(LZ_DTYPE_NONE, &v, 0, LZ_I64, &v, 0, 1);
    lz_convert_run(LZ_I64, &v, 0, (lz_dtype)13, &v, 0, 1);
    assert_int_equal(v, 5);
    assert_int_equal(lz_element_get(LZ_DTYPE_NONE, &v).kind, LZ_SCALAR_NONE);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_all_pairs_follow_the_rules),   LZ_TEST(test_floats_become_integers_as_in_pytorch),
        LZ_TEST(test_runs_are_elements_one_by_one), LZ_TEST(test_the_same_memory_converts_in_place),
        LZ_TEST(test_any_byte_is_a_bool),           LZ_TEST(test_no_dtype_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
