/* A device from a plug-in: first used as by any program, then with a graph that is built, compiled and run
 * by hand. Nodes are made by lz_ir_make and the device's IR builder, the lowering by lz_lowering_create.
 *
 *     by_hand hand_backend.so */
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <stdlib.h>

static void must(lz_err *e)
{
    if (!e)
        return;
    fprintf(stderr, "%s\n", lz_err_text(e));
    exit(1);
}

static int64_t counter(const char *name)
{
    int64_t n = 0;
    lz_counter_value(name, &n);
    return n;
}

/* ---- ordinary use ---- */

static void record(lz_ctx *c)
{
    const float v[] = { 1, -2, 3, -4 }, row[] = { 10, 20 };
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2, 2), v),
              *r = lz_from_memory(c, LZ_F32, LZ_DIMS(2), row);
    lz_tensor *sum = lz_add(c, x, lz_neg(c, x), .alpha = LZ_S(2));
    lz_tensor *y = lz_call(c, "relu", LZ_V(sum))
                       .tensor; /* by name, as interpreters and other languages call operators */
    printf("on the device %s\n", lz_print(y));
    printf("add fell back %lld times\n", (long long)counter("aten::add.Tensor"));
    /* The device does not support broadcasting, and reports that only when it compiles. */
    printf("with a row of another shape %s\n", lz_print(lz_add(c, y, r)));
    printf("add fell back %lld times\n", (long long)counter("aten::add.Tensor"));
}

/* ---- by hand ---- */

typedef struct graph {
    const lz_backend *b;
    lz_output x, y, product, sum;
    lz_lowering *l;
    void *computation;
} graph;

/* x * y + x * alpha; each run passes the number alpha. */
static void build(lz_ctx *c, graph *g, lz_tensor *x, lz_tensor *y)
{
    const lz_value none[] = { lz_value_none(), lz_value_none() };
    const lz_value alpha[] = { lz_value_none(), lz_value_none(), lz_value_scalar(LZ_S(1)) };
    lz_ir *ir = lz_ir_of(c);
    size_t place;
    must(lz_ir_output(x, &g->x));
    must(lz_ir_output(y, &g->y));
    const lz_operands factors[] = { { &g->x, 1 }, { &g->y, 1 } };
    must(lz_ir_make(ir, lz_operator_find("mul.Tensor"), none, factors, 2, &g->product));
    const lz_operands terms[] = { { &g->product, 1 }, { &g->x, 1 } };
    must(lz_ir_make(ir, lz_operator_find("add.Tensor"), alpha, terms, 2, &g->sum));
    must(lz_lowering_create("hand:0", "ByHand", &g->l));
    must(lz_lowering_add_result(g->l, g->sum, &place));
    must(lz_lowering_set_up_alias(g->l, (lz_alias_pair){ .output = (uint32_t)place, .parameter = 0 }));
    must(g->b->compile(g->b->self, &g->l, 1, &g->computation));
}

static void *upload(const lz_backend *b, lz_backend_device d, const float *v)
{
    static const int64_t sizes[] = { 3 }, strides[] = { 1 };
    lz_host_tensor t = { .type = { LZ_F32, { sizes, 1 } }, .strides = { strides, 1 }, .data = (void *)v };
    void *data;
    must(b->make_computation_data_from_tensor(b->self, &t, d, &data));
    return data;
}

/* Parameters are in the order in which the graph uses them first: a factor, the other factor, alpha. */
static void run(const graph *g, const float *x, const float *y, double alpha)
{
    static const int64_t sizes[] = { 3 }, strides[] = { 1 };
    const lz_parameter *p;
    lz_argument args[3] = { 0 };
    size_t n = lz_lowering_parameters(g->l, &p), failed;
    lz_backend_device d = lz_lowering_device(g->l);
    void *result = NULL;
    float got[3] = { 0 };
    for (size_t i = 0; i < n && i < 3; i++)
        if (p[i].scalar == LZ_SCALAR_NONE)
            args[i] =
                (lz_argument){ .data = upload(g->b, d, p[i].node == g->x.node ? x : y), .donated = true };
        else
            args[i].number =
                p[i].scalar == LZ_SCALAR_INT ? lz_scalar_int((int64_t)alpha) : lz_scalar_float(alpha);
    must(g->b->execute_computation(
        g->b->self, g->computation,
        &(lz_execution){
            .arguments = args, .n = n, .device = d, .results = &result, .n_results = 1, .failed = &failed }));
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 1 } }, .strides = { strides, 1 }, .data = got };
    must(g->b->make_tensor_from_computation_data(g->b->self, result, LZ_F32, &h));
    printf("by hand, alpha %g: %g %g %g\n", alpha, (double)got[0], (double)got[1], (double)got[2]);
    for (size_t i = 0; i < n; i++)
        if (args[i].data)
            g->b->release_data(g->b->self, args[i].data);
    g->b->release_data(g->b->self, result);
}

static void free_graph(lz_ctx *c, graph *g)
{
    const lz_output all[] = { g->sum, g->product, g->y, g->x };
    g->b->release_computation(g->b->self, g->computation);
    lz_lowering_destroy(g->l);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        lz_ir_release(lz_ir_of(c), all[i]);
}

/* The device's builder turns a number into a node in its own way; lz_ir_tensor turns a node into a tensor. */
static void use_builder(lz_ctx *c)
{
    const lz_ir_builder *builder = lz_get_ir_builder("hand");
    const lz_backend *b = lz_get_backend("hand");
    lz_output number;
    lz_tensor *t;
    must(builder->make_scalar(b->self, lz_ir_of(c), LZ_S(2.5), LZ_F32, &number));
    must(lz_ir_tensor(lz_ir_of(c), number, &t));
    printf("the builder made %s of %g\n", lz_node_op(number.node)->name, lz_item_double(t));
    lz_ir_release(lz_ir_of(c), number);
}

int main(int argc, char **argv)
{
    const float v[] = { 1, 2, 3 }, w[] = { 4, 5, 6 };
    if (argc != 2)
        return fprintf(stderr, "usage: by_hand hand_backend.so\n"), 2;
    must(lz_backend_load(argv[1], NULL));
    lz_ctx *c = lz_open(&(lz_options){ .device = "hand" });
    if (!c || lz_failed(c))
        return fprintf(stderr, "%s\n", c ? lz_message(c) : "out of memory"), 1;
    record(c);
    graph g = { .b = lz_get_backend("hand") };
    build(c, &g, lz_from_memory(c, LZ_F32, LZ_DIMS(3), v), lz_from_memory(c, LZ_F32, LZ_DIMS(3), w));
    run(&g, v, w, 1);
    run(&g, w, w, 10);
    free_graph(c, &g);
    use_builder(c);
    if (lz_failed(c))
        return fprintf(stderr, "%s\n", lz_message(c)), 1;
    lz_close(c);
    return 0;
}
