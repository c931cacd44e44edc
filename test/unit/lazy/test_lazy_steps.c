#include "calls.h"
#include "check.h"
#include <math.h>

/* What must not make a graph anew: numbers that change, the order in which tensors are made. */

static lz_ctx *open_ctx(bool async)
{
    lz_ctx *c = lz_open(&(lz_options){ .async = async });
    assert_non_null(c);
    if (lz_failed(c))
        fail_msg("%s", lz_message(c));
    return c;
}

static void check_ctx(const lz_ctx *c)
{
    if (lz_failed(c))
        fail_msg("%s", lz_message(c));
}

/* Through 0, 1, and equal to the other scalar of the step, 0.5. */
static double rate(int step)
{
    static const double some[] = { 0, 1, 0.5, -1, 0.25, 1e-3 };
    return step % 10 < 6 ? some[step % 10] : 1.0 / (double)(step + 2);
}

static void train(lz_ctx *c, float *want, lz_tensor *w, const float *g, int step)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *gradient = lz_from_memory(c, LZ_F32, LZ_DIMS(3), g);
    lz_tensor *decayed = CALL(c, mul_Scalar, T(w), F(0.5));
    lz_tensor *scaled = CALL(c, mul_Scalar, T(gradient), F(rate(step)));
    CALL(c, sub__Tensor, T(w), T(CALL(c, add_Tensor, T(decayed), T(scaled))));
    CALL(c, add__Tensor, T(w), T(gradient), F(rate(step)));
    lz_mark_step(c);
    lz_scope_pop(s);
    for (int i = 0; i < 3; i++) {
        float r = (float)rate(step), d = want[i] * 0.5F, u = g[i] * r;
        want[i] = want[i] - (d + u);
        want[i] = want[i] + g[i] * r;
    }
}

static void run_training(bool async)
{
    lz_ctx *c = open_ctx(async);
    float want[3] = { 1, 2, 3 }, got[3];
    const float g[3] = { 0.5F, -1, 2 };
    lz_tensor *w = lz_from_memory(c, LZ_F32, LZ_DIMS(3), want);
    int64_t before = 0;
    for (int step = 0; step < 1000; step++) {
        train(c, want, w, g, step);
        if (step == 1) {
            lz_wait(c);
            before = compiles();
        }
    }
    assert_true(lz_read(w, got, sizeof got));
    check_ctx(c);
    assert_int_equal(compiles(), before);
    for (int i = 0; i < 3; i++)
        assert_true(fabsf(got[i] - want[i]) <= 1e-5F);
    lz_close(c);
}

static void test_learning_rates_do_not_compile(void **state)
{
    (void)state;
    run_training(false);
    run_training(true);
}

/* Three results of one graph, made in the order that `order` says. */
static void make_in_order(lz_ctx *c, const int *order)
{
    const float x[2] = { 1, 2 }, y[2] = { 3, 4 };
    float got[2];
    lz_tensor *made[3];
    lz_scope *s = lz_scope_push(c);
    lz_tensor *a = NULL, *b = NULL;
    if (order[0] == 0) {
        a = lz_from_memory(c, LZ_F32, LZ_DIMS(2), x);
        b = lz_from_memory(c, LZ_F32, LZ_DIMS(2), y);
    } else {
        b = lz_from_memory(c, LZ_F32, LZ_DIMS(2), y);
        a = lz_from_memory(c, LZ_F32, LZ_DIMS(2), x);
    }
    for (int i = 0; i < 3; i++)
        made[order[i]] = order[i] == 0   ? CALL(c, add_Tensor, T(a), T(b))
                         : order[i] == 1 ? CALL(c, mul_Tensor, T(a), T(b))
                                         : CALL(c, exp, T(CALL(c, neg, T(a))));
    lz_mark_step(c);
    assert_true(lz_read(made[0], got, sizeof got));
    assert_true(got[0] == 4 && got[1] == 6);
    assert_true(lz_read(made[1], got, sizeof got));
    assert_true(got[0] == 3 && got[1] == 8);
    assert_true(lz_read(made[2], got, sizeof got));
    assert_true(fabsf(got[1] - expf(-2)) < 1e-6F);
    lz_scope_pop(s);
    check_ctx(c);
}

static void test_order_of_making_does_not_compile(void **state)
{
    static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                     { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    lz_ctx *c = open_ctx(false);
    (void)state;
    make_in_order(c, orders[0]);
    int64_t before = compiles();
    for (int i = 1; i < 6; i++)
        make_in_order(c, orders[i]);
    assert_int_equal(compiles(), before);
    lz_close(c);
}

/* Equal results that differ only in their inputs. */
static void test_twins_do_not_compile(void **state)
{
    const float x[2] = { 1, 2 }, y[2] = { 3, 4 };
    float got[2];
    lz_ctx *c = open_ctx(false);
    int64_t before = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *a = lz_from_memory(c, LZ_F32, LZ_DIMS(2), x),
                  *b = lz_from_memory(c, LZ_F32, LZ_DIMS(2), y);
        lz_tensor *u = CALL(c, neg, T(i % 2 ? b : a)), *v = CALL(c, neg, T(i % 2 ? a : b));
        lz_mark_step(c);
        assert_true(lz_read(u, got, sizeof got) && got[0] == (i % 2 ? -3 : -1));
        assert_true(lz_read(v, got, sizeof got) && got[0] == (i % 2 ? -1 : -3));
        lz_scope_pop(s);
        before = i == 0 ? compiles() : before;
    }
    check_ctx(c);
    assert_int_equal(compiles(), before);
    lz_close(c);
}

/* Read, then used, then read again: the draw has happened. */
static void test_random_tensors_keep_their_values(void **state)
{
    float first[64], second[64], sum = 0, total;
    lz_ctx *c = open_ctx(false);
    (void)state;
    lz_tensor *r = CALL(c, rand, L(64));
    lz_tensor *t = CALL(c, sum, T(r));
    assert_true(lz_read(t, &total, sizeof total));
    assert_true(lz_read(r, first, sizeof first));
    lz_mark_step(c);
    assert_true(lz_read(r, second, sizeof second));
    assert_memory_equal(first, second, sizeof first);
    for (int i = 0; i < 64; i++) {
        assert_true(first[i] >= 0 && first[i] < 1);
        sum += first[i];
    }
    assert_true(fabsf(sum - total) < 1e-3F);
    lz_tensor *other = CALL(c, rand, L(64));
    assert_true(lz_read(other, second, sizeof second));
    assert_memory_not_equal(first, second, sizeof first);
    check_ctx(c);
    lz_close(c);
}

/* The n-th draw of a seed is the same whatever is synced between, and nothing compiles. */
static void test_draws_follow_the_program(void **state)
{
    float got[2][3][8];
    int64_t before = 0;
    (void)state;
    for (int late = 0; late < 2; late++) {
        lz_ctx *c = open_ctx(false);
        lz_manual_seed(c, 7);
        lz_tensor *r[3];
        for (int i = 0; i < 3; i++) {
            r[i] = CALL(c, rand, L(8));
            if (!late)
                assert_true(lz_read(r[i], got[late][i], sizeof got[late][i]));
            if (!late && i == 0)
                before = compiles();
        }
        if (!late)
            assert_int_equal(compiles(), before);
        for (int i = 2; late && i >= 0; i--)
            assert_true(lz_read(r[i], got[late][i], sizeof got[late][i]));
        check_ctx(c);
        lz_close(c);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learning_rates_do_not_compile),
        cmocka_unit_test(test_order_of_making_does_not_compile),
        cmocka_unit_test(test_twins_do_not_compile),
        cmocka_unit_test(test_random_tensors_keep_their_values),
        cmocka_unit_test(test_draws_follow_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
