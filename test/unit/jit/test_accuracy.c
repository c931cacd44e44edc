/* Every function against libm in a wider type, on samples and at the edges, for each vector
 * extension. All f32 are done by the program accuracy; docs/accuracy.md has its figures. */
#include "check.h"
#include "ulps.h"
#include <math.h>

enum { STEP = 65521, SAMPLES = 8192 };

static void expect(const char *name, const char *tiles, const char *type, const ulps *u, double limit)
{
    if (u->wrong)
        fail_msg("%s of %s (%s): %lld wrong, e.g. at %.17g", name, type, tiles, (long long)u->wrong,
                 u->wrong_at);
    if (limit > 0 && u->worst > limit)
        fail_msg("%s of %s (%s): %.3f ulp at %.17g, more than %.1f", name, type, tiles, u->worst, u->at,
                 limit);
    assert_true(u->tried > 0);
}

/* Zeros, the least and greatest subnormal and normal numbers, 1, infinities, NaN, and where
 * results over- and underflow; of both signs */
static void edges(const ref *r, const lz_tile_table *t, ulps *u)
{
    static const uint32_t bits[] = { 0,          1,          0x007fffff, 0x00800000, 0x3f000000, 0x3f7fffff,
                                     0x3f800000, 0x3f800001, 0x40e00000, 0x42ae0000, 0x42b00000, 0x42b17218,
                                     0x42b17219, 0x42cff1b5, 0x42d00000, 0x43000000, 0x43160000, 0x47800000,
                                     0x7f7fffff, 0x7f800000, 0x7fc00000 };
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        ulps_f32(r, t, bits[i], (int64_t)bits[i] + 1, 1, u);
        ulps_f32(r, t, (int64_t)bits[i] + 0x80000000, (int64_t)bits[i] + 0x80000001, 1, u);
    }
}

static lz_err *test_functions(void)
{
    const lz_tile_table *tiles[3];
    int n = lz_tile_all(tiles);
    for (int t = 0; t < n; t++) {
        for (int i = 0; i < n_refs; i++) {
            ulps f32 = { 0 }, f64 = { 0 };
            edges(&refs[i], tiles[t], &f32);
            ulps_f32(&refs[i], tiles[t], t, INT64_C(1) << 32, STEP, &f32);
            ulps_f64(&refs[i], tiles[t], SAMPLES, 12345, &f64);
            expect(refs[i].name, tiles[t]->name, "f32", &f32, refs[i].limit32);
            expect(refs[i].name, tiles[t]->name, "f64", &f64, refs[i].limit64);
        }
    }
    return NULL;
}

/* Of two arguments: pow and atan2, in each type. */
static double next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return (double)(int64_t)(*s * UINT64_C(0x2545F4914F6CDD1D)) * 0x1p-63;
}

typedef long double wide2(long double x, long double y);

static double miss32(lz_kop op, wide2 *f, double spread, uint64_t seed)
{
    float x[256], y[256], z[256];
    double worst = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 256; i++) {
            x[i] = (float)ldexp(next(&seed), (int)(next(&seed) * spread));
            x[i] = op == LZ_K_POW ? fabsf(x[i]) : x[i];
            y[i] = (float)(next(&seed) * 12);
        }
        lz_tile()->op[op][LZ_KF32](z, x, y, y, y, 256);
        for (int i = 0; i < 256; i++) {
            float want = (float)f((long double)x[i], (long double)y[i]);
            double gap = fabs((double)z[i] - (double)want) / fabs((double)nextafterf(want, 0) - (double)want);
            worst = isfinite(want) && want != 0 && gap > worst ? gap : worst;
        }
    }
    return worst;
}

static double miss64(lz_kop op, wide2 *f, double spread, uint64_t seed)
{
    double x[256], y[256], z[256], worst = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 256; i++) {
            x[i] = ldexp(next(&seed), (int)(next(&seed) * spread));
            x[i] = op == LZ_K_POW ? fabs(x[i]) : x[i];
            y[i] = next(&seed) * 90;
        }
        lz_tile()->op[op][LZ_KF64](z, x, y, y, y, 256);
        for (int i = 0; i < 256; i++) {
            long double want = f((long double)x[i], (long double)y[i]);
            double near = (double)want, place = fabs(nextafter(near, 0) - near);
            double gap = (double)(fabsl((long double)z[i] - want) / (long double)place);
            worst = isfinite(near) && near != 0 && gap > worst ? gap : worst;
        }
    }
    return worst;
}

static lz_err *test_functions_of_two(void)
{
    assert_true(miss32(LZ_K_POW, powl, 10, 1) <= 1);
    assert_true(miss32(LZ_K_ATAN2, atan2l, 10, 2) <= 1);
    assert_true(miss64(LZ_K_POW, powl, 10, 3) <= 4);
    assert_true(miss64(LZ_K_ATAN2, atan2l, 10, 4) <= 4);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_functions), LZ_TEST(test_functions_of_two) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
