/* Every function against libm in a wider type, on samples and at the edges, for each vector
 * extension. All f32 are done by the program accuracy; docs/accuracy.md has its figures. */
#include "check.h"
#include "ulps.h"

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
        ulps_engine e = ulps_tile(t, r->name, false);
        ulps_f32(r, e, bits[i], (int64_t)bits[i] + 1, 1, u);
        ulps_f32(r, e, (int64_t)bits[i] + 0x80000000, (int64_t)bits[i] + 0x80000001, 1, u);
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
            ulps_f32(&refs[i], ulps_tile(tiles[t], refs[i].name, false), t, INT64_C(1) << 32, STEP, &f32);
            ulps_f64(&refs[i], ulps_tile(tiles[t], refs[i].name, true), SAMPLES, 12345, &f64);
            expect(refs[i].name, tiles[t]->name, "f32", &f32, refs[i].limit32);
            expect(refs[i].name, tiles[t]->name, "f64", &f64, refs[i].limit64);
        }
    }
    return NULL;
}

static lz_err *test_functions_of_two(void)
{
    for (int i = 0; i < n_refs2; i++) {
        ulps f32 = { 0 }, f64 = { 0 };
        ulps_pairs_f32(&refs2[i], ulps_tile(lz_tile(), refs2[i].name, false), 8 * SAMPLES, 1, &f32);
        ulps_pairs_f64(&refs2[i], ulps_tile(lz_tile(), refs2[i].name, true), 8 * SAMPLES, 2, &f64);
        expect(refs2[i].name, lz_tile()->name, "f32", &f32, refs2[i].limit32);
        expect(refs2[i].name, lz_tile()->name, "f64", &f64, refs2[i].limit64);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_functions), LZ_TEST(test_functions_of_two) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
