#include "open_ctx.h"
#include <math.h>

/* Derivatives of draws, which differences do not show: values of mpmath, and what must hold on average. */

static lz_tensor *number(lz_ctx *c, double v)
{
    return lz_full(c, LZ_DIMS(1), LZ_S(v), .dtype = LZ_F64);
}

static void expect_near(const char *name, double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("%s: %.15g, expected %.15g", name, got, expected);
}

/* a, x, derivative of x with respect to a at a fixed value of the distribution function of Gamma(a). */
static const double gammas[][3] = {
    { 0.01, 0.02, 6.8761256687980361 }, { 0.1, 0.4, 4.6170971615321496 },
    { 0.5, 0.5, 1.3373525943353347 },   { 1.5, 0.3, 0.44254046494357857 },
    { 3, 0.6, 0.42282060274874384 },    { 9, 36, 1.8810985481281425 },
    { 30, 30, 1.0055737170827103 },     { 30, 40.9544511501033223, 1.1701607030851126 },
};

static void test_gamma(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    for (size_t i = 0; i < sizeof gammas / sizeof *gammas; i++) {
        const double *g = gammas[i];
        double d = lz_item_double(lz__standard_gamma_grad(c, number(c, g[0]), number(c, g[1])));
        expect_near("_standard_gamma_grad", d, g[2], 1e-8);
    }
    close_ctx(c);
}

/* x, a, a + b, derivative of x with respect to a in Beta(a, b), divided by 1 - x. */
static const double dirichlets[][4] = {
    { 0.2, 0.02, 0.04, 265.99925273626228 }, { 0.5, 0.5, 1, 1.831931188354438 },
    { 1e-8, 0.5, 3, 3.506877348037375e-7 },  { 0.99, 2.5, 2.52, 0.48537518057156551 },
    { 0.9, 2.5, 5, 0.30581417452067748 },    { 0.01, 20, 40, 0.0020132338059169468 },
    { 0.9, 20, 40, 0.033659886575145404 },   { 0.2, 300, 600, 0.0010190969958763812 },
};

static void test_dirichlet(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    for (size_t i = 0; i < sizeof dirichlets / sizeof *dirichlets; i++) {
        const double *g = dirichlets[i];
        lz_tensor *d = lz__dirichlet_grad(c, number(c, g[0]), number(c, g[1]), number(c, g[2]));
        expect_near("_dirichlet_grad", lz_item_double(d), g[3], 1e-8);
    }
    close_ctx(c);
}

/* A draw's derivative is that of _standard_gamma_grad. Its mean is the derivative of the mean, which is a. */
static void test_gamma_draws(void **state)
{
    enum { N = 100000 };
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *a = lz_full(c, LZ_DIMS(N), LZ_S(2.5), .dtype = LZ_F64);
    assert_true(lz_set_requires_grad(a, true));
    lz_tensor *x = lz__standard_gamma(c, a);
    assert_true(lz_backward(c, lz_sum(c, x)));
    lz_tensor *expected = lz__standard_gamma_grad(c, lz_detach(c, a), lz_detach(c, x));
    assert_true(lz_item_double(lz_max(c, lz_abs(c, lz_sub_Tensor(c, lz_grad_of(a), expected)))) == 0);
    expect_near("mean of gamma", lz_item_double(lz_mean(c, lz_grad_of(a))), 1, 0.01);
    close_ctx(c);
}

/* The mean of the first coordinate is a0 / (a0 + a1). */
static void test_dirichlet_draws(void **state)
{
    enum { N = 100000 };
    static const double a[] = { 1.5, 2.5 };
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *t = lz_from_memory(c, LZ_F64, LZ_DIMS(2), a);
    assert_true(lz_set_requires_grad(t, true));
    lz_tensor *x = lz__sample_dirichlet(c, lz_expand(c, t, LZ_DIMS(N, 2)));
    assert_true(lz_backward(c, lz_mean(c, lz_select(c, x, 1, 0))));
    expect_near("by a0", lz_item_double(lz_select(c, lz_grad_of(t), 0, 0)), 2.5 / 16, 0.02);
    expect_near("by a1", lz_item_double(lz_select(c, lz_grad_of(t), 0, 1)), -1.5 / 16, 0.02);
    close_ctx(c);
}

/* PyTorch's derivative of normal(mean, std) is 0. */
static void test_normal(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *mean = lz_ones(c, LZ_DIMS(3)), *std = lz_ones(c, LZ_DIMS(2, 3));
    assert_true(lz_set_requires_grad(mean, true) && lz_set_requires_grad(std, true));
    lz_tensor *sum = lz_sum(c, lz_normal_Tensor_Tensor(c, mean, std));
    sum = lz_add_Tensor(c, sum, lz_sum(c, lz_normal_Tensor_float(c, mean)));
    assert_true(lz_backward(c, lz_add_Tensor(c, sum, lz_sum(c, lz_normal_float_Tensor(c, 0, std)))));
    assert_true(lz_item_double(lz_sum(c, lz_abs(c, lz_grad_of(mean)))) == 0);
    assert_true(lz_item_double(lz_sum(c, lz_abs(c, lz_grad_of(std)))) == 0);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gamma),       cmocka_unit_test(test_dirichlet),
        cmocka_unit_test(test_gamma_draws), cmocka_unit_test(test_dirichlet_draws),
        cmocka_unit_test(test_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
