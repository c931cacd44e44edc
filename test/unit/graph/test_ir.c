#include "graph/effects.h"
#include "graph_edit.h"
#include "graph_equal.h"
#include "graph_text.h"
#include "ir_call.h"

/* ---- building ---- */

static lz_err *build(lz_graph *g)
{
    const lz_type *tensor = lz_type_leaf(LZ_GRAPH_TYPE_TENSOR), *type_int = lz_type_leaf(LZ_GRAPH_TYPE_INT);
    lz_ssa_value *x, *y;
    lz_ssa_node *one, *sum;
    LZ_TRY(lz_ssa_param_add(g, g->block, tensor, &x));
    LZ_TRY(lz_ssa_param_add(g, g->block, tensor, &y));
    LZ_TRY(lz_ssa_name_set(g, x, LZ_STR("x")));
    LZ_TRY(lz_ssa_constant_make(g, lz_script_value_int(1), type_int, (lz_loc){ "a.py", 3, 9 }, &one));
    lz_ssa_append(one, g->block);
    LZ_TRY(ir_call(g, g->block, "aten::add", (lz_ssa_value *[]){ x, y, one->out[0] }, 3, &sum));
    assert_string_equal(sum->op->name, "add.Tensor");
    return lz_ssa_input_add(g, g->block->ret, sum->out[0]);
}

static lz_err *test_graphs_are_built(void)
{
    lz_graph *g;
    LZ_TRY(lz_graph_create(lz_ssa_operators(), &g));
    lz_err *e = build(g);
    e = e ? e : lz_graph_verify(g);
    e = e ? e
          : graph_prints(g,
                         "graph(%x : Tensor,\n      %1 : Tensor):\n  %2 : int = prim::Constant[value=1]()\n"
                         "  %3 : Tensor = aten::add(%x, %1, %2)\n  return (%3)\n");
    if (!e)
        assert_int_equal(lz_graph_count(g), 2);
    lz_graph_release(g);
    return e;
}

static lz_err *build_if(lz_graph *g)
{
    const lz_type *tensor = lz_type_leaf(LZ_GRAPH_TYPE_TENSOR);
    lz_ssa_value *x, *c;
    lz_ssa_node *n, *relu;
    lz_ssa_spec spec = { .types = &tensor, .nin = 1, .nout = 1, .nblocks = 2 };
    LZ_TRY(lz_ssa_param_add(g, g->block, tensor, &x));
    LZ_TRY(lz_ssa_param_add(g, g->block, lz_type_leaf(LZ_GRAPH_TYPE_BOOL), &c));
    spec.in = &c;
    LZ_TRY(lz_ssa_symbol_get(g, LZ_STR("prim::If"), &spec.sym));
    LZ_TRY(lz_ssa_node_make(g, &spec, &n));
    lz_ssa_append(n, g->block);
    LZ_TRY(ir_call(g, n->blocks[0], "aten::relu", &x, 1, &relu));
    LZ_TRY(lz_ssa_input_add(g, n->blocks[0]->ret, relu->out[0]));
    LZ_TRY(lz_ssa_input_add(g, n->blocks[1]->ret, x));
    assert_int_equal(lz_ssa_depth(relu->block), 1);
    assert_true(lz_ssa_within(relu->block, g->block) && !lz_ssa_within(g->block, relu->block));
    assert_ptr_equal(lz_ssa_next(n), relu);
    assert_ptr_equal(lz_ssa_skip(n), g->block->ret);
    return lz_ssa_input_add(g, g->block->ret, n->out[0]);
}

static lz_err *test_blocks_are_built(void)
{
    lz_graph *g;
    LZ_TRY(lz_graph_create(lz_ssa_operators(), &g));
    lz_err *e = build_if(g);
    e = e ? e : lz_graph_verify(g);
    e = e ? e
          : graph_prints(
              g, "graph(%0 : Tensor,\n      %1 : bool):\n  %2 : Tensor = prim::If(%1)\n    block0():\n"
                 "      %3 : Tensor = aten::relu(%0)\n      -> (%3)\n    block1():\n      -> (%0)\n"
                 "  return (%2)\n");
    lz_graph_release(g);
    return e;
}

/* ---- changing ---- */

static const char chain[] =
    "graph(%x : Tensor,\n      %y : Tensor):\n  %1 : Tensor = aten::mul(%x, %x)\n"
    "  %2 : Tensor = aten::mul(%1, %x)\n  %3 : Tensor = aten::mul(%1, %2)\n  return (%3)\n";

static lz_err *test_values_are_replaced(void)
{
    lz_graph *g;
    LZ_TRY(graph_of(chain, &g));
    lz_ssa_value *x = g->block->param->out[0], *y = g->block->param->out[1];
    lz_ssa_node *a = lz_ssa_first(g->block), *b = a->next;
    assert_int_equal(x->nuses, 3);
    lz_ssa_replace(x, y);
    assert_int_equal(x->nuses, 0);
    assert_int_equal(y->nuses, 3);
    set_input(b, 1, x);
    lz_ssa_replace(a->out[0], x);
    lz_ssa_erase(a);
    lz_err *e = lz_graph_verify(g);
    e = e ? e
          : graph_prints(g, "graph(%x : Tensor,\n      %y : Tensor):\n  %2 : Tensor = aten::mul(%x, %x)\n"
                            "  %3 : Tensor = aten::mul(%x, %2)\n  return (%3)\n");
    lz_graph_release(g);
    return e;
}

/* Inputs of one node that use the same value are each other's neighbours when they move. */
static lz_err *test_inputs_come_and_go(void)
{
    lz_graph *g;
    LZ_TRY(graph_of("graph(%x : int,\n      %y : int):\n  return ()\n", &g));
    lz_ssa_value *v[] = { g->block->param->out[0], g->block->param->out[1] };
    lz_err *e = NULL;
    for (uint32_t i = 0; !e && i < 40; i++)
        e = lz_ssa_input_add(g, g->block->ret, v[i % 3 == 0]);
    if (!e) {
        assert_int_equal(v[0]->nuses, 26);
        e = lz_graph_verify(g);
    }
    for (uint32_t left = 40; !e && left > 0; left--) {
        lz_ssa_input_remove(g->block->ret, left / 2);
        e = lz_graph_verify(g);
    }
    if (!e)
        assert_null(v[0]->uses);
    lz_graph_release(g);
    return e;
}

static lz_err *test_blocks_are_spliced(void)
{
    lz_graph *g;
    LZ_TRY(graph_of("graph(%x : Tensor,\n      %c : bool):\n  %y : Tensor = prim::If(%c)\n    block0():\n"
                    "      %1 : Tensor = aten::relu(%x)\n      %2 : Tensor = aten::relu(%1)\n      -> (%2)\n"
                    "    block1():\n      -> (%x)\n  return (%y)\n",
                    &g));
    lz_ssa_node *n = lz_ssa_first(g->block);
    lz_ssa_splice(n->blocks[0], n);
    lz_ssa_replace(n->out[0], lz_ssa_in(n->blocks[0]->ret, 0));
    lz_ssa_splice(n->blocks[1], n);
    lz_ssa_erase(n);
    lz_err *e = lz_graph_verify(g);
    e = e ? e
          : graph_prints(g, "graph(%x : Tensor,\n      %c : bool):\n  %1 : Tensor = aten::relu(%x)\n"
                            "  %2 : Tensor = aten::relu(%1)\n  return (%2)\n");
    if (!e)
        assert_int_equal(g->block->param->out[1]->nuses, 0);
    lz_graph_release(g);
    return e;
}

/* ---- copies ---- */

static const char rich[] = "graph(%x.1 : Float(2, 3),\n      %c : bool):\n"
                           "  %l : int[] = prim::Constant[value=[1, 2]]() # a.py:1:2\n"
                           "  %y : Tensor = prim::If(%c) # b.py:3:4\n    block0():\n"
                           "      %1 : Tensor = my::op[k=\"v\", t=int?](%x.1, %l)\n      -> (%1)\n"
                           "    block1():\n      -> (%x.1)\n  return (%y)\n";

static lz_err *compare_copies(lz_graph *a, lz_graph *b)
{
    lz_str x, y;
    assert_true(graph_equal(a, b));
    LZ_TRY(lz_graph_print(a, LZ_GRAPH_TEXT, &x));
    LZ_TRY(lz_graph_print(b, LZ_GRAPH_TEXT, &y));
    assert_true(lz_str_eq(x, y));
    return lz_graph_verify(b);
}

static lz_err *test_copies_are_equal(void)
{
    lz_graph *a, *b;
    LZ_TRY(graph_of(rich, &a));
    lz_err *e = lz_graph_clone(a, &b);
    if (!e) {
        e = compare_copies(a, b);
        lz_ssa_node *n = lz_ssa_first(b->block)->next; /* the copy is one of its own */
        lz_ssa_replace(n->out[0], b->block->param->out[0]);
        lz_ssa_erase(n);
        assert_false(graph_equal(a, b));
        lz_graph_release(b);
        e = e ? e : lz_graph_verify(a);
    }
    lz_graph_release(a);
    return e;
}

static lz_err *test_differences_are_seen(void)
{
    static const char *const texts[] = {
        "graph(%x : int):\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = aten::add(%x, %1)\n  return "
        "(%2)\n",
        "graph(%x : int):\n  %1 : int = prim::Constant[value=2]()\n  %2 : int = aten::add(%x, %1)\n  return "
        "(%2)\n",
        "graph(%x : int):\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = aten::add(%1, %x)\n  return "
        "(%2)\n",
        "graph(%x : int):\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = aten::sub(%x, %1)\n  return "
        "(%2)\n",
        "graph(%x : int):\n  %1 : int = prim::Constant[value=1]()\n  %2 : int = aten::add(%x, %1)\n  return "
        "(%1)\n",
        "graph(%x : int):\n  %1 : int? = prim::Constant[value=1]()\n  return (%1)\n",
        "graph(%x : int):\n  return (%x)\n",
        "graph(%x : int,\n      %y : int):\n  return (%x)\n",
        "graph(%x : float):\n  return (%x)\n",
    };
    enum { N = sizeof texts / sizeof *texts };
    lz_graph *g[N] = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < N; i++)
        e = graph_of(texts[i], &g[i]);
    for (size_t i = 0; !e && i < N * N; i++)
        assert_int_equal(graph_equal(g[i / N], g[i % N]), i / N == i % N);
    for (size_t i = 0; i < N; i++)
        lz_graph_release(g[i]);
    return e;
}

/* ---- effects ---- */

static lz_err *test_effects(void)
{
    static const struct {
        const char *line;
        unsigned effects;
    } cases[] = {
        { "%1 : Tensor = aten::relu(%x)", 0 },
        { "%1 : Tensor = aten::add_(%x, %x, %n)", LZ_EFFECT_WRITES },
        { "%1 : int[] = aten::append(%l, %n)", LZ_EFFECT_WRITES },
        { "%1 : int = aten::len(%l)", 0 },
        { "prim::Print(%n)", LZ_EFFECT_OTHER },
        { "%1 : Tensor = my::op(%x)", LZ_EFFECT_WRITES | LZ_EFFECT_OTHER | LZ_EFFECT_RANDOM },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        lz_text t = { 0 };
        lz_graph *g;
        lz_text_printf(&t, "graph(%%x : Tensor, %%n : int, %%l : int[]):\n  %s\n  return ()\n",
                       cases[i].line);
        e = lz_text_check(&t);
        e = e ? e : lz_graph_parse("test", lz_text_view(&t), &g);
        lz_text_deinit(&t);
        if (!e) {
            assert_int_equal(lz_ssa_effects(lz_ssa_first(g->block)), cases[i].effects);
            lz_graph_release(g);
        }
    }
    return e;
}

static lz_err *test_who_only_reads(void)
{
    lz_graph *g;
    LZ_TRY(graph_of("graph(%a : Tensor, %b : Tensor, %c : Tensor, %d : Tensor, %e : Tensor, %n : int):\n"
                    "  %1 : Tensor = aten::relu(%a)\n  %2 : Tensor = aten::t(%b)\n"
                    "  %3 : Tensor[] = prim::ListConstruct(%c)\n  %4 : Tensor = aten::add_(%1, %d, %n)\n"
                    "  return (%e)\n",
                    &g));
    lz_ssa_value **p = g->block->param->out;
    assert_true(lz_ssa_only_read(p[0]));
    assert_false(lz_ssa_only_read(p[1])); /* a view looks at it */
    assert_false(lz_ssa_only_read(p[2])); /* a list holds it */
    assert_true(lz_ssa_only_read(p[3]));  /* added to another */
    assert_false(lz_ssa_only_read(p[4])); /* it is returned */
    assert_false(lz_ssa_only_read(lz_ssa_first(g->block)->out[0]));
    lz_graph_release(g);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_graphs_are_built),     LZ_TEST(test_blocks_are_built),
        LZ_TEST(test_values_are_replaced),  LZ_TEST(test_inputs_come_and_go),
        LZ_TEST(test_blocks_are_spliced),   LZ_TEST(test_copies_are_equal),
        LZ_TEST(test_differences_are_seen), LZ_TEST(test_effects),
        LZ_TEST(test_who_only_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
