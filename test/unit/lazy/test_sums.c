#include "open_ctx.h"
#include <math.h>
#include <stdlib.h>

/* How exact sums, scans, variances and norms of f32 are: the limits that docs/accuracy.md states, against
 * long double. */

enum { N = 1 << 18, ROW = 1024, COLUMNS = 16 };

static uint32_t seed;

/* Uniform in 0..1. */
static float uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) * 0x1p-24f;
}

typedef struct data {
    lz_ctx *c;
    float *x;
    int64_t n;
} data;

/* n elements: shift + scale * uniform, or all `shift` for scale 0. */
static data make(int64_t n, float shift, float scale)
{
    data d = { open_ctx(NULL), malloc((size_t)n * sizeof(float)), n };
    assert_non_null(d.x);
    seed = 1;
    for (int64_t i = 0; i < n; i++)
        d.x[i] = shift + (scale != 0 ? scale * uniform() : 0);
    return d;
}

static void drop(data *d)
{
    close_ctx(d->c);
    free(d->x);
}

static lz_tensor *tensor(const data *d)
{
    return lz_from_memory(d->c, LZ_F32, LZ_DIMS(d->n), d->x);
}

static long double exact_sum(const data *d)
{
    long double s = 0;
    for (int64_t i = 0; i < d->n; i++)
        s += d->x[i];
    return s;
}

static long double squares(const data *d, long double middle)
{
    long double s = 0;
    for (int64_t i = 0; i < d->n; i++)
        s += (d->x[i] - middle) * (d->x[i] - middle);
    return s;
}

static void assert_near(double found, long double exact, double limit)
{
    double error = (double)(fabsl(found - exact) / fabsl(exact));
    if (!(error <= limit))
        fail_msg("found %.9g, exact %.9Lg: error %.2g, limit %.2g", found, exact, error, limit);
}

static void test_sums(void **state)
{
    (void)state;
    for (int k = 1; k <= 9; k++) {
        data d = make(N, (float)k / 10, 0);
        assert_near(lz_item_double(lz_sum(d.c, tensor(&d))), exact_sum(&d), 3e-7);
        lz_tensor *rows =
            lz_sum_dim_IntList(d.c, lz_reshape(d.c, tensor(&d), LZ_DIMS(-1, COLUMNS)), LZ_DIMS(0));
        assert_near(lz_item_double(lz_select_int(d.c, rows, 0, 3)), exact_sum(&d) / COLUMNS, 6e-7);
        drop(&d);
    }
    data d = make(N, 0, 1);
    assert_near(lz_item_double(lz_sum(d.c, tensor(&d))), exact_sum(&d), 0x1p-23);
    assert_near(lz_item_double(lz_mean(d.c, tensor(&d))), exact_sum(&d) / N, 0x1p-22);
    drop(&d);
}

static void test_scans(void **state)
{
    (void)state;
    data d = make(N, 0.1F, 0);
    lz_tensor *all = lz_cumsum(d.c, tensor(&d), 0);
    assert_near(lz_item_double(lz_select_int(d.c, all, 0, -1)), exact_sum(&d), 0x1p-24);
    drop(&d);
    d = make(N, 0.99995F, 1e-4F);
    long double p = 1;
    for (int64_t i = 0; i < N; i++)
        p *= d.x[i];
    assert_near(lz_item_double(lz_prod(d.c, tensor(&d))), p, 0x1p-23);
    assert_near(lz_item_double(lz_select_int(d.c, lz_cumprod(d.c, tensor(&d), 0), 0, -1)), p, 0x1p-23);
    drop(&d);
}

/* Of a mean that is many times the deviation, and of squares that f32 does not hold. */
static void test_variances_and_norms(void **state)
{
    static const float rows[][2] = { { 0, 1 },        { 1, 0.1F },       { 100, 0.03F },
                                     { 1e4F, 3e-3F }, { -1e20F, 2e20F }, { 0, 1e-25F } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        data d = make(10000, rows[i][0], rows[i][1]);
        long double v = squares(&d, exact_sum(&d) / (long double)d.n) / (long double)(d.n - 1);
        if (v < 3e38L && v > 1e-37L)
            assert_near(lz_item_double(lz_var(d.c, tensor(&d))), v, 1e-6);
        assert_near(lz_item_double(lz_std(d.c, tensor(&d))), sqrtl(v), 1e-6);
        assert_near(lz_item_double(lz_linalg_vector_norm(d.c, tensor(&d))), sqrtl(squares(&d, 0)), 2e-7);
        drop(&d);
    }
}

/* PyTorch's is 0 as well. */
static void test_layer_norm_of_a_constant_is_zero(void **state)
{
    static const float constants[] = { 0.1F, 1.1F, 10.1F, 999.1F, 1e6F / 3 };
    (void)state;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        data d = make(ROW, constants[i], 0);
        lz_tensor *y = lz_layer_norm(d.c, tensor(&d), LZ_DIMS(ROW));
        assert_true(lz_item_double(lz_max(d.c, lz_abs(d.c, y))) == 0);
        drop(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_variances_and_norms),
        cmocka_unit_test(test_layer_norm_of_a_constant_is_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
