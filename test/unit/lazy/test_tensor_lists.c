#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>

static const float two[] = { 1, 2 }, three[] = { 1, 2, 3 }, four[] = { 3, 4 };
static const float half[] = { 0.5f, -0.5f };
static const int64_t integers[] = { 1, 2 };

static void expect(lz_ctx *c, lz_tensor *t, float a, float b)
{
    float got[2] = { 0 };
    if (lz_failed(c) || !lz_read(t, got, sizeof got))
        return;
    if (fabsf(got[0] - a) > 1e-6f || fabsf(got[1] - b) > 1e-6f)
        fail_msg("expected %g %g, found %g %g", (double)a, (double)b, (double)got[0], (double)got[1]);
}

static void refused(lz_ctx *c, const char *text)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    assert_true(lz_failed(c));
    if (!strstr(lz_message(c), text))
        fail_msg("expected '%s' in: %s", text, lz_message(c));
    lz_clear(c);
}

static lz_err *finish(lz_ctx *c)
{
    lz_err *e = NULL;
    if (!c)
        return lz_err_oom();
    if (lz_failed(c) && !lz_check_failing())
        fail_msg("%s", lz_message(c));
    if (lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_close(c);
    return e;
}

static lz_tensor *vector(lz_ctx *c, const float *v)
{
    return lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
}

static lz_err *test_in_place(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = vector(c, two), *y = vector(c, four);
    lz_tensor *part = lz_slice_Tensor(c, x, .start = LZ_SOME(1), .end = LZ_SOME(2));
    lz__foreach_add__List(c, LZ_TENSORS(x, y), LZ_TENSORS(y, y), .alpha = LZ_S(2));
    expect(c, x, 7, 10);
    expect(c, y, 9, 12);
    lz__foreach_mul__Scalar(c, LZ_TENSORS(part, y), 3); /* a view */
    expect(c, x, 7, 30);
    expect(c, y, 27, 36);
    const lz_scalar numbers[] = { LZ_S(1), LZ_S(0.5) };
    const lz_scalars list = { numbers, 2 };
    lz__foreach_add__ScalarList(c, LZ_TENSORS(x, y), list);
    expect(c, x, 8, 31);
    expect(c, y, 27.5f, 36.5f);
    lz__foreach_maximum__List(c, LZ_TENSORS(x), LZ_TENSORS(y));
    expect(c, x, 27.5f, 36.5f);
    lz__foreach_zero_(c, LZ_TENSORS(x, y));
    expect(c, x, 0, 0);
    return finish(c);
}

/* An item sees what was written to the items before it, as in a loop. */
static lz_err *test_shared_items(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = vector(c, two), *y = vector(c, four);
    lz__foreach_add__Scalar(c, LZ_TENSORS(x, x), 1);
    expect(c, x, 3, 4);
    lz__foreach_add__List(c, LZ_TENSORS(x, y), LZ_TENSORS(y, x));
    expect(c, x, 6, 8);
    expect(c, y, 9, 12);
    const lz_scalar numbers[] = { LZ_S(2), LZ_S(10) };
    const lz_scalars list = { numbers, 2 };
    lz__foreach_mul__ScalarList(c, LZ_TENSORS(x, x), list);
    expect(c, x, 120, 160);
    lz_tensor *wide = lz_from_memory(c, LZ_F32, LZ_DIMS(3), three);
    lz_tensor *head = lz_slice_Tensor(c, wide, .start = LZ_SOME(0), .end = LZ_SOME(2));
    lz_tensor *tail = lz_slice_Tensor(c, wide, .start = LZ_SOME(1), .end = LZ_SOME(3));
    lz__foreach_mul__Scalar(c, LZ_TENSORS(head, tail), 2); /* the middle twice */
    expect(c, head, 2, 8);
    expect(c, tail, 8, 6);
    return finish(c);
}

static lz_err *test_out(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = vector(c, two), *y = vector(c, four), *a = vector(c, two);
    lz_tensor *small = lz_from_memory(c, LZ_F32, LZ_DIMS(0), two);
    lz__foreach_sub_List_out(c, LZ_TENSORS(y, x), LZ_TENSORS(x, y), LZ_TENSORS(a, small));
    expect(c, a, 2, 2);
    expect(c, small, -2, -2);
    lz__foreach_neg_out(c, LZ_TENSORS(x, y), LZ_TENSORS(a));
    refused(c, "has 1 tensors, the result has 2");
    lz_tensor *whole = lz_from_memory(c, LZ_I64, LZ_DIMS(2), integers);
    lz__foreach_neg_out(c, LZ_TENSORS(x), LZ_TENSORS(whole));
    refused(c, "Expected out tensor to have dtype");
    return finish(c);
}

/* A call that is refused changes nothing. */
static lz_err *test_refusals(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = vector(c, two), *y = vector(c, four);
    lz_tensor *whole = lz_from_memory(c, LZ_I64, LZ_DIMS(2), integers);
    lz__foreach_add__List(c, LZ_TENSORS(x, y), LZ_TENSORS(x));
    refused(c, "Tensor lists must have the same number of tensors, got 2 and 1");
    lz_tensors nothing = { NULL, 0 };
    lz__foreach_exp_(c, nothing);
    refused(c, "Tensor list must have at least one tensor.");
    lz__foreach_mul__Tensor(c, LZ_TENSORS(x), y);
    refused(c, "scalar tensor expected to be 0 dim but it has 1 dimensions and 2 elements.");
    lz__foreach_exp_(c, LZ_TENSORS(x, whole));
    refused(c, "can't be cast");
    lz_tensor *wide = lz_expand(c, lz_from_memory(c, LZ_F32, LZ_DIMS(1), two), LZ_INTS(2));
    lz__foreach_exp_(c, LZ_TENSORS(x, wide));
    refused(c, "more than one element of the written-to tensor");
    expect(c, x, 1, 2);
    return finish(c);
}

static lz_err *test_gradients(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = vector(c, two), *y = vector(c, four);
    lz_set_requires_grad(x, true);
    lz_set_requires_grad(y, true);
    lz_tensors made = lz__foreach_mul_List(c, LZ_TENSORS(x, y), LZ_TENSORS(y, y));
    if (lz_failed(c))
        return finish(c);
    lz__foreach_add__List(c, made, LZ_TENSORS(x, x));
    lz__foreach_maximum__List(c, made, LZ_TENSORS(x, x));
    lz_backward(c, lz_sum(c, lz_add_Tensor(c, made.v[0], made.v[1])));
    expect(c, lz_grad_of(x), 3 + 2, 4 + 2); /* xy + x + yy + x */
    expect(c, lz_grad_of(y), 1 + 6, 2 + 8);
    lz__foreach_neg_(c, LZ_TENSORS(x));
    refused(c, "a leaf Variable that requires grad is being used in an in-place operation");
    return finish(c);
}

/* Several written lists, one of them empty; a step that is skipped changes nothing. */
static lz_err *test_fused_update(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *p = vector(c, two), *g = vector(c, half), *m = lz_zeros(c, LZ_DIMS(2)),
              *v = lz_zeros(c, LZ_DIMS(2));
    lz_tensor *step = lz_ones(c, LZ_DIMS(1)), *found = lz_zeros(c, LZ_DIMS(1));
    const lz_tensors none = { NULL, 0 };
    for (int i = 0; i < 2; i++) {
        lz__fused_adam_(c, LZ_TENSORS(p), LZ_TENSORS(g), LZ_TENSORS(m), LZ_TENSORS(v), none, LZ_TENSORS(step),
                        0.1, 0.9, 0.99, 0.0, 1e-8, false, false, .found_inf = found);
        expect(c, p, 0.9f, 2.1f);
        expect(c, m, 0.05f, -0.05f);
        expect(c, v, 0.0025f, 0.0025f);
        found = lz_ones(c, LZ_DIMS(1));
    }
    lz__amp_foreach_non_finite_check_and_unscale_(c, LZ_TENSORS(p, g), found, lz_mul_Scalar(c, step, 2));
    expect(c, p, 1.8f, 4.2f);
    expect(c, g, 1, -1);
    return finish(c);
}

/* Numbers of a list are no part of the graph: each step has the same one. */
static lz_err *test_run_time_numbers(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    int64_t first = 0;
    lz_tensor *x = lz_retain(vector(c, two)), *y = lz_retain(vector(c, four));
    for (int i = 0; i < 4 && !lz_failed(c); i++) {
        const lz_scalar numbers[] = { LZ_S(i + 2.5), LZ_S(i + 0.5) };
        const lz_scalars list = { numbers, 2 };
        lz_scope *s = lz_scope_push(c);
        lz__foreach_add__ScalarList(c, LZ_TENSORS(x, y), list);
        lz__foreach_mul__Scalar(c, LZ_TENSORS(x, y), i + 1.5);
        lz_scope_pop(s);
        lz_mark_step(c);
        int64_t n = 0;
        lz_counter_value("UncachedCompile", &n);
        if (i == 1)
            first = n;
        if (!lz_failed(c))
            assert_true(i < 2 || n == first || lz_check_failing());
    }
    expect(c, x, 440.15625f, 499.21875f);
    expect(c, y, 320.90625f, 379.96875f);
    lz_release(x);
    lz_release(y);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_in_place),        LZ_TEST(test_shared_items), LZ_TEST(test_out),
        LZ_TEST(test_refusals),        LZ_TEST(test_gradients),    LZ_TEST(test_fused_update),
        LZ_TEST(test_run_time_numbers)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
