/* Measures the tile interpreter on expressions of four f32 arrays. Compares it with the same loop compiled
 * with -Ofast (loops.c), and with one pass over memory per operation. Each expression runs as one kernel,
 * as one kernel per operation, and as a graph through the executor, fused and not fused. --json: one
 * object per line; --quick: a tenth of the time. */
#include "base/mem.h"
#include "core/buffer.h"
#include "core/strided_array.h"
#include "figure.h"
#include "harness/measure.h"
#include "jit/kernel.h"
#include "loops.h"
#include "script/executor.h"
#include "script/script_tensor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 4, STEPS = 16, GELU = LZ_KERNEL_OP_COUNT, NUMBER };

/* An operation on earlier values: 0 to 3 are the arrays, 4 is the first step's result, ... */
typedef struct step {
    int op, x, y;
    double number; /* for NUMBER */
} step;

typedef struct expression {
    const char *name, *text;
    loop_fn *loop;
    double share; /* required share of the loop's speed; 0: none */
    step steps[STEPS];
    int n;
    const char *graph;
} expression;

#define HEAD                                                                                                 \
    "graph(%a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor):\n"                                           \
    "  %1 : int = prim::Constant[value=1]()\n"

static const expression expressions[] = {
    { .name = "gelu",
      .text = "gelu_tanh(a*b+c) * sigmoid(d)",
      .loop = loop_gelu,
      .share = 0.6,
      .steps = { { LZ_KERNEL_MUL, 0, 1, 0 },
                 { LZ_KERNEL_ADD, 4, 2, 0 },
                 { GELU, 5, 0, 0 },
                 { LZ_KERNEL_SIGMOID, 3, 0, 0 },
                 { LZ_KERNEL_MUL, 6, 7, 0 } },
      .n = 5,
      .graph = HEAD "  %t : str = prim::Constant[value=\"tanh\"]()\n"
                    "  %4 : Tensor = aten::mul(%a, %b)\n"
                    "  %5 : Tensor = aten::add(%4, %c, %1)\n"
                    "  %6 : Tensor = aten::gelu(%5, %t)\n"
                    "  %7 : Tensor = aten::sigmoid(%d)\n"
                    "  %8 : Tensor = aten::mul(%6, %7)\n"
                    "  return (%8)\n" },
    { .name = "gauss",
      .text = "tanh(a*b+c) * exp(-(d*d))",
      .loop = loop_gauss,
      .share = 0.45,
      .steps = { { LZ_KERNEL_MUL, 0, 1, 0 },
                 { LZ_KERNEL_ADD, 4, 2, 0 },
                 { LZ_KERNEL_TANH, 5, 0, 0 },
                 { LZ_KERNEL_MUL, 3, 3, 0 },
                 { LZ_KERNEL_NEG, 7, 0, 0 },
                 { LZ_KERNEL_EXP, 8, 0, 0 },
                 { LZ_KERNEL_MUL, 6, 9, 0 } },
      .n = 7,
      .graph = HEAD "  %4 : Tensor = aten::mul(%a, %b)\n"
                    "  %5 : Tensor = aten::add(%4, %c, %1)\n"
                    "  %6 : Tensor = aten::tanh(%5)\n"
                    "  %7 : Tensor = aten::mul(%d, %d)\n"
                    "  %8 : Tensor = aten::neg(%7)\n"
                    "  %9 : Tensor = aten::exp(%8)\n"
                    "  %10 : Tensor = aten::mul(%6, %9)\n"
                    "  return (%10)\n" },
    { .name = "norm",
      .text = "log(1+a*a) + sqrt(b*b+c*c) / (1+|d|)",
      .loop = loop_norm,
      .share = 0.45,
      .steps = { { NUMBER, 0, 0, 1 },
                 { LZ_KERNEL_MUL, 0, 0, 0 },
                 { LZ_KERNEL_ADD, 5, 4, 0 },
                 { LZ_KERNEL_LOG, 6, 0, 0 },
                 { LZ_KERNEL_MUL, 1, 1, 0 },
                 { LZ_KERNEL_MUL, 2, 2, 0 },
                 { LZ_KERNEL_ADD, 8, 9, 0 },
                 { LZ_KERNEL_SQRT, 10, 0, 0 },
                 { LZ_KERNEL_ABS, 3, 0, 0 },
                 { LZ_KERNEL_ADD, 12, 4, 0 },
                 { LZ_KERNEL_DIV, 11, 13, 0 },
                 { LZ_KERNEL_ADD, 7, 14, 0 } },
      .n = 12,
      .graph = HEAD "  %5 : Tensor = aten::mul(%a, %a)\n"
                    "  %6 : Tensor = aten::add(%5, %1, %1)\n"
                    "  %7 : Tensor = aten::log(%6)\n"
                    "  %8 : Tensor = aten::mul(%b, %b)\n"
                    "  %9 : Tensor = aten::mul(%c, %c)\n"
                    "  %10 : Tensor = aten::add(%8, %9, %1)\n"
                    "  %11 : Tensor = aten::sqrt(%10)\n"
                    "  %12 : Tensor = aten::abs(%d)\n"
                    "  %13 : Tensor = aten::add(%12, %1, %1)\n"
                    "  %14 : Tensor = aten::div(%11, %13)\n"
                    "  %15 : Tensor = aten::add(%7, %14, %1)\n"
                    "  return (%15)\n" },
    { .name = "soft",
      .text = "log1p(exp(a)) + sqrt(b*b+c*c) / (1+|d|)",
      .loop = loop_soft,
      .share = 0.45,
      .steps = { { NUMBER, 0, 0, 1 },
                 { LZ_KERNEL_EXP, 0, 0, 0 },
                 { LZ_KERNEL_LOG1P, 5, 0, 0 },
                 { LZ_KERNEL_MUL, 1, 1, 0 },
                 { LZ_KERNEL_MUL, 2, 2, 0 },
                 { LZ_KERNEL_ADD, 7, 8, 0 },
                 { LZ_KERNEL_SQRT, 9, 0, 0 },
                 { LZ_KERNEL_ABS, 3, 0, 0 },
                 { LZ_KERNEL_ADD, 11, 4, 0 },
                 { LZ_KERNEL_DIV, 10, 12, 0 },
                 { LZ_KERNEL_ADD, 6, 13, 0 } },
      .n = 11,
      .graph = HEAD "  %5 : Tensor = aten::exp(%a)\n"
                    "  %6 : Tensor = aten::log1p(%5)\n"
                    "  %7 : Tensor = aten::mul(%b, %b)\n"
                    "  %8 : Tensor = aten::mul(%c, %c)\n"
                    "  %9 : Tensor = aten::add(%7, %8, %1)\n"
                    "  %10 : Tensor = aten::sqrt(%9)\n"
                    "  %11 : Tensor = aten::abs(%d)\n"
                    "  %12 : Tensor = aten::add(%11, %1, %1)\n"
                    "  %13 : Tensor = aten::div(%10, %12)\n"
                    "  %14 : Tensor = aten::add(%6, %13, %1)\n"
                    "  return (%14)\n" },
    { .name = "chain",
      .text = "(((((a+b)*c-d)*a+c)*b-a)*d + (b-c)*0.5",
      .loop = loop_chain,
      .steps = { { NUMBER, 0, 0, 0.5 },
                 { LZ_KERNEL_ADD, 0, 1, 0 },
                 { LZ_KERNEL_MUL, 5, 2, 0 },
                 { LZ_KERNEL_SUB, 6, 3, 0 },
                 { LZ_KERNEL_MUL, 7, 0, 0 },
                 { LZ_KERNEL_ADD, 8, 2, 0 },
                 { LZ_KERNEL_MUL, 9, 1, 0 },
                 { LZ_KERNEL_SUB, 10, 0, 0 },
                 { LZ_KERNEL_MUL, 11, 3, 0 },
                 { LZ_KERNEL_SUB, 1, 2, 0 },
                 { LZ_KERNEL_MUL, 13, 4, 0 },
                 { LZ_KERNEL_ADD, 12, 14, 0 } },
      .n = 12,
      .graph = HEAD "  %4 : float = prim::Constant[value=0.5]()\n"
                    "  %5 : Tensor = aten::add(%a, %b, %1)\n"
                    "  %6 : Tensor = aten::mul(%5, %c)\n"
                    "  %7 : Tensor = aten::sub(%6, %d, %1)\n"
                    "  %8 : Tensor = aten::mul(%7, %a)\n"
                    "  %9 : Tensor = aten::add(%8, %c, %1)\n"
                    "  %10 : Tensor = aten::mul(%9, %b)\n"
                    "  %11 : Tensor = aten::sub(%10, %a, %1)\n"
                    "  %12 : Tensor = aten::mul(%11, %d)\n"
                    "  %13 : Tensor = aten::sub(%b, %c, %1)\n"
                    "  %14 : Tensor = aten::mul(%13, %4)\n"
                    "  %15 : Tensor = aten::add(%12, %14, %1)\n"
                    "  return (%15)\n" },
};

/* ---- the functions that are measured ---- */

typedef struct bench {
    const expression *e;
    int64_t n;
    lz_pool *pool;
    float *values[INPUTS + STEPS]; /* inputs, then results of steps */
    float *places[STEPS];          /* memory for results; the last one for the final result */
    lz_kernel *whole, *parts[STEPS];
    lz_executor *executor;
    lz_buffer_pool *memory;
    lz_script_value inputs[INPUTS];
} bench;

static const int64_t dense[] = { 1 };

static lz_err *launch(const bench *b, lz_kernel *k, const lz_kernel_access *access)
{
    return lz_kernel_run(k, &(lz_kernel_args){ .extents = &b->n, .access = access }, b->pool);
}

static lz_err *run_whole(void *user)
{
    const bench *b = user;
    lz_kernel_access access[INPUTS + 1];
    for (int i = 0; i < INPUTS; i++)
        access[i] = (lz_kernel_access){ b->values[i], 0, dense };
    access[INPUTS] = (lz_kernel_access){ b->places[STEPS - 1], 0, dense };
    return launch(b, b->whole, access);
}

static lz_err *run_parts(void *user)
{
    const bench *b = user;
    for (int i = 0; i < b->e->n; i++) {
        const step *s = &b->e->steps[i];
        float *x = b->values[s->x], *y = b->values[s->y];
        const lz_kernel_access access[] = { { x, 0, dense },
                                            { y, 0, dense },
                                            { b->values[INPUTS + i], 0, dense } };
        if (b->parts[i])
            LZ_TRY(launch(b, b->parts[i], access));
    }
    return NULL;
}

static lz_err *run_graph(void *user, bool separate)
{
    const bench *b = user;
    lz_script_env env = { .threads = b->pool, .memory = b->memory, .separate = separate };
    lz_script_value out;
    LZ_TRY(lz_executor_run(b->executor, b->inputs, INPUTS, &env, &out));
    lz_script_value_release(out);
    return NULL;
}

static lz_err *run_fused(void *user)
{
    return run_graph(user, false);
}

static lz_err *run_separate(void *user)
{
    return run_graph(user, true);
}

typedef struct span {
    const bench *b;
    float *y;
} span;

static lz_err *loop_range(void *user, int64_t begin, int64_t end, int worker)
{
    const span *s = user;
    const float *in[INPUTS];
    (void)worker;
    for (int i = 0; i < INPUTS; i++)
        in[i] = s->b->values[i] + begin;
    s->b->e->loop(in, s->y + begin, end - begin);
    return NULL;
}

static lz_err *run_loop(void *user)
{
    span s = { user, ((bench *)user)->places[STEPS - 1] };
    int64_t share = s.b->pool ? (s.b->n + 15) / 16 : s.b->n;
    return lz_pool_for(s.b->pool, s.b->n, share, loop_range, &s);
}

/* ---- setting up ---- */

/* as aten::gelu */
static lz_kernel_value gelu(lz_kernel_builder *b, lz_kernel_value x)
{
    lz_kernel_value one = lz_kernel_build_const_f(b, LZ_KERNEL_F32, 1),
                    u = lz_kernel_build_const_f(b, LZ_KERNEL_F32, 0.044715);
    for (int i = 0; i < 3; i++)
        u = lz_kernel_build_op2(b, LZ_KERNEL_MUL, u, x);
    u = lz_kernel_build_op2(b, LZ_KERNEL_MUL, lz_kernel_build_const_f(b, LZ_KERNEL_F32, 1.5957691216057308),
                            lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, u));
    u = lz_kernel_build_op2(b, LZ_KERNEL_ADD, one,
                            lz_kernel_build_op1(b, LZ_KERNEL_EXP, lz_kernel_build_op1(b, LZ_KERNEL_NEG, u)));
    return lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, lz_kernel_build_op2(b, LZ_KERNEL_DIV, one, u));
}

static lz_kernel_value apply(lz_kernel_builder *b, const step *s, lz_kernel_value x, lz_kernel_value y)
{
    if (s->op == GELU)
        return gelu(b, x);
    if (s->op == NUMBER)
        return lz_kernel_build_const_f(b, LZ_KERNEL_F32, s->number);
    return lz_kernel_op_operands((lz_kernel_op)s->op) == 1
               ? lz_kernel_build_op1(b, (lz_kernel_op)s->op, x)
               : lz_kernel_build_op2(b, (lz_kernel_op)s->op, x, y);
}

static lz_kernel_value load(lz_kernel_builder *b)
{
    return lz_kernel_build_load(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT));
}

static void finish(lz_kernel_builder *b, lz_kernel_value y, lz_kernel **out)
{
    lz_kernel_build_store(b, lz_kernel_build_access(b, LZ_F32, LZ_KERNEL_ELEMENT), y);
    bench_try(lz_kernel_builder_finish(b, out));
}

static void make_whole(bench *x)
{
    lz_kernel_builder *b;
    lz_kernel_value values[INPUTS + STEPS];
    bench_try(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
    for (int i = 0; i < INPUTS; i++)
        values[i] = load(b);
    for (int i = 0; i < x->e->n; i++)
        values[INPUTS + i] = apply(b, &x->e->steps[i], values[x->e->steps[i].x], values[x->e->steps[i].y]);
    finish(b, values[INPUTS + x->e->n - 1], &x->whole);
}

/* The last step that reads the value, or the end. */
static int last_use(const expression *e, int value)
{
    int last = value == INPUTS + e->n - 1 ? e->n : -1;
    for (int i = 0; i < e->n; i++)
        last = e->steps[i].x == value || e->steps[i].y == value ? i : last;
    return last;
}

/* Memory for a step's result: the first place that is not read any more. */
static float *free_place(const bench *x, int at)
{
    int p = 0;
    for (int v = INPUTS; v < INPUTS + at; v++) {
        if (x->values[v] == x->places[p] && last_use(x->e, v) >= at) {
            p++;
            v = INPUTS - 1;
        }
    }
    return x->places[p];
}

static lz_kernel_value operand(lz_kernel_builder *b, const expression *e, int value)
{
    lz_kernel_value loaded = load(b); /* unused for a number */
    bool number = value >= INPUTS && e->steps[value - INPUTS].op == NUMBER;
    return number ? apply(b, &e->steps[value - INPUTS], 0, 0) : loaded;
}

static void make_parts(bench *x)
{
    for (int i = 0; i < x->e->n; i++) {
        lz_kernel_builder *b;
        const step *s = &x->e->steps[i];
        x->values[INPUTS + i] = NULL;
        if (s->op == NUMBER)
            continue;
        x->values[INPUTS + i] = free_place(x, i);
        bench_try(lz_kernel_builder_create(LZ_KERNEL_ROWS, 0, 1, &b));
        lz_kernel_value in[2] = { operand(b, x->e, s->x), operand(b, x->e, s->y) };
        finish(b, apply(b, s, in[0], in[1]), &x->parts[i]);
    }
}

static void make_executor(bench *x)
{
    lz_graph *g;
    bench_try(lz_graph_parse(NULL, lz_str_of(x->e->graph), &g));
    bench_try(lz_executor_create(g, &x->executor));
    lz_graph_release(g);
}

/* The inputs of the kernels are those of the graph. */
static void make_inputs(bench *x)
{
    for (int i = 0; i < INPUTS; i++) {
        lz_array a;
        bench_try(lz_array_init(&a, x->memory, LZ_F32, LZ_DIMS(x->n)));
        x->values[i] = a.buffer->data;
        for (int64_t k = 0; k < x->n; k++)
            x->values[i][k] = (float)((k * (7919 + 2 * i)) % 8191) / 2048 - 2;
        bench_try(lz_script_tensor_of_array(&a, &x->inputs[i]));
        lz_array_deinit(&a);
    }
}

/* Unused places are never written, so they cost no memory. */
static void make_places(bench *x, lz_buffer *buffers[STEPS])
{
    for (int i = 0; i < STEPS; i++) {
        bench_try(lz_buffer_create(NULL, (size_t)x->n * sizeof(float), &buffers[i]));
        x->places[i] = buffers[i]->data;
    }
}

static void forget(bench *x)
{
    lz_executor_destroy(x->executor);
    lz_kernel_release(x->whole);
    for (int i = 0; i < STEPS; i++) {
        lz_kernel_release(x->parts[i]);
        x->parts[i] = NULL;
    }
}

/* ---- figures ---- */

static bool quick;

enum { WAYS = 5 };

static void report(const bench *x, int threads, const lz_measured *w)
{
    char name[64];
    double loop = w[0].best, whole = w[1].best, parts = w[2].best;
    snprintf(name, sizeof name, "%s n=%lld threads=%d", x->e->name, (long long)x->n, threads);
    static const char *const systems[WAYS] = { "loop", "kernel", "kernel per op", "graph", "graph per prim" };
    for (int i = 0; i < WAYS; i++)
        bench_figure("interp", systems[i], name, "time", w[i].best * 1e6, "us");
    bench_figure("interp", "kernel", name, "share of loop", loop / whole, "x");
    bench_figure("interp", "graph", name, "share of loop", loop / w[3].best, "x");
    bench_figure("interp", "kernel", name, "over pass per op", parts / whole, "x");
    bench_figure("interp", "graph", name, "over pass per prim", w[4].best / w[3].best, "x");
    bench_figure("interp", "graph", name, "beyond kernel", (w[3].best - whole) * 1e6, "us");
}

static void compare(bench *x, const expression *e, lz_pool *pool)
{
    x->e = e;
    x->pool = pool;
    make_whole(x);
    make_parts(x);
    make_executor(x);
    lz_measured ways[WAYS] = { { .run = run_loop, .user = x },
                               { .run = run_whole, .user = x },
                               { .run = run_parts, .user = x },
                               { .run = run_fused, .user = x },
                               { .run = run_separate, .user = x } };
    int threads = pool ? lz_pool_threads(pool) : 1;
    bench_try(lz_measure(ways, WAYS, threads, (x->n > 10000000 ? 8.0 : 3.0) / (quick ? 10 : 1)));
    report(x, threads, ways);
    forget(x);
}

static void all_of_size(int64_t n, lz_pool *pool, const char *only)
{
    bench x = { .n = n };
    lz_buffer *buffers[STEPS];
    bench_try(lz_buffer_pool_create((size_t)4 << 30, &x.memory));
    make_inputs(&x);
    make_places(&x, buffers);
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        if (!only || strcmp(only, expressions[i].name) == 0)
            compare(&x, &expressions[i], pool);
    }
    for (int i = 0; i < INPUTS; i++)
        lz_script_value_release(x.inputs[i]);
    for (int i = 0; i < STEPS; i++)
        lz_buffer_release(buffers[i]);
    lz_buffer_pool_release(x.memory);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    lz_pool *pool;
    for (int i = 1; i < argc; i++) {
        bool flag = argv[i][0] == '-';
        quick = quick || strcmp(argv[i], "--quick") == 0;
        bench_json(strcmp(argv[i], "--json") == 0);
        only = flag ? only : argv[i];
    }
    bench_try(lz_pool_create(2, &pool));
    lz_pin(true);
    static const int64_t sizes[] = { 1000, 1000000, 20000000 };
    for (int i = 0; i < 3; i++)
        all_of_size(sizes[i], NULL, only);
    lz_pin(false);
    for (int i = 1; i < 3; i++)
        all_of_size(sizes[i], pool, only);
    lz_pool_destroy(pool);
    return EXIT_SUCCESS;
}
