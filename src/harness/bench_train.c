/* Training steps of models: forward pass, backward pass and update as one graph. */
#include "base/vec.h"
#include "harness/train_models.h"
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct training {
    const lz_bench *b;
    lz_training model;
    LZ_VEC(double) steps; /* seconds */
} training;

/* ---- steps ---- */

static int64_t counter(const char *name)
{
    int64_t v = 0;
    lz_counter_value(name, &v);
    return v;
}

/* Time of the first step. With one CPU it includes what background threads compile meanwhile. */
static lz_err *first_step(training *t, double *out)
{
    clockid_t clock = t->b->o.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    struct timespec from, to;
    clock_gettime(clock, &from);
    LZ_TRY(lz_training_step(&t->model));
    clock_gettime(clock, &to);
    *out = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    return NULL;
}

static lz_err *next_step(training *t)
{
    double start = lz_measure_clock(t->b->o.threads);
    LZ_TRY(lz_training_step(&t->model));
    return lz_vec_push(&t->steps, lz_measure_clock(t->b->o.threads) - start);
}

static lz_err *more_steps(training *t)
{
    enum { LEAST = 3 };
    double end = lz_measure_clock(2) + t->b->o.seconds;
    while (t->steps.len < LEAST || lz_measure_clock(2) < end)
        LZ_TRY(next_step(t));
    return NULL;
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const training *t, const char *metric, double value, const char *unit)
{
    lz_bench_report(t->b,
                    (lz_bench_figure){ .name = "step", .metric = metric, .value = value, .unit = unit });
}

/* Reports the first fifty steps; sorts their times. */
static void report_steps(training *t)
{
    enum { EARLY = 49 };
    double longest = 0, *v = t->steps.data;
    size_t n = t->steps.len;
    for (size_t i = 0; i < n && i < EARLY; i++)
        longest = v[i] > longest ? v[i] : longest;
    qsort(v, n, sizeof *v, by_size);
    report(t, "time", v[0] * 1e3, "ms");
    report(t, "median", v[n / 2] * 1e3, "ms");
    lz_bench_report(t->b, (lz_bench_figure){ .name = "step",
                                             .metric = "longest",
                                             .value = longest * 1e3,
                                             .unit = "ms",
                                             .ratio = longest / v[n / 2],
                                             .against = "median" });
}

static double peak_memory(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (double)used.ru_maxrss / 1024 : 0;
}

/* Reports the memory of all compiled graphs of the process, by purpose. */
static void report_graphs(const training *t)
{
    static const struct {
        const char *metric, *counter;
    } parts[] = { { "all", "GraphBytes" },         { "keys", "GraphKeyBytes" },
                  { "lines", "GraphLineBytes" },   { "executables", "GraphExecutableBytes" },
                  { "graph", "TsGraphBytes" },     { "steps", "TsStepBytes" },
                  { "launches", "TsLaunchBytes" }, { "arguments", "TsArgumentBytes" },
                  { "kernels", "TsKernelBytes" } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        lz_bench_report(t->b, (lz_bench_figure){ .name = "compiled_graphs",
                                                 .metric = parts[i].metric,
                                                 .value = (double)counter(parts[i].counter),
                                                 .unit = "B" });
}

static lz_err *measure(training *t)
{
    double first;
    lz_bench_counts before = lz_bench_count();
    LZ_TRY(first_step(t, &first));
    LZ_TRY(next_step(t));
    int64_t compiles = counter("UncachedCompile"), launches = counter("TsLaunches");
    LZ_TRY(more_steps(t));
    double steps = (double)(t->steps.len - 1);
    report(t, "first", first * 1e3, "ms");
    report_steps(t);
    report(t, "peak_memory", peak_memory(), "MB");
    report(t, "late_compiles", (double)(counter("UncachedCompile") - compiles), "");
    report(t, "kernels", (double)(counter("TsLaunches") - launches) / steps, "");
    lz_bench_report_counts(t->b, "step", &before);
    report_graphs(t);
    return NULL;
}

static lz_err *train(const lz_bench *b, const lz_training_model *m)
{
    training t = { .b = b };
    lz_err *e = lz_training_init(&t.model, b, m, b->o.n, m->length);
    if (!e)
        e = lz_training_set_data(&t.model, t.model.batch, m->length);
    if (!e)
        e = measure(&t);
    lz_vec_deinit(&t.steps);
    lz_training_deinit(&t.model);
    return e;
}

lz_err *lz_bench_mlp(lz_bench *b)
{
    return train(b, &lz_training_mlp);
}

lz_err *lz_bench_lenet(lz_bench *b)
{
    return train(b, &lz_training_lenet);
}

lz_err *lz_bench_gpt(lz_bench *b)
{
    return train(b, &lz_training_gpt);
}

lz_err *lz_bench_gpt_long(lz_bench *b)
{
    return train(b, &lz_training_gpt_long);
}

lz_err *lz_bench_lstm(lz_bench *b)
{
    return train(b, &lz_training_lstm);
}

lz_err *lz_bench_gru(lz_bench *b)
{
    return train(b, &lz_training_gru);
}
