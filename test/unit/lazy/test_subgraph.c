#include "check.h"
#include "handmade_nodes.h"
#include "lazy/lowering.h"
#include "op/op_table.h"

/* A graph whose nodes have every kind of argument:
 *
 *     a, b, c = split(x)               three outputs of different types
 *     s = sum(b, dim=[0], dtype=f32)   fixed values
 *     t = add(s, y, alpha)             a run-time number
 *     r = cat([c, t, c]), and t        a list; two results */
enum { SPLIT, SUM, ADD, CAT, OPS };

typedef struct graph {
    desk d;
    lz_arena arena;
    size_t op[OPS];
    lz_graph_index places;
    lz_subgraph cut;
} graph;

static lz_err *add_op(graph *g, int which, const char *name, const lz_value *args, const lz_output *in,
                      size_t nin, const lz_spec *const *specs, size_t nout)
{
    desk *d = &g->d;
    LZ_TRY(lz_node_op_create(d->nodes, desk_row(name), args, in, nin, specs, nout,
                             (lz_loc){ "model.c", 10 + which, 0 }, &d->v[d->n].node));
    g->op[which] = d->n++;
    return NULL;
}

static lz_output output(const graph *g, int which, uint32_t index)
{
    return (lz_output){ g->d.v[g->op[which]].node, index };
}

static lz_err *record(graph *g)
{
    desk *d = &g->d;
    size_t x, y;
    const lz_spec *s[3];
    lz_tensor *some = (lz_tensor *)d; /* only that it is one matters */
    lz_tensor *list[] = { some, some, some };
    LZ_TRY(desk_data(d, 1, &x));
    LZ_TRY(desk_data(d, 2, &y));
    LZ_TRY(lz_spec_get(d->specs, LZ_F32, LZ_DIMS(1), (lz_ints){ NULL, 0 }, &s[0]));
    LZ_TRY(lz_spec_get(d->specs, LZ_F32, LZ_DIMS(2, 5), (lz_ints){ NULL, 0 }, &s[1]));
    LZ_TRY(lz_spec_get(d->specs, LZ_I64, (lz_ints){ NULL, 0 }, (lz_ints){ NULL, 0 }, &s[2]));
    const lz_value split[] = { lz_value_tensor(some), lz_value_integer(2), lz_value_integer(-1) };
    LZ_TRY(add_op(g, SPLIT, "split.Tensor", split, (lz_output[]){ { d->v[x].node, 0 } }, 1, s, 3));
    const lz_value sum[] = { lz_value_tensor(some), lz_value_ints(LZ_INTS(0)), lz_value_truth(true),
                             lz_value_dtype(LZ_F32) };
    LZ_TRY(add_op(g, SUM, "sum.dim_IntList", sum, (lz_output[]){ output(g, SPLIT, 1) }, 1, &s[1], 1));
    const lz_value add[] = { lz_value_tensor(some), lz_value_tensor(some),
                             lz_value_scalar(lz_scalar_int(3)) };
    LZ_TRY(add_op(g, ADD, "add.Tensor", add, (lz_output[]){ output(g, SUM, 0), { d->v[y].node, 0 } }, 2,
                  &s[1], 1));
    const lz_value cat[] = { lz_value_tensors((lz_tensors){ list, 3 }), lz_value_integer(0) };
    const lz_output in[] = { output(g, SPLIT, 2), output(g, ADD, 0), output(g, SPLIT, 2) };
    LZ_TRY(add_op(g, CAT, "cat", cat, in, 3, &s[1], 1));
    LZ_TRY(desk_walk(d, (size_t[]){ g->op[CAT], g->op[ADD] }, 2));
    return lz_graph_index_init(&g->arena, d->walk.flat.words, &g->places);
}

static uint32_t place_of(const graph *g, int which)
{
    for (uint32_t i = 0; i < g->places.n; i++)
        if (g->d.walk.nodes.data[i] == g->d.v[g->op[which]].node)
            return i;
    fail_msg("operator %d is not in the graph", which);
    return 0;
}

/* The part without the operators of `outside`, a set; its results are CAT and ADD. */
static lz_err *cut_without(graph *g, unsigned outside)
{
    const char **scopes;
    bool *in;
    LZ_TRY(lz_arena_new(&g->arena, &in, g->places.n));
    LZ_TRY(lz_arena_new(&g->arena, &scopes, g->places.n));
    for (uint32_t i = 0; i < g->places.n; i++)
        in[i] = true;
    for (int k = 0; k < OPS; k++)
        in[place_of(g, k)] = !(outside >> k & 1);
    scopes[place_of(g, ADD)] = "block.1";
    const uint64_t results[] = { lz_flat_ref(place_of(g, CAT), 0), lz_flat_ref(place_of(g, ADD), 0) };
    lz_origins from = { g->d.walk.locs.data, scopes };
    return lz_subgraph_make(&g->arena, &g->places, in, results, 2, from, "test", (lz_backend_device){ 0, 0 },
                            &g->cut);
}

static lz_err *with_cut(unsigned outside, lz_err *(*test)(graph *g))
{
    graph g = { 0 };
    LZ_TRY(desk_open(&g.d));
    lz_arena_init(&g.arena);
    lz_err *e = record(&g);
    if (!e)
        e = cut_without(&g, outside);
    if (!e)
        e = test(&g);
    if (g.cut.lowering)
        lz_lowering_deinit(g.cut.lowering);
    lz_arena_deinit(&g.arena);
    desk_close(&g.d);
    return e;
}

/* ---- the whole graph: each node says what the recorded one says ---- */

static void expect_type(lz_data_type a, lz_data_type b)
{
    assert_int_equal(a.dtype, b.dtype);
    assert_int_equal(a.sizes.n, b.sizes.n);
    for (int64_t i = 0; i < a.sizes.n; i++)
        assert_int_equal(a.sizes.v[i], b.sizes.v[i]);
}

static void expect_outputs(const lz_output *a, const lz_output *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(a[i].index, b[i].index);
        assert_ptr_equal(lz_node_op(a[i].node), lz_node_op(b[i].node));
        assert_int_equal(lz_node_loc(a[i].node).line, lz_node_loc(b[i].node).line);
    }
}

static lz_err *expect_same_value(const lz_value *a, const lz_value *b)
{
    lz_text x = { 0 }, y = { 0 };
    lz_value_print(a, &x);
    lz_value_print(b, &y);
    lz_err *e = lz_text_check(&x);
    e = e ? e : lz_text_check(&y);
    if (!e)
        assert_true(a->kind == b->kind && lz_str_eq(lz_text_view(&x), lz_text_view(&y)));
    lz_text_deinit(&x);
    lz_text_deinit(&y);
    return e;
}

static lz_err *expect_args(const lz_node *a, const lz_node *b)
{
    for (size_t i = 0; lz_node_op(a) && i <= lz_node_op(a)->nargs; i++) {
        lz_node_arg x = lz_node_arg_get(a, i), y = lz_node_arg_get(b, i);
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(x.number, y.number);
        assert_int_equal(x.scalar, y.scalar);
        assert_int_equal(x.n, y.n);
        expect_outputs(x.tensors, y.tensors, x.n);
        if (x.kind == LZ_ARG_VALUE)
            LZ_TRY(expect_same_value(&x.value, &y.value));
    }
    return NULL;
}

static lz_err *expect_node(const lz_node *a, const lz_node *b)
{
    const lz_output *x, *y;
    assert_ptr_equal(lz_node_op(a), lz_node_op(b));
    assert_int_equal(lz_node_kind_of(a), lz_node_kind_of(b));
    assert_int_equal(lz_node_numbers(a), lz_node_numbers(b));
    assert_int_equal(lz_node_outputs(a), lz_node_outputs(b));
    assert_int_equal(lz_node_loc(a).line, lz_node_loc(b).line);
    size_t n = lz_node_operands(a, &x);
    assert_int_equal(n, lz_node_operands(b, &y));
    expect_outputs(x, y, n);
    for (size_t i = 0; i < lz_node_outputs(a); i++)
        expect_type(lz_node_type(a, i), lz_node_type(b, i));
    return expect_args(a, b);
}

static lz_err *whole(graph *g)
{
    const lz_node *const *nodes;
    const lz_parameter *p;
    const lz_lowering *l = g->cut.lowering;
    size_t n = lz_lowering_nodes(l, &nodes);
    assert_int_equal(n, g->d.walk.nodes.len);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(g->cut.place_of[i], i);
        assert_int_equal(lz_lowering_index(l, nodes[i]), i);
        assert_string_equal(lz_node_scope(nodes[i]), i == place_of(g, ADD) ? "block.1" : "");
        LZ_TRY(expect_node(nodes[i], g->d.walk.nodes.data[i]));
    }
    assert_int_equal(lz_lowering_index(l, g->d.walk.nodes.data[0]), SIZE_MAX);
    assert_int_equal(lz_lowering_parameters(l, &p), 3);
    assert_true(p[2].scalar == LZ_SCALAR_INT && p[2].node == nodes[place_of(g, ADD)]);
    return NULL;
}

static lz_err *test_whole_graph(void)
{
    return with_cut(0, whole);
}

/* ---- a part: what is outside is data ---- */

static lz_err *without_split(graph *g)
{
    const lz_parameter *p;
    const lz_output *in;
    const lz_lowering *l = g->cut.lowering;
    uint32_t split = place_of(g, SPLIT);
    /* x, which still belongs to the part; output 1 of split; y; output 2 of split, once; the number */
    assert_int_equal(lz_lowering_parameters(l, &p), 5);
    for (int i = 0; i < 2; i++) {
        const lz_parameter *outer = &p[i ? 3 : 1];
        assert_int_equal(lz_node_kind_of(outer->node), LZ_NODE_DATA);
        assert_int_equal(lz_node_outputs(outer->node), 1);
        assert_int_equal(lz_node_numbers(outer->node), 0);
        assert_int_equal(lz_node_operands(outer->node, &in), 0);
        assert_int_equal(lz_node_arg_get(outer->node, 0).kind, LZ_ARG_NONE);
        expect_type(lz_node_type(outer->node, 0), lz_node_type(g->d.walk.nodes.data[split], i ? 2 : 1));
        expect_type(outer->type, lz_node_type(outer->node, 0));
        assert_int_equal(g->cut.sources[i ? 3 : 1].at,
                         lz_graph_index_slot(&g->places, lz_flat_ref(split, i ? 2 : 1)));
        assert_int_equal(g->cut.place_of[lz_lowering_index(l, outer->node)], split);
    }
    assert_true(g->cut.sources[4].is_number);
    const lz_output *results;
    assert_int_equal(lz_lowering_results(l, &results), 2);
    assert_int_equal(lz_node_operands(results[0].node, &in), 3);
    assert_true(in[0].node == p[3].node && in[2].node == p[3].node && in[0].index == 0);
    assert_true(in[1].node == results[1].node);
    return NULL;
}

static lz_err *test_part(void)
{
    return with_cut(1U << SPLIT, without_split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_whole_graph),
        LZ_TEST(test_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
