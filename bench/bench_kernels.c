/* Reductions and products as graphs through the executor, on one thread: sums over both axes
 * beside a loop compiled with every freedom (loops.c), softmax and layer_norm, and our own
 * product beside OpenBLAS where that is found. --json: one object a line. */
#include "base/dl.h"
#include "core/array.h"
#include "exec/executor.h"
#include "exec/xtensor.h"
#include "loops.h"
#include "measure.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    lz_executor *executor;
    lz_gv inputs[3];
    size_t n;
    lz_buffer_pool *memory;
} run;

static void run_graph(void *user)
{
    const run *r = user;
    lz_exec_env env = { .memory = r->memory };
    lz_gv out;
    bench_try(lz_executor_run(r->executor, r->inputs, r->n, &env, &out));
    lz_gv_release(out);
}

static float *make_input(run *r, lz_ints sizes)
{
    lz_array a;
    bench_try(lz_array_init(&a, r->memory, LZ_F32, sizes));
    float *data = a.buffer->data;
    for (int64_t k = 0; k < a.numel; k++)
        data[k] = (float)(k * 7919 % 8191) / 2048 - 2;
    bench_try(lz_xtensor_of_array(&a, &r->inputs[r->n++]));
    lz_array_deinit(&a);
    return data;
}

static void make_run(run *r, const char *text)
{
    lz_graph *g;
    bench_try(lz_graph_parse(NULL, lz_str_of(text), &g));
    bench_try(lz_executor_create(g, &r->executor));
    lz_graph_release(g);
}

static void forget(run *r)
{
    lz_executor_destroy(r->executor);
    while (r->n > 0)
        lz_gv_release(r->inputs[--r->n]);
}

/* ---- sums ---- */

enum { SIDE = 4096, ROWS = 4096, COLS = 1024 };

static const float *matrix;
static float sums[SIDE];

static void run_rows(void *user)
{
    (void)user;
    loop_sum_rows(matrix, sums, SIDE, SIDE);
}

static void run_columns(void *user)
{
    (void)user;
    loop_sum_columns(matrix, sums, SIDE, SIDE);
}

#define SUM(dim)                                                                                             \
    "graph(%x : Tensor):\n"                                                                                  \
    "  %d : int = prim::Constant[value=" dim "]()\n"                                                         \
    "  %l : int[] = prim::ListConstruct(%d)\n"                                                               \
    "  %f : bool = prim::Constant[value=0]()\n"                                                              \
    "  %n : NoneType = prim::Constant()\n"                                                                   \
    "  %y : Tensor = aten::sum(%x, %l, %f, %n)\n"                                                            \
    "  return (%y)\n"

static void bench_sum(lz_buffer_pool *memory, const char *name, const char *text, void (*loop)(void *))
{
    run r = { .memory = memory };
    matrix = make_input(&r, LZ_DIMS(SIDE, SIDE));
    make_run(&r, text);
    bench_way ways[] = { { "loop", loop, NULL, 0 }, { "graph", run_graph, &r, 0 } };
    bench_measure(ways, 2, 1, 1.5);
    for (int i = 0; i < 2; i++)
        bench_figure("kernels", name, ways[i].name, "time", ways[i].best * 1e3, "ms");
    bench_figure("kernels", name, "graph", "share of loop", ways[0].best / ways[1].best, "x");
    forget(&r);
}

/* ---- rows ---- */

static const char softmax[] = "graph(%x : Tensor):\n"
                              "  %d : int = prim::Constant[value=-1]()\n"
                              "  %n : NoneType = prim::Constant()\n"
                              "  %y : Tensor = aten::softmax(%x, %d, %n)\n"
                              "  return (%y)\n";

static const char layer_norm[] = "graph(%x : Tensor, %w : Tensor, %b : Tensor):\n"
                                 "  %c : int = prim::Constant[value=1024]()\n"
                                 "  %s : int[] = prim::ListConstruct(%c)\n"
                                 "  %e : float = prim::Constant[value=1.0000000000000001e-05]()\n"
                                 "  %t : bool = prim::Constant[value=1]()\n"
                                 "  %y : Tensor = aten::layer_norm(%x, %s, %w, %b, %e, %t)\n"
                                 "  return (%y)\n";

static void bench_rows(lz_buffer_pool *memory, const char *name, const char *text, bool affine)
{
    run r = { .memory = memory };
    make_input(&r, LZ_DIMS(ROWS, COLS));
    for (int i = 0; affine && i < 2; i++)
        make_input(&r, LZ_DIMS(COLS));
    make_run(&r, text);
    bench_way way = { "graph", run_graph, &r, 0 };
    bench_measure(&way, 1, 1, 1.0);
    bench_figure("kernels", name, way.name, "time", way.best * 1e3, "ms");
    bench_figure("kernels", name, way.name, "memory", 8.0 * ROWS * COLS / way.best * 1e-9, "GB/s");
    forget(&r);
}

/* ---- products ---- */

typedef struct blas {
    void (*sgemm)(int order, int tx, int ty, int m, int n, int k, float alpha, const float *x, int ldx,
                  const float *y, int ldy, float beta, float *out, int ldo);
    void (*threads)(int n);
} blas;

typedef struct product {
    const blas *lib;
    int n;
    const float *x, *y;
    float *out;
} product;

static void run_blas(void *user)
{
    const product *p = user;
    p->lib->sgemm(101, 111, 111, p->n, p->n, p->n, 1, p->x, p->n, p->y, p->n, 0, p->out, p->n);
}

static bool find_blas(blas *out)
{
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", NULL };
    static const lz_dl_symbol symbols[] = { { "cblas_sgemm", true, offsetof(blas, sgemm) },
                                            { "openblas_set_num_threads", true, offsetof(blas, threads) } };
    lz_dl *dl;
    lz_err *e = lz_dl_open(names, &dl); /* stays open to the end */
    e = e ? e : lz_dl_load(dl, symbols, 2, out);
    if (e)
        fprintf(stderr, "bench_kernels: no OpenBLAS to compare with\n");
    else
        out->threads(1);
    bool found = e == NULL;
    lz_err_free(e);
    return found;
}

static void bench_product(lz_buffer_pool *memory, int n, const blas *lib)
{
    char name[32];
    run r = { .memory = memory };
    product p = { .lib = lib, .n = n };
    p.x = make_input(&r, LZ_DIMS(n, n));
    p.y = make_input(&r, LZ_DIMS(n, n));
    p.out = calloc((size_t)n * (size_t)n, sizeof(float));
    make_run(&r, "graph(%x : Tensor, %y : Tensor):\n"
                 "  %z : Tensor = aten::mm(%x, %y)\n"
                 "  return (%z)\n");
    bench_way ways[] = { { "graph", run_graph, &r, 0 }, { "openblas", lib ? run_blas : NULL, &p, 0 } };
    bench_measure(ways, 2, 1, 1.5);
    snprintf(name, sizeof name, "mm n=%d", n);
    for (int i = 0; i < (lib ? 2 : 1); i++)
        bench_figure("kernels", name, ways[i].name, "speed", 2e-9 * n * n * n / ways[i].best, "GFLOP/s");
    if (lib)
        bench_figure("kernels", name, "graph", "share of openblas", ways[1].best / ways[0].best, "x");
    free(p.out);
    forget(&r);
}

int main(int argc, char **argv)
{
    blas lib;
    lz_buffer_pool *memory;
    bench_json(argc > 1 && strcmp(argv[1], "--json") == 0);
    bool found = find_blas(&lib);
    bench_pin(true);
    bench_try(lz_buffer_pool_create((size_t)1 << 30, &memory));
    bench_sum(memory, "sum 4096x4096 over axis 0", SUM("0"), run_columns);
    bench_sum(memory, "sum 4096x4096 over axis 1", SUM("1"), run_rows);
    bench_rows(memory, "softmax 4096x1024", softmax, false);
    bench_rows(memory, "layer_norm 4096x1024", layer_norm, true);
    static const int sizes[] = { 64, 256, 1024 };
    for (int i = 0; i < 3; i++)
        bench_product(memory, sizes[i], found ? &lib : NULL);
    lz_buffer_pool_release(memory);
    return EXIT_SUCCESS;
}
