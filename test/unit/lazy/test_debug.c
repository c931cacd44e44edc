/* LAZULI_DEBUG=1 names what a program does wrong with tensors, scopes and threads, and where. Contexts are
 * kept in this mode, so the tests do not count allocations. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const float data[3] = { 1, 2, 3 };

/* The message has the text and ends with a line of this file. */
static void expect_error(lz_ctx *c, const char *text, int made, int used)
{
    char line[64];
    assert_true(lz_failed(c));
    if (!strstr(lz_message(c), text))
        fail_msg("'%s' does not say '%s'", lz_message(c), text);
    snprintf(line, sizeof line, "test_debug.c:%d", made);
    assert_non_null(strstr(lz_message(c), line));
    if (used)
        assert_int_equal(lz_place(c).line, used);
    lz_clear(c);
}

static void test_use_after_release(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(3), data);
    int made = __LINE__ - 1;
    lz_tensor *y = lz_relu(c, x);
    int recorded = __LINE__ - 1;
    lz_scope_pop(s);
    lz_tensor *z = lz_neg(c, x);
    expect_error(c, "aten::neg: the tensor made at", made, __LINE__ - 1);
    assert_true(lz_tensor_is_inert(z));
    lz_cat(c, LZ_TENSORS(lz_ones(c, LZ_DIMS(2)), y));
    expect_error(c, "aten::cat: the tensor made at", recorded, __LINE__ - 1);
    lz_print(x);
    expect_error(c, "lz_print: the tensor made at", made, __LINE__ - 1);
    assert_true(lz_item(y).kind == LZ_SCALAR_NONE);
    expect_error(c, "lz_item: the tensor made at", recorded, __LINE__ - 1);
    lz_retain(x);
    expect_error(c, "lz_retain: the tensor made at", made, 0);
    lz_close(c);
}

/* The tape looks at arguments before anything is recorded. */
static void test_use_after_release_with_gradients(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *w = lz_ones(c, LZ_DIMS(3));
    lz_set_requires_grad(w, true);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_mul_Tensor(c, w, w);
    int made = __LINE__ - 1;
    lz_scope_pop(s);
    lz_add_Tensor(c, w, x);
    expect_error(c, "was released before this call", made, __LINE__ - 1);
    lz_close(c);
}

static void test_release_twice(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_retain(lz_ones(c, LZ_DIMS(3)));
    int made = __LINE__ - 1;
    lz_scope_pop(s);
    lz_release(x);
    assert_false(lz_failed(c));
    lz_release(x);
    expect_error(c, "lz_release: the tensor made at", made, 0);
    lz_close(c);
}

static void test_pop_twice(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_scope *outer = lz_scope_push(c);
    lz_scope *inner = lz_scope_push(c);
    int pushed = __LINE__ - 1;
    lz_scope_pop(outer);
    assert_false(lz_failed(c));
    lz_scope_pop(inner);
    expect_error(c, "lz_scope_pop: the scope pushed at", pushed, __LINE__ - 1);
    lz_close(c);
}

/* ---- threads ---- */

typedef struct visit {
    lz_ctx *c;
    pthread_barrier_t *together;
} visit;

static lz_err *wait_inside(void *user)
{
    visit *v = user;
    pthread_barrier_wait(v->together); /* the other thread tries now */
    pthread_barrier_wait(v->together);
    return NULL;
}

static void *intrude(void *user)
{
    visit *v = user;
    pthread_barrier_wait(v->together);
    lz_tensor *t = lz_ones(v->c, LZ_DIMS(2));
    assert_true(lz_tensor_is_inert(t));
    pthread_barrier_wait(v->together);
    return NULL;
}

/* One thread is inside lz_mark_step, in a closure, when another one records. */
static void test_two_threads(void **state)
{
    (void)state;
    pthread_barrier_t together;
    pthread_t other;
    lz_ctx *c = lz_open(NULL);
    visit v = { c, &together };
    pthread_barrier_init(&together, NULL, 2);
    assert_true(lz_add_step_closure(c, wait_inside, &v, false));
    assert_int_equal(pthread_create(&other, NULL, intrude, &v), 0);
    lz_mark_step(c);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&together);
    assert_non_null(strstr(lz_message(c), "two threads use one context at the same time"));
    lz_clear(c);
    assert_true(lz_item(lz_sum(c, lz_ones(c, LZ_DIMS(2)))).re == 2); /* one after the other is fine */
    assert_false(lz_failed(c));
    lz_close(c);
}

/* ---- leaks ---- */

static char logged[4096];

static void keep(void *user, lz_level level, const char *text)
{
    (void)user;
    (void)level;
    strncat(logged, text, sizeof logged - strlen(logged) - 2);
    strcat(logged, "\n");
}

static void expect_logged(const char *text, int line)
{
    char all[256];
    snprintf(all, sizeof all, "%s %s:%d", text, __FILE__, line);
    if (!strstr(logged, all))
        fail_msg("'%s' is not in '%s'", all, logged);
}

static void test_leaks(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_log_set(keep, NULL, LZ_LOG_WARN);
    lz_scope *s = lz_scope_push(c);
    lz_retain(lz_ones(c, LZ_DIMS(3)));
    int kept = __LINE__ - 1;
    lz_ones(c, LZ_DIMS(4)); /* the scope's */
    lz_scope_pop(s);
    lz_scope_push(c);
    int pushed = __LINE__ - 1;
    lz_close(c);
    expect_logged("the scope pushed at", pushed);
    expect_logged("the tensor made at", kept);
    logged[0] = '\0';
    c = lz_open(NULL);
    s = lz_scope_push(c);
    lz_tensor *x = lz_retain(lz_ones(c, LZ_DIMS(3)));
    lz_scope_pop(s);
    lz_release(x);
    lz_close(c);
    assert_string_equal(logged, "");
    lz_release(x); /* after the close */
    assert_non_null(strstr(logged, "was released before this call"));
    lz_ones(c, LZ_DIMS(1));
    assert_non_null(strstr(logged, "the context was closed before this call"));
    lz_log_set(NULL, NULL, LZ_LOG_OFF);
}

/* Everything else is as without it. */
static void test_values(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    for (int i = 0; i < 100; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(3), data);
        lz_set_requires_grad(x, true);
        lz_backward(c, lz_sum(c, lz_mul_Tensor(c, x, x)));
        assert_true(lz_item(lz_sum(c, lz_grad_of(x))).re == 12);
        lz_scope_pop(s);
    }
    assert_false(lz_failed(c));
    lz_close(c);
}

static void test_wrong_value(void **state)
{
    (void)state;
    setenv("LAZULI_DEBUG", "perhaps", 1);
    lz_ctx *c = lz_open(NULL);
    setenv("LAZULI_DEBUG", "1", 1);
    assert_non_null(strstr(lz_message(c), "LAZULI_DEBUG"));
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use_after_release),
        cmocka_unit_test(test_use_after_release_with_gradients),
        cmocka_unit_test(test_release_twice),
        cmocka_unit_test(test_pop_twice),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_leaks),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_wrong_value),
    };
    setenv("LAZULI_DEBUG", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
