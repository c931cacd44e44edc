#include "base/mem.h"
#include "base/text.h"
#include "harness/bench_impl.h"
#include <string.h>

typedef struct row {
    lz_bench_suite suite;
    lz_bench_suite_fn *run;
} row;

static const row rows[] = {
    { { "record", "chains of operators, with inference and release", false, false }, lz_bench_record },
    { { "sync", "a graph of 1,000 small operators that was compiled before", false, false }, lz_bench_sync },
    { { "calls", "a call of a compiled graph, with fixed memory and without", false, false },
      lz_bench_calls },
    { { "fused", "gelu_tanh(a*b+c)*sigmoid(d) of n elements", false, false }, lz_bench_fused },
    { { "softmax", "softmax of n rows of 1,024", false, false }, lz_bench_softmax },
    { { "layernorm", "layer_norm of n rows of 1,024", false, false }, lz_bench_layernorm },
    { { "sum0", "sum of an n x n matrix over its rows", false, false }, lz_bench_sum0 },
    { { "sum1", "sum of an n x n matrix over its columns", false, false }, lz_bench_sum1 },
    { { "matmul", "products of n x n matrices in one plan", false, false }, lz_bench_matmul },
    { { "linalg", "factorisations of an n x n matrix, solution of a system", false, false },
      lz_bench_linalg },
    { { "ops", "single operators, one a row; matrices are n x n", false, true }, lz_bench_ops },
    { { "start", "the first result of a process", true, false }, lz_bench_start },
    { { "shapes", "two graphs at n batch sizes each", true, false }, lz_bench_shapes },
    { { "varying", "training and forward passes, each of n steps with another size", true, true },
      lz_bench_varying },
    { { "compile", "machine code for the kernel of `fused`", true, false }, lz_bench_compile },
    { { "plan", "plan compiles: graphs of n and 4n operators, time per operator", true, false },
      lz_bench_plan },
    { { "million", "a chain of n operators: recorded, run and freed once", true, false }, lz_bench_million },
    { { "mlp", "a training step: 784-512-512-10, n rows, SGD", true, false }, lz_bench_mlp },
    { { "lenet", "a training step: two convolutions, n images of 28 x 28, SGD", true, false },
      lz_bench_lenet },
    { { "adam", "a step of Adam over n small parameters", false, false }, lz_bench_adam },
    { { "gpt", "a training step: 4 layers of width 256, n texts of 128, Adam", true, false }, lz_bench_gpt },
    { { "gpt_long", "a training step of the same model: n texts of 4,096", true, false }, lz_bench_gpt_long },
    { { "lstm", "a training step: one layer, 128 to 256, 16 sequences of n, SGD", true, false },
      lz_bench_lstm },
    { { "gru", "a training step of the same layer as GRU", true, false }, lz_bench_gru },
};

enum { ROWS = sizeof rows / sizeof *rows };

const lz_bench_suite *lz_bench_suite_at(size_t i)
{
    return i < ROWS ? &rows[i].suite : NULL;
}

/* ---- figures ---- */

void lz_bench_report(const lz_bench *b, lz_bench_figure f)
{
    f.suite = b->suite;
    f.system = f.system ? f.system : "lazuli";
    f.threads = b->o.threads;
    f.against = f.ratio > 0 ? f.against : NULL;
    b->report(b->user, &f);
}

void lz_bench_report_times(const lz_bench *b, const char *name, const lz_measured *ways, const char *against,
                           double scale, const char *unit)
{
    lz_bench_figure f = { .name = name, .metric = "time", .unit = unit, .value = ways[0].best * scale };
    if (ways[1].best > 0) {
        f.ratio = ways[0].best / ways[1].best;
        f.against = against;
    }
    lz_bench_report(b, f);
    if (ways[1].best > 0)
        lz_bench_report(b, (lz_bench_figure){ .system = against,
                                              .name = name,
                                              .metric = "time",
                                              .unit = unit,
                                              .value = ways[1].best * scale });
}

lz_bench_counts lz_bench_count(void)
{
    lz_bench_counts c = { 0 };
    lz_counter_value("UncachedCompile", &c.plans);
    lz_native_codes_count(&c.codes);
    return c;
}

void lz_bench_report_counts(const lz_bench *b, const char *name, const lz_bench_counts *before)
{
    lz_bench_counts c = lz_bench_count();
    const lz_bench_figure figures[] = {
        { .metric = "plan_compiles", .value = (double)(c.plans - before->plans) },
        { .metric = "kernel_compiles", .value = (double)(c.codes.compiles - before->codes.compiles) },
        { .metric = "kernel_compile",
          .value = (double)(c.codes.compile_ns - before->codes.compile_ns) * 1e-6,
          .unit = "ms" },
        { .metric = "kernel_disk_hits", .value = (double)(c.codes.disk_hits - before->codes.disk_hits) },
        { .metric = "kernels_refused", .value = (double)(c.codes.refused - before->codes.refused) },
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        lz_bench_figure f = figures[i];
        f.name = name;
        f.unit = f.unit ? f.unit : "";
        lz_bench_report(b, f);
    }
}

lz_err *lz_bench_check(const lz_bench *b)
{
    return lz_failed(b->c) ? lz_errf(lz_code_of(b->c), "%s", lz_message(b->c)) : NULL;
}

lz_err *lz_bench_finish(const lz_bench *b, lz_tensor *y)
{
    lz_sync(b->c, &y, 1);
    lz_wait(b->c);
    return lz_bench_check(b);
}

/* Runs until the machine code exists, so that the figure does not include interpreted calls. */
static lz_err *settle(const lz_bench *b, lz_measured *w)
{
    static const double seconds = 0.03; /* long enough that the kernel counts as hot */
    double start = lz_measure_clock(b->o.threads);
    do
        LZ_TRY(w->run(w->user));
    while (lz_measure_clock(b->o.threads) - start < seconds);
    lz_native_codes_wait();
    return NULL;
}

lz_err *lz_bench_measure(const lz_bench *b, lz_measured *ways, int n)
{
    LZ_TRY(settle(b, &ways[0]));
    return lz_measure(ways, n, b->o.threads, b->o.seconds);
}

/* ---- inputs ---- */

static void drop(void *owner)
{
    lz_buffer_release(owner);
}

lz_err *lz_bench_input(const lz_bench *b, lz_ints sizes, lz_tensor **out, float **data)
{
    int64_t n = 1;
    lz_buffer *memory;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    LZ_TRY(lz_buffer_create(NULL, (size_t)n * sizeof(float), &memory));
    float *elements = memory->data;
    for (int64_t i = 0; i < n; i++)
        elements[i] = (float)(i * 7919 % 8191) / 2048 - 2;
    *out = lz_from_foreign(b->c, LZ_F32, sizes, (lz_ints){ NULL, 0 }, elements, drop, memory);
    if (data)
        *data = elements;
    return lz_bench_check(b);
}

lz_err *lz_bench_find_loops(lz_bench *b, lz_bench_loops *out)
{
    static const lz_dl_symbol symbols[] = { { "loop_gelu", true, offsetof(lz_bench_loops, gelu) },
                                            { "loop_sum_rows", true, offsetof(lz_bench_loops, sum_rows) },
                                            { "loop_sum_columns", true,
                                              offsetof(lz_bench_loops, sum_columns) },
                                            { "loop_compiler", true, offsetof(lz_bench_loops, compiler) } };
    const char *const names[] = { b->o.loops, NULL };
    *out = (lz_bench_loops){ 0 };
    if (!b->o.loops)
        return NULL;
    if (!b->loops)
        LZ_TRY(lz_dl_open(names, &b->loops));
    return lz_dl_load(b->loops, symbols, sizeof symbols / sizeof *symbols, out);
}

/* ---- running a suite ---- */

static lz_err *no_such(const char *suite)
{
    lz_text names = { 0 };
    for (size_t i = 0; i < ROWS; i++)
        lz_text_printf(&names, "%s%s", i ? ", " : "", rows[i].suite.name);
    lz_err *e = lz_text_check(&names);
    if (!e)
        e = lz_errf(LZ_ERR_NOT_FOUND, "there is no suite '%s'; the suites are %.*s", suite,
                    LZ_FMT(lz_text_view(&names)));
    lz_text_deinit(&names);
    return e;
}

static lz_err *check_options(const lz_bench_options *o)
{
    if (o->n < 0 || o->n > INT32_MAX)
        return lz_errf(LZ_ERR_ARG, "n: expected a number from 1 to %d", INT32_MAX);
    if (o->threads < 0 || o->threads > 1024)
        return lz_errf(LZ_ERR_ARG, "threads: expected a number from 1 to 1024");
    return o->seconds >= 0 && o->seconds < 1e6
               ? NULL
               : lz_errf(LZ_ERR_ARG, "seconds: expected a number from 0 to a million");
}

static lz_err *run(lz_bench *b, lz_bench_suite_fn *suite)
{
    lz_bench_loops loops; /* checked for all suites: an explicit file that does not exist is an error */
    LZ_TRY(lz_pool_create(b->o.threads, &b->pool));
    b->c = lz_open(&(lz_options){ .threads = b->o.threads });
    lz_err *e = b->c ? lz_bench_find_loops(b, &loops) : lz_err_oom();
    if (!e)
        e = suite(b);
    lz_close(b->c);
    lz_pool_destroy(b->pool);
    lz_dl_close(b->loops);
    return e;
}

lz_err *lz_bench_run(const char *suite, const lz_bench_options *o, lz_bench_fn *report, void *user)
{
    lz_bench b = { .o = o ? *o : (lz_bench_options){ 0 }, .report = report, .user = user };
    size_t i = 0;
    if (!suite || !report)
        return lz_errf(LZ_ERR_ARG, "lz_bench_run: suite and callback must not be NULL");
    while (i < ROWS && strcmp(suite, rows[i].suite.name) != 0)
        i++;
    if (i == ROWS)
        return no_such(suite);
    LZ_TRY(check_options(&b.o));
    if (b.o.only && !rows[i].suite.chooses)
        return lz_errf(LZ_ERR_ARG, "%s: `only` must be NULL, because the suite has no rows to choose from",
                       suite);
    b.suite = rows[i].suite.name;
    b.o.threads = b.o.threads ? b.o.threads : 1;
    b.o.seconds = b.o.seconds > 0 ? b.o.seconds : 1;
    if (b.o.threads == 1)
        lz_pin(true);
    lz_err *e = run(&b, rows[i].run);
    if (b.o.threads == 1)
        lz_pin(false);
    return e;
}
