/* Time to compile graphs. The ratio of the time per operator at 4n to that at n shows whether the time is
 * linear. */
#include "base/mem.h"
#include "harness/train_models.h"
#include <stdio.h>
#include <sys/resource.h>

enum { RUNS = 3, EDGE = 8 };

/* Makes a graph of about n operators from `x` [width] and `m` [EDGE, EDGE]; `v` has room for n tensors. */
typedef struct maker {
    lz_ctx *c;
    lz_tensor *x, *m;
    lz_tensor **v;
    int64_t width;
} maker;

typedef lz_tensor *make_fn(const maker *k, int n);

/* ---- graphs ---- */

static lz_tensor *make_chain(const maker *k, int n)
{
    lz_tensor *a = k->x;
    for (int i = 0; i < n; i++)
        a = i % 2 ? lz_tanh(k->c, a) : lz_add_Tensor(k->c, a, k->x);
    return a;
}

/* A graph in which all nodes are results. */
static lz_tensor *make_outputs(const maker *k, int n)
{
    lz_tensor *a = k->x;
    for (int i = 0; i < n; i++) {
        a = lz_tanh(k->c, a);
        lz_retain(a);
        k->v[i] = a;
    }
    return a;
}

static lz_tensor *make_inputs(const maker *k, int n)
{
    static const float zeros[EDGE * EDGE] = { 0 };
    lz_tensor *a = k->x;
    for (int i = 0; i < n; i++)
        a = lz_add_Tensor(k->c, a, lz_from_memory(k->c, LZ_F32, LZ_DIMS(k->width), zeros));
    return a;
}

static lz_tensor *make_cat(const maker *k, int n)
{
    for (int i = 0; i < n; i++)
        k->v[i] = lz_mul_Scalar(k->c, k->x, LZ_S(1.0 + i));
    return lz_cat(k->c, lz_tensors_of(k->v, n));
}

static lz_tensor *make_scopes(const maker *k, int n)
{
    lz_scope *outer = lz_scope_push(k->c);
    lz_tensor *a = k->x;
    for (int i = 0; i < n; i++) {
        lz_scope_push_as(k->c, "block");
        a = lz_add_Tensor(k->c, a, k->x);
    }
    lz_retain(a);
    lz_scope_pop(outer);
    return a;
}

static lz_tensor *make_reductions(const maker *k, int n)
{
    lz_tensor *a = k->x;
    for (int i = 0; i < n / 2; i++)
        a = lz_add_Tensor(k->c, a, lz_sum(k->c, a));
    return a;
}

static lz_tensor *make_products(const maker *k, int n)
{
    lz_tensor *a = lz_zeros(k->c, LZ_DIMS(k->width, EDGE));
    for (int i = 0; i < n / 2; i++)
        a = lz_tanh(k->c, lz_mm(k->c, a, k->m));
    return a;
}

/* A recurrent cell, unrolled, and its gradient. */
static lz_tensor *make_scan(const maker *k, int n)
{
    int steps = n / 10;
    lz_tensor *w = lz_mul_Scalar(k->c, k->m, LZ_S(0.5)), *h = lz_zeros(k->c, LZ_DIMS(k->width, EDGE));
    lz_tensors x = lz_unbind_int(k->c, lz_ones(k->c, LZ_DIMS(steps, k->width, EDGE)));
    lz_set_requires_grad(w, true);
    for (int i = 0; i < steps; i++)
        k->v[i] = h = lz_tanh(k->c, lz_add_Tensor(k->c, x.v[i], lz_mm(k->c, h, w)));
    lz_backward(k->c, lz_sum(k->c, lz_tanh(k->c, lz_cat(k->c, lz_tensors_of(k->v, steps)))));
    return lz_failed(k->c) ? h : lz_grad_of(w);
}

static const struct {
    const char *name;
    make_fn *make;
    bool keeps, retained; /* results: all of v; or the last one, which the maker retained */
} graphs[] = {
    { "chain", make_chain, false, false },       { "outputs", make_outputs, true, false },
    { "inputs", make_inputs, false, false },     { "cat", make_cat, false, false },
    { "scopes", make_scopes, false, true },      { "reductions", make_reductions, false, false },
    { "products", make_products, false, false }, { "scan", make_scan, false, false },
};

/* ---- measuring ---- */

static lz_err *inputs_of(maker *k, int64_t width)
{
    static const float elements[EDGE * EDGE] = { 0.5F, -0.25F, 1, 0.125F };
    k->width = width;
    k->x = lz_from_memory(k->c, LZ_F32, LZ_DIMS(width), elements);
    k->m = lz_from_memory(k->c, LZ_F32, LZ_DIMS(EDGE, EDGE), elements);
    return lz_failed(k->c) ? lz_errf(lz_code_of(k->c), "%s", lz_message(k->c)) : NULL;
}

/* Seconds of a sync of the graph. */
static double sync_once(const maker *k, size_t graph, int n)
{
    lz_scope *s = lz_scope_push(k->c);
    lz_tensor *y = graphs[graph].make(k, n);
    lz_retain(y);
    if (graphs[graph].retained)
        lz_release(y);
    lz_scope_pop(s);
    double start = lz_measure_clock(1); /* CPU time, because other processes may be busy */
    lz_mark_step(k->c);
    lz_wait(k->c);
    double took = lz_measure_clock(1) - start;
    lz_release(y);
    for (int i = 0; graphs[graph].keeps && i < n; i++)
        lz_release(k->v[i]);
    return took;
}

/* Time of the first sync of a graph minus that of the second. Each graph has new sizes, so it has no plan
 * yet; its kernels exist from the second graph on. */
static lz_err *measure(const lz_bench *b, maker *k, size_t graph, int n, double *out)
{
    double best = 1e9, again = 1e9;
    for (int i = 0; i < RUNS; i++) {
        lz_scope *s = lz_scope_push(k->c);
        lz_err *e = inputs_of(k, 2 + i);
        double first = e ? 0 : sync_once(k, graph, n), later = e ? 0 : sync_once(k, graph, n);
        lz_scope_pop(s);
        LZ_TRY(e);
        LZ_TRY(lz_bench_check(b));
        best = first < best ? first : best;
        again = later < again ? later : again;
    }
    *out = (best - again) / n;
    return NULL;
}

static lz_err *measure_both(const lz_bench *b, maker *k, size_t graph, int n)
{
    static const char quarter[] = "a quarter of the operators";
    double small, large;
    LZ_TRY(measure(b, k, graph, n, &small));
    LZ_TRY(measure(b, k, graph, 4 * n, &large));
    lz_bench_figure f = {
        .name = graphs[graph].name, .metric = "per_op", .unit = "us", .value = large * 1e6
    };
    f.ratio = large / small;
    f.against = quarter;
    lz_bench_report(b, f);
    lz_bench_report(b, (lz_bench_figure){ .system = quarter,
                                          .name = graphs[graph].name,
                                          .metric = "per_op",
                                          .unit = "us",
                                          .value = small * 1e6 });
    return NULL;
}

/* ---- models ---- */

static const struct {
    const char *name;
    const lz_training_model *model;
    lz_err *(*step)(lz_training *t);
} models[] = {
    { "mlp_forward", &lz_training_mlp, lz_training_forward },
    { "mlp_training", &lz_training_mlp, lz_training_step },
    { "lenet_forward", &lz_training_lenet, lz_training_forward },
    { "lenet_training", &lz_training_lenet, lz_training_step },
    { "gpt_forward", &lz_training_gpt, lz_training_forward },
    { "gpt_training", &lz_training_gpt, lz_training_step },
};

enum { MODELS = sizeof models / sizeof *models };

static int64_t counter(const char *name)
{
    int64_t v = 0;
    lz_counter_value(name, &v);
    return v;
}

/* Nanoseconds that the compile of the step's graph took, and its nodes. The batch is new, so there is no plan
 * yet. */
static lz_err *compile_step(lz_training *t, size_t model, int64_t batch, double *ns, double *nodes)
{
    int64_t size = counter("TensorsGraphSize"), took = counter("Lower") + counter("Compile");
    LZ_TRY(lz_training_set_data(t, batch, models[model].model->length ? 8 : 0));
    LZ_TRY(models[model].step(t));
    *nodes = (double)(counter("TensorsGraphSize") - size);
    *ns = (double)(counter("Lower") + counter("Compile") - took);
    return NULL;
}

/* The least of several batch sizes; the first makes the kernels and the optimizer's state. */
static lz_err *measure_model(const lz_bench *b, size_t model)
{
    enum { BATCHES = 12 };
    double best = 1e18, nodes = 1, ns = 0;
    lz_training t;
    lz_err *e = lz_training_init(&t, b, models[model].model, 1, LZ_GPT_LENGTH);
    for (int64_t i = 0; !e && i < BATCHES; i++) {
        e = compile_step(&t, model, 1 + i, &ns, &nodes);
        best = i && ns < best ? ns : best;
    }
    lz_training_deinit(&t);
    if (e)
        return e;
    lz_bench_report(b, (lz_bench_figure){ .name = models[model].name,
                                          .metric = "per_node",
                                          .unit = "us",
                                          .value = best * 1e-3 / nodes });
    lz_bench_report(
        b, (lz_bench_figure){ .name = models[model].name, .metric = "nodes", .unit = "", .value = nodes });
    return NULL;
}

lz_err *lz_bench_plan(lz_bench *b)
{
    int n = b->o.n ? (int)b->o.n : 500;
    maker k = { .c = b->c };
    if (n < 10 || n > 1 << 24)
        return lz_errf(LZ_ERR_ARG, "plan: n must be from 10 to %d", 1 << 24);
    k.v = lz_mem_zalloc((size_t)n * 4, sizeof(lz_tensor *));
    lz_err *e = k.v ? NULL : lz_err_oom();
    for (size_t i = 0; !e && i < sizeof graphs / sizeof *graphs; i++)
        e = measure_both(b, &k, i, n);
    for (size_t i = 0; !e && i < MODELS; i++)
        e = measure_model(b, i);
    lz_mem_free(k.v);
    return e;
}

/* ---- a long chain ---- */

static void report(const lz_bench *b, const char *name, const char *metric, double value, const char *unit)
{
    lz_bench_report(b, (lz_bench_figure){ .name = name, .metric = metric, .value = value, .unit = unit });
}

lz_err *lz_bench_million(lz_bench *b)
{
    int n = b->o.n ? (int)b->o.n : 1000000;
    char name[32];
    maker k = { .c = b->c };
    struct rusage used;
    LZ_TRY(inputs_of(&k, 4));
    double start = lz_measure_clock(b->o.threads);
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *y = lz_retain(make_chain(&k, n));
    lz_scope_pop(s);
    double recorded = lz_measure_clock(b->o.threads);
    LZ_TRY(lz_bench_finish(b, y));
    lz_release(y);
    double done = lz_measure_clock(b->o.threads);
    getrusage(RUSAGE_SELF, &used);
    snprintf(name, sizeof name, "chain_%d", n);
    report(b, name, "record", recorded - start, "s");
    report(b, name, "all", done - start, "s");
    report(b, name, "peak", (double)used.ru_maxrss / 1024, "MiB");
    return NULL;
}
