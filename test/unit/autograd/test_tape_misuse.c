/* What a program may do wrong with the tape, or unexpectedly: hooks that remove hooks, tensors of other
 * contexts, gradients that do not fit. Every program also runs with each of its allocations failing. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>
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

/* ---- errors of the backward pass ---- */

static lz_tensor *fail_at_mm(lz_ctx *c, lz_tensor *grad, void *user)
{
    lz_tensor *x = lz_reshape(c, grad, LZ_INTS(1, 2));
    *(uint32_t *)user = __LINE__ + 1;
    return lz_mm(c, x, x);
}

/* The error of a hook is that of the context: operator, line and reason, each once. */
static void failing_hook(lz_ctx *c, lz_ctx *other)
{
    uint32_t line = 0;
    char place[64];
    lz_tensor *x = pair(c, 2, 3, true), *y = lz_mul_Tensor(c, x, x);
    (void)other;
    lz_add_grad_hook(y, fail_at_mm, &line);
    if (lz_failed(c))
        return;
    assert_false(lz_backward(c, lz_sum(c, y)));
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    assert_int_equal(lz_place(c).line, line);
    snprintf(place, sizeof place, "test_tape_misuse.c:%u)", (unsigned)line);
    const char *found = strstr(lz_message(c), place);
    assert_non_null(found);
    assert_null(strstr(found + 1, place));
    assert_ptr_equal(strstr(lz_message(c), "aten::mm: "), lz_message(c));
    refused(c, LZ_REASON_SHAPE);
}

static lz_err *test_failing_hook(void)
{
    return run(failing_hook);
}

/* A context that has an error runs no backward pass; without the error it does. */
static void after_an_error(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *g = x, *loss = lz_sum(c, lz_mul_Tensor(c, x, x));
    (void)other;
    if (lz_failed(c))
        return;
    lz_fail(c, LZ_HERE, LZ_ERR_ARG, "an earlier error");
    assert_false(lz_backward(c, loss));
    assert_null(lz_grad_of(x));
    assert_false(lz_grad(c, LZ_TENSORS(loss), LZ_TENSORS(x), &g));
    assert_null(g);
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    lz_clear(c);
    lz_backward(c, loss);
    expect(c, lz_grad_of(x), 4, 6);
}

static lz_err *test_after_an_error(void)
{
    return run(after_an_error);
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
        assert_string_equal(lz_message(c), "expected a hook, found NULL");
    refused(c, LZ_REASON_ARGUMENT);
}

static lz_err *test_leaf_hooks_that_remove(void)
{
    return run(leaf_hooks_that_remove);
}

/* ---- gradients that do not fit ---- */

static lz_tensor *give_user(lz_ctx *c, lz_tensor *grad, void *user)
{
    (void)c;
    (void)grad;
    return user;
}

static lz_tensor *half(lz_ctx *c)
{
    return lz_ones(c, LZ_INTS(2), .dtype = LZ_F32);
}

static void other_contexts(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *far = pair(other, 1, 1, true), *out[2] = { x, x };
    lz_tensor *y = lz_mul_Tensor(c, x, x);
    lz_backward(c, y, .gradient = lz_detached(other, far), .retain_graph = true);
    refused(c, LZ_REASON_CONTEXT);
    lz_backward(c, lz_sum(c, y), .inputs = LZ_TENSORS(far), .retain_graph = true);
    refused(c, LZ_REASON_CONTEXT);
    lz_grad(c, LZ_TENSORS(lz_sum(c, y)), LZ_TENSORS(far, x), out, .allow_unused = true, .retain_graph = true);
    if (!lz_failed(other))
        refused(c, LZ_REASON_CONTEXT);
    assert_null(out[0]);
    assert_null(out[1]);
    lz_set_grad(x, far);
    refused(c, LZ_REASON_CONTEXT);
    lz_add_grad_hook(y, give_user, far);
    lz_backward(c, lz_sum(c, y), .retain_graph = true);
    refused(c, LZ_REASON_CONTEXT);
    assert_null(lz_grad_of(x));
}

static lz_err *test_other_contexts(void)
{
    return run(other_contexts);
}

static void misfits(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *one = lz_ones(c, LZ_INTS(1), .dtype = LZ_F64), *out[1];
    lz_tensor *y = lz_mul_Tensor(c, x, x);
    (void)other;
    lz_set_grad(x, one);
    refused(c, LZ_REASON_SHAPE);
    lz_set_grad(x, half(c));
    refused(c, LZ_REASON_DTYPE);
    lz_backward(c, y, .gradient = one);
    refused(c, LZ_REASON_SHAPE);
    lz_grad(c, ((lz_tensors){ NULL, 0 }), LZ_TENSORS(x), out);
    refused(c, LZ_REASON_ARGUMENT);
    lz_grad(c, LZ_TENSORS(y), ((lz_tensors){ NULL, -1 }), out);
    refused(c, LZ_REASON_ARGUMENT);
    int64_t id = lz_add_grad_hook(y, give_user, one);
    lz_backward(c, lz_sum(c, y), .retain_graph = true);
    refused(c, LZ_REASON_SHAPE);
    lz_remove_hook(y, id);
    lz_add_grad_hook(y, give_user, half(c));
    lz_backward(c, lz_sum(c, y), .retain_graph = true);
    refused(c, LZ_REASON_DTYPE);
    assert_null(lz_grad_of(x));
    lz_set_grad_mode(c, (lz_grad_mode)17);
    refused(c, LZ_REASON_ARGUMENT);
    assert_int_equal(lz_get_grad_mode(c), LZ_GRAD_ON);
}

static lz_err *test_misfits(void)
{
    return run(misfits);
}

/* PyTorch casts the gradient of a root; also that of a root that is a leaf. */
static void cast_gradients(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true);
    (void)other;
    lz_backward(c, x, .gradient = half(c));
    expect(c, lz_grad_of(x), 1, 1);
    lz_backward_at(c, LZ_HERE, lz_sum(c, lz_mul_Tensor(c, x, x)), NULL);
    expect(c, lz_grad_of(x), 5, 7);
}

static lz_err *test_cast_gradients(void)
{
    return run(cast_gradients);
}

/* Where gradients go may be where the inputs were. */
static void out_is_in(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *v[] = { pair(c, 2, 3, true), pair(c, 5, 7, true) };
    (void)other;
    lz_grad_at(c, LZ_HERE, LZ_TENSORS(lz_sum(c, lz_mul_Tensor(c, v[0], v[1]))), (lz_tensors){ v, 2 }, v,
               NULL);
    expect(c, v[0], 5, 7);
    expect(c, v[1], 2, 3);
}

static lz_err *test_out_is_in(void)
{
    return run(out_is_in);
}

/* An input that is named twice gets its gradient once. */
static void repeated_inputs(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *y = pair(c, 5, 7, true);
    (void)other;
    lz_backward(c, lz_sum(c, lz_mul_Tensor(c, x, y)), .inputs = LZ_TENSORS(x, y, x));
    expect(c, lz_grad_of(x), 5, 7);
    expect(c, lz_grad_of(y), 2, 3);
}

static lz_err *test_repeated_inputs(void)
{
    return run(repeated_inputs);
}

static void whole_data(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true);
    (void)other;
    lz_set_data(x, lz_ones(c, LZ_INTS(2), .dtype = LZ_I64));
    refused(c, LZ_REASON_DTYPE);
    expect(c, x, 2, 3);
    lz_set_data(x, pair(c, 5, 7, false));
    expect(c, x, 5, 7);
}

static lz_err *test_whole_data(void)
{
    return run(whole_data);
}

/* ---- functions ---- */

static lz_err *twice(lz_function_call *call, lz_tensors in, lz_tensor **out)
{
    out[0] = lz_mul_Scalar(lz_function_ctx(call), in.v[0], LZ_S(2));
    return NULL;
}

static lz_err *give_sum(lz_function_call *call, lz_tensors grad, lz_tensor **out)
{
    out[0] = lz_sum(lz_function_ctx(call), grad.v[0]);
    return NULL;
}

static void count_drop(void *user)
{
    ++*(int *)user;
}

/* Whatever goes wrong, what belongs to the call is dropped, and once. */
static void function_drops(lz_ctx *c, lz_ctx *other)
{
    static const lz_function f = { "bad", twice, give_sum, count_drop };
    lz_tensor *x = pair(c, 2, 3, true), *y;
    int drops = 0;
    (void)other;
    lz_scope *s = lz_scope_push(c);
    lz_function_apply(c, &f, &drops, LZ_TENSORS(x), &y, 1);
    lz_backward(c, lz_sum(c, y));
    refused(c, LZ_REASON_SHAPE);
    lz_scope_pop(s);
    if (s)
        assert_int_equal(drops, 1);
}

static lz_err *test_function_drops(void)
{
    return run(function_drops);
}

static lz_err *times_two(lz_function_call *call, lz_tensors grad, lz_tensor **out)
{
    out[0] = lz_mul_Scalar(lz_function_ctx(call), grad.v[0], LZ_S(2));
    return NULL;
}

/* The caller's function may go before the way back. */
static void function_goes(lz_ctx *c, lz_ctx *other)
{
    lz_tensor *x = pair(c, 2, 3, true), *y = NULL;
    int drops = 0;
    (void)other;
    lz_function f = { "short-lived", twice, times_two, count_drop };
    lz_scope *s = lz_scope_push(c);
    lz_function_apply(c, &f, &drops, LZ_TENSORS(x), &y, 1);
    f = (lz_function){ NULL, NULL, NULL, NULL };
    lz_backward(c, lz_sum(c, y));
    expect(c, lz_grad_of(x), 2, 2);
    lz_scope_pop(s);
    if (s)
        assert_int_equal(drops, 1);
    lz_function_apply(c, NULL, NULL, LZ_TENSORS(x), &y, 1);
    refused(c, LZ_REASON_ARGUMENT);
}

static lz_err *test_function_goes(void)
{
    return run(function_goes);
}

static lz_err *keep_input(lz_function_call *call, lz_tensors in, lz_tensor **out)
{
    lz_function_save(call, in.v[0]);
    return twice(call, in, out);
}

static lz_err *give_up(lz_function_call *call, lz_tensors grad, lz_tensor **out)
{
    (void)call;
    (void)grad;
    (void)out;
    return lz_errf(LZ_ERR_LIMIT, "enough");
}

static lz_tensor *root;

/* Goes back through itself, without need, and then asks for what is gone. */
static lz_err *spend(lz_function_call *call, lz_tensors grad, lz_tensor **out)
{
    lz_tensor *r = root;
    root = NULL;
    if (r)
        lz_backward(lz_function_ctx(call), r);
    out[0] = lz_mul_Tensor(lz_function_ctx(call), grad.v[0], lz_function_saved(call, 0));
    return NULL;
}

static void failing_functions(lz_ctx *c, lz_ctx *other)
{
    static const lz_function weary = { "weary", twice, give_up, NULL };
    static const lz_function spender = { "spender", keep_input, spend, NULL };
    lz_tensor *x = pair(c, 2, 3, true), *y;
    (void)other;
    lz_function_apply(c, &weary, NULL, LZ_TENSORS(x), &y, 1);
    lz_backward(c, lz_sum(c, y));
    if (lz_code_of(c) != LZ_ERR_MEMORY)
        assert_non_null(strstr(lz_message(c), "backward of weary: enough"));
    refused(c, LZ_REASON_OTHER);
    lz_function_apply(c, &spender, NULL, LZ_TENSORS(x), &y, 1);
    root = lz_sum(c, y);
    lz_backward(c, root);
    refused(c, LZ_REASON_AUTOGRAD_BACKWARD);
}

static lz_err *test_failing_functions(void)
{
    return run(failing_functions);
}

/* ---- many ---- */

/* As many inputs as a program likes: each is looked at once. */
static void test_width(void **state)
{
    enum { N = 60000 };
    lz_ctx *c = lz_open(NULL);
    static lz_tensor *v[N];
    double last;
    (void)state;
    lz_tensor *sum = lz_zeros(c, LZ_INTS(1), .dtype = LZ_F64);
    for (int i = 0; i < N; i++) {
        v[i] = lz_from_memory(c, LZ_F64, LZ_DIMS(1), &(const double){ i });
        lz_set_requires_grad(v[i], true);
        sum = lz_add_Tensor(c, sum, lz_mul_Tensor(c, v[i], v[i]));
    }
    lz_grad(c, LZ_TENSORS(sum), ((lz_tensors){ v, N }), v);
    assert_true(lz_read(v[N - 1], &last, sizeof last));
    assert_true(last == 2.0 * (N - 1));
    lz_close(c);
}

/* Removing a hook does not look for it all over the tape. */
static void test_many_hooks(void **state)
{
    enum { N = 60000 };
    lz_ctx *c = lz_open(NULL);
    static lz_tensor *v[N];
    static int64_t ids[N];
    lz_tensor *x = pair(c, 2, 3, true);
    (void)state;
    for (int i = 0; i < N; i++) {
        v[i] = lz_neg(c, i ? v[i - 1] : x);
        ids[i] = lz_add_grad_hook(v[i], triple, NULL);
    }
    for (int i = 0; i < N; i++) {
        assert_true(lz_remove_hook(v[i], ids[i]));
        if (i < 2)
            assert_false(lz_remove_hook(v[i], ids[i]));
    }
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_failing_hook),
        LZ_TEST(test_after_an_error),
        LZ_TEST(test_hooks_that_remove),
        LZ_TEST(test_hooks_that_add),
        LZ_TEST(test_leaf_hooks_that_remove),
        LZ_TEST(test_other_contexts),
        LZ_TEST(test_misfits),
        LZ_TEST(test_cast_gradients),
        LZ_TEST(test_out_is_in),
        LZ_TEST(test_function_goes),
        LZ_TEST(test_failing_functions),
        LZ_TEST(test_function_drops),
        LZ_TEST(test_repeated_inputs),
        LZ_TEST(test_whole_data),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_many_hooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
