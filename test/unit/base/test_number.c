#include "base/decimal.h"
#include "base/mem.h"
#include "base/number.h"
#include "check.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The reference is the C library's printf and strtod in the C locale, which every
 * test program starts in. */

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t to_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* Finite, not 0; every kind of double comes up: all exponents, few digits, few bits. */
static double random_double(uint64_t i)
{
    double v = 0;
    while (v == 0 || !isfinite(v)) {
        uint64_t r = next_random();
        switch (i % 6) {
        case 0:
        case 1:
            v = from_bits(r);
            break;
        case 2:
            v = (double)(int64_t)(r % 2000000 - 1000000) / 1000;
            break;
        case 3:
            v = ldexp((double)(r >> 11), -(int)(r % 80));
            break;
        case 4:
            v = from_bits((r & 0x7ff0000000000000) + (r >> 8) % 5 - 2);
            break;
        case 5:
            v = (double)(r >> 40) * 1e-7;
            break;
        }
    }
    return v;
}

static size_t text_of(double v, char *buf)
{
    size_t n = lz_double_print(v, buf);
    assert_true(n < LZ_DOUBLE_CHARS);
    buf[n] = '\0';
    return n;
}

static double parse(const char *text)
{
    double v = -1;
    if (!lz_double_parse(lz_str_of(text), &v))
        fail_msg("'%s' was refused", text);
    return v;
}

static void same_as_strtod(const char *text)
{
    double got = parse(text), want = strtod(text, NULL);
    if (to_bits(got) != to_bits(want))
        fail_msg("'%.60s' reads as %a, not %a", text, got, want);
}

/* Laid out as Python's repr: taken from CPython by hand. */
static const struct {
    double v;
    const char *text;
} reprs[] = {
    { 0.0, "0.0" },
    { -0.0, "-0.0" },
    { 1, "1.0" },
    { -1.5, "-1.5" },
    { 100, "100.0" },
    { 0.1, "0.1" },
    { 0.001, "0.001" },
    { 0.0001, "0.0001" },
    { 0.00012345, "0.00012345" },
    { 0.00001, "1e-05" },
    { 1e-7, "1e-07" },
    { 1.5e-10, "1.5e-10" },
    { 1e15, "1000000000000000.0" },
    { 1e16, "1e+16" },
    { 9999999999999998.0, "9999999999999998.0" },
    { 12345678901234567.0, "1.2345678901234568e+16" },
    { 1e22, "1e+22" },
    { 1e23, "1e+23" },
    { 9.999999999999997e22, "9.999999999999997e+22" },
    { 1e100, "1e+100" },
    { 1.0 / 3, "0.3333333333333333" },
    { 2.0 / 3, "0.6666666666666666" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 123456.789, "123456.789" },
    { 9007199254740992.0, "9007199254740992.0" },
    { 9007199254740993.0, "9007199254740992.0" },
    { 1125899906842624.25, "1125899906842624.2" },
    { 1125899906842624.75, "1125899906842624.8" },
    { 5.684341886080802e-14, "5.684341886080802e-14" },
    { DBL_MAX, "1.7976931348623157e+308" },
    { DBL_MIN, "2.2250738585072014e-308" },
    { 0x1p-1074, "5e-324" },
    { 0x3p-1074, "1.5e-323" },
    { 0x0.fffffffffffffp-1022, "2.225073858507201e-308" },
    { DBL_EPSILON, "2.220446049250313e-16" },
    { 0x1p-24, "5.960464477539063e-08" },
    { 3.4028234663852886e38, "3.4028234663852886e+38" },
    { INFINITY, "inf" },
    { -INFINITY, "-inf" },
    { NAN, "nan" },
    { -NAN, "nan" },
};

static lz_err *test_layout_is_that_of_repr(void)
{
    char buf[LZ_DOUBLE_CHARS];
    for (size_t i = 0; i < sizeof reprs / sizeof *reprs; i++) {
        text_of(reprs[i].v, buf);
        assert_string_equal(buf, reprs[i].text);
    }
    return NULL;
}

/* The digits of 0.d1d2... in an %e text "d.dde+x", trailing zeros cut. */
static size_t digits_of_e(const char *text, char *digits, int *exp10)
{
    size_t n = 0;
    const char *p = text + (*text == '-');
    for (; *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    *exp10 = atoi(p + 1) + 1;
    while (n > 0 && digits[n - 1] == '0')
        n--;
    return n;
}

static bool reads_back(uint64_t digits, int exp10, double v)
{
    char buf[64];
    snprintf(buf, sizeof buf, "%llue%d", (unsigned long long)digits, exp10);
    return strtod(buf, NULL) == v;
}

/* No decimal with one digit less reads back, neither the one just below v nor the one
 * just above; and ours is printf's, unless printf's does not read back (it rounds to the
 * nearest, which below a power of two may fall outside). */
static void is_shortest(double v, const char *digits, size_t n, int exp10)
{
    char text[64], nearest[64];
    int e;
    v = fabs(v);
    uint64_t ours = strtoull(digits, NULL, 10);
    assert_true(reads_back(ours, exp10 - (int)n, v));
    if (n > 1) {
        assert_false(reads_back(ours / 10, exp10 - (int)n + 1, v));
        assert_false(reads_back(ours / 10 + 1, exp10 - (int)n + 1, v));
    }
    snprintf(text, sizeof text, "%.*e", (int)n - 1, v);
    nearest[digits_of_e(text, nearest, &e)] = '\0';
    if (strtod(text, NULL) == v && (strcmp(nearest, digits) != 0 || e != exp10))
        fail_msg("%a prints as 0.%se%d, nearer is %s", v, digits, exp10, text);
}

static lz_err *test_digits_are_the_fewest(void)
{
    for (uint64_t i = 0; i < 100000; i++) {
        char digits[LZ_SHORT_DIGITS + 1], slow[LZ_SHORT_DIGITS];
        int exp10, slow_exp10, e;
        double v = random_double(i);
        size_t n = lz_double_digits_short(v, digits, &exp10);
        digits[n] = '\0';
        is_shortest(v, digits, n, exp10);
        /* and the exact way, which the fast one seldom needs, agrees */
        double f = frexp(fabs(v), &e);
        int drop = e - 53 < -1074 ? -1074 - (e - 53) : 0;
        uint64_t m = (uint64_t)ldexp(f, 53) >> drop;
        bool edge = m == (uint64_t)1 << 52 && fabs(v) > DBL_MIN;
        assert_int_equal(lz_decimal_short(m, e - 53 + drop, edge, slow, &slow_exp10), n);
        assert_memory_equal(slow, digits, n);
        assert_int_equal(slow_exp10, exp10);
    }
    return NULL;
}

static lz_err *test_powers_of_two_are_shortest(void)
{
    for (int e = -1074; e < 1024; e++)
        for (int d = -1; d <= 1; d++) {
            char digits[LZ_SHORT_DIGITS + 1];
            int exp10;
            double v = from_bits(to_bits(ldexp(1, e)) + (uint64_t)d);
            if (v == 0)
                continue;
            size_t n = lz_double_digits_short(v, digits, &exp10);
            digits[n] = '\0';
            is_shortest(v, digits, n, exp10);
        }
    return NULL;
}

static lz_err *test_print_reads_back(void)
{
    char buf[LZ_DOUBLE_CHARS];
    for (uint64_t i = 0; i < 1000000; i++) {
        double v = random_double(i);
        size_t n = text_of(v, buf);
        double back = 0;
        assert_true(lz_double_parse((lz_str){ buf, n }, &back));
        if (to_bits(back) != to_bits(v) || (i % 4 == 0 && strtod(buf, NULL) != v))
            fail_msg("%a prints as %s", v, buf);
    }
    return NULL;
}

static lz_err *test_parse_matches_strtod(void)
{
    char buf[64];
    for (uint64_t i = 0; i < 600000; i++) {
        uint64_t r = next_random();
        uint64_t digits = next_random() >> (r >> 32) % 64;
        snprintf(buf, sizeof buf, i % 2 ? "%llue%d" : "0.%llue%d", (unsigned long long)digits,
                 (int)(r % 700) - 360);
        same_as_strtod(buf);
    }
    return NULL;
}

/* Exactly half-way between two doubles, then one digit far behind above and below. */
static void around_half(uint64_t bits)
{
    static char text[1600];
    double v = from_bits(bits);
    int digits = bits >> 52 < 1022 ? 1100 : 60;
    /* v + half an ulp has one bit more than v: printf takes it from a long double. */
    long double half = v + (from_bits(bits + 1) - (long double)v) / 2;
    size_t n = (size_t)snprintf(text, sizeof text, "%.*Lf", digits, half);
    same_as_strtod(text);
    strcpy(text + n, "00000000000000000001");
    same_as_strtod(text);
    while (text[n - 1] == '0')
        n--;
    if (text[n - 1] != '.') {
        text[n - 1]--;
        strcpy(text + n, "99999999999999999999");
        same_as_strtod(text);
    }
}

static lz_err *test_halfway_cases(void)
{
    for (int i = 0; i < 3000; i++) {
        uint64_t bits = next_random() & 0x7fffffffffffffff;
        if (bits >> 52 < 2046)
            around_half(bits);
        around_half(bits >> 12);                                   /* subnormal */
        around_half((uint64_t)(1023 + i % 60) << 52 | bits >> 12); /* around 1 */
    }
    return NULL;
}

static const char *const hard[] = {
    "0",
    "-0",
    "0.0e999999999999999999999",
    "1e23",
    "8.5e22",
    "9007199254740993",
    "9007199254740992.99999999999999999999999999",
    "9007199254740993.00000000000000000000000001",
    "1.7976931348623157e308",
    "1.7976931348623158e308",
    "1.797693134862315807e308",
    "1.797693134862315808e308",
    "179769313486231580793728971405301e276",
    "1e309",
    "1e999999999999999999999999",
    "1e-999999999999999999999999",
    "2.2250738585072011e-308",
    "2.2250738585072012e-308",
    "2.2250738585072014e-308",
    "4.9406564584124654e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "2.47e-324",
    "7.4109846876186981626485318930233205854758970392148714663837852375e-324",
    "6.9294956446009195e15",
    "3.7455744005952583e15",
    "1.2345678901234567890123456789e-300",
    "18446744073709551615",
    "18446744073709551616",
    "9999999999999999999",
    "99999999999999999999",
    ".5",
    "5.",
    "+1.5E+10",
    "00000000000000000000000000000000001",
    "0.00000000000000000000000000000000000000000000000001e50",
};

static lz_err *test_hard_inputs(void)
{
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++)
        same_as_strtod(hard[i]);
    return NULL;
}

static lz_err *test_long_inputs(void)
{
    const size_t len = 1 << 20;
    char *text = lz_mem_alloc(len + 32);
    if (!text)
        return lz_err_oom();
    memset(text, '9', len);
    text[1] = '.';
    strcpy(text + len, "e5");
    same_as_strtod(text);
    memset(text, '0', len);
    text[1] = '.';
    strcpy(text + len, "123e1048578");
    same_as_strtod(text);
    /* 1 + 2^-53 is half-way; a digit one million places behind decides */
    int n = snprintf(text, len, "%.53f", 0x1p-53);
    text[0] = '1';
    memset(text + n, '0', len - (size_t)n);
    strcpy(text + len, "0");
    assert_true(parse(text) == 1);
    strcpy(text + len, "1");
    assert_true(parse(text) == 1 + DBL_EPSILON);
    lz_mem_free(text);
    return NULL;
}

static lz_err *test_other_words(void)
{
    static const char *const bad[] = { "",    " ",   "-",   "+",        ".",    "e5",    "1e",
                                       "1e+", "1 ",  " 1",  "1.2.3",    "0x10", "1_0",   "1,5",
                                       "--1", "+-1", "in",  "infinit",  "nanx", "1e5.5", "1ee5",
                                       "e",   "-.",  "1.e", "infinityy" };
    double v;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (lz_double_parse(lz_str_of(bad[i]), &v))
            fail_msg("'%s' was accepted", bad[i]);
    assert_true(isinf(parse("inf")) && parse("inf") > 0);
    assert_true(isinf(parse("-Infinity")) && parse("-Infinity") < 0);
    assert_true(isnan(parse("NaN")) && isnan(parse("-nan")) && isinf(parse("+INF")));
    return NULL;
}

static void check_places(double v, int places)
{
    char want[1500], got[LZ_DOUBLE_DIGITS], digits[1500];
    int exp10, n_want = 0, point = 0;
    snprintf(want, sizeof want, "%.*f", places, fabs(v));
    for (const char *p = want; *p; p++)
        if (*p == '.')
            point = n_want;
        else if (n_want > 0 || *p != '0')
            digits[n_want++] = *p;
    size_t n = lz_double_digits_fixed(v, places, got, &exp10);
    /* want = digits / 10^places */
    while (n_want > 0 && digits[n_want - 1] == '0')
        n_want--;
    assert_int_equal(n, n_want);
    assert_memory_equal(got, digits, n);
    if (n == 0)
        return;
    assert_true(got[0] != '0');
    /* the decimal point stands where printf put it */
    if (exp10 > 0)
        assert_int_equal(exp10, point ? point : (int)strcspn(want, "."));
    else
        assert_int_equal(strspn(strchr(want, '.') + 1, "0"), -exp10);
}

static lz_err *test_fixed_matches_printf(void)
{
    for (uint64_t i = 0; i < 60000; i++)
        check_places(random_double(i), (int)(next_random() % (i % 50 ? 20 : 1100)));
    /* ties: multiples of 1/64 at few places, of 0.5 at none */
    for (int i = 1; i < 3000; i++)
        for (int places = 0; places < 7; places++)
            check_places(i / 64.0, places);
    return NULL;
}

static lz_err *test_exact_matches_printf(void)
{
    for (uint64_t i = 0; i < 60000; i++) {
        char text[1300], want[1300], got[LZ_DOUBLE_DIGITS];
        double v = random_double(i);
        int count = 1 + (int)(next_random() % (i % 50 ? 22 : 1200)), want_exp, exp10;
        snprintf(text, sizeof text, "%.*e", count - 1, v);
        size_t n = digits_of_e(text, want, &want_exp);
        assert_int_equal(lz_double_digits_exact(v, count, got, &exp10), n);
        assert_memory_equal(got, want, n);
        assert_int_equal(exp10, want_exp);
    }
    return NULL;
}

/* Least significant first; enough for 10^351 * 2^128. */
typedef struct wide {
    uint32_t part[44];
} wide;

static wide times(wide a, uint32_t factor)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < 44; i++) {
        carry += (uint64_t)a.part[i] * factor;
        a.part[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return a;
}

static wide times_power_of_ten(wide a, int n)
{
    while (n-- > 0)
        a = times(a, 10);
    return a;
}

static int top_bit(const wide *a)
{
    int i = 44 * 32 - 1;
    while (!(a->part[i / 32] >> i % 32 & 1))
        i--;
    return i;
}

/* Bits n to n + 31, zeros beyond either end. */
static uint32_t bits_from(const wide *a, int n)
{
    uint32_t out = 0;
    for (int i = 0; i < 32; i++)
        if (n + i >= 0 && n + i < 44 * 32)
            out |= (a->part[(n + i) / 32] >> (n + i) % 32 & 1) << i;
    return out;
}

static wide row_plus(const uint64_t row[2], uint32_t extra)
{
    wide w = { { (uint32_t)row[1], (uint32_t)(row[1] >> 32), (uint32_t)row[0], (uint32_t)(row[0] >> 32) } };
    for (size_t i = 0; extra; i++) {
        w.part[i] += extra;
        extra = w.part[i] < extra;
    }
    return w;
}

/* A power's row holds its leading bits; a negative power's row g, of 10^-n, is the one
 * with g * 10^n < 2^k < (g + 1) * 10^n for a suitable k. */
static lz_err *test_table_of_powers(void)
{
    for (int i = 0; i < LZ_DECIMAL_POWERS; i++) {
        const uint64_t *row = lz_decimal_powers[i];
        int n = LZ_DECIMAL_STEP * (i - LZ_DECIMAL_ZERO);
        assert_true(row[0] >> 63);
        if (n >= 0) {
            wide one = { { 1 } }, p = times_power_of_ten(one, n), w = row_plus(row, 0);
            for (int j = 1; j <= 4; j++)
                assert_int_equal(bits_from(&p, top_bit(&p) + 1 - 32 * j), w.part[4 - j]);
        } else {
            wide low = times_power_of_ten(row_plus(row, 0), -n);
            wide high = times_power_of_ten(row_plus(row, 1), -n);
            assert_int_equal(top_bit(&high), top_bit(&low) + 1);
        }
    }
    return NULL;
}

static lz_err *test_longest_expansion_fits(void)
{
    char digits[LZ_DOUBLE_DIGITS];
    int exp10;
    /* all bits set at the smallest exponent: no double has a longer expansion */
    assert_int_equal(lz_double_digits_exact(0x1.fffffffffffffp-1022, 5000, digits, &exp10), 767);
    assert_int_equal(lz_double_digits_fixed(0x1.fffffffffffffp-1022, 5000, digits, &exp10), 767);
    assert_int_equal(lz_double_digits_fixed(0x1p-1074, INT32_MAX, digits, &exp10), 751);
    assert_int_equal(lz_double_digits_fixed(DBL_MAX, 0, digits, &exp10), 309);
    assert_int_equal(lz_double_digits_fixed(DBL_MAX, -400, digits, &exp10), 0);
    return NULL;
}

static lz_err *test_integers(void)
{
    static const struct {
        const char *text;
        bool is_signed, is_unsigned;
    } cases[] = {
        { "0", true, true },
        { "-0", true, true },
        { "+7", true, true },
        { "-7", true, false },
        { "9223372036854775807", true, true },
        { "9223372036854775808", false, true },
        { "-9223372036854775808", true, false },
        { "-9223372036854775809", false, false },
        { "18446744073709551615", false, true },
        { "18446744073709551616", false, false },
        { "99999999999999999999", false, false },
        { "000000000000000000000000000012", true, true },
        { "", false, false },
        { "-", false, false },
        { "+-1", false, false },
        { "1.0", false, false },
        { "1e3", false, false },
        { " 1", false, false },
        { "0x1", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t s = 0;
        uint64_t u = 0;
        assert_int_equal(lz_int64_parse(lz_str_of(cases[i].text), &s), cases[i].is_signed);
        assert_int_equal(lz_uint64_parse(lz_str_of(cases[i].text), &u), cases[i].is_unsigned);
        if (cases[i].is_signed)
            assert_true(s == strtoll(cases[i].text, NULL, 10));
        if (cases[i].is_unsigned)
            assert_true(u == strtoull(cases[i].text, NULL, 10));
    }
    return NULL;
}

static lz_err *test_integers_print(void)
{
    char got[LZ_INT_CHARS + 1], want[32];
    for (int i = 0; i < 100000; i++) {
        uint64_t u = i ? next_random() >> next_random() % 64 : 0;
        got[lz_uint64_print(u, got)] = '\0';
        snprintf(want, sizeof want, "%llu", (unsigned long long)u);
        assert_string_equal(got, want);
        got[lz_int64_print(i == 1 ? INT64_MIN : (int64_t)u, got)] = '\0';
        snprintf(want, sizeof want, "%lld", i == 1 ? (long long)INT64_MIN : (long long)u);
        assert_string_equal(got, want);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_layout_is_that_of_repr),
        LZ_TEST(test_digits_are_the_fewest),
        LZ_TEST(test_powers_of_two_are_shortest),
        LZ_TEST(test_print_reads_back),
        LZ_TEST(test_parse_matches_strtod),
        LZ_TEST(test_halfway_cases),
        LZ_TEST(test_hard_inputs),
        LZ_TEST(test_long_inputs),
        LZ_TEST(test_other_words),
        LZ_TEST(test_fixed_matches_printf),
        LZ_TEST(test_exact_matches_printf),
        LZ_TEST(test_table_of_powers),
        LZ_TEST(test_longest_expansion_fits),
        LZ_TEST(test_integers),
        LZ_TEST(test_integers_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
