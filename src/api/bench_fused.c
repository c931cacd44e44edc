/* gelu_tanh(a*b+c) * sigmoid(d): one kernel, if all goes well. */
#include "api/bench_impl.h"
#include <stdio.h>

enum { INPUTS = 4 };

typedef struct fused {
    const lz_bench *b;
    lz_bench_loops loops;
    int64_t n;
    lz_tensor *in[INPUTS];
    float *data[INPUTS];
    float *y; /* the loop's result */
} fused;

static lz_tensor *expression(lz_ctx *c, lz_tensor *const in[INPUTS])
{
    lz_tensor *x = lz_add_Tensor(c, lz_mul_Tensor(c, in[0], in[1]), in[2]);
    return lz_mul_Tensor(c, lz_gelu(c, x, .approximate = "tanh"), lz_sigmoid(c, in[3]));
}

static lz_err *run(void *user)
{
    const fused *f = user;
    lz_scope *s = lz_scope_push(f->b->c);
    lz_err *e = lz_bench_finish(f->b, expression(f->b->c, f->in));
    lz_scope_pop(s);
    return e;
}

static lz_err *loop_part(void *user, int64_t begin, int64_t end, int worker)
{
    const fused *f = user;
    const float *in[INPUTS];
    (void)worker;
    for (int i = 0; i < INPUTS; i++)
        in[i] = f->data[i] + begin;
    f->loops.gelu(in, f->y + begin, end - begin);
    return NULL;
}

static lz_err *run_loop(void *user)
{
    const fused *f = user;
    int64_t share = f->b->o.threads > 1 && f->n > 10000 ? (f->n + 15) / 16 : f->n;
    return lz_pool_for(f->b->pool, f->n, share, loop_part, user);
}

static lz_err *compare(fused *f)
{
    char name[32];
    lz_way ways[] = { { run, f, 0 }, { f->loops.gelu ? run_loop : NULL, f, 0 } };
    LZ_TRY(lz_measure(ways, 2, f->b->o.threads, f->b->o.seconds));
    snprintf(name, sizeof name, "n=%lld", (long long)f->n);
    lz_bench_tell_times(f->b, name, ways, f->loops.gelu ? f->loops.compiler() : NULL, 1e6, "us");
    return NULL;
}

static lz_err *make_inputs(fused *f)
{
    for (int i = 0; i < INPUTS; i++)
        LZ_TRY(lz_bench_input(f->b, LZ_DIMS(f->n), &f->in[i], &f->data[i]));
    return NULL;
}

static lz_err *of_size(fused *f)
{
    lz_buffer *y;
    LZ_TRY(lz_buffer_create(NULL, (size_t)f->n * sizeof(float), &y));
    f->y = y->data;
    lz_scope *s = lz_scope_push(f->b->c);
    lz_err *e = make_inputs(f);
    if (!e)
        e = compare(f);
    lz_scope_pop(s);
    lz_buffer_release(y);
    return e;
}

lz_err *lz_bench_fused(lz_bench *b)
{
    static const int64_t sizes[] = { 1000, 100000, 1000000, 20000000 };
    fused f = { .b = b };
    LZ_TRY(lz_bench_find_loops(b, &f.loops));
    for (int i = 0; i < (b->o.n ? 1 : 4); i++) {
        f.n = b->o.n ? b->o.n : sizes[i];
        LZ_TRY(of_size(&f));
    }
    return NULL;
}

/* ---- its machine code ---- */

static lz_err *once(fused *f, double *out)
{
    double start = lz_measure_clock(f->b->o.threads);
    LZ_TRY(run(f));
    *out = (lz_measure_clock(f->b->o.threads) - start) * 1e3;
    return NULL;
}

lz_err *lz_bench_compile(lz_bench *b)
{
    fused f = { .b = b, .n = b->o.n ? b->o.n : 1000 };
    double first, second;
    LZ_TRY(make_inputs(&f));
    LZ_TRY(once(&f, &first));
    LZ_TRY(once(&f, &second));
    const lz_bench_figure figures[] = { { .metric = "first_call", .value = first, .unit = "ms" },
                                        { .metric = "second_call", .value = second, .unit = "ms" } };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        lz_bench_figure x = figures[i];
        x.name = "gelu";
        lz_bench_tell(b, x);
    }
    lz_bench_tell_counts(b, "gelu");
    return NULL;
}
