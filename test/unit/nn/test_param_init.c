/* Initialisers: bounds, moments, fans, and the matrices that have a shape of their own. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 96, COLUMNS = 160, SIZE = ROWS * COLUMNS };

typedef struct moments {
    double mean, std, low, high;
} moments;

static double elements[SIZE];

static moments measure(lz_ctx *c, lz_tensor *t)
{
    int64_t n = lz_tensor_numel(t);
    moments m = { 0, 0, INFINITY, -INFINITY };
    assert_true(n <= SIZE);
    assert_true(lz_read(lz_to_dtype(c, t, LZ_F64), elements, sizeof elements));
    for (int64_t i = 0; i < n; i++) {
        m.mean += elements[i] / (double)n;
        m.low = fmin(m.low, elements[i]);
        m.high = fmax(m.high, elements[i]);
    }
    for (int64_t i = 0; i < n; i++)
        m.std += pow(elements[i] - m.mean, 2) / (double)n;
    m.std = sqrt(m.std);
    return m;
}

/* Within five standard errors of the mean; the spread within 4 %. */
static void expect_moments(moments m, double mean, double std)
{
    assert_true(fabs(m.mean - mean) < 5 * std / sqrt(SIZE));
    assert_true(fabs(m.std / std - 1) < 0.04);
}

/* Even over -bound to bound. */
static void expect_uniform(moments m, double bound)
{
    expect_moments(m, 0, bound / sqrt(3.0));
    assert_true(m.low >= -bound * (1 + 1e-6) && m.low < -0.99 * bound);
    assert_true(m.high <= bound * (1 + 1e-6) && m.high > 0.99 * bound);
}

static void test_distributions(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *t = lz_zeros(c, LZ_DIMS(ROWS, COLUMNS));
    moments m = measure(c, lz_init_uniform(c, t, 2, 5));
    expect_moments(m, 3.5, 3 / sqrt(12.0));
    assert_true(m.low >= 2 && m.high <= 5);
    expect_moments(measure(c, lz_init_normal(c, t, 1, 0.5)), 1, 0.5);
    expect_uniform(measure(c, lz_init_xavier_uniform(c, t, 2)), 2 * sqrt(6.0 / (ROWS + COLUMNS)));
    expect_moments(measure(c, lz_init_xavier_normal(c, t, 2)), 0, 2 * sqrt(2.0 / (ROWS + COLUMNS)));
    double relu = lz_init_gain("relu", 0);
    expect_uniform(measure(c, lz_init_kaiming_uniform(c, t, relu, LZ_FAN_IN)), sqrt(6.0 / COLUMNS));
    expect_moments(measure(c, lz_init_kaiming_normal(c, t, relu, LZ_FAN_OUT)), 0, sqrt(2.0 / ROWS));
    /* of a normal distribution cut at one deviation: its deviation is 0.5396 */
    m = measure(c, lz_init_trunc_normal(c, t, 3, 2, 1, 5));
    expect_moments(m, 3, 2 * 0.53956);
    assert_true(m.low >= 1 && m.high <= 5);
    assert_false(lz_failed(c));
    lz_close(c);
}

static void test_fans_and_gains(void **state)
{
    int64_t in, out;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    assert_true(lz_init_fans(lz_zeros(c, LZ_DIMS(8, 4, 3, 5)), &in, &out));
    assert_int_equal(in, 4 * 15);
    assert_int_equal(out, 8 * 15);
    assert_false(lz_init_fans(lz_zeros(c, LZ_DIMS(8)), &in, &out));
    assert_true(lz_init_gain("linear", 0) == 1 && lz_init_gain("tanh", 0) == 5.0 / 3);
    assert_true(fabs(lz_init_gain("leaky_relu", 0.2) - sqrt(2 / 1.04)) < 1e-15);
    assert_true(isnan(lz_init_gain("round", 0)));
    lz_init_xavier_uniform(c, lz_zeros(c, LZ_DIMS(8)), 1);
    assert_true(lz_failed(c));
    lz_close(c);
}

/* The layers' own: uniform, as far as 1 / sqrt(fan in). */
static void test_layers(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_nn_linear(m, "fc", COLUMNS, ROWS);
    lz_nn_conv2d(m, "conv", 16, 60, 4, .groups = 1);
    lz_nn_conv_transpose2d(m, "back", 60, 16, 4);
    lz_nn_embedding(m, "emb", ROWS, COLUMNS, .padding_idx = LZ_SOME(-1));
    lz_nn_multihead_attention(m, "attn", 64, 4);
    expect_uniform(measure(c, lz_module_get(m, "fc.weight")), 1 / sqrt(COLUMNS));
    assert_true(measure(c, lz_module_get(m, "fc.bias")).high <= 1 / sqrt(COLUMNS));
    expect_uniform(measure(c, lz_module_get(m, "conv.weight")), 1 / sqrt(16 * 16));
    expect_uniform(measure(c, lz_module_get(m, "back.weight")), 1 / sqrt(16 * 16));
    expect_uniform(measure(c, lz_module_get(m, "attn.in_proj_weight")), sqrt(6.0 / (64 * 4)));
    assert_true(measure(c, lz_module_get(m, "attn.out_proj.bias")).high == 0);
    assert_true(fabs(measure(c, lz_module_get(m, "emb.weight")).std - 1) < 0.04);
    for (int i = 0; i < COLUMNS; i++)
        assert_true(elements[(ROWS - 1) * COLUMNS + i] == 0);
    assert_false(lz_failed(c));
    lz_module_free(m);
    lz_close(c);
}

static void test_matrices(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *e = lz_init_eye(c, lz_ones(c, LZ_DIMS(3, 5)));
    for (int i = 0; i < 15; i++) {
        measure(c, e);
        assert_true(elements[i] == (i / 5 == i % 5));
    }
    /* a convolution with it copies, in each group */
    lz_tensor *w = lz_init_dirac(c, lz_ones(c, LZ_DIMS(4, 2, 3, 3)), 2);
    lz_tensor *x = lz_rand(c, LZ_DIMS(1, 4, 5, 5));
    lz_tensor *y = lz_conv2d(c, x, w, .padding = LZ_INTS(1, 1), .groups = 2);
    assert_true(lz_item(lz_max(c, lz_abs(c, lz_sub_Tensor(c, x, y)))).re == 0);
    /* every column has as many zeros */
    lz_tensor *s = lz_init_sparse(c, lz_ones(c, LZ_DIMS(ROWS, COLUMNS)), 0.25, 0.01);
    measure(c, s);
    for (int k = 0; k < COLUMNS; k++) {
        int zeros = 0;
        for (int i = 0; i < ROWS; i++)
            zeros += elements[i * COLUMNS + k] == 0;
        assert_int_equal(zeros, ROWS / 4);
    }
    assert_false(lz_failed(c));
    lz_init_eye(c, lz_ones(c, LZ_DIMS(3)));
    assert_true(lz_failed(c));
    lz_close(c);
}

static void refused(lz_ctx *c, const char *part)
{
    assert_true(lz_failed(c));
    assert_non_null(strstr(lz_message(c), part));
    lz_clear(c);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *t = lz_ones(c, LZ_DIMS(3, 5));
    lz_init_zeros(c, NULL);
    refused(c, "needs a tensor");
    lz_init_xavier_normal(c, NULL, 1);
    refused(c, "fan in");
    lz_init_dirac(c, NULL, 1);
    refused(c, "dimensions");
    lz_init_uniform(c, t, 2, 1);
    refused(c, "above the upper");
    lz_init_normal(c, t, 0, -1);
    refused(c, "negative");
    lz_init_trunc_normal(c, t, 0, NAN, 0, 1);
    refused(c, "above 0");
    lz_init_sparse(c, t, 2, 1);
    refused(c, "from 0 to 1");
    lz_module *m = lz_module_create(c);
    lz_nn_custom(m, "x", NULL, NULL);
    refused(c, "needs a class");
    lz_module_free(m);
    assert_true(isnan(lz_init_gain(NULL, 0)));
    lz_close(c);
}

/* The smaller side of it, times itself, is gain^2 times the identity. */
static void check_orthogonal(lz_ctx *c, lz_ints sizes, int64_t rows, int64_t columns)
{
    lz_tensor *t = lz_init_orthogonal(c, lz_zeros(c, sizes, .dtype = LZ_F64), 3);
    lz_tensor *m = lz_reshape(c, t, LZ_DIMS(rows, columns));
    lz_tensor *square = rows < columns ? lz_matmul(c, m, lz_t(c, m)) : lz_matmul(c, lz_t(c, m), m);
    lz_tensor *eye = lz_eye(c, rows < columns ? rows : columns, .dtype = LZ_F64);
    lz_tensor *off = lz_abs(c, lz_sub_Tensor(c, square, lz_mul_Scalar(c, eye, 9)));
    assert_true(lz_item(lz_max(c, off)).re < 1e-12);
}

static void test_orthogonal(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    check_orthogonal(c, LZ_INTS(6, 10), 6, 10);
    check_orthogonal(c, LZ_INTS(10, 6), 10, 6);
    check_orthogonal(c, LZ_INTS(8, 2, 3, 1), 8, 6);
    check_orthogonal(c, LZ_INTS(1, 4), 1, 4);
    assert_false(lz_failed(c));
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_fans_and_gains),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_orthogonal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
