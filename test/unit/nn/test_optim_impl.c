/* Optimisers, clipping and schedules against PyTorch's (test/torch/nn_facts.py), and what a step records. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>

enum { STEPS = 12, ROWS = 3, COLUMNS = 4, SIZE = ROWS * COLUMNS, RATES = 300 };

static lz_archive *open_facts(lz_ctx *c, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/test/data/nn/%s", LZ_SOURCE_DIR, name);
    lz_archive *a = lz_archive_open(c, path);
    assert_non_null(a);
    return a;
}

static void read_fact(lz_ctx *c, const lz_archive *a, const char *name, const char *part, double *out,
                      size_t n)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", name, part);
    assert_true(lz_read(lz_archive_tensor(c, a, full), out, n * sizeof *out));
}

/* tolerance: a difference for each step so far; 0: that of rounding. */
static void expect_near(const char *name, int step, const double *got, const double *want, int n,
                        double tolerance)
{
    for (int i = 0; i < n; i++) {
        double most = 1e-13 * (1 + fabs(want[i])) + tolerance * (step + 1);
        if (!(fabs(got[i] - want[i]) <= most))
            print_message("%s, step %d: %.17g, not %.17g\n", name, step, got[i], want[i]);
        assert_true(fabs(got[i] - want[i]) <= most);
    }
}

static void expect_close(const char *name, int step, const double *got, const double *want, int n)
{
    expect_near(name, step, got, want, n, 0);
}

/* ---- updates ---- */

static const struct {
    const char *name;
    lz_optim_kind kind;
    lz_optim_options o; /* all 0: the defaults */
} cases[] = {
    { "sgd", LZ_SGD, { .lr = 0.1 } },
    { "sgd_momentum", LZ_SGD, { .lr = 0.05, .momentum = 0.9, .weight_decay = 0.01 } },
    { "sgd_dampened", LZ_SGD, { .lr = 0.05, .momentum = 0.8, .dampening = 0.3, .maximize = true } },
    { "sgd_nesterov", LZ_SGD, { .lr = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.1 } },
    { "adam", LZ_ADAM, { .lr = 0 } },
    { "adam_all",
      LZ_ADAM,
      { .lr = 0.02, .betas = { 0.8, 0.95 }, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true } },
    { "adamw", LZ_ADAMW, { .lr = 0 } },
    { "adamw_all",
      LZ_ADAMW,
      { .lr = 0.02,
        .betas = { 0.8, 0.95 },
        .eps = 1e-8,
        .weight_decay = 0.2,
        .amsgrad = true,
        .maximize = true } },
    { "rmsprop", LZ_RMSPROP, { .lr = 0 } },
    { "rmsprop_all",
      LZ_RMSPROP,
      { .lr = 0.02, .alpha = 0.9, .momentum = 0.7, .centered = true, .weight_decay = 0.1, .eps = 1e-4 } },
    { "adagrad", LZ_ADAGRAD, { .lr = 0 } },
    { "adagrad_all",
      LZ_ADAGRAD,
      { .lr = 0.1, .lr_decay = 0.05, .weight_decay = 0.1, .initial_accumulator_value = 0.3, .eps = 1e-4 } },
};

/* The kinds of optim_more.npz. Muon iterates in bfloat16, which rounds to 2^-9: what it moves by is compared.
 */
static const struct {
    const char *name;
    lz_optim_kind kind;
    lz_optim_options o;
    double tolerance;
} more[] = {
    { "adadelta", LZ_ADADELTA, { .lr = 0 }, 0 },
    { "adadelta_all",
      LZ_ADADELTA,
      { .lr = 0.5, .rho = 0.8, .eps = 1e-3, .weight_decay = 0.1, .maximize = true },
      0 },
    { "adamax", LZ_ADAMAX, { .lr = 0 }, 0 },
    { "adamax_all",
      LZ_ADAMAX,
      { .lr = 0.02, .betas = { 0.8, 0.95 }, .eps = 1e-3, .weight_decay = 0.1, .maximize = true },
      0 },
    { "asgd", LZ_ASGD, { .lr = 0 }, 0 },
    { "asgd_all",
      LZ_ASGD,
      { .lr = 0.05, .lambd = 0.02, .alpha = 0.6, .t0 = 4, .weight_decay = 0.1, .maximize = true },
      0 },
    { "nadam", LZ_NADAM, { .lr = 0 }, 0 },
    { "nadam_all",
      LZ_NADAM,
      { .lr = 0.02,
        .betas = { 0.8, 0.95 },
        .eps = 1e-3,
        .weight_decay = 0.1,
        .momentum_decay = 0.02,
        .decoupled_weight_decay = true,
        .maximize = true },
      0 },
    { "radam", LZ_RADAM, { .lr = 0 }, 0 },
    { "radam_all",
      LZ_RADAM,
      { .lr = 0.02,
        .betas = { 0.8, 0.95 },
        .eps = 1e-3,
        .weight_decay = 0.1,
        .decoupled_weight_decay = true,
        .maximize = true },
      0 },
    { "rprop", LZ_RPROP, { .lr = 0 }, 0 },
    { "rprop_all",
      LZ_RPROP,
      { .lr = 0.02, .etas = { 0.4, 1.5 }, .step_sizes = { 0.005, 0.1 }, .maximize = true },
      0 },
    { "adafactor", LZ_ADAFACTOR, { .lr = 0 }, 0 },
    { "adafactor_all",
      LZ_ADAFACTOR,
      { .lr = 0.2,
        .beta2_decay = -0.5,
        .eps = 1e-3,
        .eps2 = 0.01,
        .d = 1.5,
        .weight_decay = 0.1,
        .maximize = true },
      0 },
    { "muon", LZ_MUON, { .lr = 0 }, 1e-3 * 0x1p-6 },
    { "muon_all",
      LZ_MUON,
      { .lr = 0.05,
        .weight_decay = 0.2,
        .momentum = 0.8,
        .eps = 1e-7,
        .ns_steps = 3,
        .ns_coefficients = { 3.4445, -4.7750, 2.0315 },
        .match_rms_adamw = true },
      0.05 * 0x1p-6 },
};

/* Of optim_options.npz. */
static const struct {
    const char *name;
    lz_optim_kind kind;
    lz_optim_options o;
    double tolerance;
} later[] = {
    { "adam_decoupled",
      LZ_ADAM,
      { .lr = 0.02,
        .betas = { 0.9, 0.999 },
        .eps = 1e-8,
        .weight_decay = 0.2,
        .decoupled_weight_decay = true },
      0 },
    { "muon_spectral",
      LZ_MUON,
      { .lr = 0.05,
        .weight_decay = 0.1,
        .momentum = 0.95,
        .nesterov = true,
        .eps = 1e-7,
        .ns_steps = 5,
        .ns_coefficients = { 3.4445, -4.7750, 2.0315 },
        .spectral_unclamped = true },
      0.05 * 0x1p-6 },
};

static void run_case(lz_ctx *c, const lz_archive *file, const char *fact, lz_optim_kind kind,
                     const lz_optim_options *options, lz_ints sizes, double tolerance)
{
    static double grads[STEPS][SIZE], want[STEPS][SIZE], got[SIZE];
    char name[64];
    read_fact(c, file, fact, "/g", grads[0], STEPS * SIZE);
    read_fact(c, file, fact, "/s", want[0], STEPS * SIZE);
    snprintf(name, sizeof name, "%s/p", fact);
    lz_tensor *p = lz_clone(c, lz_archive_tensor(c, file, name));
    assert_true(lz_set_requires_grad(p, true));
    lz_optim *o = lz_optim_create(c, kind);
    lz_named_tensor list[] = { { "p", p } };
    assert_true(lz_optim_add_group(o, (lz_named_tensors){ list, 1 }, options->lr > 0 ? options : NULL));
    for (int k = 0; k < STEPS; k++) {
        lz_scope *s = lz_scope_push(c);
        if (k == STEPS / 2 && sizes.n > 1)
            lz_optim_set_lr(o, lz_optim_lr(o) * 0.5);
        if (k != 2 || sizes.n == 1)
            assert_true(lz_set_grad(p, lz_from_memory(c, LZ_F64, sizes, grads[k])));
        assert_true(lz_optim_step(o));
        assert_null(lz_grad_of(p));
        lz_scope_pop(s);
        assert_true(lz_mark_step(c));
        assert_true(lz_read(p, got, sizeof got));
        expect_near(fact, k, got, want[k], SIZE, tolerance);
    }
    lz_optim_free(o);
}

static void test_updates(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *file = open_facts(c, "optim.npz");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lz_scope *s = lz_scope_push(c);
        run_case(c, file, cases[i].name, cases[i].kind, &cases[i].o, LZ_DIMS(ROWS, COLUMNS), 0);
        lz_scope_pop(s);
    }
    lz_archive_close(file);
    lz_close(c);
}

static void test_more_updates(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *file = open_facts(c, "optim_more.npz");
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        lz_scope *s = lz_scope_push(c);
        run_case(c, file, more[i].name, more[i].kind, &more[i].o, LZ_DIMS(ROWS, COLUMNS), more[i].tolerance);
        lz_scope_pop(s);
    }
    lz_optim_options vector = lz_optim_defaults(LZ_ADAFACTOR);
    vector.lr = 0.1;
    run_case(c, file, "vector", LZ_ADAFACTOR, &vector, LZ_DIMS(SIZE), 0);
    lz_archive_close(file);
    file = open_facts(c, "optim_options.npz");
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        lz_scope *s = lz_scope_push(c);
        run_case(c, file, later[i].name, later[i].kind, &later[i].o, LZ_DIMS(ROWS, COLUMNS),
                 later[i].tolerance);
        lz_scope_pop(s);
    }
    lz_archive_close(file);
    lz_close(c);
}

static void check_clip_refusals(lz_ctx *c, lz_module *m, lz_tensor *p)
{
    assert_true(lz_tensor_is_inert(lz_clip_grad_norm(m, -1.0)));
    assert_non_null(strstr(lz_message(c), "max_norm must not be negative"));
    lz_clear(c);
    assert_true(lz_tensor_is_inert(lz_clip_grad_norm(m, 1.0, .norm_type = NAN)));
    lz_clear(c);
    assert_false(lz_clip_grad_value(m, -1.0));
    assert_non_null(strstr(lz_message(c), "the value must not be negative"));
    lz_clear(c);
    assert_false(lz_tensor_is_inert(lz_clip_grad_norm(m, 1.0, .error_if_nonfinite = true)));
    assert_true(lz_set_grad(p, lz_full(c, LZ_DIMS(5), INFINITY, .dtype = LZ_F64)));
    assert_true(isinf(lz_item(lz_clip_grad_norm(m, 1.0, .norm_type = INFINITY)).re));
    assert_true(lz_set_grad(p, lz_full(c, LZ_DIMS(5), INFINITY, .dtype = LZ_F64)));
    assert_true(lz_tensor_is_inert(lz_clip_grad_norm(m, 1.0, .error_if_nonfinite = true)));
    assert_non_null(strstr(lz_message(c), "not finite"));
    lz_clear(c);
    assert_true(isinf(lz_item(lz_max(c, lz_grad_of(p))).re));
}

static void test_clipping(void **state)
{
    static const struct {
        const char *name;
        double type;
    } norms[] = { { "2", 2 }, { "1", 1 }, { "inf", INFINITY } };
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *file = open_facts(c, "optim.npz");
    lz_module *m = lz_module_create(c);
    lz_tensor *p[2] = { lz_zeros(c, LZ_DIMS(ROWS, COLUMNS), .dtype = LZ_F64),
                        lz_zeros(c, LZ_DIMS(5), .dtype = LZ_F64) };
    lz_module_add_param(m, "a", p[0]);
    lz_module_add_param(m, "b", p[1]);
    lz_module_add_param(m, "unused", lz_zeros(c, LZ_DIMS(5), .dtype = LZ_F64));
    for (int i = 0; i < 3; i++) {
        double want[SIZE], got[SIZE];
        char name[32];
        assert_true(lz_set_grad(p[0], lz_archive_tensor(c, file, "clip/g0")));
        assert_true(lz_set_grad(p[1], lz_archive_tensor(c, file, "clip/g1")));
        lz_tensor *norm = lz_clip_grad_norm(m, 0.7, .norm_type = norms[i].type);
        assert_true(lz_read(norm, got, sizeof got));
        read_fact(c, file, "clip/norm_", norms[i].name, want, 1);
        expect_close("norm", i, got, want, 1);
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "clip/c%d_", k);
            read_fact(c, file, name, norms[i].name, want, SIZE);
            assert_true(lz_read(lz_grad_of(p[k]), got, sizeof got));
            expect_close("gradient", i, got, want, k ? 5 : SIZE);
        }
    }
    assert_true(lz_clip_grad_value(m, 0.01));
    assert_true(lz_item(lz_max(c, lz_abs(c, lz_grad_of(p[0])))).re <= 0.01);
    check_clip_refusals(c, m, p[1]);
    lz_module_free(m);
    lz_archive_close(file);
    lz_close(c);
}

/* ---- schedules ---- */

static double metric[RATES];

static lz_plateau watched[] = {
    LZ_PLATEAU,
    { .factor = 0.5,
      .patience = 3,
      .threshold = 0.01,
      .absolute = true,
      .cooldown = 4,
      .least = 1e-3,
      .eps = 1e-8 },
    { .factor = 0.7, .patience = 5, .threshold = 1e-4, .eps = 1e-8, .upwards = true },
};

static double watch(lz_plateau *p, int t, double was)
{
    return t == 0 ? 0.3 : lz_schedule_plateau(p, was, metric[t - 1]);
}

/* Rates after t steps, and the one before. */
#define SCHEDULES(X)                                                                                         \
    X(step, lz_schedule_step(0.3, t, 30, 0.5))                                                               \
    X(multistep, lz_schedule_multistep(0.3, t, LZ_INTS(20, 90, 91, 250), 0.3))                               \
    X(exponential, lz_schedule_exponential(0.3, t, 0.97))                                                    \
    X(cosine, lz_schedule_cosine(0.3, t, 100, 0.01))                                                         \
    X(restarts, lz_schedule_cosine_restarts(0.3, t, 40, 1, 0.02))                                            \
    X(restarts_grow, lz_schedule_cosine_restarts(0.3, t, 10, 2, 0.02))                                       \
    X(constant, lz_schedule_constant(0.3, t, 0.25, 17))                                                      \
    X(linear, lz_schedule_linear(0.3, t, 0.1, 0.9, 50))                                                      \
    X(polynomial, lz_schedule_polynomial(0.3, t, 120, 2))                                                    \
    X(one_cycle, lz_schedule_one_cycle(0.3, t, RATES))                                                       \
    X(one_cycle_linear, lz_schedule_one_cycle(0.3, t, RATES, .linear = true, .pct_start = 0.21,              \
                                              .div_factor = 10, .final_div_factor = 100))                    \
    X(one_cycle_three, lz_schedule_one_cycle(0.3, t, RATES, .three_phase = true, .pct_start = 0.4))          \
    X(cyclic, lz_schedule_cyclic(0.1, t, 0.5, 20))                                                           \
    X(cyclic_halves, lz_schedule_cyclic(0.1, t, 0.5, 7, .down = 19, .mode = LZ_TRIANGULAR2))                 \
    X(cyclic_gamma, lz_schedule_cyclic(0.1, t, 0.5, 30, .down = 5, .mode = LZ_EXP_RANGE, .gamma = 0.98))     \
    X(momentum, lz_schedule_one_cycle(0.85, t, RATES, .div_factor = 0.85 / 0.95, .final_div_factor = 1))     \
    X(momentum_three, lz_schedule_one_cycle(0.85, t, RATES, .three_phase = true, .pct_start = 0.4,           \
                                            .div_factor = 0.85 / 0.95, .final_div_factor = 1))               \
    X(plateau, watch(&watched[0], t, was))                                                                   \
    X(plateau_all, watch(&watched[1], t, was))                                                               \
    X(plateau_max, watch(&watched[2], t, was))

#define X(name, ...)                                                                                         \
    static double name(int t, double was)                                                                    \
    {                                                                                                        \
        (void)was;                                                                                           \
        return __VA_ARGS__;                                                                                  \
    }
SCHEDULES(X)
#undef X

static void test_schedules(void **state)
{
    static const struct {
        const char *name;
        double (*rate)(int t, double was);
    } schedules[] = {
#define X(name, ...) { #name, name },
        SCHEDULES(X)
#undef X
    };
    static double want[RATES];
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_archive *file = open_facts(c, "schedules.npz");
    read_fact(c, file, "metric", "", metric, RATES);
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        size_t at = lz_archive_find(file, schedules[i].name);
        double rate = 0;
        int64_t n = lz_archive_sizes(file, at).v[0];
        read_fact(c, file, schedules[i].name, "", want, RATES);
        for (int t = 0; t < n; t++) {
            rate = schedules[i].rate(t, rate);
            if (!(fabs(rate - want[t]) <= 1e-12))
                print_message("%s(%d): %.17g, not %.17g\n", schedules[i].name, t, rate, want[t]);
            assert_true(fabs(rate - want[t]) <= 1e-12);
        }
    }
    lz_archive_close(file);
    lz_close(c);
}

/* No rate comes of what cannot be. */
static void test_no_rates(void **state)
{
    lz_plateau p = { .factor = 1 };
    (void)state;
    assert_true(isnan(lz_schedule_step(0.3, 1, 0, 0.5)));
    assert_true(isnan(lz_schedule_cosine(0.3, 1, 0, 0)));
    assert_true(isnan(lz_schedule_cosine_restarts(0.3, 1, 0, 1, 0)));
    assert_true(isnan(lz_schedule_cosine_restarts(0.3, 1, 9, 0, 0)));
    assert_true(isnan(lz_schedule_one_cycle(0.3, 101, 100)));
    assert_true(isnan(lz_schedule_cyclic(0.1, 1, 0.3, 0)));
    assert_true(isnan(lz_schedule_plateau(&p, 0.3, 1)));
}

/* ---- options that change ---- */

/* The step's result for a gradient of 1 and a parameter that was 0. */
static double step_by(lz_ctx *c, lz_optim *o, lz_tensor *p)
{
    lz_scope *s = lz_scope_push(c);
    assert_true(lz_set_grad(p, lz_ones(c, LZ_DIMS(1))));
    bool ok = lz_optim_step(o);
    lz_scope_pop(s);
    return ok ? lz_item(p).re : (double)NAN;
}

/* A momentum that comes later begins with its first gradient, whole; what cannot be is refused. */
static void test_changed_options(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_tensor *p = lz_module_add_param(m, "p", lz_zeros(c, LZ_DIMS(1)));
    lz_optim *o = lz_sgd(m, .lr = 1);
    assert_true(step_by(c, o, p) == -1);
    lz_optim_group(o, 0)->momentum = 0.5;
    lz_optim_group(o, 0)->dampening = 0.25;
    assert_true(step_by(c, o, p) == -2);
    assert_true(step_by(c, o, p) == -2 - (0.5 + 0.75));
    lz_optim_set_lr(o, NAN);
    assert_true(isnan(step_by(c, o, p)));
    assert_non_null(strstr(lz_message(c), "SGD: invalid lr"));
    lz_clear(c);
    lz_optim_set_lr(o, 1);
    lz_optim_group(o, 0)->amsgrad = true;
    assert_true(isnan(step_by(c, o, p)));
    assert_non_null(strstr(lz_message(c), "SGD has no amsgrad"));
    lz_clear(c);
    lz_optim_free(o);
    lz_module_free(m);
    lz_close(c);
}

/* ---- graphs ---- */

static int64_t count(const char *name)
{
    int64_t n = 0;
    lz_counter_value(name, &n);
    return n;
}

static void train_once(lz_ctx *c, lz_module *m, lz_optim *o, const float *data, int t)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(8, 1, 6, 6), data);
    lz_tensor *y = lz_forward(m, x);
    lz_tensor *loss = lz_mean(c, lz_mul_Tensor(c, y, y));
    assert_true(lz_backward(c, loss));
    lz_clip_grad_norm(m, 1.0);
    lz_optim_set_lr(o, lz_schedule_cosine(1e-2, t, 20, 0));
    assert_true(lz_optim_step(o));
    lz_scope_pop(s);
    assert_true(lz_mark_step(c));
}

/* One graph for all steps, from the first on, whatever changes in numbers. */
static void test_one_graph(void **state)
{
    (void)state;
    for (int kind = 0; kind < LZ_LBFGS; kind++) { /* test_lbfgs has the last */
        float data[8 * 36];
        for (int i = 0; i < 8 * 36; i++)
            data[i] = (float)(i % 13) / 13;
        lz_ctx *c = lz_open(NULL);
        lz_module *root = lz_module_create(c), *m = lz_nn_sequential(root, "net");
        lz_nn_conv2d(m, NULL, 1, 3, 3);
        lz_nn_batch_norm2d(m, NULL, 3);
        lz_nn_op(m, NULL, lz_relu_at);
        lz_nn_dropout(m, NULL, 0.25);
        lz_nn_flatten(m, NULL);
        lz_nn_linear(m, NULL, 48, 4);
        lz_optim_options options = lz_optim_defaults((lz_optim_kind)kind);
        options.momentum = kind == LZ_SGD ? 0.9 : options.momentum;
        lz_optim *o = lz_optim_of_at((lz_optim_kind)kind, LZ_HERE, root, &options);
        if (kind == LZ_MUON) {
            assert_non_null(strstr(lz_message(c), "Muon updates matrices only"));
            lz_module_free(root);
            lz_close(c);
            continue;
        }
        assert_false(lz_failed(c));
        int64_t before = count("UncachedCompile");
        for (int t = 0; t < 6; t++)
            train_once(c, m, o, data, t);
        assert_int_equal(count("UncachedCompile") - before, 1);
        lz_optim_free(o);
        lz_module_free(root);
        lz_close(c);
    }
}

/* Attention to words, the rows of which are kept short. */
static lz_tensor *read_words(lz_module *m, int t)
{
    int64_t words[10];
    lz_tensor *weights = NULL;
    lz_ctx *c = lz_module_ctx(m);
    for (int i = 0; i < 10; i++)
        words[i] = (i * 3 + t) % 7;
    lz_tensor *x = lz_forward(lz_module_find(m, "words"), lz_from_memory(c, LZ_I64, LZ_DIMS(5, 2), words));
    lz_tensor *n = lz_forward(lz_module_find(m, "rms"), x);
    lz_tensor *y = lz_attend(lz_module_find(m, "attn"), n, n, n, .is_causal = true, .weights = &weights);
    return lz_forward(lz_module_find(m, "batch"), lz_reshape(c, y, LZ_DIMS(10, 8)));
}

/* So it is with layers that write to what they own, or take random numbers; and it learns. */
static void test_one_graph_of_words(void **state)
{
    double first = 0, loss = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_nn_embedding(m, "words", 7, 8, .max_norm = { true, 1 }, .padding_idx = LZ_SOME(0));
    lz_nn_rms_norm(m, "rms", LZ_INTS(8));
    lz_nn_multihead_attention(m, "attn", 8, 2, .add_bias_kv = true, .add_zero_attn = true, .dropout = 0.1);
    lz_nn_batch_norm1d(m, "batch", 8, .cumulative = true);
    lz_optim *o = lz_rmsprop(m, .centered = true, .momentum = 0.9);
    int64_t before = count("UncachedCompile");
    for (int t = 0; t < 6; t++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *off = lz_sub_Scalar(c, read_words(m, t), 1);
        lz_tensor *mean = lz_retain(lz_mean(c, lz_mul_Tensor(c, off, off)));
        assert_true(lz_backward(c, mean));
        lz_optim_set_lr(o, lz_schedule_cyclic(1e-3, t, 1e-2, 3));
        assert_true(lz_optim_step(o));
        lz_scope_pop(s);
        assert_true(lz_mark_step(c));
        loss = lz_item(mean).re;
        first = t == 0 ? loss : first;
        lz_release(mean);
    }
    assert_int_equal(count("UncachedCompile") - before, 1);
    assert_true(loss < first);
    lz_optim_free(o);
    lz_module_free(m);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates),   cmocka_unit_test(test_more_updates),
        cmocka_unit_test(test_clipping),  cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_no_rates),  cmocka_unit_test(test_changed_options),
        cmocka_unit_test(test_one_graph), cmocka_unit_test(test_one_graph_of_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
