#include "check.h"
#include "core/scalar.h"
#include "dtype_name.h"
#include <math.h>

static lz_scalar b(bool v)
{
    return lz_scalar_bool(v);
}

static lz_scalar i(int64_t v)
{
    return lz_scalar_int(v);
}

static lz_scalar f(double v)
{
    return lz_scalar_float(v);
}

static lz_scalar c(double re, double im)
{
    return lz_scalar_complex(re, im);
}

static bool same_bits(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* Compares kind and bits: 0.0 and -0.0 differ, a NaN equals itself. */
static bool identical(lz_scalar a, lz_scalar b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == LZ_SCALAR_INT || a.kind == LZ_SCALAR_BOOL)
        return a.i == b.i;
    bool re = a.kind == LZ_SCALAR_NONE || same_bits(a.re, b.re);
    return re && (a.kind != LZ_SCALAR_COMPLEX || same_bits(a.im, b.im));
}

static void check_scalar(lz_scalar got, lz_scalar want, size_t row)
{
    if (!identical(got, want) && !(isnan(got.re) && isnan(want.re)))
        fail_msg("row %zu: kind %d %lld %a, expected kind %d %lld %a", row, (int)got.kind, (long long)got.i,
                 got.re, (int)want.kind, (long long)want.i, want.re);
}

static lz_err *test_arithmetic(void)
{
    const struct {
        lz_scalar_op op;
        lz_scalar a, b, want;
    } rows[] = {
        { LZ_SCALAR_ADD, i(2), i(3), i(5) },
        { LZ_SCALAR_ADD, b(true), b(true), i(2) },
        { LZ_SCALAR_ADD, i(2), f(0.5), f(2.5) },
        { LZ_SCALAR_ADD, i(2), c(1, 2), c(3, 2) },
        { LZ_SCALAR_SUB, i(2), i(3), i(-1) },
        { LZ_SCALAR_SUB, f(INFINITY), f(INFINITY), f(NAN) },
        { LZ_SCALAR_MUL, i(-4), i(3), i(-12) },
        { LZ_SCALAR_MUL, c(1, 2), c(3, 4), c(-5, 10) },
        { LZ_SCALAR_DIV, i(7), i(2), f(3.5) },
        { LZ_SCALAR_DIV, i(1), i(0), f(INFINITY) },
        { LZ_SCALAR_DIV, c(-5, 10), c(3, 4), c(1, 2) },
        { LZ_SCALAR_DIV, c(1e300, 1e300), c(1e300, 1e300), c(1, 0) },
        { LZ_SCALAR_FLOORDIV, i(7), i(-2), i(-4) },
        { LZ_SCALAR_FLOORDIV, i(-7), i(2), i(-4) },
        { LZ_SCALAR_FLOORDIV, i(-8), i(2), i(-4) },
        { LZ_SCALAR_FLOORDIV, f(1), f(0.1), f(10) },
        { LZ_SCALAR_FLOORDIV, f(-5.5), f(2), f(-3) },
        { LZ_SCALAR_REMAINDER, i(7), i(-2), i(-1) },
        { LZ_SCALAR_REMAINDER, i(-7), i(2), i(1) },
        { LZ_SCALAR_REMAINDER, i(INT64_MIN), i(-1), i(0) },
        { LZ_SCALAR_REMAINDER, f(-5.5), f(2), f(0.5) },
        { LZ_SCALAR_REMAINDER, f(5.5), f(INFINITY), f(5.5) },
        { LZ_SCALAR_REMAINDER, f(-4), f(2), f(0.0) },
        { LZ_SCALAR_REMAINDER, f(5), f(0), f(NAN) },
        { LZ_SCALAR_POW, i(3), i(4), i(81) },
        { LZ_SCALAR_POW, i(-2), i(63), i(INT64_MIN) },
        { LZ_SCALAR_POW, i(7), i(0), i(1) },
        { LZ_SCALAR_POW, i(1), i(INT64_MAX), i(1) },
        { LZ_SCALAR_POW, i(2), i(-1), f(0.5) },
        { LZ_SCALAR_POW, f(2), i(10), f(1024) },
        { LZ_SCALAR_MIN, i(3), i(2), i(2) },
        { LZ_SCALAR_MAX, f(3), i(2), f(3) },
        { LZ_SCALAR_MIN, f(NAN), f(1), f(NAN) },
        { LZ_SCALAR_MIN, f(1), f(NAN), f(1) },
        { LZ_SCALAR_MAX, b(false), b(true), b(true) },
        { LZ_SCALAR_AND, i(6), i(3), i(2) },
        { LZ_SCALAR_OR, b(true), b(false), b(true) },
        { LZ_SCALAR_XOR, b(true), i(3), i(2) },
        { LZ_SCALAR_SHL, i(-1), i(63), i(INT64_MIN) },
        { LZ_SCALAR_SHL, i(1), i(62), i(INT64_C(1) << 62) },
        { LZ_SCALAR_SHL, i(0), i(200), i(0) },
        { LZ_SCALAR_SHR, i(-9), i(1), i(-5) },
        { LZ_SCALAR_SHR, i(-9), i(200), i(-1) },
    };
    lz_err *e = NULL;
    for (size_t k = 0; !e && k < sizeof rows / sizeof *rows; k++) {
        lz_scalar got;
        e = lz_scalar_binary(rows[k].op, rows[k].a, rows[k].b, &got);
        if (!e)
            check_scalar(got, rows[k].want, k);
    }
    return e;
}

static lz_err *test_arithmetic_that_has_no_result(void)
{
    const struct {
        lz_scalar_op op;
        lz_scalar a, b;
        lz_code code;
        const char *why;
    } rows[] = {
        { LZ_SCALAR_ADD, i(INT64_MAX), i(1), LZ_ERR_LIMIT, "integer overflow: 9223372036854775807 + 1" },
        { LZ_SCALAR_SUB, i(INT64_MIN), i(1), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_MUL, i(INT64_C(1) << 40), i(INT64_C(1) << 40), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_FLOORDIV, i(5), i(0), LZ_ERR_ARG, "division by zero: 5 // 0" },
        { LZ_SCALAR_REMAINDER, i(5), b(false), LZ_ERR_ARG, "division by zero" },
        { LZ_SCALAR_FLOORDIV, i(INT64_MIN), i(-1), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_POW, i(10), i(19), LZ_ERR_LIMIT, "10 ** 19" },
        { LZ_SCALAR_POW, i(2), i(63), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_SHL, i(1), i(63), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_SHL, i(2), i(62), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_SHL, i(-1), i(64), LZ_ERR_LIMIT, "overflow" },
        { LZ_SCALAR_SHL, i(1), i(-1), LZ_ERR_ARG, "negative shift count" },
        { LZ_SCALAR_SHR, i(1), i(-1), LZ_ERR_ARG, "negative shift count" },
        { LZ_SCALAR_AND, f(1), i(1), LZ_ERR_ARG, "unsupported operand types for &: float and int" },
        { LZ_SCALAR_POW, c(1, 2), i(2), LZ_ERR_ARG, "complex and int" },
        { LZ_SCALAR_MIN, c(1, 2), i(2), LZ_ERR_ARG, "min" },
        { LZ_SCALAR_ADD, lz_scalar_none(), i(2), LZ_ERR_ARG, "None and int" },
    };
    lz_err *e = NULL;
    for (size_t k = 0; !e && k < sizeof rows / sizeof *rows; k++) {
        lz_scalar got;
        e = lz_check_err(lz_scalar_binary(rows[k].op, rows[k].a, rows[k].b, &got), rows[k].code, rows[k].why);
    }
    return e;
}

/* Against 128-bit integers, for random and for extreme operands. */
static lz_err *test_integers_are_exact(void)
{
    static const int64_t edges[] = { INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, 2, INT64_MAX - 1, INT64_MAX };
    uint64_t state = 99;
    lz_err *e = NULL;
    for (int k = 0; !e && k < 60; k++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        int64_t x = k % 2 ? edges[k / 2 % 9] : (int64_t)(state >> (k % 40)),
                y = k % 3 ? edges[k % 9] : (int64_t)state;
        const __int128 exact[] = { (__int128)x + y, (__int128)x - y, (__int128)x * y };
        for (int op = LZ_SCALAR_ADD; !e && op <= LZ_SCALAR_MUL; op++) {
            lz_scalar got;
            bool fits = exact[op] >= INT64_MIN && exact[op] <= INT64_MAX;
            lz_err *r = lz_scalar_binary((lz_scalar_op)op, i(x), i(y), &got);
            if (!r)
                assert_true(fits && got.i == (int64_t)exact[op]);
            e = fits ? r : lz_check_err(r, LZ_ERR_LIMIT, "overflow");
        }
    }
    return e;
}

static lz_err *test_sign_and_size(void)
{
    lz_scalar v;
    lz_err *e = lz_scalar_neg(i(5), &v);
    if (!e) {
        check_scalar(v, i(-5), 0);
        e = lz_scalar_neg(f(0), &v);
    }
    if (!e) {
        check_scalar(v, f(-0.0), 1);
        e = lz_scalar_abs(c(3, -4), &v);
    }
    if (!e) {
        check_scalar(v, f(5), 2);
        e = lz_scalar_abs(b(true), &v);
    }
    if (!e) {
        check_scalar(v, i(1), 3);
        e = lz_scalar_abs(f(-2.5), &v);
    }
    if (!e) {
        check_scalar(v, f(2.5), 4);
        e = lz_check_err(lz_scalar_abs(i(INT64_MIN), &v), LZ_ERR_LIMIT, "overflow");
    }
    if (!e)
        e = lz_check_err(lz_scalar_neg(lz_scalar_none(), &v), LZ_ERR_ARG, "negative of None");
    return e ? e : lz_check_err(lz_scalar_abs(lz_scalar_none(), &v), LZ_ERR_ARG, "absolute value of None");
}

/* Ordered as the real numbers they are; every pair in both directions. */
static lz_err *test_comparison_is_exact(void)
{
    const lz_scalar ascending[] = { f(-INFINITY),
                                    i(INT64_MIN),
                                    f(-0x1p62),
                                    i(-1),
                                    f(-0.5),
                                    b(false),
                                    f(0.5),
                                    b(true),
                                    f(1.5),
                                    f(0x1p53),
                                    i((INT64_C(1) << 53) + 1),
                                    i(INT64_MAX),
                                    f(0x1p63),
                                    f(INFINITY) };
    size_t n = sizeof ascending / sizeof *ascending;
    lz_err *e = NULL;
    for (size_t x = 0; !e && x < n; x++)
        for (size_t y = 0; !e && y < n; y++) {
            const bool want[] = { x == y, x != y, x<y, x <= y, x> y, x >= y };
            for (int cmp = 0; !e && cmp < LZ_SCALAR_CMPS; cmp++) {
                bool got = false;
                e = lz_scalar_compare((lz_scalar_cmp)cmp, ascending[x], ascending[y], &got);
                if (!e)
                    assert_int_equal(got, want[cmp]);
            }
        }
    return e;
}

static lz_err *test_comparison_of_the_incomparable(void)
{
    bool got;
    lz_err *e = NULL;
    for (int cmp = 0; !e && cmp < LZ_SCALAR_CMPS; cmp++) {
        const lz_scalar others[] = { f(NAN), i(1), f(1) };
        for (int k = 0; !e && k < 3; k++) {
            e = lz_scalar_compare((lz_scalar_cmp)cmp, f(NAN), others[k], &got);
            if (!e)
                assert_int_equal(got, cmp == LZ_SCALAR_NE);
            e = e ? e : lz_scalar_compare((lz_scalar_cmp)cmp, others[k], f(NAN), &got);
            if (!e)
                assert_int_equal(got, cmp == LZ_SCALAR_NE);
        }
    }
    if (!e)
        e = lz_scalar_compare(LZ_SCALAR_EQ, c(2, 0), i(2), &got);
    if (!e) {
        assert_true(got);
        e = lz_scalar_compare(LZ_SCALAR_EQ, c(2, 1), f(2), &got);
    }
    if (!e) {
        assert_false(got);
        e = lz_check_err(lz_scalar_compare(LZ_SCALAR_LT, c(2, 1), f(2), &got), LZ_ERR_ARG,
                         "< has no meaning between complex and float");
    }
    return e ? e
             : lz_check_err(lz_scalar_compare(LZ_SCALAR_EQ, lz_scalar_none(), f(2), &got), LZ_ERR_ARG,
                            "None");
}

/* As PyTorch's full((1,), v, dtype) does it. */
static lz_err *test_casts_as_in_pytorch(void)
{
    static const struct {
        const char *dtype, *c_name;
        double want[13]; /* of the values below */
    } rows[] = {
#define OVER -12345.0
        { "uint8", "uint8_t", { OVER, OVER, 1, OVER, 127, 127, OVER, OVER, OVER, OVER, OVER, OVER, 3 } },
        { "int8", "int8_t", { OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, OVER, 3 } },
        { "int16", "int16_t", { 300, -300, -255, OVER, -129, 127, OVER, OVER, OVER, OVER, OVER, OVER, 3 } },
        { "int32", "int", { 300, -300, -255, OVER, -129, 127, OVER, 100000, OVER, OVER, 65519, OVER, 3 } },
        { "int64",
          "int64_t",
          { 300, -300, -255, 0x1p40, -129, 127, OVER, 100000, OVER, OVER, 65519, OVER, 3 } },
        { "float16",
          "at::Half",
          { 300, -300, -255, OVER, -129, 127.5, OVER, OVER, NAN, INFINITY, OVER, OVER, 3.69921875 } },
        { "bfloat16",
          "at::BFloat16",
          { 300, -300, -255, 0x1p40, -129, 127.5, OVER, 99840, NAN, INFINITY, 65536, 0x1p63, 3.703125 } },
        { "float32",
          "float",
          { 300, -300, -255, 0x1p40, -129, 127.5, OVER, 100000, NAN, INFINITY, 65519, 0x1p63, 3.7f } },
        { "float64",
          "double",
          { 300, -300, -255, 0x1p40, -129, 127.5, 1e40, 100000, NAN, INFINITY, 65519, 0x1p63, 3.7 } },
    };
    const lz_scalar values[] = { i(300),  i(-300), i(-255), i(INT64_C(1) << 40), i(-129),  f(127.5),
                                 f(1e40), f(1e5),  f(NAN),  f(INFINITY),         f(65519), f(0x1p63),
                                 f(3.7) };
    lz_err *e = NULL;
    for (size_t r = 0; !e && r < sizeof rows / sizeof *rows; r++)
        for (size_t k = 0; !e && k < 13; k++) {
            char why[128] = "value cannot be converted to type ";
            lz_scalar got;
            lz_err *x = lz_scalar_cast(values[k], dtype_by_name(lz_str_of(rows[r].dtype)), &got);
            double want = rows[r].want[k];
            if (!x) {
                double v = got.kind == LZ_SCALAR_INT ? (double)got.i : got.re;
                assert_true(v == want || (isnan(v) && isnan(want)));
            }
            strcat(strcat(why, rows[r].c_name), " without overflow");
            e = want == OVER ? lz_check_err(x, LZ_ERR_ARG, why) : x;
        }
    return e;
}

static lz_err *test_casts_between_kinds(void)
{
    const struct {
        lz_scalar v;
        lz_dtype to;
        lz_scalar want;
    } rows[] = {
        { f(0.5), LZ_BOOL, b(true) },        { f(NAN), LZ_BOOL, b(true) },
        { i(0), LZ_BOOL, b(false) },         { c(0, 1), LZ_BOOL, b(true) },
        { c(2, 0), LZ_F32, f(2) },           { c(2.5, 0), LZ_I8, i(2) },
        { b(true), LZ_F16, f(1) },           { i(3), LZ_C64, c(3, 0) },
        { f(0.1), LZ_C64, c(0.1f, 0) },      { i(-1), LZ_U8, i(255) },
        { i(INT64_MAX), LZ_F64, f(0x1p63) }, { f(-0x1p63), LZ_I64, i(INT64_MIN) },
    };
    lz_err *e = NULL;
    lz_scalar got;
    for (size_t k = 0; !e && k < sizeof rows / sizeof *rows; k++) {
        e = lz_scalar_cast(rows[k].v, rows[k].to, &got);
        if (!e)
            check_scalar(got, rows[k].want, k);
    }
    if (!e)
        e = lz_check_err(lz_scalar_cast(c(1, 2), LZ_F32, &got), LZ_ERR_ARG,
                         "converted to type float without overflow");
    if (!e)
        e = lz_check_err(lz_scalar_cast(c(1, 1e39), LZ_C64, &got), LZ_ERR_ARG, "c10::complex<float>");
    if (!e)
        e = lz_check_err(lz_scalar_cast(f(-1), LZ_U8, &got), LZ_ERR_ARG, "uint8_t");
    if (!e)
        e = lz_check_err(lz_scalar_cast(lz_scalar_none(), LZ_U8, &got), LZ_ERR_ARG,
                         "None cannot be converted");
    return e ? e
             : lz_check_err(lz_scalar_cast(i(1), LZ_DTYPE_NONE, &got), LZ_ERR_ARG, "int cannot be converted");
}

static lz_err *test_as_c_numbers(void)
{
    int64_t n = 0;
    double d = 0;
    lz_err *e = lz_scalar_to_int(f(-3.9), &n);
    if (!e) {
        assert_int_equal(n, -3);
        e = lz_scalar_to_double(i(7), &d);
    }
    if (!e) {
        assert_true(d == 7);
        e = lz_check_err(lz_scalar_to_int(f(NAN), &n), LZ_ERR_ARG, "int64_t");
    }
    if (!e)
        e = lz_check_err(lz_scalar_to_double(c(1, 1), &d), LZ_ERR_ARG, "double");
    assert_true(lz_scalar_is_true(f(NAN)) && lz_scalar_is_true(c(0, 1)) && lz_scalar_is_true(b(true)));
    assert_false(lz_scalar_is_true(f(-0.0)) || lz_scalar_is_true(i(0))
                 || lz_scalar_is_true(lz_scalar_none()));
    return e;
}

static lz_err *test_text_is_that_of_python(void)
{
    const struct {
        lz_scalar v;
        const char *text;
    } rows[] = {
        { b(true), "True" },
        { b(false), "False" },
        { i(-42), "-42" },
        { f(2.5), "2.5" },
        { f(1), "1.0" },
        { f(1e-5), "1e-05" },
        { f(NAN), "nan" },
        { f(-INFINITY), "-inf" },
        { c(1, 2), "(1+2j)" },
        { c(1.5, -2), "(1.5-2j)" },
        { c(0, 2.5), "2.5j" },
        { c(-0.0, 1), "(-0+1j)" },
        { c(0, -0.0), "-0j" },
        { c(NAN, -INFINITY), "(nan-infj)" },
        { c(1, NAN), "(1+nanj)" },
        { lz_scalar_none(), "None" },
        { c(1e16, 0), "(1e+16+0j)" },
    };
    lz_err *e = NULL;
    for (size_t k = 0; !e && k < sizeof rows / sizeof *rows; k++) {
        lz_text t = { 0 };
        lz_scalar_print(rows[k].v, &t);
        e = lz_text_check(&t);
        if (!e && !lz_str_is(lz_text_view(&t), rows[k].text))
            fail_msg("%.*s, expected %s", LZ_FMT(lz_text_view(&t)), rows[k].text);
        lz_text_deinit(&t);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_arithmetic),          LZ_TEST(test_arithmetic_that_has_no_result),
        LZ_TEST(test_integers_are_exact),  LZ_TEST(test_sign_and_size),
        LZ_TEST(test_comparison_is_exact), LZ_TEST(test_comparison_of_the_incomparable),
        LZ_TEST(test_casts_as_in_pytorch), LZ_TEST(test_casts_between_kinds),
        LZ_TEST(test_as_c_numbers),        LZ_TEST(test_text_is_that_of_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
