#include "open_ctx.h"
#include <math.h>
#include <stdlib.h>

/* A million draws of each distribution against its distribution function (Kolmogorov and Smirnov) or its
 * probabilities (chi-square), and against neighbours. Seeds are fixed, so a run either always passes or
 * always fails; the limits are those that one true sample in ten thousand would miss. Distributions that are
 * slightly wrong have to be found. */

enum { N = 1000000, CELLS = 512 };

static double *read_all(lz_ctx *c, lz_tensor *t)
{
    double *v = malloc(N * sizeof *v);
    assert_non_null(v);
    assert_true(lz_read(lz_to_dtype(c, lz_reshape(c, t, LZ_DIMS(-1)), LZ_F64), v, N * sizeof *v));
    return v;
}

static lz_tensor *filled(lz_ctx *c, double v)
{
    return lz_full(c, LZ_DIMS(N), LZ_S(v));
}

static lz_tensor *whole(lz_ctx *c)
{
    return lz_zeros(c, LZ_DIMS(N), .dtype = LZ_I64);
}

/* ---- distribution functions ---- */

static double uniform_cdf(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

static double uniform_2_5(double x)
{
    return uniform_cdf((x - 2) / 3);
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

static double normal_1_3(double x)
{
    return normal_cdf((x - 1) / 3);
}

static double normal_wrong(double x)
{
    return normal_cdf(x / 1.01);
}

static double exponential_2(double x)
{
    return x < 0 ? 0 : 1 - exp(-2 * x);
}

static double exponential_wrong(double x)
{
    return x < 0 ? 0 : 1 - exp(-2.02 * x);
}

static double cauchy_1_2(double x)
{
    return 0.5 + atan((x - 1) / 2) / 3.14159265358979323846;
}

static double log_normal_cdf(double x)
{
    return x <= 0 ? 0 : normal_cdf((log(x) - 0.5) / 0.75);
}

/* The regularized incomplete gamma function: a series. */
static double gamma_cdf(double a, double x)
{
    double term = 1 / a, sum = term;
    if (x <= 0)
        return 0;
    for (int k = 1; term > 1e-17 * sum; k++)
        sum += term *= x / (a + k);
    return sum * exp(a * log(x) - x - lgamma(a));
}

static double gamma_small(double x)
{
    return gamma_cdf(0.3, x);
}

static double gamma_large(double x)
{
    return gamma_cdf(7.5, x);
}

static double gamma_wrong(double x)
{
    return gamma_cdf(7.55, x);
}

/* Of a coordinate of Dirichlet's distribution with four parameters 1. */
static double dirichlet_cdf(double x)
{
    return 1 - pow(1 - x, 3);
}

/* ---- draws ---- */

static lz_tensor *draw_rand(lz_ctx *c)
{
    return lz_rand(c, LZ_DIMS(N));
}
static lz_tensor *draw_rand64(lz_ctx *c)
{
    return lz_rand(c, LZ_DIMS(N), .dtype = LZ_F64);
}
static lz_tensor *draw_uniform(lz_ctx *c)
{
    return lz_uniform_(c, filled(c, 0), .from = 2, .to = 5);
}
static lz_tensor *draw_randn(lz_ctx *c)
{
    return lz_randn(c, LZ_DIMS(N));
}
static lz_tensor *draw_randn64(lz_ctx *c)
{
    return lz_randn(c, LZ_DIMS(N), .dtype = LZ_F64);
}
static lz_tensor *draw_normal(lz_ctx *c)
{
    return lz_normal_(c, filled(c, 0), .mean = 1, .std = 3);
}
static lz_tensor *draw_normals(lz_ctx *c)
{
    return lz_normal_Tensor_Tensor(c, filled(c, 1), filled(c, 3));
}
static lz_tensor *draw_exponential(lz_ctx *c)
{
    return lz_exponential_(c, filled(c, 0), .lambd = 2);
}
static lz_tensor *draw_cauchy(lz_ctx *c)
{
    return lz_cauchy_(c, filled(c, 0), .median = 1, .sigma = 2);
}
static lz_tensor *draw_log_normal(lz_ctx *c)
{
    return lz_log_normal_(c, filled(c, 0), .mean = 0.5, .std = 0.75);
}
static lz_tensor *draw_gamma_small(lz_ctx *c)
{
    return lz__standard_gamma(c, filled(c, 0.3));
}
static lz_tensor *draw_gamma_large(lz_ctx *c)
{
    return lz__standard_gamma(c, filled(c, 7.5));
}
/* The first coordinates only, since those of one row depend on each other. */
static lz_tensor *draw_dirichlet(lz_ctx *c)
{
    return lz_select(c, lz__sample_dirichlet(c, lz_ones(c, LZ_DIMS(N, 4))), 1, 0);
}

static const struct {
    const char *name;
    lz_tensor *(*draw)(lz_ctx *c);
    double (*cdf)(double x);
    bool wrong;
} continuous[] = {
    { "rand", draw_rand, uniform_cdf, false },
    { "rand in double precision", draw_rand64, uniform_cdf, false },
    { "uniform_", draw_uniform, uniform_2_5, false },
    { "randn", draw_randn, normal_cdf, false },
    { "randn in double precision", draw_randn64, normal_cdf, false },
    { "randn with a deviation of 1.01", draw_randn, normal_wrong, true },
    { "normal_", draw_normal, normal_1_3, false },
    { "normal of tensors", draw_normals, normal_1_3, false },
    { "exponential_", draw_exponential, exponential_2, false },
    { "exponential_ with another rate", draw_exponential, exponential_wrong, true },
    { "cauchy_", draw_cauchy, cauchy_1_2, false },
    { "log_normal_", draw_log_normal, log_normal_cdf, false },
    { "gamma below 1", draw_gamma_small, gamma_small, false },
    { "gamma above 1", draw_gamma_large, gamma_large, false },
    { "gamma of another shape", draw_gamma_large, gamma_wrong, true },
    { "Dirichlet", draw_dirichlet, dirichlet_cdf, false },
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest distance of the distribution functions, times sqrt(N). */
static double distance(double *v, double (*cdf)(double x))
{
    double most = 0;
    qsort(v, N, sizeof *v, by_value);
    for (int i = 0; i < N; i++) {
        double f = cdf(v[i]);
        most = fmax(most, fmax(f - (double)i / N, (double)(i + 1) / N - f));
    }
    return most * sqrt(N);
}

static void test_continuous(void **state)
{
    const double limit = 2.225; /* Kolmogorov's distribution, 1 - 10^-4 */
    (void)state;
    for (size_t i = 0; i < sizeof continuous / sizeof *continuous; i++) {
        lz_ctx *c = open_ctx(NULL);
        double *v = read_all(c, continuous[i].draw(c)), d = distance(v, continuous[i].cdf);
        if ((d > limit) != continuous[i].wrong)
            fail_msg("%s: distance %.3f, limit %.3f", continuous[i].name, d, limit);
        free(v);
        close_ctx(c);
    }
}

/* ---- probabilities of whole numbers ---- */

static double poisson(double mean, int k)
{
    return exp(k * log(mean) - mean - lgamma(k + 1.0));
}
static double poisson_small(int k)
{
    return poisson(3.5, k);
}
static double poisson_large(int k)
{
    return poisson(200, k);
}
static double poisson_wrong(int k)
{
    return poisson(200.1, k);
}
static double binomial(double n, double p, int k)
{
    double ways = lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1);
    return k > n ? 0 : exp(ways + k * log(p) + (n - k) * log1p(-p));
}
static double binomial_few(int k)
{
    return binomial(20, 0.3, k);
}
static double binomial_many(int k)
{
    return binomial(400, 0.8, k);
}
static double binomial_wrong(int k)
{
    return binomial(400, 0.801, k);
}
static double geometric(int k)
{
    return k < 1 ? 0 : 0.2 * pow(0.8, k - 1);
}
static double bernoulli(int k)
{
    return k == 0 ? 0.7 : k == 1 ? 0.3 : 0;
}
static double bernoulli_wrong(int k)
{
    return k == 0 ? 0.697 : k == 1 ? 0.303 : 0;
}
static double six(int k)
{
    return k < 6 ? 1.0 / 6 : 0;
}
static double seven_wrong(int k)
{
    return k < 7 ? 1.0 / 7 : 0;
}
static double bytes(int k)
{
    return k < 256 ? 1.0 / 256 : 0;
}
static double to_256(int k)
{
    return k <= 256 ? 1.0 / 257 : 0;
}
static double weights(int k)
{
    return k == 0 ? 0.1 : k == 2 ? 0.3 : k == 3 ? 0.6 : 0;
}

static lz_tensor *draw_poisson_small(lz_ctx *c)
{
    return lz_poisson(c, filled(c, 3.5));
}
static lz_tensor *draw_poisson_large(lz_ctx *c)
{
    return lz_poisson(c, filled(c, 200));
}
static lz_tensor *draw_binomial_few(lz_ctx *c)
{
    return lz_binomial(c, filled(c, 20), filled(c, 0.3));
}
static lz_tensor *draw_binomial_many(lz_ctx *c)
{
    return lz_binomial(c, filled(c, 400), filled(c, 0.8));
}
static lz_tensor *draw_geometric(lz_ctx *c)
{
    return lz_geometric_(c, whole(c), 0.2);
}
static lz_tensor *draw_bernoulli(lz_ctx *c)
{
    return lz_bernoulli__float(c, whole(c), .p = 0.3);
}
static lz_tensor *draw_bernoullis(lz_ctx *c)
{
    return lz_bernoulli(c, filled(c, 0.3));
}
static lz_tensor *draw_six(lz_ctx *c)
{
    return lz_add_Scalar(c, lz_randint_low(c, -3, 3, LZ_DIMS(N)), LZ_S(3));
}
static lz_tensor *draw_tensor_bound(lz_ctx *c)
{
    return lz_randint_like_Tensor(c, whole(c), lz_scalar_tensor(c, LZ_S(6), .dtype = LZ_I64));
}
/* A range above 2^31: 6 parts of it. */
static lz_tensor *draw_large_parts(lz_ctx *c)
{
    lz_tensor *x = lz_random_to(c, whole(c), INT64_C(6000000000000000000));
    return lz_div_Scalar_mode(c, x, LZ_S(INT64_C(1000000000000000000)), "floor");
}
/* All 64 bits: the upper and the lower ones. */
static lz_tensor *draw_upper_byte(lz_ctx *c)
{
    lz_tensor *x = lz_random_from(c, whole(c), INT64_MIN, lz_none_int());
    return lz_add_Scalar(c, lz_bitwise_right_shift_Tensor_Scalar(c, x, LZ_S(56)), LZ_S(128));
}
static lz_tensor *draw_lower_byte(lz_ctx *c)
{
    return lz_bitwise_and_Scalar(c, lz_random_from(c, whole(c), INT64_MIN, lz_none_int()), LZ_S(255));
}
static lz_tensor *draw_u8(lz_ctx *c)
{
    return lz_random_(c, lz_zeros(c, LZ_DIMS(N), .dtype = LZ_U8));
}
static lz_tensor *draw_bf16(lz_ctx *c)
{
    return lz_random_(c, lz_zeros(c, LZ_DIMS(N), .dtype = LZ_BF16));
}
static lz_tensor *draw_multinomial(lz_ctx *c)
{
    static const float w[] = { 1, 0, 3, 6 };
    return lz_multinomial(c, lz_from_memory(c, LZ_F32, LZ_DIMS(4), w), N, .replacement = true);
}
/* The first of three draws without replacement. */
static lz_tensor *draw_first(lz_ctx *c)
{
    static const float w[] = { 1, 0, 3, 6 };
    lz_tensor *p = lz_expand(c, lz_from_memory(c, LZ_F32, LZ_DIMS(1, 4), w), LZ_DIMS(N, 4));
    return lz_select(c, lz_multinomial(c, p, 3), 1, 0);
}
/* The first element of each of many permutations of six. */
static lz_tensor *draw_permutation(lz_ctx *c)
{
    enum { EACH = N / 1000 };
    lz_tensor *p[1000];
    for (int i = 0; i < 1000; i++)
        p[i] = lz_fmod_Scalar(c, lz_narrow(c, lz_randperm(c, 6 * EACH), 0, EACH, EACH), LZ_S(6));
    return lz_cat(c, lz_tensors_of(p, 1000));
}

static const struct {
    const char *name;
    lz_tensor *(*draw)(lz_ctx *c);
    double (*probability)(int k);
    bool wrong;
} discrete[] = {
    { "poisson of a small mean", draw_poisson_small, poisson_small, false },
    { "poisson of a large mean", draw_poisson_large, poisson_large, false },
    { "poisson of another mean", draw_poisson_large, poisson_wrong, true },
    { "binomial with few successes", draw_binomial_few, binomial_few, false },
    { "binomial with many successes", draw_binomial_many, binomial_many, false },
    { "binomial of another probability", draw_binomial_many, binomial_wrong, true },
    { "geometric_", draw_geometric, geometric, false },
    { "bernoulli_", draw_bernoulli, bernoulli, false },
    { "bernoulli of a tensor", draw_bernoullis, bernoulli, false },
    { "bernoulli of another probability", draw_bernoulli, bernoulli_wrong, true },
    { "randint", draw_six, six, false },
    { "randint_like with a tensor", draw_tensor_bound, six, false },
    { "randint of another range", draw_six, seven_wrong, true },
    { "random_ of a large range", draw_large_parts, six, false },
    { "random_ of 64 bits: the upper ones", draw_upper_byte, bytes, false },
    { "random_ of 64 bits: the lower ones", draw_lower_byte, bytes, false },
    { "random_ of bytes", draw_u8, bytes, false },
    { "random_ of bfloat16", draw_bf16, to_256, false },
    { "multinomial", draw_multinomial, weights, false },
    { "multinomial without replacement", draw_first, weights, false },
    { "randperm", draw_permutation, six, false },
};

/* Wilson's and Hilferty's normal approximation of a chi-square value. Numbers that are expected less than 10
 * times are counted together. */
static double chi_square(const double *v, double (*probability)(int k))
{
    double count[CELLS] = { 0 }, sum = 0, rest = N, rest_expected = N;
    int cells = 0;
    for (int i = 0; i < N; i++)
        if (v[i] >= 0 && v[i] < CELLS && v[i] == floor(v[i]))
            count[(int)v[i]]++;
    for (int k = 0; k < CELLS; k++) {
        double e = N * probability(k);
        if (e < 10)
            continue;
        sum += (count[k] - e) * (count[k] - e) / e;
        rest -= count[k];
        rest_expected -= e;
        cells++;
    }
    if (rest_expected < 0.5 && rest > 0)
        return INFINITY; /* a number that has no probability */
    if (rest_expected >= 0.5)
        sum += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
    double freedom = cells - (rest_expected < 0.5), spread = 2 / (9 * freedom);
    return (cbrt(sum / freedom) - (1 - spread)) / sqrt(spread);
}

static void test_discrete(void **state)
{
    const double limit = 3.72; /* the normal distribution, 1 - 10^-4 */
    (void)state;
    for (size_t i = 0; i < sizeof discrete / sizeof *discrete; i++) {
        lz_ctx *c = open_ctx(NULL);
        double *v = read_all(c, discrete[i].draw(c)), z = chi_square(v, discrete[i].probability);
        if ((z > limit) != discrete[i].wrong)
            fail_msg("%s: %.3f deviations, limit %.3f", discrete[i].name, z, limit);
        free(v);
        close_ctx(c);
    }
}

/* ---- neighbours ---- */

static double corner(int k)
{
    return k < 256 ? 1.0 / 256 : 0;
}

/* Cells of a grid of 16 x 16, from two lists of numbers in [0, 1). */
static void cells_of(const double *a, const double *b, double *out)
{
    for (int i = 0; i < N; i++)
        out[i] = floor(16 * a[i]) * 16 + floor(16 * b[(i + 1) % N]);
}

static double next_draws(lz_ctx *c, double *out)
{
    double *v = read_all(c, lz_rand(c, LZ_DIMS(N)));
    cells_of(v, v, out);
    free(v);
    return chi_square(out, corner);
}

/* Equal elements of two calls: cells_of takes the next element of the second list. */
static double pair(lz_ctx *c, lz_tensor *x, lz_tensor *y, double *out)
{
    double *a = read_all(c, x), *b = read_all(c, lz_roll(c, y, LZ_DIMS(1), .dims = LZ_DIMS(0)));
    cells_of(a, b, out);
    free(a);
    free(b);
    return chi_square(out, corner);
}

static lz_tensor *with(lz_ctx *c, lz_generator *g)
{
    return lz_rand_generator(c, LZ_DIMS(N), g);
}

static void test_neighbours_are_independent(void **state)
{
    const double limit = 3.72;
    double *v = malloc(N * sizeof *v);
    (void)state;
    assert_non_null(v);
    lz_ctx *c = open_ctx(NULL);
    lz_generator *g = lz_generator_create(c, 101), *h = lz_generator_create(c, 102);
    assert_true(next_draws(c, v) < limit);
    assert_true(pair(c, lz_rand(c, LZ_DIMS(N)), lz_rand(c, LZ_DIMS(N)), v) < limit);
    assert_true(pair(c, with(c, g), with(c, h), v) < limit); /* neighbouring seeds */
    lz_generator_set_state(g, lz_generator_get_state(h));
    assert_false(pair(c, with(c, g), with(c, h), v) < limit); /* the same numbers */
    /* uniform numbers from gamma draws of neighbouring keys: exponential ones */
    lz_tensor *e = lz_exp(c, lz_neg(c, lz__standard_gamma(c, filled(c, 1))));
    double *u = read_all(c, e);
    cells_of(u, u, v);
    free(u);
    assert_true(chi_square(v, corner) < limit);
    lz_generator_free(g);
    lz_generator_free(h);
    free(v);
    close_ctx(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continuous),
        cmocka_unit_test(test_discrete),
        cmocka_unit_test(test_neighbours_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
