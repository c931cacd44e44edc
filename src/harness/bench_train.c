/* Training steps of three models: forward pass, backward pass and update as one graph. docs/performance.md
 * says what the models are; bench/compare.py has the same ones for others. */
#include "base/mem.h"
#include "base/vec.h"
#include "harness/bench_impl.h"
#include <lazuli/optim.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

typedef struct training {
    const lz_bench *b;
    lz_ctx *c;
    lz_module *m;
    lz_optim *opt;
    int64_t batch;
    lz_tensor *x, *y;
    LZ_VEC(double) steps; /* seconds */
} training;

/* ---- data ---- */

/* Whole numbers below `end`, always the same. */
static lz_err *numbers(const training *t, lz_ints sizes, int64_t end, lz_tensor **out)
{
    int64_t n = 1;
    for (int64_t i = 0; i < sizes.n; i++)
        n *= sizes.v[i];
    int64_t *v = lz_mem_zalloc((size_t)n, sizeof *v);
    if (!v)
        return lz_err_oom();
    for (int64_t i = 0; i < n; i++)
        v[i] = (i * 7919 + i / 13) % end;
    *out = lz_retain(lz_from_memory(t->c, LZ_I64, sizes, v));
    lz_mem_free(v);
    return lz_bench_check(t->b);
}

/* ---- MLP: 784-512-512-10 ---- */

enum { WIDE = 784, HIDDEN = 512, CLASSES = 10 };

static lz_err *make_mlp(training *t)
{
    lz_module *s = lz_nn_sequential(t->m, "net");
    lz_nn_linear(s, NULL, WIDE, HIDDEN);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, HIDDEN, HIDDEN);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, HIDDEN, CLASSES);
    t->opt = lz_sgd(t->m, .lr = 0.01);
    LZ_TRY(lz_bench_input(t->b, LZ_DIMS(t->batch, WIDE), &t->x, NULL));
    return numbers(t, LZ_DIMS(t->batch), CLASSES, &t->y);
}

static lz_tensor *classify(const training *t)
{
    lz_tensor *z = lz_forward(lz_module_find(t->m, "net"), t->x);
    return lz_cross_entropy_loss(t->c, z, t->y);
}

/* ---- LeNet: 5 x 5 windows, 1-32-64 channels, 1024-128-10 ---- */

enum { IMAGE = 28, WINDOW = 5, FIRST = 32, SECOND = 64, FLAT = 1024, DENSE = 128 };

static lz_err *make_lenet(training *t)
{
    lz_module *s = lz_nn_sequential(t->m, "net");
    lz_nn_conv2d(s, NULL, 1, FIRST, WINDOW);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_max_pool2d(s, NULL, 2);
    lz_nn_conv2d(s, NULL, FIRST, SECOND, WINDOW);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_max_pool2d(s, NULL, 2);
    lz_nn_flatten(s, NULL);
    lz_nn_linear(s, NULL, FLAT, DENSE);
    lz_nn_op(s, NULL, lz_relu_at);
    lz_nn_linear(s, NULL, DENSE, CLASSES);
    t->opt = lz_sgd(t->m, .lr = 0.01);
    LZ_TRY(lz_bench_input(t->b, LZ_DIMS(t->batch, 1, IMAGE, IMAGE), &t->x, NULL));
    return numbers(t, LZ_DIMS(t->batch), CLASSES, &t->y);
}

/* ---- GPT: 4 layers, width 256, 4 heads, 128 positions, 96 characters ---- */

enum { LAYERS = 4, HEADS = 4, LENGTH = 128, CHARS = 96 };

static const int64_t width = 256;

static void make_block(lz_module *parent)
{
    lz_module *b = lz_nn_module(parent, NULL);
    lz_nn_layer_norm(b, "ln1", LZ_DIMS(width));
    lz_nn_linear(b, "qkv", width, 3 * width);
    lz_nn_linear(b, "proj", width, width);
    lz_nn_layer_norm(b, "ln2", LZ_DIMS(width));
    lz_nn_linear(b, "fc", width, 4 * width);
    lz_nn_linear(b, "fc2", 4 * width, width);
}

static lz_err *make_gpt(training *t)
{
    lz_nn_embedding(t->m, "wte", CHARS, width);
    lz_tensor *wpe = lz_init_normal(t->c, lz_zeros(t->c, LZ_DIMS(LENGTH, width)), 0, 0.02);
    lz_module_add_param(t->m, "wpe", wpe);
    lz_module *blocks = lz_nn_module(t->m, "blocks");
    for (int i = 0; i < LAYERS; i++)
        make_block(blocks);
    lz_nn_layer_norm(t->m, "lnf", LZ_DIMS(width));
    lz_nn_linear(t->m, "head", width, CHARS, .bias = false);
    t->opt = lz_adam(t->m, .lr = 3e-4);
    LZ_TRY(numbers(t, LZ_DIMS(t->batch, LENGTH), CHARS, &t->x));
    return numbers(t, LZ_DIMS(t->batch, LENGTH), CHARS, &t->y);
}

/* Query, key or value: [batch, heads, length, size of a head]. */
static lz_tensor *part(const training *t, lz_tensor *qkv, int64_t i)
{
    lz_tensor *x = lz_slice_Tensor(t->c, qkv, .dim = 2, .start = lz_some_int(i * width),
                                   .end = lz_some_int((i + 1) * width));
    x = lz_view(t->c, x, LZ_DIMS(t->batch, LENGTH, HEADS, width / HEADS));
    return lz_transpose_int(t->c, x, 1, 2);
}

static lz_tensor *attend(const training *t, lz_tensor *qkv)
{
    lz_tensor *o = lz_scaled_dot_product_attention(t->c, part(t, qkv, 0), part(t, qkv, 1), part(t, qkv, 2),
                                                   .is_causal = true);
    return lz_reshape(t->c, lz_transpose_int(t->c, o, 1, 2), LZ_DIMS(t->batch, LENGTH, width));
}

static lz_tensor *run_block(const training *t, lz_module *b, lz_tensor *h)
{
    lz_tensor *x = lz_forward(lz_module_find(b, "ln1"), h);
    x = attend(t, lz_forward(lz_module_find(b, "qkv"), x));
    h = lz_add_Tensor(t->c, h, lz_forward(lz_module_find(b, "proj"), x));
    x = lz_forward(lz_module_find(b, "fc"), lz_forward(lz_module_find(b, "ln2"), h));
    x = lz_forward(lz_module_find(b, "fc2"), lz_gelu(t->c, x));
    return lz_add_Tensor(t->c, h, x);
}

static lz_tensor *predict(const training *t)
{
    static const char *const blocks[LAYERS] = { "blocks.0", "blocks.1", "blocks.2", "blocks.3" };
    lz_tensor *h = lz_forward(lz_module_find(t->m, "wte"), t->x);
    h = lz_add_Tensor(t->c, h, lz_module_get(t->m, "wpe"));
    for (int i = 0; i < LAYERS; i++)
        h = run_block(t, lz_module_find(t->m, blocks[i]), h);
    h = lz_forward(lz_module_find(t->m, "head"), lz_forward(lz_module_find(t->m, "lnf"), h));
    h = lz_reshape(t->c, h, LZ_DIMS(t->batch * LENGTH, CHARS));
    return lz_cross_entropy_loss(t->c, h, lz_reshape(t->c, t->y, LZ_DIMS(t->batch * LENGTH)));
}

/* ---- steps ---- */

typedef struct recipe {
    int64_t batch;
    lz_err *(*make)(training *t);
    lz_tensor *(*loss)(const training *t);
} recipe;

static lz_err *step(training *t, const recipe *r)
{
    double rate = lz_optim_lr(t->opt);
    lz_scope *s = lz_scope_push(t->c);
    lz_tensor *loss = lz_retain(r->loss(t));
    lz_backward(t->c, loss);
    lz_optim_step(t->opt);
    lz_scope_pop(s);
    lz_mark_step(t->c);
    lz_item(loss);
    lz_release(loss);
    lz_optim_set_lr(t->opt, rate * 0.9999); /* a schedule compiles nothing */
    return lz_bench_check(t->b);
}

static int64_t counter(const char *name)
{
    int64_t v = 0;
    lz_counter_value(name, &v);
    return v;
}

/* The first one; what other threads compile meanwhile counts, where all share a CPU. */
static lz_err *first_step(training *t, const recipe *r, double *out)
{
    clockid_t clock = t->b->o.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    struct timespec from, to;
    clock_gettime(clock, &from);
    LZ_TRY(step(t, r));
    clock_gettime(clock, &to);
    *out = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
    return NULL;
}

static lz_err *next_step(training *t, const recipe *r)
{
    double start = lz_measure_clock(t->b->o.threads);
    LZ_TRY(step(t, r));
    return lz_vec_push(&t->steps, lz_measure_clock(t->b->o.threads) - start);
}

static lz_err *more_steps(training *t, const recipe *r)
{
    enum { LEAST = 3 };
    double end = lz_measure_clock(2) + t->b->o.seconds;
    while (t->steps.len < LEAST || lz_measure_clock(2) < end)
        LZ_TRY(next_step(t, r));
    return NULL;
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tell(const training *t, const char *metric, double value, const char *unit)
{
    lz_bench_tell(t->b, (lz_bench_figure){ .name = "step", .metric = metric, .value = value, .unit = unit });
}

/* Of the steps up to the fiftieth; sorts them. */
static void tell_steps(training *t)
{
    enum { EARLY = 49 };
    double longest = 0, *v = t->steps.data;
    size_t n = t->steps.len;
    for (size_t i = 0; i < n && i < EARLY; i++)
        longest = v[i] > longest ? v[i] : longest;
    qsort(v, n, sizeof *v, by_size);
    tell(t, "time", v[0] * 1e3, "ms");
    tell(t, "median", v[n / 2] * 1e3, "ms");
    lz_bench_tell(t->b, (lz_bench_figure){ .name = "step",
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

/* What the compiled graphs of the process take, by what it is for. */
static void tell_graphs(const training *t)
{
    static const struct {
        const char *metric, *counter;
    } parts[] = { { "all", "GraphBytes" },         { "keys", "GraphKeyBytes" },
                  { "lines", "GraphLineBytes" },   { "executables", "GraphExecutableBytes" },
                  { "graph", "TsGraphBytes" },     { "steps", "TsStepBytes" },
                  { "launches", "TsLaunchBytes" }, { "arguments", "TsArgumentBytes" },
                  { "kernels", "TsKernelBytes" } };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        lz_bench_tell(t->b, (lz_bench_figure){ .name = "compiled_graphs",
                                               .metric = parts[i].metric,
                                               .value = (double)counter(parts[i].counter),
                                               .unit = "B" });
}

static lz_err *measure(training *t, const recipe *r)
{
    double first;
    lz_bench_counts before = lz_bench_count();
    LZ_TRY(first_step(t, r, &first));
    LZ_TRY(next_step(t, r));
    int64_t compiles = counter("UncachedCompile"), launches = counter("TsLaunches");
    LZ_TRY(more_steps(t, r));
    double steps = (double)(t->steps.len - 1);
    tell(t, "first", first * 1e3, "ms");
    tell_steps(t);
    tell(t, "peak_memory", peak_memory(), "MB");
    tell(t, "late_compiles", (double)(counter("UncachedCompile") - compiles), "");
    tell(t, "kernels", (double)(counter("TsLaunches") - launches) / steps, "");
    lz_bench_tell_counts(t->b, "step", &before);
    tell_graphs(t);
    return NULL;
}

static lz_err *train(const lz_bench *b, const recipe *r)
{
    training t = { .b = b, .c = b->c, .batch = b->o.n ? b->o.n : r->batch };
    t.m = lz_module_create(b->c);
    lz_err *e = t.m ? r->make(&t) : lz_err_oom();
    e = e ? e : lz_bench_check(b);
    e = e ? e : measure(&t, r);
    lz_vec_deinit(&t.steps);
    lz_optim_free(t.opt);
    lz_module_free(t.m);
    return e;
}

lz_err *lz_bench_mlp(lz_bench *b)
{
    return train(b, &(recipe){ 64, make_mlp, classify });
}

lz_err *lz_bench_lenet(lz_bench *b)
{
    return train(b, &(recipe){ 64, make_lenet, classify });
}

lz_err *lz_bench_gpt(lz_bench *b)
{
    return train(b, &(recipe){ 8, make_gpt, predict });
}
