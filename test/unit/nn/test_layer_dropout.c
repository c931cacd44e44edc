#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>

/* Dropout of channels, alpha dropout and rrelu: what is dropped together, how often, and what is kept. */

enum { N = 200, C = 10, L = 24 };

typedef struct kept {
    int whole, dropped, mixed; /* channels */
} kept;

/* Channels of y = layer(ones): of `length` elements each. */
static kept count(const float *y, int n, int length)
{
    kept k = { 0 };
    for (int i = 0; i < n; i++) {
        int zeros = 0;
        for (int j = 0; j < length; j++)
            zeros += y[i * length + j] == 0;
        k.whole += zeros == 0;
        k.dropped += zeros == length;
        k.mixed += zeros > 0 && zeros < length;
    }
    return k;
}

static void expect_share(int dropped, int n, double p)
{
    assert_true(fabs(dropped - n * p) < 5 * sqrt(n * p * (1 - p)));
}

static void expect_channels(lz_ctx *c, lz_module *m, lz_ints sizes)
{
    static float y[N * C * L];
    assert_true(lz_read(lz_forward(m, lz_ones(c, sizes)), y, sizeof y));
    kept k = count(y, N * C, L);
    assert_int_equal(k.mixed, 0);
    expect_share(k.dropped, N * C, 0.3);
    for (int i = 0; i < N * C * L; i++)
        assert_true(y[i] == 0 || fabsf(y[i] - 1 / 0.7F) < 1e-6F);
    lz_train(m, false);
    lz_tensor *x = lz_ones(c, sizes);
    assert_true(lz_read(lz_forward(m, x), y, sizeof y));
    assert_true(count(y, N * C, L).whole == N * C);
    lz_train(m, true);
}

static void test_channels(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module *one = lz_nn_dropout1d(m, "1", 0.3), *two = lz_nn_dropout2d(m, "2", 0.3),
              *three = lz_nn_dropout3d(m, "3", 0.3);
    expect_channels(c, one, LZ_INTS(N, C, L));
    expect_channels(c, one, LZ_INTS(N * C, L)); /* without a batch */
    expect_channels(c, two, LZ_INTS(N, C, 4, 6));
    expect_channels(c, two, LZ_INTS(N, C, L)); /* as one spatial dimension */
    expect_channels(c, three, LZ_INTS(N, C, 2, 3, 4));
    expect_channels(c, three, LZ_INTS(N * C, 2, 3, 4));
    lz_forward(one, lz_ones(c, LZ_INTS(2, 2, 2, 2)));
    assert_int_equal(lz_reason_of(c), LZ_REASON_SHAPE);
    lz_clear(c);
    lz_module_free(m);
    lz_close(c);
}

static void moments(lz_ctx *c, lz_tensor *x, double *mean, double *var)
{
    *mean = lz_item_double(lz_mean(c, x));
    *var = lz_item_double(lz_var(c, x));
    assert_false(lz_failed(c));
}

/* Behind selu, mean and variance stay 0 and 1. */
static void test_alpha(void **state)
{
    enum { ALL = 400000 };
    static float y[ALL];
    double mean, var;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *a = lz_nn_alpha_dropout(m, "a", 0.3),
              *f = lz_nn_feature_alpha_dropout(m, "f", 0.3);
    lz_tensor *x = lz_selu(c, lz_randn(c, LZ_DIMS(ALL)));
    moments(c, lz_forward(a, x), &mean, &var);
    assert_true(fabs(mean) < 0.01 && fabs(var - 1) < 0.015);
    moments(c, lz_dropout(c, x, 0.3, true), &mean, &var);
    assert_false(fabs(var - 1) < 0.015); /* the plain one changes the variance */
    lz_tensor *z = lz_forward(f, lz_reshape(c, x, LZ_DIMS(ALL / 20, 1, 20)));
    assert_true(lz_read(z, y, sizeof y));
    int dropped = 0;
    for (int i = 0; i < ALL / 20; i++) {
        int equal = 0;
        for (int j = 1; j < 20; j++)
            equal += y[20 * i + j] == y[20 * i];
        assert_true(equal == 0 || equal == 19);
        dropped += equal == 19;
    }
    expect_share(dropped, ALL / 20, 0.3);
    lz_train(m, false);
    assert_ptr_equal(lz_forward(a, x), x);
    lz_module_free(m);
    lz_close(c);
}

static void test_rrelu(void **state)
{
    enum { ALL = 10000 };
    static float y[ALL];
    double sum = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *r = lz_nn_rrelu(m, "r", .lower = 0.2, .upper = 0.4),
              *plain = lz_nn_rrelu(m, "plain");
    assert_true(lz_read(lz_forward(r, lz_full(c, LZ_DIMS(ALL), LZ_S(-1.0))), y, sizeof y));
    for (int i = 0; i < ALL; i++) {
        assert_true(y[i] <= -0.2F && y[i] >= -0.4F);
        sum += y[i];
    }
    assert_true(fabs(sum / ALL + 0.3) < 5 * 0.2 / sqrt(12.0 * ALL));
    assert_true(y[0] != y[1]);
    lz_train(m, false);
    assert_true(fabs(lz_item_double(lz_forward(plain, lz_full(c, LZ_DIMS(1), LZ_S(-1.0)))) + 11.0 / 48)
                < 1e-7);
    assert_true(lz_item_double(lz_forward(plain, lz_full(c, LZ_DIMS(1), LZ_S(2.0)))) == 2);
    lz_module_free(m);
    lz_close(c);
}

static void refused(lz_module *m, const char *part)
{
    lz_ctx *c = lz_module_ctx(m);
    assert_non_null(strstr(lz_message(c), part));
    lz_clear(c);
}

static void test_refused(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    refused(lz_nn_dropout2d(m, "l", -0.1), "between 0 and 1");
    refused(lz_nn_alpha_dropout(m, "l", NAN), "between 0 and 1");
    refused(lz_nn_dropout_at(m, LZ_HERE, "l", (lz_dropout_kind)77, 0.5), "lz_dropout_kind");
    refused(lz_nn_rrelu(m, "l", .lower = 0.5), "lower must not be greater");
    lz_module_free(m);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_rrelu),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
