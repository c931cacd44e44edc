/* Costs that occur once: the first result of a process, and graphs whose batch size changes. */
#include "harness/bench_impl.h"

/* ---- the first result ---- */

enum { FEW = 256 };

/* Only the result is kept: every tensor that exists at a read is computed. The caller releases it. */
static lz_tensor *ten_operators(lz_ctx *c, lz_tensor *x)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *y = lz_add_Tensor(c, lz_mul_Tensor(c, x, x), x);
    y = lz_tanh(c, lz_mul_Tensor(c, y, lz_sigmoid(c, x)));
    y = lz_add_Tensor(c, lz_exp(c, y), lz_relu(c, x));
    y = lz_retain(lz_sub_Tensor(c, lz_sqrt(c, lz_abs(c, y)), x));
    lz_scope_pop(s);
    return y;
}

lz_err *lz_bench_start(lz_bench *b)
{
    lz_tensor *x, *y;
    float result[FEW];
    double start = lz_measure_clock(2);
    LZ_TRY(lz_bench_input(b, LZ_DIMS(FEW), &x, NULL));
    y = ten_operators(b->c, x);
    lz_read(y, result, sizeof result);
    lz_release(y);
    LZ_TRY(lz_bench_check(b));
    lz_bench_report(b, (lz_bench_figure){ .name = "ten_operators",
                                          .metric = "graph",
                                          .value = (lz_measure_clock(2) - start) * 1e3,
                                          .unit = "ms" });
    return NULL;
}

/* ---- batch sizes ---- */

enum { BATCHES = 30, WIDE = 784, HIDDEN = 512, CLASSES = 10, PASSES = 9 };

typedef struct model {
    const lz_bench *b;
    lz_tensor *w[2], *bias[2];
} model;

typedef lz_tensor *forward_fn(const model *m, lz_tensor *x);

static lz_tensor *classify(const model *m, lz_tensor *x)
{
    return lz_softmax_int(m->b->c, lz_matmul(m->b->c, x, m->w[0]), -1);
}

static lz_tensor *mlp(const model *m, lz_tensor *x)
{
    lz_ctx *c = m->b->c;
    lz_tensor *h = lz_relu(c, lz_add_Tensor(c, lz_matmul(c, x, m->w[0]), m->bias[0]));
    return lz_add_Tensor(c, lz_matmul(c, h, m->w[1]), m->bias[1]);
}

static lz_err *make_model(model *m)
{
    LZ_TRY(lz_bench_input(m->b, LZ_DIMS(WIDE, HIDDEN), &m->w[0], NULL));
    LZ_TRY(lz_bench_input(m->b, LZ_DIMS(HIDDEN, CLASSES), &m->w[1], NULL));
    LZ_TRY(lz_bench_input(m->b, LZ_DIMS(HIDDEN), &m->bias[0], NULL));
    return lz_bench_input(m->b, LZ_DIMS(CLASSES), &m->bias[1], NULL);
}

/* Odd and even sizes, multiples of a vector's length and others. */
static int64_t batch(int64_t i)
{
    return 3 + 7 * i;
}

/* One call per batch size. The inputs exist before the clock starts. */
static lz_err *pass(const model *m, forward_fn *forward, int64_t n, double *out)
{
    *out = 0;
    for (int64_t i = 0; i < n; i++) {
        lz_scope *s = lz_scope_push(m->b->c);
        lz_tensor *x;
        lz_err *e = lz_bench_input(m->b, LZ_DIMS(batch(i), WIDE), &x, NULL);
        double start = lz_measure_clock(m->b->o.threads);
        if (!e)
            e = lz_bench_finish(m->b, forward(m, x));
        *out += lz_measure_clock(m->b->o.threads) - start;
        lz_scope_pop(s);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *passes(const model *m, forward_fn *forward, int64_t n, double *first, double *second)
{
    LZ_TRY(pass(m, forward, n, first));
    LZ_TRY(pass(m, forward, n, second));
    for (int i = 0; i < PASSES; i++) {
        double again;
        LZ_TRY(pass(m, forward, n, &again));
        *second = again < *second ? again : *second;
    }
    return NULL;
}

static lz_err *measure(const model *m, const char *name, forward_fn *forward, int64_t n)
{
    double first, second;
    lz_bench_counts before = lz_bench_count();
    LZ_TRY(passes(m, forward, n, &first, &second));
    lz_bench_report(m->b, (lz_bench_figure){ .name = name,
                                             .metric = "first_calls",
                                             .value = first * 1e3,
                                             .unit = "ms",
                                             .ratio = first / (3 * second + 0.02),
                                             .against = "3 x second calls + 20 ms" });
    lz_bench_report(m->b, (lz_bench_figure){
                              .name = name, .metric = "second_calls", .value = second * 1e3, .unit = "ms" });
    lz_bench_report_counts(m->b, name, &before);
    return NULL;
}

lz_err *lz_bench_shapes(lz_bench *b)
{
    int64_t n = b->o.n ? b->o.n : BATCHES;
    model m = { .b = b };
    LZ_TRY(make_model(&m));
    LZ_TRY(measure(&m, "softmax(x@w)", classify, n));
    return measure(&m, "mlp", mlp, n);
}
