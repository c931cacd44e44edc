/* Third derivatives of recurrent layers against differences of second ones; second ones launch as many
 * kernels for a long sequence as for a short one. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>

enum { IN = 2, WIDTH = 3, BATCH = 2, ORDERS = 3 };

static const lz_rnn_kind kinds[] = { LZ_RNN_TANH, LZ_RNN_RELU, LZ_RNN_LSTM, LZ_RNN_GRU };

static double number(int64_t i)
{
    return (double)(i * 7919 % 101) / 50 - 1;
}

static lz_tensor *numbers(lz_ctx *c, lz_ints sizes, int64_t from)
{
    double v[256];
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    assert_true(n <= 256);
    for (int64_t i = 0; i < n; i++)
        v[i] = number(i + from);
    return lz_from_memory(c, LZ_F64, sizes, v);
}

/* sum(t * given numbers) */
static lz_tensor *weighed(lz_ctx *c, lz_tensor *t, int64_t from)
{
    return lz_sum(c, lz_mul_Tensor(c, t, numbers(c, lz_tensor_sizes(t), from)));
}

/* The derivative of this order for the input and the weight of the state; each is the gradient of a weighed
 * sum of those before. */
static void differentiate(lz_module *layer, lz_tensor *x, lz_tensor *w, int order, lz_tensor *out[2])
{
    lz_ctx *c = lz_module_ctx(layer);
    lz_tensor *h = lz_run_rnn(layer, x), *sum = weighed(c, h, 1);
    for (int k = 0; k < order; k++) {
        assert_true(lz_grad(c, LZ_TENSORS(sum), LZ_TENSORS(x, w), out, .create_graph = true));
        sum = lz_add_Tensor(c, weighed(c, out[0], 5 + k), weighed(c, out[1], 11 + k));
    }
}

static lz_module *make(lz_ctx *c, lz_rnn_kind kind)
{
    lz_module *m = lz_module_create(c);
    lz_module_set_dtype(m, LZ_F64);
    lz_module *l = lz_nn_recurrent(m, "l", kind, IN, WIDTH);
    lz_named_tensors all = lz_module_params(l);
    LZ_NO_GRAD(c)
    for (size_t i = 0; i < all.n; i++)
        lz_copy_(c, all.v[i].tensor, numbers(c, lz_tensor_sizes(all.v[i].tensor), 20 + (int64_t)i));
    return m;
}

/* The second derivatives at x + step * direction. */
static void second_at(lz_module *l, lz_tensor *x, lz_tensor *direction, double step, double *out, size_t n)
{
    lz_ctx *c = lz_module_ctx(l);
    lz_tensor *g[2], *at = lz_detach(c, lz_add_Tensor(c, x, direction, .alpha = LZ_S(step)));
    assert_true(lz_set_requires_grad(at, true));
    differentiate(l, at, lz_module_get(l, "weight_hh_l0"), 2, g);
    lz_tensor *both[] = { lz_reshape(c, g[0], LZ_INTS(-1)), lz_reshape(c, g[1], LZ_INTS(-1)) };
    assert_true(lz_read(lz_cat(c, ((lz_tensors){ both, 2 })), out, n * sizeof *out));
}

/* The sum that the third derivative differentiates changes along a direction by the product of both. */
static void check_third(lz_rnn_kind kind)
{
    enum { TIMES = 4, X = TIMES * BATCH * IN, MOST = X + 4 * WIDTH * WIDTH };
    const double h = 1e-5;
    double up[MOST], down[MOST], slope = 0, weights[2 * MOST];
    lz_ctx *c = lz_open(NULL);
    lz_module *m = make(c, kind), *l = lz_module_find(m, "l");
    lz_tensor *w = lz_module_get(l, "weight_hh_l0"), *g[2];
    lz_tensor *x = numbers(c, LZ_INTS(TIMES, BATCH, IN), 3),
              *direction = numbers(c, LZ_INTS(TIMES, BATCH, IN), 60);
    size_t n = (size_t)(X + lz_tensor_numel(w));
    second_at(l, x, direction, h, up, n);
    second_at(l, x, direction, -h, down, n);
    for (size_t i = 0; i < n; i++)
        weights[i] = i < X ? number((int64_t)i + 5 + 1) : number((int64_t)i - X + 11 + 1);
    for (size_t i = 0; i < n; i++)
        slope += weights[i] * (up[i] - down[i]) / (2 * h);
    assert_true(lz_set_requires_grad(x, true));
    differentiate(l, x, w, ORDERS, g);
    double got = lz_item(lz_sum(c, lz_mul_Tensor(c, g[0], direction))).re;
    assert_false(lz_failed(c));
    if (!(fabs(got - slope) < 1e-6 * (1 + fabs(slope))))
        print_message("kind %d: %.12g, not %.12g\n", (int)kind, got, slope);
    assert_true(fabs(got - slope) < 1e-6 * (1 + fabs(slope)));
    assert_true(kind == LZ_RNN_RELU || fabs(slope) > 1e-3);
    lz_module_free(m);
    lz_close(c);
}

static void test_third(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_third(kinds[i]);
}

static int64_t launches(void)
{
    int64_t n = 0;
    lz_counter_value("TsLaunches", &n);
    return n;
}

static int64_t launches_of_second(lz_rnn_kind kind, int64_t times)
{
    lz_ctx *c = lz_open(NULL);
    lz_module *m = make(c, kind), *l = lz_module_find(m, "l");
    lz_tensor *x = lz_randn(c, LZ_INTS(times, BATCH, IN), .dtype = LZ_F64),
              *w = lz_module_get(l, "weight_hh_l0"), *g[2];
    assert_true(lz_sync(c, (lz_tensor *[]){ x, w }, 2));
    assert_true(lz_set_requires_grad(x, true));
    int64_t before = launches();
    lz_tensor *h = lz_run_rnn(l, x), *sum = lz_sum(c, h);
    for (int k = 0; k < 2; k++) {
        assert_true(lz_grad(c, LZ_TENSORS(sum), LZ_TENSORS(x, w), g, .create_graph = true));
        sum = lz_add_Tensor(c, lz_sum(c, g[0]), lz_sum(c, g[1]));
    }
    assert_true(lz_sync(c, g, 2));
    int64_t n = launches() - before;
    lz_module_free(m);
    lz_close(c);
    return n;
}

static void test_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int64_t n = launches_of_second(kinds[i], 3);
        assert_true(n > 0);
        assert_true(launches_of_second(kinds[i], 40) < n + n / 8); /* a longer sum may be one launch more */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_third), cmocka_unit_test(test_size) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
