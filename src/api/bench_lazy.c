#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "exec/straight.h"
#include "lazy/record.h"
#include "op/op_table.h"
#include <lazuli/bench.h>
#include <lazuli/tensor.h>
#include <string.h>

enum {
    CHAIN = 1000, /* operators of one run */
    RUNS = 300,
    DEPTH = 400, /* views of views */
    FEW = 100    /* views at that depth in one run */
};

typedef struct bench {
    lz_ctx *c;
    lz_tensor *x, *y; /* held; four elements */
    lz_bench_fn *tell;
    void *user;
    const char *suite;
    double plain; /* ns of the plain loop, for one node */
} bench;

static void report(const bench *b, const char *name, const char *metric, double value, const char *unit)
{
    lz_bench_figure f = {
        .suite = b->suite, .system = "lazuli", .name = name, .metric = metric, .unit = unit, .value = value
    };
    b->tell(b->user, &f);
}

static lz_err *check(const bench *b)
{
    return lz_failed(b->c) ? lz_errf(lz_code_of(b->c), "%s", lz_message(b->c)) : NULL;
}

/* ---- the plain loop ---- */

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

static uint64_t plain_run(void)
{
    uint64_t start = lz_clock_ns();
    plain_node *at = NULL;
    for (int i = 0; i < CHAIN; i++) {
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

/* All tensors go with the scope, and with them the nodes: nothing is ever computed. */
static uint64_t chain_run(const bench *b, step_fn *step)
{
    uint64_t start = lz_clock_ns();
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *at = add(b, b->x);
    for (int i = 1; i < CHAIN; i++)
        at = step(b, at);
    lz_scope_pop(s);
    return lz_clock_ns() - start;
}

static uint64_t view_run(const bench *b)
{
    const int64_t sizes[] = { 2, 2 };
    lz_scope *outer = lz_scope_push(b->c);
    const lz_value in[] = { lz_value_tensor(b->x), lz_value_ints((lz_ints){ sizes, 2 }) };
    lz_tensor *at = record(b, LZ_OP_view, in);
    for (int i = 0; i < DEPTH; i++)
        at = view(b, at);
    uint64_t start = lz_clock_ns();
    lz_scope *s = lz_scope_push(b->c);
    for (int i = 0; i < FEW; i++)
        at = view(b, at);
    lz_scope_pop(s);
    uint64_t took = lz_clock_ns() - start;
    lz_scope_pop(outer);
    return took;
}

static void tell_recording(const bench *b, const char *name, uint64_t best, int n)
{
    double ns = (double)best / n;
    report(b, name, "per_op", ns, "ns");
    report(b, name, "ratio", ns / b->plain, "x plain");
}

static lz_err *bench_record(bench *b)
{
    static const struct {
        const char *name;
        step_fn *step;
    } chains[] = {
        { "add", add }, { "mul", mul }, { "relu", relu }, { "tanh", tanh_of }, { "add_", add_in_place }
    };
    uint64_t best;
    for (size_t k = 0; k < sizeof chains / sizeof *chains; k++) {
        best = UINT64_MAX;
        for (int i = 0; i < RUNS; i++) {
            uint64_t took = chain_run(b, chains[k].step);
            best = took < best ? took : best;
        }
        LZ_TRY(check(b));
        tell_recording(b, chains[k].name, best, CHAIN);
    }
    best = UINT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        uint64_t took = view_run(b);
        best = took < best ? took : best;
    }
    tell_recording(b, "view_depth_400", best, FEW);
    return check(b);
}

/* ---- syncs ---- */

static lz_tensor *mixed_chain(const bench *b)
{
    static step_fn *const steps[] = { add, mul, relu, tanh_of };
    lz_tensor *at = b->x;
    for (int i = 0; i < CHAIN; i++)
        at = steps[i % 4](b, at);
    return at;
}

/* *from: when the sync began. */
static uint64_t sync_run(const bench *b)
{
    lz_scope *s = lz_scope_push(b->c);
    lz_tensor *last = mixed_chain(b);
    lz_retain(last);
    lz_scope_pop(s); /* what lies between is not asked for */
    uint64_t start = lz_clock_ns();
    lz_mark_step(b->c);
    lz_wait(b->c);
    uint64_t took = lz_clock_ns() - start;
    lz_release(last);
    return took;
}

/* The graph of mixed_chain: x and y are its first inputs, then each sum has its factor. */
static lz_err *bare_text(lz_text *t)
{
    lz_text_puts(t, "graph(%x : Tensor, %y : Tensor");
    for (int i = 0; i < CHAIN; i += 4)
        lz_text_printf(t, ", %%a%d : int", i);
    lz_text_puts(t, "):\n");
    for (int i = 0; i < CHAIN; i++) {
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
    lz_text_printf(t, "  return (%%v%d)\n", CHAIN - 1);
    return lz_text_check(t);
}

/* As many inputs as the graph has: tensors of four elements, or ones. */
static lz_err *bare_inputs(const lz_graph *g, lz_arena *a, lz_straight_input **in, lz_straight_arg **args,
                           lz_buffer *data)
{
    static const int64_t sizes[] = { 4 };
    const lz_ir_node *param = g->block->param;
    LZ_TRY(lz_arena_new(a, in, param->nout + 1));
    LZ_TRY(lz_arena_new(a, args, param->nout + 1));
    for (uint32_t i = 0; i < param->nout; i++) {
        bool tensor = param->out[i]->type->kind == LZ_TY_TENSOR;
        (*in)[i] = (lz_straight_input){ .number = tensor ? LZ_SCALAR_NONE : LZ_SCALAR_INT,
                                        .dtype = LZ_F32,
                                        .sizes = { sizes, 1 } };
        (*args)[i] = (lz_straight_arg){ .buffer = data, .number = lz_scalar_int(1) };
    }
    return NULL;
}

static lz_err *bare_runs(const lz_straight *x, const lz_straight_arg *args, uint64_t *best)
{
    lz_straight_run_args run = { .in = args };
    lz_err *e = lz_pool_create(0, &run.threads);
    if (!e)
        e = lz_buffer_pool_create((size_t)1 << 20, &run.memory);
    for (int i = 0; !e && i < RUNS; i++) {
        lz_buffer *out;
        uint64_t start = lz_clock_ns();
        e = lz_straight_run(x, &run, &out);
        if (!e)
            lz_buffer_release(out);
        uint64_t took = lz_clock_ns() - start;
        *best = took < *best ? took : *best;
    }
    lz_buffer_pool_release(run.memory);
    if (run.threads)
        lz_pool_destroy(run.threads);
    return e;
}

static lz_err *run_bare(lz_graph *g, lz_arena *a, uint64_t *best)
{
    lz_straight_input *in;
    lz_straight_arg *args;
    lz_straight *x = NULL;
    lz_buffer *data;
    LZ_TRY(lz_buffer_create(NULL, 64, &data));
    memset(data->data, 0, 64);
    lz_err *e = bare_inputs(g, a, &in, &args, data);
    if (!e)
        e = lz_straight_create(g, in, NULL, &x);
    if (!e)
        e = bare_runs(x, args, best);
    lz_straight_destroy(x);
    lz_buffer_release(data);
    return e;
}

/* The same graph, read from a text and run without tensors, contexts and caches. */
static lz_err *bench_bare(uint64_t *best)
{
    lz_text text = { 0 };
    lz_graph *g = NULL;
    lz_arena a;
    lz_arena_init(&a);
    lz_err *e = bare_text(&text);
    if (!e)
        e = lz_graph_parse("bench", lz_text_view(&text), &g);
    if (!e)
        e = run_bare(g, &a, best);
    lz_graph_release(g);
    lz_arena_deinit(&a);
    lz_text_deinit(&text);
    return e;
}

static lz_err *bench_sync(bench *b)
{
    uint64_t best = UINT64_MAX, bare = UINT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        uint64_t took = sync_run(b);
        best = took < best ? took : best;
    }
    LZ_TRY(check(b));
    LZ_TRY(bench_bare(&bare));
    double over = ((double)best - (double)bare) / CHAIN;
    report(b, "cached_1000", "sync", (double)best * 1e-3, "us");
    report(b, "cached_1000", "bare_plan", (double)bare * 1e-3, "us");
    report(b, "cached_1000", "overhead_per_op", over, "ns");
    report(b, "cached_1000", "ratio", over / b->plain, "x plain");
    return NULL;
}

/* ---- all of it ---- */

static void measure_plain(bench *b)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < RUNS; i++) {
        uint64_t took = plain_run();
        best = took < best ? took : best;
    }
    b->plain = (double)best / CHAIN;
    lz_bench_figure f = { .suite = b->suite,
                          .system = "plain C",
                          .name = "alloc_and_hash",
                          .metric = "per_op",
                          .unit = "ns",
                          .value = b->plain };
    b->tell(b->user, &f);
}

static lz_err *run_suite(bench *b, lz_err *(*suite)(bench *b))
{
    static const float elements[] = { 0.5F, -0.25F, 1, 0.125F };
    b->c = lz_open(NULL);
    if (!b->c)
        return lz_err_oom();
    b->x = lz_from_memory(b->c, LZ_F32, LZ_DIMS(4), elements);
    b->y = lz_from_memory(b->c, LZ_F32, LZ_DIMS(4), elements);
    lz_err *e = check(b);
    if (!e) {
        measure_plain(b);
        e = suite(b);
    }
    lz_close(b->c);
    return e;
}

lz_err *lz_bench_run(const char *suite, lz_bench_fn *tell, void *user)
{
    static const struct {
        const char *name;
        lz_err *(*run)(bench *b);
    } suites[] = { { "record", bench_record }, { "sync", bench_sync } };
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (!strcmp(suite, suites[i].name))
            return run_suite(&(bench){ .tell = tell, .user = user, .suite = suites[i].name }, suites[i].run);
    return lz_errf(LZ_ERR_NOT_FOUND, "there is no suite '%s': record, sync", suite);
}
