/* What a program may do wrong with the tape, or unexpectedly: hooks that remove hooks, tensors of other
 * contexts, gradients that do not fit. Every program also runs with each of its allocations failing. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <string.h>

typedef void program(lz_ctx *c, lz_ctx *other);

static lz_err *run(program *p)
{
    lz_err *e = NULL;
    lz_ctx *c = lz_open(NULL), *other = lz_open(NULL);
    if (c && other) {
        p(c, other);
        lz_ctx *failed = lz_failed(c) ? c : other;
        if (lz_failed(failed))
            e = lz_errf(lz_code_of(failed), "%s", lz_message(failed));
    } else {
        e = lz_err_oom();
    }
    lz_close(other);
    lz_close(c);
    return e;
}

static lz_tensor *pair(lz_ctx *c, double a, double b, bool leaf)
{
    lz_tensor *t = lz_from_memory(c, LZ_F64, LZ_DIMS(2), (const double[]){ a, b });
    if (leaf)
        lz_set_requires_grad(t, true);
    return t;
}

static void expect(lz_ctx *c, lz_tensor *t, double a, double b)
{
    double got[2] = { 0, 0 };
    if (lz_failed(c))
        return;
    assert_non_null(t);
    assert_int_equal(lz_tensor_dtype(t), LZ_F64);
    if (lz_read(t, got, sizeof got) && (fabs(got[0] - a) > 1e-9 || fabs(got[1] - b) > 1e-9))
        fail_msg("it is %g, %g, not %g, %g", got[0], got[1], a, b);
}

/* The last call was refused for this reason, unless memory was out. */
static void refused(lz_ctx *c, lz_reason why)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    if (lz_reason_of(c) != why)
        fail_msg("%s instead of %s: %s", lz_reason_name(lz_reason_of(c)), lz_reason_name(why), lz_message(c));
    lz_clear(c);
}

/* ---- hooks ---- */

static struct {
    int64_t ids[3];
    lz_tensor *on;
    int calls;
} hooks;

static lz_tensor *remove_all(lz_ctx *c, lz_tensor *grad, void *user)
{
    (void)c;
    (void)grad;
    (void)user;
    for (int i = 0; i < 3; i++)
        lz_remove_hook(hooks.on, hooks.ids[i]);
    return NULL;
}

static lz_tensor *triple(lz_ctx *c, lz_tensor *grad, void *user)
{
    (void)user;
    hooks.calls++;
    return lz_mul_Scalar(c, grad, LZ_S(3));
}

static lz_tensor *add_another(lz_ctx *c, lz_tensor *grad, void *user)
{
    (void)c;
    (void)grad;
    (void)user;
    lz_add_grad_hook(hooks.on, triple, NULL);
    return NULL;
}

static void remove_all_of_leaf(lz_ctx *c, lz_tensor *leaf, void *user)
{
    (void)leaf;
    hooks.calls++;
    remove_all(c, NULL, user);
}

static void hooks_that_remove(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *y = lz_mul_Scalar(c, x, LZ_S(5));
    (void)other;
    hooks.calls = 0;
    hooks.on = y;
    hooks.ids[0] = lz_add_grad_hook(y, remove_all, NULL);
    hooks.ids[1] = lz_add_grad_hook(y, triple, NULL);
    hooks.ids[2] = lz_add_grad_hook(y, triple, NULL);
    lz_retain_grad(y);
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, y, y)));
    expect(c, lz_grad_of(y), 20, 30);
    expect(c, lz_grad_of(x), 100, 150);
    if (!lz_failed(c))
        assert_int_equal(hooks.calls, 0);
}

static lz_err *test_hooks_that_remove(void)
{
    return run(hooks_that_remove);
}

/* A hook that was added on the way is not yet called. */
static void hooks_that_add(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true);
    (void)other;
    hooks.on = x;
    lz_add_grad_hook(x, add_another, NULL);
    lz_backward(c, lz_sum(c, x));
    expect(c, lz_grad_of(x), 1, 1);
    lz_backward(c, lz_sum(c, x));
    expect(c, lz_grad_of(x), 4, 4);
}

static lz_err *test_hooks_that_add(void)
{
    return run(hooks_that_add);
}

static void leaf_hooks_that_remove(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true);
    (void)other;
    hooks.calls = 0;
    hooks.on = x;
    for (int i = 0; i < 3; i++)
        hooks.ids[i] = lz_add_leaf_hook(x, remove_all_of_leaf, NULL);
    lz_backward(c, lz_sum(c, x));
    if (!lz_failed(c))
        assert_int_equal(hooks.calls, 1);
    lz_add_leaf_hook(x, NULL, NULL);
    if (lz_code_of(c) != LZ_ERR_MEMORY)
        assert_string_equal(lz_message(c), "no hook is given");
    refused(c, LZ_REASON_ARGUMENT);
}

static lz_err *test_leaf_hooks_that_remove(void)
{
    return run(leaf_hooks_that_remove);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_hooks_that_remove),
        LZ_TEST(test_hooks_that_add),
        LZ_TEST(test_leaf_hooks_that_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
