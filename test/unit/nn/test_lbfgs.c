/* LBFGS against PyTorch's (test/torch/nn_facts.py): parameters, losses and the number of evaluations; its
 * state, and steps by closures of other optimisers. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 12, A = 3, B = 2, SIZE = A + B };

typedef struct valley {
    lz_ctx *c;
    lz_tensor *a, *b;
    double sign;
    int calls, fail_at;
} valley;

static valley make_valley(lz_ctx *c)
{
    static const double a[A] = { -1.2, 1.0, -0.7 }, b[B] = { 0.5, 2.0 };
    valley v = { .c = c, .sign = 1 };
    v.a = lz_clone(c, lz_from_memory(c, LZ_F64, LZ_DIMS(A), a));
    v.b = lz_clone(c, lz_from_memory(c, LZ_F64, LZ_DIMS(1, B), b));
    assert_true(lz_set_requires_grad(v.a, true) && lz_set_requires_grad(v.b, true));
    return v;
}

static lz_optim *make_optim(const valley *v, lz_optim_kind kind, const lz_optim_options *options)
{
    lz_named_tensor list[] = { { "a", v->a }, { "b", v->b } };
    lz_optim *o = lz_optim_create(v->c, kind);
    assert_true(lz_optim_add_group(o, (lz_named_tensors){ list, 2 }, options));
    return o;
}

/* Rosenbrock's function: sign * sum of 100 * (y - x^2)^2 + (1 - x)^2 for neighbours x, y. */
static lz_tensor *rosenbrock(lz_ctx *c, void *user)
{
    valley *v = user;
    if (++v->calls == v->fail_at)
        return lz_mm(c, v->a, v->a);
    lz_tensor *both[] = { v->a, lz_reshape(c, v->b, LZ_INTS(-1)) };
    lz_tensor *all = lz_cat(c, ((lz_tensors){ both, 2 }));
    lz_tensor *x = lz_narrow(c, all, 0, 0, SIZE - 1), *y = lz_narrow(c, all, 0, 1, SIZE - 1);
    lz_tensor *off = lz_sub_Tensor(c, y, lz_mul_Tensor(c, x, x)), *rest = lz_rsub_Scalar(c, x, 1);
    lz_tensor *far = lz_mul_Scalar(c, lz_mul_Tensor(c, off, off), 100);
    lz_tensor *loss =
        lz_mul_Scalar(c, lz_sum(c, lz_add_Tensor(c, far, lz_mul_Tensor(c, rest, rest))), v->sign);
    lz_backward(c, loss);
    return loss;
}

static void read_point(const valley *v, double out[SIZE])
{
    assert_true(lz_read(v->a, out, A * sizeof *out));
    assert_true(lz_read(v->b, out + A, B * sizeof *out));
}

static void read_fact(const valley *v, const lz_archive *file, const char *name, const char *part,
                      double *out, size_t n)
{
    char full[64];
    snprintf(full, sizeof full, "%s/%s", name, part);
    assert_true(lz_read(lz_archive_tensor(v->c, file, full), out, n * sizeof *out));
}

static const struct {
    const char *name;
    lz_optim_options o;
} cases[] = {
    { "lbfgs",
      { .lr = 0.01, .max_iter = 6, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history_size = 100 } },
    { "lbfgs_wolfe",
      { .lr = 1,
        .max_iter = 7,
        .tolerance_grad = 1e-7,
        .tolerance_change = 1e-9,
        .history_size = 100,
        .strong_wolfe = true } },
    { "lbfgs_all",
      { .lr = 0.3,
        .max_iter = 5,
        .max_eval = 4,
        .tolerance_grad = 1e-3,
        .tolerance_change = 1e-4,
        .history_size = 3,
        .maximize = true } },
    { "lbfgs_short",
      { .lr = 0.8,
        .max_iter = 4,
        .max_eval = 6,
        .tolerance_grad = 1e-7,
        .tolerance_change = 1e-12,
        .history_size = 2,
        .strong_wolfe = true } },
    { "lbfgs_far",
      { .lr = 40,
        .max_iter = 6,
        .max_eval = 30,
        .tolerance_grad = 1e-7,
        .tolerance_change = 1e-9,
        .history_size = 100,
        .strong_wolfe = true } },
};

/* Rounding grows along a narrow valley. */
static void expect_near(const char *name, int step, double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
        print_message("%s, step %d: %.17g, not %.17g\n", name, step, got, want);
    assert_true(fabs(got - want) <= 1e-9 * (1 + fabs(want)));
}

static void run_case(lz_ctx *c, const lz_archive *file, const char *name, lz_optim_options options)
{
    double points[STEPS][SIZE], losses[STEPS], evals[2], at[SIZE], loss = 0;
    valley v = make_valley(c);
    v.sign = options.maximize ? -1 : 1;
    read_fact(&v, file, name, "s", points[0], STEPS * SIZE);
    read_fact(&v, file, name, "loss", losses, STEPS);
    read_fact(&v, file, name, "evals", evals, 2);
    lz_optim *o = make_optim(&v, LZ_LBFGS, &options);
    for (int k = 0; k < STEPS; k++) {
        assert_true(lz_optim_step_with(o, rosenbrock, &v, &loss));
        assert_null(lz_grad_of(v.a));
        expect_near(name, k, loss, losses[k]);
        read_point(&v, at);
        for (int i = 0; i < SIZE; i++)
            expect_near(name, k, at[i], points[k][i]);
    }
    assert_int_equal(v.calls, (int)evals[0]);
    lz_optim_free(o);
}

static void test_recorded(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *file = lz_archive_open(c, LZ_SOURCE_DIR "/test/data/nn/optim_options.npz");
    assert_non_null(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lz_scope *s = lz_scope_push(c);
        run_case(c, file, cases[i].name, cases[i].o);
        lz_scope_pop(s);
    }
    lz_archive_close(file);
    lz_close(c);
}

/* The minimum is found, and the second step, another 25 evaluations, compiles no graph. */
static void test_minimum(void **state)
{
    (void)state;
    double at[SIZE], loss = 1;
    int64_t before = 0, after = 0;
    lz_ctx *c = lz_open(NULL);
    valley v = make_valley(c);
    lz_optim_options options = lz_optim_defaults(LZ_LBFGS);
    options.strong_wolfe = true;
    options.history_size = 5;
    lz_optim *o = make_optim(&v, LZ_LBFGS, &options);
    for (int k = 0; k < 6; k++) {
        assert_true(lz_optim_step_with(o, rosenbrock, &v, &loss));
        if (k < 2)
            lz_counter_value("UncachedCompile", k ? &after : &before);
    }
    assert_int_equal(after, before);
    assert_true(loss < 1e-11);
    read_point(&v, at);
    for (int i = 0; i < SIZE; i++)
        assert_true(fabs(at[i] - 1) < 1e-5);
    lz_optim_free(o);
    lz_close(c);
}

/* Another optimiser that gets the state of the first goes on as the first does. */
static void test_state(void **state)
{
    (void)state;
    double a[SIZE], b[SIZE];
    lz_ctx *c = lz_open(NULL), *other = lz_open(NULL);
    valley v = make_valley(c), w = make_valley(other);
    lz_optim_options options = cases[3].o;
    lz_optim *o = make_optim(&v, LZ_LBFGS, &options), *p = make_optim(&w, LZ_LBFGS, NULL);
    for (int k = 0; k < 3; k++)
        assert_true(lz_optim_step_with(o, rosenbrock, &v, NULL));
    assert_true(lz_optim_step_with(p, rosenbrock, &w, NULL)); /* what it has is replaced */
    lz_state *s = lz_state_create(c);
    assert_true(lz_optim_state(o, "opt.", s));
    assert_true(lz_find_tensor(lz_state_list(s), "opt.lbfgs.old_stps.1"));
    assert_null(lz_find_tensor(lz_state_list(s), "opt.lbfgs.old_stps.2"));
    assert_true(lz_optim_load_state(p, "opt.", lz_state_list(s)));
    read_point(&v, a);
    LZ_NO_GRAD(other)
    {
        lz_copy_(other, w.a, lz_from_memory(other, LZ_F64, LZ_DIMS(A), a));
        lz_copy_(other, w.b, lz_from_memory(other, LZ_F64, LZ_DIMS(1, B), a + A));
    }
    for (int k = 0; k < 3; k++) {
        assert_true(lz_optim_step_with(o, rosenbrock, &v, NULL));
        assert_true(lz_optim_step_with(p, rosenbrock, &w, NULL));
    }
    read_point(&v, a);
    read_point(&w, b);
    assert_memory_equal(a, b, sizeof a);
    lz_state_free(s);
    lz_optim_free(o);
    lz_optim_free(p);
    lz_close(c);
    lz_close(other);
}

static void expect_message(lz_ctx *c, const char *part)
{
    if (!strstr(lz_message(c), part))
        print_message("'%s' is not in: %s\n", part, lz_message(c));
    assert_non_null(strstr(lz_message(c), part));
    lz_clear(c);
}

static void test_refused(void **state)
{
    (void)state;
    const double one = 1;
    lz_ctx *c = lz_open(NULL);
    valley v = make_valley(c);
    lz_optim_options options = lz_optim_defaults(LZ_LBFGS);
    lz_optim *o = make_optim(&v, LZ_LBFGS, &options);
    assert_false(lz_optim_step(o));
    expect_message(c, "call lz_optim_step_with");
    assert_false(lz_optim_step_with(o, NULL, NULL, NULL));
    expect_message(c, "closure must not be NULL");
    for (v.fail_at = 1; v.fail_at < 4; v.fail_at++) {
        v.calls = 0;
        assert_false(lz_optim_step_with(o, rosenbrock, &v, NULL));
        expect_message(c, "mm");
    }
    lz_named_tensor more[] = { { "more", lz_ones(c, LZ_DIMS(2), .dtype = LZ_F64) } };
    assert_false(lz_optim_add_group(o, (lz_named_tensors){ more, 1 }, NULL));
    expect_message(c, "doesn't support per-parameter options");
    lz_optim_group(o, 0)->max_iter = 0;
    assert_false(lz_optim_step_with(o, rosenbrock, &v, NULL));
    expect_message(c, "max_iter must be at least 1");
    lz_named_tensor list[] = { { "group.0.lr", lz_from_memory(c, LZ_F64, ((lz_ints){ NULL, 0 }), &one) },
                               { "lbfgs.t", lz_from_memory(c, LZ_F64, ((lz_ints){ NULL, 0 }), &one) } };
    assert_false(lz_optim_load_state(o, "", (lz_named_tensors){ list, 2 }));
    expect_message(c, "parts of 'lbfgs' are missing");
    list[1].name = "lbfgs.q";
    assert_false(lz_optim_load_state(o, "", (lz_named_tensors){ list, 2 }));
    expect_message(c, "unexpected 'lbfgs.q'");
    list[1].name = "lbfgs.d";
    assert_false(lz_optim_load_state(o, "", (lz_named_tensors){ list, 2 }));
    expect_message(c, "'lbfgs.d' must have 5 elements");
    lz_optim_free(o);
    lz_close(c);
}

/* Other optimisers call the closure once: as backward pass and step do. */
static void test_closure_of_others(void **state)
{
    (void)state;
    double a[SIZE], b[SIZE], loss = 0, first = 0;
    lz_ctx *c = lz_open(NULL);
    valley v = make_valley(c), w = make_valley(c);
    lz_optim *o = make_optim(&v, LZ_ADAM, NULL), *p = make_optim(&w, LZ_ADAM, NULL);
    for (int k = 0; k < 3; k++) {
        lz_scope *s = lz_scope_push(c);
        assert_true(lz_optim_step_with(o, rosenbrock, &v, &loss));
        lz_tensor *f = rosenbrock(c, &w);
        assert_true(lz_optim_step(p));
        assert_true(lz_item(f).re == loss);
        first = k ? first : loss;
        lz_scope_pop(s);
    }
    assert_true(loss < first);
    assert_int_equal(v.calls, 3);
    read_point(&v, a);
    read_point(&w, b);
    assert_memory_equal(a, b, sizeof a);
    lz_optim_free(o);
    lz_optim_free(p);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_minimum),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_closure_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
