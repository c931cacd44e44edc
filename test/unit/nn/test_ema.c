/* Averages of parameters against a loop over doubles; partial loads, which share the state with them. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>

enum { SIZE = 6, STEPS = 7 };

static void set_all(lz_ctx *c, lz_tensor *t, int step, float out[SIZE])
{
    for (int i = 0; i < SIZE; i++)
        out[i] = (float)((i * 5 + step * 3) % 7) - 2.5F;
    LZ_NO_GRAD(c)
    {
        lz_copy_(c, t, lz_from_memory(c, LZ_F32, LZ_DIMS(2, 3), out));
    }
}

static void expect_values(lz_tensor *t, const double want[SIZE])
{
    float got[SIZE];
    assert_true(lz_read(t, got, sizeof got));
    for (int i = 0; i < SIZE; i++)
        assert_true(fabs((double)got[i] - want[i]) <= 1e-5);
}

static void test_average(void **state)
{
    (void)state;
    const double decay = 0.75;
    double want[SIZE], last[SIZE];
    float now[SIZE];
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module *layer = lz_nn_linear(m, "l", 3, 2);
    lz_tensor *w = lz_module_get(layer, "weight");
    set_all(c, w, 0, now);
    for (int i = 0; i < SIZE; i++)
        want[i] = (double)now[i];
    lz_ema *e = lz_ema_create(m, .decay = decay);
    for (int step = 1; step <= STEPS; step++) {
        set_all(c, w, step, now);
        assert_true(lz_ema_update(e) && lz_mark_step(c));
        for (int i = 0; i < SIZE; i++) {
            want[i] += (1 - decay) * ((double)now[i] - want[i]);
            last[i] = (double)now[i];
        }
    }
    expect_values(lz_ema_get(e, "l.weight"), want);
    assert_null(lz_ema_get(e, "l.nothing"));
    assert_true(lz_ema_swap(e));
    expect_values(w, want);
    expect_values(lz_ema_get(e, "l.weight"), last);
    assert_true(lz_ema_swap(e));
    expect_values(w, last);
    assert_true(lz_requires_grad(w) && !lz_requires_grad(lz_ema_get(e, "l.weight")));

    lz_state *s = lz_state_create(c);
    assert_true(lz_ema_state(e, "ema.", s));
    lz_ema *other = lz_ema_create(m);
    assert_true(lz_ema_load_state(other, "ema.", lz_state_list(s)));
    expect_values(lz_ema_get(other, "l.weight"), want);
    assert_false(lz_ema_load_state(other, "none.", lz_state_list(s)));
    assert_non_null(strstr(lz_message(c), "missing 'none.l."));
    lz_clear(c);
    assert_null(lz_ema_create(m, .decay = 1.5));
    assert_non_null(strstr(lz_message(c), "decay"));
    lz_clear(c);
    assert_false(lz_ema_update(NULL) || lz_ema_swap(NULL) || lz_ema_get(NULL, "x"));
    lz_state_free(s);
    lz_ema_free(e);
    lz_ema_free(other);
    lz_module_free(m);
    lz_close(c);
}

/* Running averages of batch norm belong to it only if they are asked for. */
static void test_buffers(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_nn_batch_norm1d(m, "b", 3);
    lz_ema *without = lz_ema_create(m), *with = lz_ema_create(m, .buffers = true);
    assert_true(!lz_ema_get(without, "b.running_mean") && lz_ema_get(with, "b.running_mean"));
    assert_null(lz_ema_get(with, "b.num_batches_tracked")); /* an integer */
    lz_ema_free(without);
    lz_ema_free(with);
    lz_module_free(m);
    assert_false(lz_failed(c));
    lz_close(c);
}

/* Every step is the same graph. */
static void test_compiles_once(void **state)
{
    (void)state;
    int64_t before = 0, after = 0;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_nn_linear(m, "l", 3, 2);
    lz_ema *e = lz_ema_create(m);
    lz_mark_step(c);
    for (int step = 0; step < 20; step++) {
        assert_true(lz_ema_update(e) && lz_mark_step(c));
        if (step == 1)
            lz_counter_value("UncachedCompile", &before);
    }
    lz_counter_value("UncachedCompile", &after);
    assert_int_equal(before, after);
    lz_ema_free(e);
    lz_module_free(m);
    lz_close(c);
}

/* ---- loading what fits ---- */

static void test_partial_load(void **state)
{
    (void)state;
    char path[4096], *left = NULL;
    double want[SIZE];
    float now[SIZE];
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *n = lz_module_create(c), *k = lz_module_create(c);
    snprintf(path, sizeof path, "%s/part.safetensors", lz_check_dir());
    lz_tensor *w = lz_module_get(lz_nn_linear(m, "l", 3, 2), "weight");
    lz_nn_linear(m, "old", 3, 2);
    set_all(c, w, 4, now);
    for (int i = 0; i < SIZE; i++)
        want[i] = (double)now[i];
    assert_true(lz_save_model(m, path));
    lz_tensor *into = lz_module_get(lz_nn_linear(n, "l", 3, 2), "weight");
    lz_nn_linear(n, "fresh", 3, 2);
    assert_false(lz_load_model(n, path));
    lz_clear(c);
    assert_true(lz_load_model_partial(n, path, &left));
    assert_non_null(strstr(left, "missing 'fresh.weight', 'fresh.bias'; unexpected 'old."));
    expect_values(into, want);
    lz_text_free(left);
    assert_true(lz_load_model_partial(m, path, &left) && !*left);
    lz_text_free(left);

    lz_nn_linear(k, "l", 2, 2); /* one error lists all mistakes */
    lz_nn_linear(k, "fresh", 3, 2);
    assert_false(lz_load_model(k, path));
    assert_non_null(strstr(lz_message(c), "missing 'fresh.weight', 'fresh.bias'; unexpected 'old."));
    assert_non_null(strstr(lz_message(c), "size mismatch for 'l.weight': [2, 3] is given, expected [2, 2]"));
    lz_clear(c);
    assert_false(lz_load_model_partial(k, path, NULL));
    lz_clear(c);
    lz_module_free(m);
    lz_module_free(n);
    lz_module_free(k);
    lz_close(c);
}

/* A sequence with a layer that could not be made computes nothing, also after lz_clear. */
static void test_layer_that_failed(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *s = lz_nn_sequential(m, "s");
    lz_nn_conv2d(s, "c", 0, 0, 0);
    assert_true(lz_failed(c));
    lz_nn_linear(s, "l", 3, 3);
    lz_clear(c);
    lz_tensor *x = lz_zeros(c, LZ_DIMS(1, 3));
    assert_true(lz_tensor_is_inert(lz_forward(s, x)));
    assert_non_null(strstr(lz_message(c), "a layer of 's' could not be made"));
    lz_module_free(m);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average),           cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_compiles_once),     cmocka_unit_test(test_partial_load),
        cmocka_unit_test(test_layer_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
