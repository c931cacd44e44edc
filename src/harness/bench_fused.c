/* gelu_tanh(a*b+c) * sigmoid(d), which becomes one kernel. */
#include "harness/bench_impl.h"
#include <stdio.h>

enum { INPUTS = 4 };

typedef struct fused {
    const lz_bench *b;
    lz_bench_loops loops;
    int64_t n;
    lz_tensor *in[INPUTS];
    float *data[INPUTS];
    float *y; /* result of the comparison loop */
} fused;

/* The operation that joins the two halves of the expression. */
typedef lz_tensor *join_fn(lz_ctx *c, lz_tensor *x, lz_tensor *y);

static lz_tensor *join_mul(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    return lz_mul_Tensor(c, x, y);
}

static lz_tensor *expression(lz_ctx *c, lz_tensor *const in[INPUTS], join_fn *join)
{
    lz_tensor *x = lz_add_Tensor(c, lz_mul_Tensor(c, in[0], in[1]), in[2]);
    return join(c, lz_gelu(c, x, .approximate = "tanh"), lz_sigmoid(c, in[3]));
}

static lz_err *run_joined(const fused *f, join_fn *join)
{
    lz_scope *s = lz_scope_push(f->b->c);
    lz_err *e = lz_bench_finish(f->b, expression(f->b->c, f->in, join));
    lz_scope_pop(s);
    return e;
}

static lz_err *run(void *user)
{
    return run_joined(user, join_mul);
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
    lz_measured ways[] = { { .run = run, .user = f }, { .run = f->loops.gelu ? run_loop : NULL, .user = f } };
    LZ_TRY(lz_bench_measure(f->b, ways, 2));
    snprintf(name, sizeof name, "n=%lld", (long long)f->n);
    lz_bench_report_times(f->b, name, ways, f->loops.gelu ? f->loops.compiler() : NULL, 1e6, "us");
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

/* ---- compiling ---- */

/* Operations that give kernels of the same size as the expression's, all different. */
static lz_tensor *join_div(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    return lz_div_Tensor(c, x, y);
}

static lz_tensor *join_max(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    return lz_maximum(c, x, y);
}

static lz_tensor *join_min(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    return lz_minimum(c, x, y);
}

static lz_tensor *join_sub(lz_ctx *c, lz_tensor *x, lz_tensor *y)
{
    return lz_sub_Tensor(c, x, y);
}

static join_fn *const joins[] = { join_mul, join_div, join_max, join_min, join_sub };

enum { JOINS = sizeof joins / sizeof *joins };

typedef struct made {
    int64_t n;
    double least, all; /* ms */
} made;

static void add(made *m, int64_t n, double seconds)
{
    double ms = seconds * 1e3;
    m->n += n;
    m->all += n > 0 ? ms : 0;
    if (n > 0 && (m->least == 0 || ms < m->least))
        m->least = ms;
}

static void report_made(const lz_bench *b, const char *name, const made *m)
{
    if (m->n == 0)
        return;
    const lz_bench_figure figures[] = {
        { .metric = "count", .value = (double)m->n, .unit = "" },
        { .metric = "least", .value = m->least, .unit = "ms" },
        { .metric = "all", .value = m->all, .unit = "ms" },
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        lz_bench_figure f = figures[i];
        f.name = name;
        lz_bench_report(b, f);
    }
}

typedef struct compiles {
    made plan, kernel, disk;
} compiles;

static lz_err *once(const fused *f, join_fn *join, double *out)
{
    double start = lz_measure_clock(f->b->o.threads);
    LZ_TRY(run_joined(f, join));
    *out = lz_measure_clock(f->b->o.threads) - start;
    return NULL;
}

/* Compiles a plan and a kernel (first call), only a plan (another size), and nothing (repeated call). The
 * differences are the figures. */
static lz_err *of_join(const fused *small, const fused *large, join_fn *join, compiles *c)
{
    double both, plan, nothing;
    lz_bench_counts before = lz_bench_count();
    LZ_TRY(once(small, join, &both));
    lz_bench_counts after = lz_bench_count();
    LZ_TRY(once(large, join, &plan));
    LZ_TRY(once(large, join, &nothing));
    add(&c->plan, 1, plan - nothing);
    add(&c->kernel, after.codes.compiles - before.codes.compiles, both - plan);
    add(&c->disk, after.codes.disk_hits - before.codes.disk_hits, both - plan);
    return NULL;
}

/* The first kernel also loads the compiler. `least` does not include that. */
lz_err *lz_bench_compile(lz_bench *b)
{
    fused small = { .b = b, .n = b->o.n ? b->o.n : 1000 }, large = { .b = b, .n = small.n + 16 };
    compiles c = { 0 };
    LZ_TRY(make_inputs(&small));
    LZ_TRY(make_inputs(&large));
    for (int i = 0; i < JOINS; i++)
        LZ_TRY(of_join(&small, &large, joins[i], &c));
    report_made(b, "plan_compile", &c.plan);
    report_made(b, "kernel_compile", &c.kernel);
    report_made(b, "kernel_from_disk", &c.disk);
    return NULL;
}
