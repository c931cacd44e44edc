/* Loops whose shapes change with every step: texts of other lengths, batches of other sizes. */
#include "harness/train_models.h"
#include <assert.h>
#include <string.h>
#include <time.h>

typedef lz_err *step_fn(lz_training *t);

typedef struct loop {
    const char *name;
    const lz_training_model *model;
    step_fn *step;
    int64_t steps, most; /* sizes from 1 to `most` */
    bool lengths;        /* the length of one text changes; otherwise the batch does */
} loop;

static const loop loops[] = {
    { "gpt_forward", &lz_training_gpt, lz_training_forward, 64, 1024, true },
    { "gpt_training", &lz_training_gpt, lz_training_step, 24, 1024, true },
    { "mlp_forward", &lz_training_mlp, lz_training_forward, 200, 200, false },
    { "mlp_training", &lz_training_mlp, lz_training_step, 200, 200, false },
    { "lenet_training", &lz_training_lenet, lz_training_step, 24, 200, false },
};

/* The arithmetic of a step with this size, up to a factor: products with weights take the same for each
 * position of a text, attention takes more for a longer text. */
static double work(const loop *l, double size)
{
    enum { WIDTH = 256, LAYERS = 4, WEIGHTS = 12 * LAYERS * WIDTH * WIDTH + 96 * WIDTH };
    return l->lengths ? size * (2.0 * WEIGHTS + 4.0 * LAYERS * WIDTH * size) : size;
}

/* The sizes of a loop: evenly spread, in mixed order, each once. */
static int64_t size_at(const loop *l, int64_t i)
{
    static const int64_t stride = 89; /* a prime, and no factor of the number of steps */
    assert(l->steps > 1);
    int64_t k = i * stride % l->steps;
    return 1 + (l->most - 1) * k / (l->steps - 1);
}

static double work_of_all(const loop *l)
{
    double sum = 0;
    for (int64_t i = 0; i < l->steps; i++)
        sum += work(l, (double)size_at(l, i));
    return sum;
}

/* The size whose step takes the arithmetic of an average step. */
static int64_t typical(const loop *l)
{
    double average = work_of_all(l) / (double)l->steps;
    int64_t size = 1;
    while (size < l->most && work(l, (double)size + 0.5) < average)
        size++;
    return size;
}

/* With one CPU the time includes what background threads compile meanwhile. */
static double now(const lz_bench *b)
{
    struct timespec t;
    clock_gettime(b->o.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Adds the seconds of a step; its data exist before. */
static lz_err *step_with(lz_training *t, const loop *l, int64_t size, double *seconds)
{
    LZ_TRY(lz_training_set_data(t, l->lengths ? 1 : size, l->lengths ? size : 0));
    double start = now(t->b);
    LZ_TRY(l->step(t));
    *seconds += now(t->b) - start;
    return NULL;
}

/* Seconds of all steps. size 0: each step has a size of its own. */
static lz_err *run_loop(lz_training *t, const loop *l, int64_t size, double *out)
{
    *out = 0;
    for (int64_t i = 0; i < l->steps; i++)
        LZ_TRY(step_with(t, l, size ? size : size_at(l, i), out));
    return NULL;
}

/* The kernels of the model exist before anything is measured, and the memory for the largest step. */
static lz_err *warm_up(lz_training *t, const loop *l, int64_t size)
{
    enum { STEPS = 4 };
    double seconds = 0;
    for (int64_t i = 0; i < STEPS; i++)
        LZ_TRY(step_with(t, l, i == 0 ? l->most : size, &seconds));
    lz_native_codes_wait();
    return NULL;
}

static void report(const lz_bench *b, const loop *l, const char *metric, double seconds, double one)
{
    double each = 1e3 / (double)l->steps;
    lz_bench_report(b, (lz_bench_figure){ .name = l->name,
                                          .metric = metric,
                                          .value = seconds * each,
                                          .unit = "ms",
                                          .ratio = seconds / one,
                                          .against = "the same work at one size" });
}

static lz_err *measure(lz_training *t, const loop *l)
{
    double before, first, again, after;
    int64_t size = typical(l);
    LZ_TRY(warm_up(t, l, size));
    LZ_TRY(run_loop(t, l, size, &before));
    lz_bench_counts counts = lz_bench_count();
    LZ_TRY(run_loop(t, l, 0, &first));
    lz_bench_report_counts(t->b, l->name, &counts);
    LZ_TRY(run_loop(t, l, 0, &again));
    LZ_TRY(run_loop(t, l, size, &after));
    double equal = work_of_all(l) / (work(l, (double)size) * (double)l->steps);
    double one = equal * (before < after ? before : after);
    report(t->b, l, "step", first, one);
    report(t->b, l, "step_again", again, one);
    return NULL;
}

static lz_err *run(const lz_bench *b, loop l)
{
    lz_training t;
    l.steps = b->o.n > 1 && b->o.n <= l.most ? b->o.n : l.steps;
    lz_err *e = lz_training_init(&t, b, l.model, 1, l.most);
    if (!e)
        e = measure(&t, &l);
    lz_training_deinit(&t);
    return e;
}

lz_err *lz_bench_varying(lz_bench *b)
{
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (!b->o.only || strstr(loops[i].name, b->o.only))
            LZ_TRY(run(b, loops[i]));
    return NULL;
}
