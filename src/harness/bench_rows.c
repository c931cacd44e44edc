/* Rows and sums of a matrix. softmax and layer_norm are compared with a copy of the elements, the fastest
 * possible pass; the sums are compared with a loop. */
#include "harness/bench_impl.h"
#include <stdio.h>
#include <string.h>

enum { COLS = 1024, ROWS = 4096, SIDE = 4096 };

typedef struct matrix matrix;
typedef lz_tensor *call_fn(const matrix *m);

struct matrix {
    const lz_bench *b;
    call_fn *call;
    int64_t rows, cols;
    lz_tensor *x, *weight, *bias;
    float *data;
    float *y; /* result of the comparison */
    lz_bench_loops loops;
};

static lz_tensor *softmax(const matrix *m)
{
    return lz_softmax_int(m->b->c, m->x, -1);
}

static lz_tensor *layernorm(const matrix *m)
{
    return lz_layer_norm(m->b->c, m->x, LZ_DIMS(m->cols), .weight = m->weight, .bias = m->bias);
}

static lz_tensor *sum0(const matrix *m)
{
    return lz_sum_dim_IntList(m->b->c, m->x, LZ_DIMS(0));
}

static lz_tensor *sum1(const matrix *m)
{
    return lz_sum_dim_IntList(m->b->c, m->x, LZ_DIMS(1));
}

static lz_err *run(void *user)
{
    const matrix *m = user;
    lz_scope *s = lz_scope_push(m->b->c);
    lz_err *e = lz_bench_finish(m->b, m->call(m));
    lz_scope_pop(s);
    return e;
}

/* ---- the comparisons ---- */

static lz_err *copy_part(void *user, int64_t begin, int64_t end, int worker)
{
    const matrix *m = user;
    (void)worker;
    memcpy(m->y + begin, m->data + begin, (size_t)(end - begin) * sizeof(float));
    return NULL;
}

static lz_err *rows_part(void *user, int64_t begin, int64_t end, int worker)
{
    const matrix *m = user;
    (void)worker;
    m->loops.sum_rows(m->data + begin * m->cols, m->y + begin, end - begin, m->cols);
    return NULL;
}

static lz_err *columns_part(void *user, int64_t begin, int64_t end, int worker)
{
    const matrix *m = user;
    (void)worker;
    m->loops.sum_columns(m->data + begin, m->y + begin, m->rows, end - begin, m->cols);
    return NULL;
}

/* Runs one part per thread. */
static lz_err *share(const matrix *m, int64_t n, lz_range_fn *fn, void *user)
{
    return lz_pool_for(m->b->pool, n, (n + m->b->o.threads - 1) / m->b->o.threads, fn, user);
}

static lz_err *run_copy(void *user)
{
    const matrix *m = user;
    return share(m, m->rows * m->cols, copy_part, user);
}

static lz_err *run_rows(void *user)
{
    const matrix *m = user;
    return share(m, m->rows, rows_part, user);
}

static lz_err *run_columns(void *user)
{
    const matrix *m = user;
    return share(m, m->cols, columns_part, user);
}

/* ---- suites ---- */

static lz_err *make_inputs(matrix *m)
{
    LZ_TRY(lz_bench_input(m->b, LZ_DIMS(m->rows, m->cols), &m->x, &m->data));
    LZ_TRY(lz_bench_input(m->b, LZ_DIMS(m->cols), &m->weight, NULL));
    return lz_bench_input(m->b, LZ_DIMS(m->cols), &m->bias, NULL);
}

/* passes: the least number of reads and writes of the whole matrix. */
static lz_err *compare(matrix *m, lz_err *(*other)(void *user), const char *against, int passes)
{
    char name[64];
    lz_buffer *y;
    lz_measured ways[] = { { .run = run, .user = m }, { .run = other, .user = m } };
    LZ_TRY(make_inputs(m));
    LZ_TRY(lz_buffer_create(NULL, (size_t)(m->rows * m->cols) * sizeof(float), &y));
    m->y = y->data;
    lz_err *e = lz_bench_measure(m->b, ways, 2);
    lz_buffer_release(y);
    if (e)
        return e;
    double bytes = (double)passes * sizeof(float) * (double)m->rows * (double)m->cols;
    snprintf(name, sizeof name, "%lldx%lld", (long long)m->rows, (long long)m->cols);
    lz_bench_report_times(m->b, name, ways, against, 1e3, "ms");
    lz_bench_report(
        m->b, (lz_bench_figure){
                  .name = name, .metric = "memory", .value = bytes / ways[0].best * 1e-9, .unit = "GB/s" });
    return NULL;
}

static lz_err *of_rows(const lz_bench *b, call_fn *call)
{
    matrix m = { .b = b, .call = call, .rows = b->o.n ? b->o.n : ROWS, .cols = COLS };
    return compare(&m, run_copy, "memcpy", 2);
}

static lz_err *of_sums(lz_bench *b, call_fn *call, lz_err *(*other)(void *user))
{
    int64_t side = b->o.n ? b->o.n : SIDE;
    matrix m = { .b = b, .call = call, .rows = side, .cols = side };
    LZ_TRY(lz_bench_find_loops(b, &m.loops));
    const char *compiler = m.loops.compiler ? m.loops.compiler() : NULL;
    return compare(&m, compiler ? other : NULL, compiler, 1);
}

lz_err *lz_bench_softmax(lz_bench *b)
{
    return of_rows(b, softmax);
}

lz_err *lz_bench_layernorm(lz_bench *b)
{
    return of_rows(b, layernorm);
}

lz_err *lz_bench_sum0(lz_bench *b)
{
    return of_sums(b, sum0, run_columns);
}

lz_err *lz_bench_sum1(lz_bench *b)
{
    return of_sums(b, sum1, run_rows);
}
