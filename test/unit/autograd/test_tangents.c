/* Derivatives of tangents. The function is sum(cumprod(sin x) * exp x) at (0.3, 0.7) along (1, 2): cumprod
 * has no forward formula, so both ways of finding tangents are gone. Numbers are PyTorch's (torch.func).
 * Every program also runs with each of its allocations failing. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>

static const double gradient[] = { 2.927833285362155, 0.8385380359381451 };
static const double product[] = { 7.617292845318471, 4.531409973899443 }; /* Hessian times direction */

typedef void program(lz_ctx *c, lz_tensor *x, lz_tensor *v);

static lz_tensor *pair(lz_ctx *c, double a, double b, bool leaf)
{
    lz_tensor *t = lz_from_memory(c, LZ_F64, LZ_DIMS(2), (const double[]){ a, b });
    if (leaf)
        lz_set_requires_grad(t, true);
    return t;
}

static lz_err *run(program *p, bool leaf)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    p(c, pair(c, 0.3, 0.7, leaf), pair(c, 1, 2, false));
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

static void expect(lz_ctx *c, lz_tensor *t, const double *want, int n)
{
    double got[2];
    if (lz_failed(c))
        return;
    assert_non_null(t);
    assert_int_equal(lz_tensor_numel(t), n);
    for (int i = 0; lz_read(t, got, sizeof got) && i < n; i++)
        if (fabs(got[i] - want[i]) > 1e-9)
            fail_msg("element %d is %.12g, not %.12g", i, got[i], want[i]);
}

static void refused(lz_ctx *c, lz_reason why)
{
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    assert_string_equal(lz_reason_name(lz_reason_of(c)), lz_reason_name(why));
    lz_clear(c);
}

static lz_tensor *value(lz_ctx *c, lz_tensor *x)
{
    return lz_sum(c, lz_mul_Tensor(c, lz_cumprod(c, lz_sin(c, x), 0), lz_exp(c, x)));
}

static lz_err *value_of(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    (void)user;
    out[0] = value(c, in.v[0]);
    return NULL;
}

static lz_err *gradient_of(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    (void)user;
    lz_grad(c, LZ_TENSORS(value(c, in.v[0])), LZ_TENSORS(in.v[0]), out, .create_graph = true);
    return NULL;
}

static lz_err *tangent_of(lz_ctx *c, lz_tensors in, lz_tensor **out, void *direction)
{
    lz_tensor *y;
    lz_jvp(c, value_of, NULL, in, LZ_TENSORS((lz_tensor *)direction), &y, out, 1);
    return NULL;
}

/* ---- Hessian times direction, in all orders ---- */

static void forward_over_reverse(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *g, *hv;
    lz_jvp(c, gradient_of, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &g, &hv, 1);
    expect(c, g, gradient, 2);
    expect(c, hv, product, 2);
    if (!lz_failed(c))
        assert_false(lz_requires_grad(g) || lz_requires_grad(hv)); /* nothing outside requires it */
}

static lz_err *test_forward_over_reverse(void)
{
    return run(forward_over_reverse, false);
}

static void reverse_over_reverse(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *g = NULL, *hv;
    lz_grad(c, LZ_TENSORS(value(c, x)), LZ_TENSORS(x), &g, .create_graph = true);
    lz_grad(c, LZ_TENSORS(g), LZ_TENSORS(x), &hv, .gradients = LZ_TENSORS(v));
    expect(c, hv, product, 2);
}

static lz_err *test_reverse_over_reverse(void)
{
    return run(reverse_over_reverse, true);
}

static void reverse_over_forward(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *y, *t, *out[1];
    lz_jvp(c, value_of, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    lz_grad(c, LZ_TENSORS(t), LZ_TENSORS(x), out, .retain_graph = true);
    expect(c, out[0], product, 2);
    lz_grad(c, LZ_TENSORS(y), LZ_TENSORS(x), out);
    expect(c, out[0], gradient, 2);
    LZ_NO_GRAD(c) lz_jvp(c, value_of, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    if (!lz_failed(c))
        assert_false(lz_requires_grad(y) || lz_requires_grad(t));
}

static lz_err *test_reverse_over_forward(void)
{
    return run(reverse_over_forward, true);
}

static void forward_over_forward(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *t, *tt;
    lz_jvp(c, tangent_of, v, LZ_TENSORS(x), LZ_TENSORS(v), &t, &tt, 1);
    expect(c, t, &(const double){ gradient[0] + 2 * gradient[1] }, 1);
    expect(c, tt, &(const double){ product[0] + 2 * product[1] }, 1);
}

static lz_err *test_forward_over_forward(void)
{
    return run(forward_over_forward, false);
}

/* ---- other things that require gradients ---- */

static void along_a_leaf(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *y, *t, *out[1];
    lz_set_requires_grad(v, true);
    lz_jvp(c, value_of, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    if (!lz_failed(c))
        assert_false(lz_requires_grad(y));
    lz_grad(c, LZ_TENSORS(t), LZ_TENSORS(v), out);
    expect(c, out[0], gradient, 2);
}

static lz_err *test_along_a_leaf(void)
{
    return run(along_a_leaf, false);
}

static lz_err *weigh(lz_ctx *c, lz_tensors in, lz_tensor **out, void *weight)
{
    out[0] = lz_mul_Tensor(c, lz_mul_Tensor(c, in.v[0], in.v[0]), weight);
    return NULL;
}

/* d(2 x v w)/dw */
static void weights_of_a_function(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *w = pair(c, 5, 7, true), *y, *t, *out[1];
    lz_jvp(c, weigh, w, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    lz_grad(c, LZ_TENSORS(lz_sum(c, t)), LZ_TENSORS(w), out);
    expect(c, out[0], (const double[]){ 0.6, 2.8 }, 2);
}

static lz_err *test_weights_of_a_function(void)
{
    return run(weights_of_a_function, false);
}

/* ---- what a function may do ---- */

static lz_err *checkpointed(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    (void)user;
    lz_checkpoint_begin(c);
    out[0] = value(c, in.v[0]);
    lz_checkpoint_end(c);
    return NULL;
}

static lz_err *freed_saved_values(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    lz_tensor *g;
    (void)user;
    out[0] = value(c, in.v[0]);
    lz_grad(c, LZ_TENSORS(out[0]), in, &g);
    return NULL;
}

static lz_err *give_user(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    (void)c;
    (void)in;
    out[0] = user;
    return NULL;
}

static void functions(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *y, *t;
    lz_jvp(c, checkpointed, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    expect(c, t, &(const double){ gradient[0] + 2 * gradient[1] }, 1);
    lz_jvp(c, freed_saved_values, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    refused(c, LZ_REASON_AUTOGRAD_BACKWARD);
    lz_jvp(c, NULL, NULL, LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    refused(c, LZ_REASON_ARGUMENT);
    lz_jvp(c, value_of, NULL, LZ_TENSORS(x), LZ_TENSORS(lz_sum(c, v)), &y, &t, 1);
    refused(c, LZ_REASON_SHAPE);
    lz_ctx *other = lz_open(NULL);
    if (!other)
        return;
    lz_jvp(c, give_user, pair(other, 1, 1, false), LZ_TENSORS(x), LZ_TENSORS(v), &y, &t, 1);
    bool out_of_memory = lz_failed(other);
    lz_close(other);
    if (out_of_memory) {
        lz_clear(c);
        lz_fail(c, LZ_HERE, LZ_ERR_MEMORY, "");
        return;
    }
    refused(c, LZ_REASON_CONTEXT);
    lz_tensor *n = lz_ones(c, LZ_INTS(2), .dtype = LZ_I64);
    lz_jvp(c, value_of, NULL, LZ_TENSORS(n), LZ_TENSORS(n), &y, &t, 1);
    refused(c, LZ_REASON_DTYPE);
}

static lz_err *test_functions(void)
{
    return run(functions, false);
}

/* ---- a tangent within a tangent ---- */

static lz_err *square(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    (void)user;
    out[0] = lz_mul_Tensor(c, in.v[0], in.v[0]);
    return NULL;
}

static lz_err *square_forward(lz_function_call *call, lz_tensors in, lz_tensor **out)
{
    lz_function_save(call, in.v[0]);
    return square(lz_function_ctx(call), in, out, NULL);
}

/* The derivative is symmetric, so its tangent is its gradient. */
static lz_err *square_backward(lz_function_call *call, lz_tensors grad, lz_tensor **out)
{
    lz_tensor *y;
    lz_jvp(lz_function_ctx(call), square, NULL, LZ_TENSORS(lz_function_saved(call, 0)), grad, &y, out, 1);
    return NULL;
}

static lz_err *nested(lz_ctx *c, lz_tensors in, lz_tensor **out, void *user)
{
    static const lz_function f = { "square", square_forward, square_backward, NULL };
    lz_tensor *e = lz_exp(c, in.v[0]), *s = lz_sin(c, in.v[1]), *y;
    (void)user;
    lz_function_apply(c, &f, NULL, LZ_TENSORS(s), &y, 1);
    out[0] = lz_add_Tensor(c, lz_mul_Tensor(c, y, s), e);
    return NULL;
}

/* exp(x) + sin(x)^3, the square of which asks for tangents while tangents go along. */
static void tangents_within(lz_ctx *c, lz_tensor *x, lz_tensor *v)
{
    lz_tensor *y, *t;
    double want[2];
    for (int i = 0; i < 2; i++) {
        double at = i ? 0.7 : 0.3;
        want[i] = (i + 1) * (exp(at) + 3 * sin(at) * sin(at) * cos(at));
    }
    lz_jvp(c, nested, NULL, LZ_TENSORS(x, x), LZ_TENSORS(v, v), &y, &t, 1);
    expect(c, t, want, 2);
}

static lz_err *test_tangents_within(void)
{
    return run(tangents_within, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_forward_over_reverse),
        LZ_TEST(test_reverse_over_reverse),
        LZ_TEST(test_reverse_over_forward),
        LZ_TEST(test_forward_over_forward),
        LZ_TEST(test_along_a_leaf),
        LZ_TEST(test_weights_of_a_function),
        LZ_TEST(test_functions),
        LZ_TEST(test_tangents_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
