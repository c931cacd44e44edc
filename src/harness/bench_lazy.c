/* The suites record and sync of `lazuli bench`. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "harness/bench_impl.h"
#include "lazy/record.h"
#include "op/op_table.h"
#include "plan/static_graph.h"
#include <string.h>

enum {
    CHAIN = 1000, /* operators of one run */
    RUNS = 300,   /* approximate runs per second */
    DEPTH = 400,  /* depth of a chain of views */
    FEW = 100     /* views of that depth in one run */
};

typedef struct bench {
    const lz_bench *b;
    lz_ctx *c;
    lz_tensor *x, *y; /* computed tensors of four elements */
    lz_tensor *deep;  /* a view at depth DEPTH */
    int chain, runs;
} bench;

static lz_err *begin(lz_bench *b, bench *out)
{
    static const float elements[] = { 0.5F, -0.25F, 1, 0.125F };
    int runs = (int)(RUNS * b->o.seconds);
    *out = (bench){ .b = b, .c = b->c, .chain = b->o.n ? (int)b->o.n : CHAIN, .runs = runs > 5 ? runs : 5 };
    out->x = lz_from_memory(b->c, LZ_F32, LZ_DIMS(4), elements);
    out->y = lz_from_memory(b->c, LZ_F32, LZ_DIMS(4), elements);
    return lz_bench_check(b);
}

static const char plain_name[] = "plain C";

static void report_plain(const bench *b, double ns)
{
    lz_bench_report(
        b->b,
        (lz_bench_figure){
            .system = plain_name, .name = "alloc_and_hash", .metric = "per_op", .value = ns, .unit = "ns" });
}

static void least(uint64_t *best, uint64_t took)
{
    *best = took < *best ? took : *best;
}

/* ---- the loop in plain C ---- */

typedef struct plain_node {
    struct plain_node *in[2];
    uint64_t hash[2];
    uint32_t op, refs;
    int64_t sizes[4];
} plain_node;

static plain_node *plain_make(uint32_t op, plain_node *a, plain_node *b)
{
    plain_node *n = lz_mem_alloc(sizeof *n);
    if (!n)
        return NULL;
    *n = (plain_node){ .in = { a, b }, .op = op, .refs = 1, .sizes = { 4 } };
    const uint64_t all[] = { op, a ? a->hash[0] : 1, a ? a->hash[1] : 2, 4 };
    lz_hash h = lz_hash_bytes(all, sizeof all);
    n->hash[0] = h.lo;
    n->hash[1] = h.hi;
    return n;
}

static uint64_t plain_run(const bench *b)
{
    uint64_t start = lz_clock_ns();
    plain_node *at = NULL;
    for (int i = 0; i < b->chain; i++) {
        plain_node *n = plain_make(7, at, NULL);
        if (!n)
            break;
        at = n;
    }
    while (at) {
        plain_node *next = at->in[0];
        lz_mem_free(at);
        at = next;
    }
    return lz_clock_ns() - start;
}

/* ---- recording ---- */

typedef lz_tensor *step_fn(const bench *b, lz_tensor *at);

static lz_tensor *record(const bench *b, lz_op op, const lz_value *in)
{
    lz_value out;
    lz_record(b->c, &lz_op_table[op], LZ_HERE, in, &out);
    return out.tensor;
}

static lz_tensor *add(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at), lz_value_tensor(b->y), lz_value_scalar(lz_scalar_int(1)) };
    return record(b, LZ_OP_add_Tensor, in);
}

static lz_tensor *mul(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at), lz_value_tensor(b->y) };
    return record(b, LZ_OP_mul_Tensor, in);
}

static lz_tensor *relu(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at) };
    return record(b, LZ_OP_relu, in);
}

static lz_tensor *tanh_of(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at) };
    return record(b, LZ_OP_tanh, in);
}

static lz_tensor *add_in_place(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at), lz_value_tensor(b->y), lz_value_scalar(lz_scalar_int(1)) };
    return record(b, LZ_OP_add__Tensor, in);
}

static lz_tensor *view(const bench *b, lz_tensor *at)
{
    const lz_value in[] = { lz_value_tensor(at), lz_value_integer(0), lz_value_integer(1) };
    return record(b, LZ_OP_transpose_int, in);
}

/* The scope frees all tensors and nodes: nothing is computed. */
static uint64_t chain_run(const bench *b, step_fn *step)
{
    uint64_t start = lz_clock_ns();
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *at = add(b, b->x);
    for (int i = 1; i < b->chain; i++)
        at = step(b, at);
    lz_scope_pop(s);
    return lz_clock_ns() - start;
}

static void go_deep(bench *b)
{
    const int64_t sizes[] = { 2, 2 };
    const lz_value in[] = { lz_value_tensor(b->x), lz_value_ints((lz_ints){ sizes, 2 }) };
    b->deep = record(b, LZ_OP_view, in);
    for (int i = 0; i < DEPTH; i++)
        b->deep = view(b, b->deep);
}

static uint64_t view_run(const bench *b)
{
    uint64_t start = lz_clock_ns();
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *at = b->deep;
    for (int i = 0; i < FEW; i++)
        at = view(b, at);
    lz_scope_pop(s);
    return lz_clock_ns() - start;
}

static const struct {
    const char *name;
    step_fn *step; /* NULL: a chain of views */
} chains[] = { { "add", add },      { "mul", mul },           { "relu", relu },
               { "tanh", tanh_of }, { "add_", add_in_place }, { "view_depth_400", NULL } };

enum { CHAINS = sizeof chains / sizeof *chains };

static void report_recording(const bench *b, const uint64_t best[CHAINS], uint64_t plain)
{
    double least_ns = (double)plain / b->chain;
    report_plain(b, least_ns);
    for (int k = 0; k < CHAINS; k++) {
        double ns = (double)best[k] / (chains[k].step ? b->chain : FEW);
        lz_bench_report(b->b, (lz_bench_figure){ .name = chains[k].name,
                                                 .metric = "per_op",
                                                 .value = ns,
                                                 .unit = "ns",
                                                 .ratio = ns / least_ns,
                                                 .against = plain_name });
    }
}

lz_err *lz_bench_record(lz_bench *all)
{
    bench b;
    uint64_t best[CHAINS], plain = UINT64_MAX;
    LZ_TRY(begin(all, &b));
    go_deep(&b);
    memset(best, 0xff, sizeof best);
    for (int i = 0; i < b.runs; i++) {
        least(&plain, plain_run(&b));
        for (int k = 0; k < CHAINS; k++)
            least(&best[k], chains[k].step ? chain_run(&b, chains[k].step) : view_run(&b));
    }
    LZ_TRY(lz_bench_check(all));
    report_recording(&b, best, plain);
    return NULL;
}

/* ---- syncs ---- */

typedef struct times {
    uint64_t plain, sync, bare; /* ns */
} times;

static lz_tensor *mixed_chain(const bench *b)
{
    static step_fn *const steps[] = { add, mul, relu, tanh_of };
    lz_tensor *at = b->x;
    for (int i = 0; i < b->chain; i++)
        at = steps[i % 4](b, at);
    return at;
}

/* Time of the sync alone; the suite record measures recording. */
static uint64_t sync_run(const bench *b)
{
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *last = mixed_chain(b);
    lz_retain(last);
    lz_scope_pop(s); /* frees all intermediate results */
    uint64_t start = lz_clock_ns();
    lz_mark_step(b->c);
    lz_wait(b->c);
    uint64_t took = lz_clock_ns() - start;
    lz_release(last);
    return took;
}

/* The text of the graph that mixed_chain records. x and y are the first inputs, then comes one factor per
 * sum. */
static lz_err *bare_text(int chain, lz_text *t)
{
    lz_text_puts(t, "graph(%x : Tensor, %y : Tensor");
    for (int i = 0; i < chain; i += 4)
        lz_text_printf(t, ", %%a%d : int", i);
    lz_text_puts(t, "):\n");
    for (int i = 0; i < chain; i++) {
        static const char *const calls[] = { "add", "mul", "relu", "tanh" };
        lz_text_printf(t, "  %%v%d : Tensor = aten::%s(%%", i, calls[i % 4]);
        if (i == 0)
            lz_text_puts(t, "x");
        else
            lz_text_printf(t, "v%d", i - 1);
        lz_text_puts(t, i % 4 < 2 ? ", %y" : "");
        if (i % 4 == 0)
            lz_text_printf(t, ", %%a%d", i);
        lz_text_puts(t, ")\n");
    }
    lz_text_printf(t, "  return (%%v%d)\n", chain - 1);
    return lz_text_check(t);
}

/* Inputs of the graph: tensors of four elements, and numbers that are 1. */
static lz_err *bare_inputs(const lz_graph *g, lz_arena *a, lz_static_graph_input **in,
                           lz_static_graph_arg **args, lz_buffer *data)
{
    static const int64_t sizes[] = { 4 };
    const lz_ssa_node *param = g->block->param;
    LZ_TRY(lz_arena_new(a, in, param->nout + 1));
    LZ_TRY(lz_arena_new(a, args, param->nout + 1));
    for (uint32_t i = 0; i < param->nout; i++) {
        bool tensor = param->out[i]->type->kind == LZ_GRAPH_TYPE_TENSOR;
        (*in)[i] = (lz_static_graph_input){ .number = tensor ? LZ_SCALAR_NONE : LZ_SCALAR_INT,
                                            .dtype = LZ_F32,
                                            .sizes = { sizes, 1 } };
        (*args)[i] = (lz_static_graph_arg){ .buffer = data, .number = lz_scalar_int(1) };
    }
    return NULL;
}

static lz_err *bare_run(const lz_static_graph *x, const lz_static_graph_run_args *run, uint64_t *best)
{
    lz_buffer *out;
    uint64_t start = lz_clock_ns();
    LZ_TRY(lz_static_graph_run(x, run, &out));
    lz_buffer_release(out);
    least(best, lz_clock_ns() - start);
    return NULL;
}

static lz_err *in_turns(const bench *b, const lz_static_graph *x, const lz_static_graph_arg *args, times *t)
{
    lz_static_graph_run_args run = { .in = args, .threads = b->b->pool };
    lz_err *e = lz_buffer_pool_create((size_t)1 << 20, &run.memory);
    for (int i = 0; !e && i < b->runs; i++) {
        least(&t->plain, plain_run(b));
        least(&t->sync, sync_run(b));
        e = bare_run(x, &run, &t->bare);
    }
    lz_buffer_pool_release(run.memory);
    return e;
}

static lz_err *run_graph(const bench *b, lz_graph *g, lz_arena *a, times *t)
{
    lz_static_graph_input *in;
    lz_static_graph_arg *args;
    lz_static_graph *x = NULL;
    lz_buffer *data;
    LZ_TRY(lz_buffer_create(NULL, 64, &data));
    memset(data->data, 0, 64);
    lz_err *e = bare_inputs(g, a, &in, &args, data);
    if (!e)
        e = lz_static_graph_create(g, in, NULL, &x);
    if (!e)
        e = in_turns(b, x, args, t);
    lz_static_graph_destroy(x);
    lz_buffer_release(data);
    return e;
}

/* Runs the same graph from text, without tensors, contexts and caches. */
static lz_err *run_text(const bench *b, times *t)
{
    lz_text text = { 0 };
    lz_graph *g = NULL;
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = bare_text(b->chain, &text);
    if (!e)
        e = lz_graph_parse("bench", lz_text_view(&text), &g);
    if (!e)
        e = run_graph(b, g, &a, t);
    lz_graph_release(g);
    lz_arena_deinit(&a);
    lz_text_deinit(&text);
    return e;
}

lz_err *lz_bench_sync(lz_bench *all)
{
    bench b;
    times t = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
    LZ_TRY(begin(all, &b));
    LZ_TRY(run_text(&b, &t));
    LZ_TRY(lz_bench_check(all));
    double plain = (double)t.plain / b.chain, over = ((double)t.sync - (double)t.bare) / b.chain;
    report_plain(&b, plain);
    const lz_bench_figure figures[] = {
        { .metric = "sync", .value = (double)t.sync * 1e-3, .unit = "us" },
        { .metric = "bare_plan", .value = (double)t.bare * 1e-3, .unit = "us" },
        { .metric = "overhead_per_op", .value = over, .unit = "ns", .ratio = over / plain },
    };
    for (int i = 0; i < 3; i++) {
        lz_bench_figure f = figures[i];
        f.name = "cached";
        f.against = plain_name;
        lz_bench_report(all, f);
    }
    return NULL;
}
