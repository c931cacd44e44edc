/* Products of square matrices. Several are in one graph, so that the time of a launch within a plan is
 * measured, not that of a sync. The same products by direct calls of the libraries, if found, are measured
 * beside them. */
#include "harness/bench_impl.h"
#include <stdio.h>

typedef struct libraries {
    void (*cblas)(int order, int tx, int ty, int m, int n, int k, float alpha, const float *x, int ldx,
                  const float *y, int ldy, float beta, float *out, int ldo);
    void (*cblas_threads)(int n);
    int (*dnnl)(char tx, char ty, int64_t m, int64_t n, int64_t k, float alpha, const float *x, int64_t ldx,
                const float *y, int64_t ldy, float beta, float *out, int64_t ldo);
    void (*omp_threads)(int n);
} libraries;

static const lz_dl_symbol cblas_symbols[] = {
    { "cblas_sgemm", true, offsetof(libraries, cblas) },
    { "openblas_set_num_threads", true, offsetof(libraries, cblas_threads) },
};

static const lz_dl_symbol dnnl_symbols[] = {
    { "dnnl_sgemm", true, offsetof(libraries, dnnl) },
    { "omp_set_num_threads", false, offsetof(libraries, omp_threads) },
};

/* The libraries have threads of their own, so they stay loaded until the process ends. */
static lz_dl *cblas, *dnnl;

static void find_one(const char *const *names, lz_dl **dl, const lz_dl_symbol *symbols, libraries *out)
{
    lz_err *e = *dl ? NULL : lz_dl_open(names, dl);
    lz_err_free(e ? e : lz_dl_load(*dl, symbols, 2, out));
}

/* Sets the functions that were found; the others are NULL. */
static void find(libraries *out)
{
    static const char *const cblas_names[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    static const char *const dnnl_names[] = { "libdnnl.so.3", "libdnnl.so.2", "libdnnl.so", NULL };
    *out = (libraries){ 0 };
    find_one(cblas_names, &cblas, cblas_symbols, out);
    find_one(dnnl_names, &dnnl, dnnl_symbols, out);
}

typedef struct product {
    const lz_bench *b;
    libraries lib;
    int n, links; /* y = x w w w ... */
    lz_tensor *x, *w;
    float *xs, *ws;
    float *y[2];
} product;

static lz_err *run(void *user)
{
    const product *p = user;
    lz_scope *s = lz_scope_push(p->b->c);
    lz_tensor *y = p->x;
    for (int i = 0; i < p->links; i++)
        y = lz_mm(p->b->c, y, p->w);
    lz_err *e = lz_bench_finish(p->b, y);
    lz_scope_pop(s);
    return e;
}

static lz_err *run_cblas(void *user)
{
    const product *p = user;
    const float *x = p->xs;
    int n = p->n;
    p->lib.cblas_threads(p->b->o.threads);
    for (int i = 0; i < p->links; i++) {
        p->lib.cblas(101, 111, 111, n, n, n, 1, x, n, p->ws, n, 0, p->y[i % 2], n);
        x = p->y[i % 2];
    }
    return NULL;
}

static lz_err *run_dnnl(void *user)
{
    const product *p = user;
    const float *x = p->xs;
    int n = p->n;
    if (p->lib.omp_threads)
        p->lib.omp_threads(p->b->o.threads);
    for (int i = 0; i < p->links; i++) {
        if (p->lib.dnnl('N', 'N', n, n, n, 1, x, n, p->ws, n, 0, p->y[i % 2], n) != 0)
            return lz_errf(LZ_ERR_UNSUPPORTED, "dnnl_sgemm failed for matrices of size %d", n);
        x = p->y[i % 2];
    }
    return NULL;
}

/* The matrix is a reflection, so that a chain of any length neither grows nor shrinks vectors. */
static lz_err *make_inputs(product *p)
{
    int64_t n = p->n;
    LZ_TRY(lz_bench_input(p->b, LZ_DIMS(n, n), &p->x, &p->xs));
    LZ_TRY(lz_bench_input(p->b, LZ_DIMS(n, n), &p->w, &p->ws));
    for (int64_t i = 0; i < n * n; i++)
        p->ws[i] = (i / n == i % n ? 1.0F : 0.0F) - 2 / (float)n;
    return NULL;
}

static lz_err *make_results(const product *p, lz_buffer *results[2])
{
    size_t size = (size_t)p->n * (size_t)p->n * sizeof(float);
    LZ_TRY(lz_buffer_create(NULL, size, &results[0]));
    lz_err *e = lz_buffer_create(NULL, size, &results[1]);
    if (e)
        lz_buffer_release(results[0]);
    return e;
}

/* ---- figures ---- */

enum { OURS, CBLAS, DNNL, WAYS };

static const char *const systems[WAYS] = { "lazuli", "OpenBLAS", "oneDNN" };

static void report(const product *p, const lz_measured ways[WAYS])
{
    char name[32];
    double flops = 2.0 * p->n * p->n * p->n * p->links, least = 0;
    snprintf(name, sizeof name, "n=%d", p->n);
    for (int i = CBLAS; i < WAYS; i++)
        least = ways[i].best > 0 && (least == 0 || ways[i].best < least) ? ways[i].best : least;
    for (int i = 0; i < WAYS; i++) {
        bool ours = i == OURS;
        if (ways[i].best == 0)
            continue;
        lz_bench_report(p->b, (lz_bench_figure){ .system = systems[i],
                                                 .name = name,
                                                 .metric = "time",
                                                 .value = ways[i].best / p->links * 1e6,
                                                 .unit = "us",
                                                 .ratio = ours && least > 0 ? ways[i].best / least : 0,
                                                 .against = "the faster library" });
        lz_bench_report(p->b, (lz_bench_figure){ .system = systems[i],
                                                 .name = name,
                                                 .metric = "speed",
                                                 .value = flops / ways[i].best * 1e-9,
                                                 .unit = "GFLOP/s" });
    }
}

static lz_err *compare(product *p)
{
    lz_measured ways[WAYS] = { { .run = run, .user = p },
                               { .run = p->lib.cblas ? run_cblas : NULL, .user = p, .spins = true },
                               { .run = p->lib.dnnl ? run_dnnl : NULL, .user = p, .spins = true } };
    LZ_TRY(make_inputs(p));
    LZ_TRY(lz_bench_measure(p->b, ways, WAYS));
    report(p, ways);
    return NULL;
}

static lz_err *of_size(product *p)
{
    lz_buffer *results[2];
    LZ_TRY(make_results(p, results));
    p->y[0] = results[0]->data;
    p->y[1] = results[1]->data;
    lz_scope *s = lz_scope_push(p->b->c);
    lz_err *e = compare(p);
    lz_scope_pop(s);
    lz_buffer_release(results[0]);
    lz_buffer_release(results[1]);
    return e;
}

lz_err *lz_bench_matmul(lz_bench *b)
{
    static const int sizes[] = { 64, 256, 1024, 2048 };
    product p = { .b = b };
    find(&p.lib);
    if (b->o.n > 16384)
        return lz_errf(LZ_ERR_ARG, "matmul: n must be at most 16384");
    for (int i = 0; i < (b->o.n ? 1 : 4); i++) {
        p.n = b->o.n ? (int)b->o.n : sizes[i];
        p.links = p.n <= 128 ? 64 : p.n <= 512 ? 8 : 2;
        LZ_TRY(of_size(&p));
    }
    return NULL;
}
