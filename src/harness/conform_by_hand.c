/* Nodes made by a backend's builder, and a graph that is lowered, compiled and run by hand. */
#include "harness/conform.h"
#include "lazy/backend_data.h"
#include "lazy/ir_builder.h"
#include "lazy/node.h"
#include <string.h>

static const char group[] = "by hand";

/* ---- the builder ---- */

typedef struct builder {
    lz_ir_builder b; /* the backend's builder, completed */
    void *self;
    lz_ir *ir;
    lz_output made[10];
} builder;

static builder builder_of(const lz_conform *k)
{
    const lz_backend *b = lz_get_backend(k->device);
    const lz_ir_builder *brought = b->get_ir_builder(b->self);
    builder x = { .b = lz_own_ir_builder, .self = b->self, .ir = lz_ir_of(k->dev) };
    for (size_t at = sizeof(size_t);
         brought && at + sizeof(void *) <= brought->struct_size && at + sizeof(void *) <= sizeof x.b;
         at += sizeof(void *))
        if (memcmp((const char *)brought + at, &(void *){ NULL }, sizeof(void *)) != 0)
            memcpy((char *)&x.b + at, (const char *)brought + at, sizeof(void *));
    return x;
}

static lz_err *build(builder *x, lz_tensor *t)
{
    const lz_ir_builder *b = &x->b;
    lz_output *m = x->made;
    const lz_value args[] = { lz_value_none(), lz_value_none(), lz_value_scalar(lz_scalar_int(2)) };
    LZ_TRY(lz_ir_output(t, &m[0])); /* 0: data, 3 by 7 */
    LZ_TRY(b->make_scalar(x->self, x->ir, lz_scalar_float(1.5), LZ_F32, &m[1]));
    LZ_TRY(b->make_expand(x->self, x->ir, m[1], LZ_DIMS(3, 7), true, &m[2]));
    const lz_operands in[] = { { &m[0], 1 }, { &m[2], 1 } };
    LZ_TRY(b->make_generic(x->self, x->ir, &lz_op_table[LZ_OP_add_Tensor], args, in, 2, &m[3]));
    LZ_TRY(b->make_cast(x->self, x->ir, m[3], LZ_F64, &m[4]));
    LZ_TRY(b->make_size_node(x->self, x->ir, m[0], 0, &m[5]));
    LZ_TRY(b->make_size_node(x->self, x->ir, m[0], -1, &m[6]));
    LZ_TRY(b->make_size_add(x->self, x->ir, m[6], m[5], &m[7]));
    LZ_TRY(b->make_size_mul(x->self, x->ir, m[6], m[5], &m[8]));
    LZ_TRY(b->make_size_div(x->self, x->ir, m[6], m[5], &m[9]));
    return NULL;
}

static void say_wrong(lz_conform *k, int64_t element, double found, double expected)
{
    lz_text_printf(&k->why, "element %lld is ", (long long)element);
    lz_text_double(&k->why, found);
    lz_text_puts(&k->why, ", not ");
    lz_text_double(&k->why, expected);
}

/* Element i is expected to be first + i * step. */
static lz_err *expect_steps(lz_conform *k, builder *x, size_t node, double first, double step)
{
    lz_array got;
    lz_tensor *t;
    bool ok;
    LZ_TRY(lz_ir_tensor(x->ir, x->made[node], &t));
    LZ_TRY(lz_conform_read(k, t, k->dev, &got, &ok));
    for (int64_t i = 0; ok && i < got.numel && !k->why.len; i++) {
        lz_scalar v = lz_array_get(&got, i);
        double is = v.kind == LZ_SCALAR_INT ? (double)v.i : v.re, want = first + (double)i * step;
        if (is != want) {
            lz_text_printf(&k->why, "node %zu: ", node);
            say_wrong(k, i, is, want);
        }
    }
    lz_array_deinit(&got);
    return NULL;
}

static lz_err *check_nodes(lz_conform *k, builder *x, lz_tensor *t)
{
    LZ_TRY(build(x, t));
    LZ_TRY(expect_steps(k, x, 4, 3, 1)); /* i + 2 * 1.5 */
    LZ_TRY(expect_steps(k, x, 7, 10, 0));
    LZ_TRY(expect_steps(k, x, 8, 21, 0));
    return expect_steps(k, x, 9, 2, 0);
}

static lz_err *check_builder(lz_conform *k, lz_tensor *t)
{
    builder x = builder_of(k);
    lz_err *e = check_nodes(k, &x, t);
    for (size_t i = 0; i < sizeof x.made / sizeof *x.made; i++)
        if (x.made[i].node)
            lz_ir_release(x.ir, x.made[i]);
    if (e && lz_err_code(e) != LZ_ERR_MEMORY) {
        lz_text_puts(&k->why, lz_err_text(e));
        lz_err_free(e);
        e = NULL;
    }
    return e ? e : lz_conform_done(k, group, "the builder's nodes");
}

/* ---- a lowering ---- */

/* A graph of t: add(t, t, alpha), as the only result. */
typedef struct graph {
    const lz_backend *b;
    lz_output in, sum;
    lz_lowering *l;
    void *computation;
    lz_argument args[4];
    size_t nargs;
    void *result;
} graph;

static lz_err *lower(lz_conform *k, graph *g, lz_tensor *t)
{
    lz_ir *ir = lz_ir_of(k->dev);
    const lz_value args[] = { lz_value_none(), lz_value_none(), lz_value_scalar(lz_scalar_int(3)) };
    size_t place;
    LZ_TRY(lz_ir_output(t, &g->in));
    const lz_operands in[] = { { &g->in, 1 }, { &g->in, 1 } };
    LZ_TRY(lz_ir_make(ir, &lz_op_table[LZ_OP_add_Tensor], args, in, 2, &g->sum));
    LZ_TRY(lz_lowering_create(k->device, "ByHand", &g->l));
    LZ_TRY(lz_lowering_add_result(g->l, g->sum, &place));
    return g->b->compile(g->b->self, &g->l, 1, &g->computation);
}

static lz_err *gather(graph *g)
{
    const lz_parameter *p;
    g->nargs = lz_lowering_parameters(g->l, &p);
    if (g->nargs > 4)
        return lz_errf(LZ_ERR_INTERNAL, "%zu parameters", g->nargs);
    for (size_t i = 0; i < g->nargs; i++) {
        if (p[i].scalar != LZ_SCALAR_NONE) {
            g->args[i].number = lz_node_scalars(p[i].node)[p[i].number];
            continue;
        }
        LZ_TRY(lz_data_wait(p[i].node->data));
        g->args[i].data = p[i].node->data->payload;
    }
    return NULL;
}

static lz_err *run(graph *g)
{
    size_t failed = SIZE_MAX;
    LZ_TRY(gather(g));
    lz_data_type type = lz_node_type(g->sum.node, 0);
    lz_backend_device d = lz_lowering_device(g->l);
    LZ_TRY(g->b->create_data_placeholder(g->b->self, d, &type, &g->result));
    lz_execution x = { .arguments = g->args,
                       .n = g->nargs,
                       .device = d,
                       .results = &g->result,
                       .n_results = 1,
                       .failed = &failed };
    return g->b->execute_computation(g->b->self, g->computation, &x);
}

/* Reads into memory that is column-major. */
static lz_err *read_result(lz_conform *k, graph *g)
{
    static const int64_t sizes[] = { 3, 7 }, strides[] = { 1, 3 };
    float got[21] = { 0 };
    lz_host_tensor h = { .type = { LZ_F32, { sizes, 2 } }, .strides = { strides, 2 }, .data = got };
    LZ_TRY(g->b->make_tensor_from_computation_data(g->b->self, g->result, LZ_F32, &h));
    for (int i = 0; i < 21 && !k->why.len; i++)
        if (got[i / 7 + i % 7 * 3] != (float)(4 * i))
            say_wrong(k, i, (double)got[i / 7 + i % 7 * 3], 4 * i);
    return NULL;
}

static void free_graph(lz_conform *k, graph *g)
{
    if (g->result)
        g->b->release_data(g->b->self, g->result);
    if (g->computation)
        g->b->release_computation(g->b->self, g->computation);
    lz_lowering_destroy(g->l);
    if (g->sum.node)
        lz_ir_release(lz_ir_of(k->dev), g->sum);
    if (g->in.node)
        lz_ir_release(lz_ir_of(k->dev), g->in);
}

static lz_err *check_lowering(lz_conform *k, lz_tensor *t)
{
    graph g = { .b = lz_get_backend(k->device) };
    lz_verdict v = LZ_PASSED;
    lz_err *e = lower(k, &g, t);
    if (!e)
        e = run(&g);
    if (!e)
        e = read_result(k, &g);
    free_graph(k, &g);
    if (e && lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    if (e) {
        lz_text_puts(&k->why, lz_err_text(e));
        v = lz_err_code(e) == LZ_ERR_UNSUPPORTED ? LZ_UNSUPPORTED : LZ_FAILED;
        lz_err_free(e);
    }
    return lz_conform_judge(k, group, "a lowering without a sync",
                            k->why.len && v == LZ_PASSED ? LZ_FAILED : v);
}

lz_err *lz_conform_by_hand(lz_conform *k)
{
    float v[21];
    if (!lz_conform_wants(k, group, NULL))
        return NULL;
    for (int i = 0; i < 21; i++)
        v[i] = (float)i;
    lz_scope *s = lz_scope_push(k->dev);
    lz_tensor *t = lz_from_memory(k->dev, LZ_F32, LZ_DIMS(3, 7), v);
    lz_err *e = check_builder(k, t);
    if (!e)
        e = check_lowering(k, t);
    lz_clear(k->dev);
    lz_scope_pop(s);
    return e;
}
