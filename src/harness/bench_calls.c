/* A call of a compiled graph: a chain of small operators and a small MLP, with fixed memory and without. */
#include "harness/bench_impl.h"

enum { ROWS = 8, WIDTH = 64, CHAIN = 10 };

typedef struct called {
    const lz_bench *b;
    lz_compiled *graph;
    lz_tensor *x;
} called;

static lz_err *make_chain(const lz_bench *b, lz_tensor *x, lz_tensor **out)
{
    lz_tensor *w;
    LZ_TRY(lz_bench_input(b, lz_tensor_sizes(x), &w, NULL));
    *out = x;
    for (int i = 0; i < CHAIN; i++)
        *out = i % 2 ? lz_relu(b->c, *out) : lz_mul_Tensor(b->c, *out, w);
    return NULL;
}

static lz_err *make_mlp(const lz_bench *b, lz_tensor *x, lz_tensor **out)
{
    lz_tensor *w, *bias;
    *out = x;
    for (int i = 0; i < 3; i++) {
        LZ_TRY(lz_bench_input(b, LZ_DIMS(WIDTH, WIDTH), &w, NULL));
        LZ_TRY(lz_bench_input(b, LZ_DIMS(WIDTH), &bias, NULL));
        *out = lz_relu(b->c, lz_linear(b->c, *out, w, .bias = bias));
    }
    return NULL;
}

static const struct {
    const char *name;
    lz_err *(*make)(const lz_bench *b, lz_tensor *x, lz_tensor **out);
} graphs[] = { { "chain", make_chain }, { "mlp", make_mlp } };

static lz_err *call_graph(void *user)
{
    const called *x = user;
    lz_tensor *y;
    lz_scope *s = lz_scope_push(x->b->c);
    lz_compiled_run(x->graph, &x->x, 1, &y, 1);
    lz_scope_pop(s);
    return lz_bench_check(x->b);
}

static lz_err *measure(const lz_bench *b, const char *name, called *plain, called *fixed)
{
    lz_measured ways[] = { { .run = call_graph, .user = fixed }, { .run = call_graph, .user = plain } };
    LZ_TRY(lz_bench_check(b));
    lz_compiled_fix(fixed->graph);
    LZ_TRY(lz_bench_check(b));
    LZ_TRY(lz_bench_measure(b, ways, 2));
    lz_bench_report_times(b, name, ways, "not fixed", 1e6, "us");
    return NULL;
}

lz_err *lz_bench_calls(lz_bench *b)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof graphs / sizeof *graphs; i++) {
        called plain = { .b = b }, fixed = { .b = b };
        lz_tensor *y;
        lz_scope *s = lz_scope_push(b->c);
        e = lz_bench_input(b, LZ_DIMS(b->o.n ? b->o.n : ROWS, WIDTH), &plain.x, NULL);
        if (!e)
            e = graphs[i].make(b, plain.x, &y);
        if (!e) {
            fixed.x = plain.x;
            plain.graph = lz_extract(b->c, &plain.x, 1, &y, 1);
            fixed.graph = lz_extract(b->c, &plain.x, 1, &y, 1);
            e = measure(b, graphs[i].name, &plain, &fixed);
        }
        lz_compiled_free(plain.graph);
        lz_compiled_free(fixed.graph);
        lz_scope_pop(s);
    }
    return e;
}
