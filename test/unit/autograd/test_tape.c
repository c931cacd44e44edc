/* The tape as a user sees it. Every program also runs with each of its allocations failing: a
 * context that has failed is asked nothing more. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

typedef void program(lz_ctx *c);

static lz_err *run(program *p)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    p(c);
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

static lz_tensor *vector(lz_ctx *c, const double *v, int64_t n, bool leaf)
{
    lz_tensor *t = lz_from_memory(c, LZ_F64, LZ_DIMS(n), v);
    if (leaf)
        lz_set_requires_grad(t, true);
    return t;
}

static lz_tensor *leaf(lz_ctx *c, double a, double b)
{
    return vector(c, (const double[]){ a, b }, 2, true);
}

static lz_tensor *plain(lz_ctx *c, double a, double b)
{
    return vector(c, (const double[]){ a, b }, 2, false);
}

/* NULL t: there is nothing. */
static void expect(lz_ctx *c, lz_tensor *t, double a, double b)
{
    double got[2] = { 0, 0 };
    if (lz_failed(c))
        return;
    assert_non_null(t);
    if (!lz_read(t, got, sizeof got))
        return;
    if (fabs(got[0] - a) > 1e-9 || (lz_tensor_numel(t) > 1 && fabs(got[1] - b) > 1e-9))
        fail_msg("it is %g, %g, not %g, %g", got[0], got[1], a, b);
}

static void check(lz_ctx *c, bool holds)
{
    if (!lz_failed(c))
        assert_true(holds);
}

/* The last call was refused for this reason, unless memory was out. */
static void refused(lz_ctx *c, lz_reason why, const char *part)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    assert_true(lz_failed(c));
    assert_string_equal(lz_reason_name(lz_reason_of(c)), lz_reason_name(why));
    if (!strstr(lz_message(c), part))
        fail_msg("\"%s\" says nothing of \"%s\"", lz_message(c), part);
    lz_clear(c);
}

static lz_tensor *total(lz_ctx *c, lz_tensor *t)
{
    return lz_sum(c, t);
}

/* ---- leaves ---- */

static void leaves(lz_ctx *c)
{
    static const int64_t whole[] = { 1, 2 };
    lz_tensor *x = leaf(c, 2, 3), *n = lz_from_memory(c, LZ_I64, LZ_DIMS(2), whole);
    check(c, lz_requires_grad(x) && lz_is_leaf(x) && !lz_grad_fn(x) && !lz_grad_of(x));
    if (lz_failed(c))
        return;
    check(c, !lz_set_requires_grad(n, true));
    refused(c, LZ_REASON_DTYPE, "floating point dtype");
    lz_tensor *y = lz_mul_Tensor(c, x, x);
    int line = __LINE__ - 1;
    check(c, lz_requires_grad(y) && !lz_is_leaf(y));
    if (lz_failed(c))
        return;
    assert_string_equal(lz_grad_fn(y), "mul.Tensor");
    assert_int_equal(lz_grad_fn_place(y).line, line);
    check(c, !lz_set_requires_grad(y, false));
    refused(c, LZ_REASON_ARGUMENT, "leaf variables");
    check(c, !lz_requires_grad(lz_eq_Tensor(c, x, x)) && !lz_requires_grad(lz_detached(c, y)));
    lz_set_requires_grad(x, false);
    check(c, !lz_requires_grad(lz_mul_Tensor(c, x, x)));
}

static lz_err *test_leaves(void)
{
    return run(leaves);
}

static void gradients_are_added(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = plain(c, 5, 7);
    for (int i = 1; i <= 2; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_backward(c, total(c, lz_mul_Tensor(c, x, y)));
        lz_scope_pop(s);
        expect(c, lz_grad_of(x), 5.0 * i, 7.0 * i);
    }
    lz_backward(c, lz_mul_Tensor(c, x, y), .gradient = plain(c, 1, -1));
    expect(c, lz_grad_of(x), 15, 7);
    check(c, !lz_requires_grad(lz_grad_of(x)) && !lz_grad_of(y));
    lz_set_grad(x, NULL);
    check(c, !lz_grad_of(x));
    lz_set_grad(x, y);
    check(c, lz_grad_of(x) == y);
}

static lz_err *test_gradients_are_added(void)
{
    return run(gradients_are_added);
}

/* What a leaf gets is its own: writing to it changes no other gradient. */
static void gradients_are_apart(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = leaf(c, 5, 7);
    lz_backward(c, total(c, lz_add_Tensor(c, x, y)));
    if (lz_failed(c))
        return;
    lz_mul__Scalar(c, lz_grad_of(x), 10);
    expect(c, lz_grad_of(x), 10, 10);
    expect(c, lz_grad_of(y), 1, 1);
}

static lz_err *test_gradients_are_apart(void)
{
    return run(gradients_are_apart);
}

static void step(lz_ctx *c, lz_tensor *w, lz_tensor *x)
{
    lz_scope *s = lz_scope_push(c);
    lz_backward(c, total(c, lz_mul_Tensor(c, lz_mul_Tensor(c, w, w), x)));
    if (!lz_failed(c))
        LZ_NO_GRAD(c)
        {
            lz_sub__Tensor(c, w, lz_grad_of(w), .alpha = LZ_S(0.1));
        }
    lz_set_grad(w, NULL);
    lz_scope_pop(s);
    lz_mark_step(c);
}

/* w -= 0.1 * 2 w x, three times. */
static void training(lz_ctx *c)
{
    lz_tensor *w = leaf(c, 1, 2), *x = plain(c, 1, 0.5);
    double a = 1, b = 2;
    for (int i = 0; i < 3; i++) {
        step(c, w, x);
        a -= 0.1 * 2 * a;
        b -= 0.1 * 2 * b * 0.5;
    }
    expect(c, w, a, b);
    check(c, lz_requires_grad(w) && lz_is_leaf(w));
}

static lz_err *test_training(void)
{
    return run(training);
}

/* ---- higher orders ---- */

/* The n-th derivative of x^5. */
static void any_order(lz_ctx *c)
{
    static const double due[] = { 5 * 16, 20 * 8, 60 * 4, 120 * 2, 120 };
    lz_tensor *x = leaf(c, 2, 1), *y = lz_pow_Tensor_Scalar(c, x, 5), *g = NULL;
    for (int i = 0; i < 5 && !lz_failed(c); i++, y = g) {
        lz_grad(c, LZ_TENSORS(total(c, y)), LZ_TENSORS(x), &g, .create_graph = true);
        expect(c, g, due[i], due[i] / pow(2, 4 - i));
    }
    lz_tensor *left = lz_grad_of(x);
    check(c, !left);
}

static lz_err *test_any_order(void)
{
    return run(any_order);
}

/* A result that is kept leads to its node: exp'' = exp. */
static void kept_results(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 0, 1), *g = NULL, *gg = NULL;
    lz_tensor *y = total(c, lz_exp(c, x));
    lz_grad(c, LZ_TENSORS(y), LZ_TENSORS(x), &g, .create_graph = true);
    if (lz_failed(c))
        return;
    lz_grad(c, LZ_TENSORS(total(c, g)), LZ_TENSORS(x), &gg);
    expect(c, gg, 1, exp(1));
    check(c, !lz_requires_grad(gg));
}

static lz_err *test_kept_results(void)
{
    return run(kept_results);
}

static void inputs_that_are_unused(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = leaf(c, 1, 1), *z = lz_mul_Tensor(c, x, x), *g[2] = { NULL, NULL };
    lz_tensor *l = total(c, lz_mul_Tensor(c, z, x));
    check(c, lz_grad(c, LZ_TENSORS(l), LZ_TENSORS(x, y), g, .retain_graph = true, .allow_unused = true));
    expect(c, g[0], 12, 27);
    check(c, !g[1]);
    if (lz_failed(c))
        return;
    check(c, !lz_grad(c, LZ_TENSORS(l), LZ_TENSORS(x, y), g, .retain_graph = true));
    refused(c, LZ_REASON_ARGUMENT, "not have been used");
    check(c, lz_grad(c, LZ_TENSORS(l), LZ_TENSORS(z), g)); /* of a tensor in between */
    expect(c, g[0], 2, 3);
    check(c, !lz_grad_of(x));
}

static lz_err *test_inputs_that_are_unused(void)
{
    return run(inputs_that_are_unused);
}

static void some_leaves_only(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = leaf(c, 1, 4);
    lz_backward(c, total(c, lz_mul_Tensor(c, x, y)), .inputs = LZ_TENSORS(y));
    expect(c, lz_grad_of(y), 2, 3);
    check(c, !lz_grad_of(x));
}

static lz_err *test_some_leaves_only(void)
{
    return run(some_leaves_only);
}

/* ---- what is refused ---- */

static void second_backward(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Tensor(c, x, x);
    int line = __LINE__ - 1;
    char where[64];
    lz_tensor *l = total(c, y);
    check(c, lz_backward(c, l, .retain_graph = true));
    check(c, lz_backward(c, l));
    expect(c, lz_grad_of(x), 8, 12);
    if (lz_failed(c))
        return;
    check(c, !lz_backward(c, l));
    snprintf(where, sizeof where, "test_tape.c:%d", line);
    refused(c, LZ_REASON_AUTOGRAD_BACKWARD, where);
    lz_tensor *s = total(c, lz_add_Scalar(c, x, 1)); /* keeps nothing, so nothing is gone */
    check(c, lz_backward(c, s) && lz_backward(c, s));
}

static lz_err *test_second_backward(void)
{
    return run(second_backward);
}

static void not_to_go_back_from(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3);
    if (lz_failed(c))
        return;
    check(c, !lz_backward(c, lz_mul_Tensor(c, x, x)));
    refused(c, LZ_REASON_AUTOGRAD_BACKWARD, "scalar outputs");
    check(c, !lz_backward(c, total(c, plain(c, 1, 2))));
    refused(c, LZ_REASON_AUTOGRAD_BACKWARD, "does not require grad");
    lz_add_out(c, x, x, plain(c, 0, 0));
    refused(c, LZ_REASON_ARGUMENT, "out=");
}

static lz_err *test_not_to_go_back_from(void)
{
    return run(not_to_go_back_from);
}

static void both_lines_are_named(lz_ctx *c)
{
    char saved[512], written[512];
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Scalar(c, x, 2);
    lz_tensor *l = total(c, lz_mul_Tensor(c, y, y));
    snprintf(saved, sizeof saved, "mul.Tensor at %s:%d", __FILE__, __LINE__ - 1);
    lz_add__Scalar(c, y, 1);
    snprintf(written, sizeof written, "add_.Scalar at %s:%d", __FILE__, __LINE__ - 1);
    if (lz_failed(c))
        return;
    check(c, !lz_backward(c, l));
    if (lz_code_of(c) != LZ_ERR_MEMORY)
        assert_non_null(strstr(lz_message(c), saved));
    refused(c, LZ_REASON_AUTOGRAD_MODIFIED, written);
}

static lz_err *test_both_lines_are_named(void)
{
    return run(both_lines_are_named);
}

static void writes_that_are_refused(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3);
    if (lz_failed(c))
        return;
    lz_add__Scalar(c, x, 1);
    refused(c, LZ_REASON_AUTOGRAD_LEAF, "a leaf Variable");
    lz_add__Scalar(c, lz_view(c, x, LZ_DIMS(1, 2)), 1);
    refused(c, LZ_REASON_AUTOGRAD_LEAF, "a view of a leaf");
    lz_tensor *y = lz_mul_Scalar(c, x, 1), *v = NULL;
    lz_tensors halves = lz_chunk(c, y, 2);
    if (lz_failed(c))
        return;
    lz_add__Scalar(c, halves.v[0], 1);
    refused(c, LZ_REASON_AUTOGRAD_VIEW, "multiple views");
    LZ_NO_GRAD(c)
    {
        v = lz_view(c, y, LZ_DIMS(1, 2));
    }
    lz_add__Scalar(c, v, 1);
    refused(c, LZ_REASON_AUTOGRAD_VIEW, "no_grad");
    expect(c, x, 2, 3);
    expect(c, y, 2, 3);
}

static lz_err *test_writes_that_are_refused(void)
{
    return run(writes_that_are_refused);
}

/* ---- writes and views ---- */

/* y = x x; y[1] *= 10 x[0]; l = sum y. */
static void write_through_a_view(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Tensor(c, x, x), *whole = lz_view(c, y, LZ_DIMS(2, 1));
    lz_tensor *part = lz_slice_Tensor(c, y, .start = LZ_SOME(1), .end = LZ_SOME(2));
    lz_mul__Tensor(c, part, lz_mul_Scalar(c, lz_slice_Tensor(c, x, .end = LZ_SOME(1)), 10));
    expect(c, y, 4, 180);
    lz_backward(c, total(c, whole)); /* which has to be found from the base again */
    expect(c, lz_grad_of(x), 4 + 90, 120);
}

static lz_err *test_write_through_a_view(void)
{
    return run(write_through_a_view);
}

/* A base that is not row-major: the transposed one of a product. */
static void permuted_base(lz_ctx *c)
{
    static const double six[] = { 1, 2, 3, 4, 5, 6 };
    double got[6] = { 0 };
    lz_tensor *x = lz_from_memory(c, LZ_F64, LZ_DIMS(2, 3), six);
    lz_set_requires_grad(x, true);
    lz_tensor *t = lz_t(c, x), *y = lz_mul_Tensor(c, t, t); /* lies as t does */
    lz_tensor *row = lz_select_int(c, y, 0, 1);             /* x[:, 1] squared */
    lz_mul__Scalar(c, row, 3);
    lz_tensor *k = lz_from_memory(c, LZ_F64, LZ_DIMS(3, 2), six);
    lz_backward(c, total(c, lz_mul_Tensor(c, y, k)));
    if (lz_failed(c) || !lz_read(lz_grad_of(x), got, sizeof got))
        return;
    for (int i = 0; i < 6; i++) {
        int row_of = i % 3, column = i / 3;
        double due = 2 * six[i] * six[row_of * 2 + column] * (row_of == 1 ? 3 : 1);
        assert_true(fabs(got[i] - due) < 1e-9);
    }
}

static lz_err *test_permuted_base(void)
{
    return run(permuted_base);
}

/* An operator in place that is taken apart, one that cuts, one that turns its tensor round. */
static void other_writes(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Scalar(c, x, 1);
    lz_square_(c, y);
    lz_backward(c, total(c, y));
    expect(c, lz_grad_of(x), 4, 6);
    lz_set_grad(x, NULL);
    y = lz_mul_Scalar(c, x, 1);
    lz_eq__Scalar(c, y, 2);
    expect(c, y, 1, 0);
    lz_backward(c, total(c, y));
    expect(c, lz_grad_of(x), 0, 0);
    lz_set_grad(x, NULL);
    y = lz_mul_Tensor(c, x, x);
    lz_unsqueeze_(c, y, 0);
    lz_backward(c, total(c, lz_mul_Tensor(c, y, plain(c, 1, 10))));
    expect(c, lz_grad_of(x), 4, 60);
}

static lz_err *test_other_writes(void)
{
    return run(other_writes);
}

/* What a formula keeps of self is what was there before the write. */
static void old_values(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *w = leaf(c, 5, 7), *y = lz_mul_Scalar(c, x, 1);
    lz_mul__Tensor(c, y, w);
    lz_backward(c, total(c, y));
    expect(c, lz_grad_of(w), 2, 3);
    expect(c, lz_grad_of(x), 5, 7);
}

static lz_err *test_old_values(void)
{
    return run(old_values);
}

static void apart_from_history(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Scalar(c, x, 2), *d = lz_detached(c, y);
    lz_mul__Scalar(c, d, 5); /* changes y's elements, not its history */
    expect(c, y, 20, 30);
    lz_backward(c, total(c, y));
    expect(c, lz_grad_of(x), 2, 2);
    check(c, !lz_requires_grad(lz_view(c, d, LZ_DIMS(2, 1))));
    lz_backward(c, total(c, lz_copy_to(c, x, lz_tensor_device(x))));
    expect(c, lz_grad_of(x), 3, 3);
    lz_detach_(c, y);
    check(c, !lz_requires_grad(y));
}

static lz_err *test_apart_from_history(void)
{
    return run(apart_from_history);
}

/* ---- modes ---- */

static void modes(lz_ctx *c)
{
    lz_tensor *x = leaf(c, 2, 3), *y = NULL, *z = NULL;
    LZ_NO_GRAD(c)
    {
        check(c, lz_get_grad_mode(c) == LZ_GRAD_OFF);
        y = lz_mul_Tensor(c, x, x);
        lz_add__Scalar(c, x, 1); /* as an optimiser does */
    }
    check(c, lz_get_grad_mode(c) == LZ_GRAD_ON && !lz_requires_grad(y));
    expect(c, x, 3, 4);
    LZ_INFERENCE(c)
    {
        z = lz_mul_Tensor(c, x, x);
    }
    if (lz_failed(c))
        return;
    check(c, !lz_set_requires_grad(z, true));
    refused(c, LZ_REASON_ARGUMENT, "inference tensor");
    lz_mul_Tensor(c, x, z);
    refused(c, LZ_REASON_ARGUMENT, "Inference tensors cannot be saved");
    lz_add__Scalar(c, z, 1);
    refused(c, LZ_REASON_ARGUMENT, "Inplace update to inference tensor");
    check(c, lz_requires_grad(lz_add_Tensor(c, x, z))); /* keeps nothing of it */
}

static lz_err *test_modes(void)
{
    return run(modes);
}

/* ---- hooks ---- */

typedef struct seen {
    int calls;
    double factor;
} seen;

static lz_tensor *scale(lz_ctx *c, lz_tensor *grad, void *user)
{
    seen *s = user;
    s->calls++;
    return s->factor != 0 ? lz_mul_Scalar(c, grad, s->factor) : NULL;
}

static void saw_leaf(lz_ctx *c, lz_tensor *x, void *user)
{
    seen *s = user;
    s->calls += lz_grad_of(x) != NULL;
    (void)c;
}

static void hooks(lz_ctx *c)
{
    seen looks = { 0, 0 }, scales = { 0, 10 }, done = { 0, 0 };
    lz_tensor *x = leaf(c, 2, 3), *y = lz_mul_Tensor(c, x, x);
    lz_add_grad_hook(y, scale, &looks);
    int64_t id = lz_add_grad_hook(y, scale, &scales), on_leaf = lz_add_grad_hook(x, scale, &scales);
    lz_add_leaf_hook(x, saw_leaf, &done);
    lz_retain_grad(y);
    lz_tensor *l = total(c, y);
    check(c, id > 0 && on_leaf > 0 && id != on_leaf);
    lz_backward(c, l, .retain_graph = true);
    expect(c, lz_grad_of(x), 400, 600);
    expect(c, lz_grad_of(y), 10, 10);
    check(c, looks.calls == 1 && scales.calls == 2 && done.calls == 1);
    check(c, lz_remove_hook(y, id) && lz_remove_hook(x, on_leaf) && !lz_remove_hook(y, id));
    lz_set_grad(x, NULL);
    lz_backward(c, l);
    expect(c, lz_grad_of(x), 4, 6);
    expect(c, lz_grad_of(y), 11, 11);
}

static lz_err *test_hooks(void)
{
    return run(hooks);
}

/* ---- functions of the user ---- */

/* out = in0 * in1 and in0 > 0; gradient for in0 only if somebody wants it. */
static int drops;

static lz_err *product_forward(lz_function_call *call, lz_tensors in, lz_tensor **out)
{
    lz_ctx *c = lz_function_ctx(call);
    out[0] = lz_mul_Tensor(c, in.v[0], in.v[1]);
    out[1] = lz_gt_Scalar(c, in.v[0], 0);
    lz_function_save(call, in.v[0]);
    lz_function_save(call, in.v[1]);
    lz_function_save(call, out[0]);
    lz_function_no_grad(call, 1);
    return NULL;
}

static lz_err *product_backward(lz_function_call *call, lz_tensors grad_out, lz_tensor **grad_in)
{
    lz_ctx *c = lz_function_ctx(call);
    seen *s = lz_function_user(call);
    s->calls += lz_function_needs(call, 0) + 10 * lz_function_needs(call, 1);
    for (size_t i = 0; i < 2; i++)
        if (lz_function_needs(call, i))
            grad_in[i] = lz_mul_Tensor(c, grad_out.v[0], lz_function_saved(call, 1 - i));
    expect(c, lz_function_saved(call, 2), 10, 21);
    return NULL;
}

static void dropped(void *user)
{
    (void)user;
    drops++;
}

static const lz_function product = { "product", product_forward, product_backward, dropped };

static void functions(lz_ctx *c)
{
    seen s = { 0, 0 };
    lz_tensor *x = leaf(c, 2, 3), *w = leaf(c, 5, 7), *out[2], *g = NULL, *gg = NULL;
    drops = 0;
    check(c, lz_function_apply(c, &product, &s, LZ_TENSORS(x, w), out, 2));
    if (lz_failed(c))
        return;
    assert_string_equal(lz_grad_fn(out[0]), "product");
    check(c, lz_requires_grad(out[0]) && !lz_requires_grad(out[1]));
    lz_grad(c, LZ_TENSORS(total(c, out[0])), LZ_TENSORS(x), &g, .create_graph = true);
    expect(c, g, 5, 7);
    check(c, s.calls == 1);
    if (lz_failed(c))
        return;
    lz_grad(c, LZ_TENSORS(total(c, lz_mul_Tensor(c, g, g))), LZ_TENSORS(w), &gg, .retain_graph = true);
    expect(c, gg, 10, 14);
    lz_backward(c, total(c, out[0]));
    expect(c, lz_grad_of(x), 5, 7);
    expect(c, lz_grad_of(w), 2, 3);
    check(c, s.calls == 12 && drops == 0);
}

static lz_err *test_functions(void)
{
    lz_err *e = run(functions);
    if (!e)
        assert_int_equal(drops, 1);
    return e;
}

/* Nothing requires a gradient, or forward fails: the user's data goes at once. */
static lz_err *refusing(lz_function_call *call, lz_tensors in, lz_tensor **out)
{
    (void)call, (void)in, (void)out;
    return lz_errf(LZ_ERR_ARG, "not today");
}

static void functions_without_a_tape(lz_ctx *c)
{
    static const lz_function never = { "never", refusing, product_backward, dropped };
    lz_tensor *x = plain(c, 2, 3), *w = plain(c, 5, 7), *out[2];
    drops = 0;
    check(c, lz_function_apply(c, &product, NULL, LZ_TENSORS(x, w), out, 2));
    check(c, drops == 1);
    expect(c, out[0], 10, 21);
    if (lz_failed(c))
        return;
    check(c, !lz_function_apply(c, &never, NULL, LZ_TENSORS(x, w), out, 2));
    refused(c, LZ_REASON_ARGUMENT, "not today");
    check(c, drops == 2 && lz_tensor_is_inert(out[0]));
}

static lz_err *test_functions_without_a_tape(void)
{
    return run(functions_without_a_tape);
}

/* ---- forward mode ---- */

static lz_err *product_only(lz_function_call *call, lz_tensors grad_out, lz_tensor **grad_in)
{
    lz_ctx *c = lz_function_ctx(call);
    for (size_t i = 0; i < 2; i++)
        grad_in[i] = lz_mul_Tensor(c, grad_out.v[0], lz_function_saved(call, 1 - i));
    return NULL;
}

static const lz_function plain_product = { "plain_product", product_forward, product_only, NULL };

/* Writes, a view, an operator without a forward formula, a function of the user. */
static lz_err *winding(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    lz_tensor *y = lz_mul_Tensor(c, in.v[0], in.v[1]), *both[2];
    lz_mul__Tensor(c, lz_slice_Tensor(c, y, .start = LZ_SOME(1)),
                   lz_slice_Tensor(c, in.v[0], .end = LZ_SOME(1)));
    lz_exp_(c, y);
    lz_tensor *z = lz_cumprod(c, y, 0);
    if (!lz_function_apply(c, &plain_product, user, LZ_TENSORS(z, in.v[1]), both, 2))
        return NULL;
    out[0] = both[0];
    out[1] = lz_mul_Scalar(c, plain(c, 1, 2), 3);
    return NULL;
}

/* <u, J v> = <J' u, v>, where J' is what goes back. */
static void tangents(lz_ctx *c)
{
    double forward[2] = { 0 }, back[2][2] = { { 0 } };
    const double u[] = { 0.3, -0.7 }, v[] = { 0.2, 0.5 }, w[] = { -0.4, 0.1 };
    lz_tensor *x = leaf(c, 0.5, 0.25), *k = leaf(c, -0.3, 0.8), *out[2] = { NULL }, *t[2] = { NULL };
    lz_jvp(c, winding, NULL, LZ_TENSORS(x, k), LZ_TENSORS(vector(c, v, 2, false), vector(c, w, 2, false)),
           out, t, 2);
    check(c, lz_requires_grad(out[0]) && !lz_requires_grad(out[1]) && t[0] && !t[1]);
    expect(c, out[1], 3, 6);
    if (lz_failed(c) || !lz_read(t[0], forward, sizeof forward))
        return;
    lz_tensor *again[2] = { NULL };
    lz_err *e = winding(c, LZ_TENSORS(x, k), again, NULL);
    assert_null(e);
    if (lz_failed(c))
        return;
    lz_backward(c, again[0], .gradient = vector(c, u, 2, false));
    if (lz_failed(c) || !lz_read(lz_grad_of(x), back[0], sizeof back[0])
        || !lz_read(lz_grad_of(k), back[1], sizeof back[1]))
        return;
    double left = u[0] * forward[0] + u[1] * forward[1];
    double right = back[0][0] * v[0] + back[0][1] * v[1] + back[1][0] * w[0] + back[1][1] * w[1];
    assert_true(fabs(left) > 1e-3 && fabs(left - right) < 1e-12);
}

static lz_err *test_tangents(void)
{
    return run(tangents);
}

/* ---- size and life ---- */

enum { DEEP = 200 * 1000 };

static void *deep_chain(void *arg)
{
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = leaf(c, 1, 2);
    lz_tensor *y = lz_retain(x);
    for (int i = 0; i < DEEP && !lz_failed(c); i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *next = lz_retain(lz_sin(c, y)); /* keeps its argument */
        lz_scope_pop(s);
        lz_release(y);
        y = next;
    }
    lz_tensor *unused = lz_retain(lz_mul_Tensor(c, y, y));
    lz_backward(c, total(c, y));
    lz_tensor *g = lz_grad_of(x);
    assert_true(!lz_failed(c) && g);
    lz_release(y);
    lz_release(unused); /* and with it all nodes */
    *(bool *)arg = !lz_failed(c);
    lz_close(c);
    return NULL;
}

/* Depth costs memory, not stack. */
static void test_depth(void **state)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool fine = false;
    (void)state;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, LZ_SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, deep_chain, &fine), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_true(fine);
}

static int64_t counted(const char *name)
{
    int64_t v = 0;
    return lz_counter_value(name, &v) ? v : 0;
}

static int64_t living(void)
{
    return counted("CreateLtcTensor") - counted("DestroyLtcTensor");
}

/* Steps leave nothing behind, and are one graph that is compiled once or twice. */
static void test_steps_repeat(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *w = leaf(c, 1, 2), *x = plain(c, 1, 0.5);
    step(c, w, x);
    step(c, w, x);
    int64_t before = living(), compiled = counted("UncachedCompile");
    for (int i = 0; i < 5; i++)
        step(c, w, x);
    assert_int_equal(living(), before);
    assert_int_equal(counted("UncachedCompile"), compiled);
    assert_string_equal(lz_message(c), "");
    lz_close(c);
}

/* Without scopes of its own a program keeps what it was given, and nothing else. */
static void test_what_is_left(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_tensor *x = lz_reshape(c, plain(c, 1, 2), LZ_DIMS(1, 2)), *w = leaf(c, 3, 4), *g = NULL;
    int64_t before = living();
    lz_tensor *y = lz_linear(c, x, lz_reshape(c, w, LZ_DIMS(1, 2)));
    assert_int_equal(living(), before + 2);
    lz_square_(c, y);
    lz_mul__Scalar(c, y, 3);
    assert_int_equal(living(), before + 2);
    lz_grad(c, LZ_TENSORS(y), LZ_TENSORS(w), &g, .retain_graph = true);
    assert_int_equal(living(), before + 3);
    lz_backward(c, y);
    assert_int_equal(living(), before + 4); /* the gradient of w */
    assert_string_equal(lz_message(c), "");
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_leaves),
        LZ_TEST(test_gradients_are_added),
        LZ_TEST(test_gradients_are_apart),
        LZ_TEST(test_training),
        LZ_TEST(test_any_order),
        LZ_TEST(test_kept_results),
        LZ_TEST(test_inputs_that_are_unused),
        LZ_TEST(test_some_leaves_only),
        LZ_TEST(test_second_backward),
        LZ_TEST(test_not_to_go_back_from),
        LZ_TEST(test_both_lines_are_named),
        LZ_TEST(test_writes_that_are_refused),
        LZ_TEST(test_write_through_a_view),
        LZ_TEST(test_permuted_base),
        LZ_TEST(test_other_writes),
        LZ_TEST(test_old_values),
        LZ_TEST(test_apart_from_history),
        LZ_TEST(test_modes),
        LZ_TEST(test_hooks),
        LZ_TEST(test_functions),
        LZ_TEST(test_functions_without_a_tape),
        LZ_TEST(test_tangents),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_steps_repeat),
        cmocka_unit_test(test_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
