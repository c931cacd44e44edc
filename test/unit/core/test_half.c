#include "check.h"
#include "core/half.h"
#include <math.h>

/* A slow version of any binary format: value and rounding by the definition. */
typedef struct layout {
    int exponent_bits, fraction_bits;
} layout;

static const layout f16 = { 5, 10 }, bf16 = { 8, 7 };

static double slow_value(layout l, uint16_t bits)
{
    int top = (1 << l.exponent_bits) - 1, bias = top / 2, exponent = bits >> l.fraction_bits & top;
    int fraction = bits & ((1 << l.fraction_bits) - 1);
    double v;
    if (exponent == top)
        v = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        v = ldexp(fraction, 1 - bias - l.fraction_bits);
    else
        v = ldexp(fraction + (1 << l.fraction_bits), exponent - bias - l.fraction_bits);
    return bits & 0x8000 ? -v : v;
}

/* The largest finite pattern that is not above |v|; then by distance, ties to the even
 * one. Infinity counts as the number that would follow. */
static uint16_t slow_round(layout l, float v)
{
    uint16_t top = (uint16_t)(((1 << l.exponent_bits) - 1) << l.fraction_bits), low = 0,
             high = (uint16_t)(top - 1);
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double mag = fabs((double)v);
    if (isinf(v))
        return sign | top;
    while (low < high) {
        uint16_t mid = (uint16_t)((low + high + 1) / 2);
        if (slow_value(l, mid) <= mag)
            low = mid;
        else
            high = (uint16_t)(mid - 1);
    }
    double below = slow_value(l, low);
    double step = low + 1 == top ? below - slow_value(l, (uint16_t)(low - 1))
                                 : slow_value(l, (uint16_t)(low + 1)) - below;
    double over = mag - below;
    bool up = over > step / 2 || (over == step / 2 && (low & 1));
    return (uint16_t)(sign | (low + up));
}

static bool same(float a, double b)
{
    return isnan(b) ? isnan(a) : (double)a == b && !signbit(a) == !signbit(b);
}

static lz_err *test_every_pattern_widens_exactly(void)
{
    for (uint32_t h = 0; h < 65536; h++) {
        assert_true(same(lz_f16_to_f32((uint16_t)h), slow_value(f16, (uint16_t)h)));
        assert_true(same(lz_bf16_to_f32((uint16_t)h), slow_value(bf16, (uint16_t)h)));
    }
    return NULL;
}

static lz_err *test_every_number_comes_back(void)
{
    for (uint32_t h = 0; h < 65536; h++) {
        if (!isnan(slow_value(f16, (uint16_t)h)))
            assert_int_equal(lz_f32_to_f16(lz_f16_to_f32((uint16_t)h)), h);
        if (!isnan(slow_value(bf16, (uint16_t)h)))
            assert_int_equal(lz_f32_to_bf16(lz_bf16_to_f32((uint16_t)h)), h);
    }
    return NULL;
}

/* All the way: quiet, with sign and the upper bits of the payload. */
static lz_err *test_nans_stay_nans(void)
{
    for (uint32_t frac = 1; frac < 0x400; frac++) {
        uint16_t h = (uint16_t)(0xfc00 | frac);
        assert_int_equal(lz_f32_bits(lz_f16_to_f32(h)), 0xffc00000 | frac << 13);
        assert_int_equal(lz_f32_to_f16(lz_f16_to_f32(h)), h | 0x200);
    }
    for (uint32_t frac = 1; frac < 0x80; frac++) {
        uint16_t h = (uint16_t)(0x7f80 | frac);
        assert_int_equal(lz_f32_bits(lz_bf16_to_f32(h)), (uint32_t)h << 16 | 0x400000);
        assert_int_equal(lz_f32_to_bf16(lz_bf16_to_f32(h)), h | 0x40);
    }
    assert_int_equal(lz_f32_to_f16(lz_f32_of_bits(0x7f800001)), 0x7e00);
    assert_int_equal(lz_f32_to_bf16(lz_f32_of_bits(0xff800001)), 0xffc0);
    return NULL;
}

static void check_rounding(float v)
{
    if (isnan(v))
        return;
    if (lz_f32_to_f16(v) != slow_round(f16, v) || lz_f32_to_bf16(v) != slow_round(bf16, v))
        fail_msg("%a: f16 %04x, not %04x; bf16 %04x, not %04x", (double)v, lz_f32_to_f16(v),
                 slow_round(f16, v), lz_f32_to_bf16(v), slow_round(bf16, v));
}

/* The ties between all neighbours, and what lies right beside them. */
static lz_err *test_ties_go_to_even(void)
{
    for (uint32_t h = 0; h < 0x7f80; h++) {
        const layout *l = h < 0x7c00 ? &f16 : &bf16;
        float ties[] = { (float)((slow_value(f16, (uint16_t)h) + slow_value(f16, (uint16_t)(h + 1))) / 2),
                         (float)((slow_value(bf16, (uint16_t)h) + slow_value(bf16, (uint16_t)(h + 1))) / 2) };
        for (int i = l == &f16 ? 0 : 1; i < 2; i++) {
            check_rounding(ties[i]);
            check_rounding(-ties[i]);
            check_rounding(nextafterf(ties[i], 0));
            check_rounding(nextafterf(ties[i], INFINITY));
        }
    }
    check_rounding(65520);
    check_rounding(nextafterf(65520, 0));
    return NULL;
}

static lz_err *test_random_floats_round_to_nearest(void)
{
    uint64_t state = 88172645463325252;
    for (int i = 0; i < 400000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        check_rounding(lz_f32_of_bits((uint32_t)(state >> 16)));
        /* in the range of f16, where most random patterns are not */
        check_rounding(lz_f32_of_bits((uint32_t)(state >> 16) % 0x18000000 + 0x31000000));
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_pattern_widens_exactly),
        LZ_TEST(test_every_number_comes_back),
        LZ_TEST(test_nans_stay_nans),
        LZ_TEST(test_ties_go_to_even),
        LZ_TEST(test_random_floats_round_to_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
