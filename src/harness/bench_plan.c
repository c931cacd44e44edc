/* What it costs to compile graphs: that the time is linear in their operators is seen from the
 * ratio of the time per operator at 4n to that at n. */
#include "base/mem.h"
#include "harness/bench_impl.h"
#include <stdio.h>
#include <sys/resource.h>

enum { RUNS = 3, EDGE = 8 };

/* A graph of about n operators, on `x` of [width] and `m` of [EDGE, EDGE]; `v` has room for n. */
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

/* All of them are results. */
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
    bool keeps, retained; /* results: all of v; the last, which the maker retained */
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
    double start = lz_measure_clock(1); /* of the CPU: others may be busy */
    lz_mark_step(k->c);
    lz_wait(k->c);
    double took = lz_measure_clock(1) - start;
    lz_release(y);
    for (int i = 0; graphs[graph].keeps && i < n; i++)
        lz_release(k->v[i]);
    return took;
}

/* The first sync of a graph, less the second. Each time the sizes are new ones, so that there is no
 * plan; kernels are there from the second time on. */
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
    lz_bench_tell(b, f);
    lz_bench_tell(b, (lz_bench_figure){ .system = quarter,
                                        .name = graphs[graph].name,
                                        .metric = "per_op",
                                        .unit = "us",
                                        .value = small * 1e6 });
    return NULL;
}

lz_err *lz_bench_plan(lz_bench *b)
{
    int n = b->o.n ? (int)b->o.n : 500;
    maker k = { .c = b->c };
    if (n < 10 || n > 1 << 24)
        return lz_errf(LZ_ERR_ARG, "plan: n is from 10 to %d", 1 << 24);
    k.v = lz_mem_zalloc((size_t)n * 4, sizeof(lz_tensor *));
    lz_err *e = k.v ? NULL : lz_err_oom();
    for (size_t i = 0; !e && i < sizeof graphs / sizeof *graphs; i++)
        e = measure_both(b, &k, i, n);
    lz_mem_free(k.v);
    return e;
}

/* ---- a long chain ---- */

static void tell(const lz_bench *b, const char *name, const char *metric, double value, const char *unit)
{
    lz_bench_tell(b, (lz_bench_figure){ .name = name, .metric = metric, .value = value, .unit = unit });
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
    tell(b, name, "record", recorded - start, "s");
    tell(b, name, "all", done - start, "s");
    tell(b, name, "peak", (double)used.ru_maxrss / 1024, "MiB");
    return NULL;
}
