#include "graph_text.h"
#include <stdio.h>

/* ---- what is read prints as it stood ---- */

static const char *const kept[] = {
    "graph():\n  return ()\n",
    "graph(%x : Tensor):\n  return (%x)\n",
    "graph(%x.1 : Tensor,\n      %y.1 : Tensor):\n  %2 : int = prim::Constant[value=1]()\n"
    "  %3 : Tensor = aten::add(%x.1, %y.1, %2)\n  return (%3)\n",
    /* several outputs, a node without any, blocks in blocks */
    "graph(%n : int,\n      %c : bool):\n"
    "  %i : int, %j : int = prim::Loop(%n, %c, %n, %n)\n"
    "    block0(%k : int, %a : int, %b : int):\n"
    "      prim::If(%c)\n"
    "        block0():\n"
    "          prim::Print(%a)\n"
    "          -> ()\n"
    "        block1():\n"
    "          -> ()\n"
    "      -> (%c, %b, %a)\n"
    "  return (%i, %j)\n",
    /* constants of every kind */
    "graph():\n"
    "  %0 : NoneType = prim::Constant()\n"
    "  %1 : bool = prim::Constant[value=1]()\n"
    "  %2 : float = prim::Constant[value=1.0000000000000001e-05]()\n"
    "  %3 : str = prim::Constant[value=\"a\\n\\\"b\\\"\"]()\n"
    "  %4 : Device = prim::Constant[value=\"cpu\"]()\n"
    "  %5 : int[] = prim::Constant[value=[1, 2]]()\n"
    "  %6 : int[] = prim::Constant[value=annotate(List[int], [])]()\n"
    "  %7 : Dict(str, int[]) = prim::Constant[value=annotate(Dict[str, List[int]], {})]()\n"
    "  %8 : Float(requires_grad=0, device=cpu) = prim::Constant[value={2}]()\n"
    "  %9 : Long(2, 2) = prim::Constant[value={1, 2, 3, 4}]()\n"
    "  %10 : Float(100) = prim::Constant[value=<Tensor>]()\n"
    "  %11 : int? = prim::Constant()\n"
    "  %12 : (int, str) = prim::Constant[value=(1, \"x\")]()\n"
    "  %13 : bool[] = prim::Constant[value=[True, False]]()\n"
    "  %14 : float = prim::Constant[value=-inf]()\n"
    "  return ()\n",
    /* names of letters, digits, points */
    "graph(%a.b_3.x : int,\n      %_ : int,\n      %007 : int):\n  return (%a.b_3.x, %_, %007)\n",
    /* operators that nobody knows, attributes of any kind */
    "graph(%x : Tensor):\n  %1 : Tensor = my::op[a=1, b=\"s\", c=[1., 2.], t=Tensor?, d={\"k\": 1}](%x, %x)\n"
    "  %2 : Tensor = prim::Unheard(%1)\n    block0(%p : Tensor):\n      -> (%p)\n  return (%2)\n",
};

static lz_err *test_canonical_text_is_kept(void)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof kept / sizeof *kept; i++) {
        lz_graph *g;
        LZ_TRY(graph_of(kept[i], &g));
        e = graph_prints(g, kept[i]);
        lz_graph_release(g);
    }
    return e;
}

static lz_err *becomes(const char *text, const char *want)
{
    lz_graph *g;
    LZ_TRY(graph_of(text, &g));
    lz_err *e = graph_prints(g, want);
    lz_graph_release(g);
    return e;
}

static lz_err *test_other_spellings(void)
{
    /* blanks, comments, broken lines, "=" without outputs, missing types, a tracer's scope */
    LZ_TRY(becomes(
        "# a comment\n\n  graph( %x ,\n\n %c:bool ) : # more\n"
        "\n      # here too\n"
        "     %1=aten::relu( %x ), scope: Net::/Linear::fc # net.py:1:2\n"
        "     = prim::If(%c)\n"
        "       block0() :\n         = prim::Print(%1)\n         -> ( )\n"
        "       block():\n          -> ()\n"
        "     return(%1)   # end\n\n# last",
        "graph(%x : Tensor,\n      %c : bool):\n  %1 : Tensor = aten::relu(%x)\n  prim::If(%c)\n"
        "    block0():\n      prim::Print(%1)\n      -> ()\n    block1():\n      -> ()\n  return (%1)\n"));
    /* the last line may lack its end; windows ends lines with two characters */
    LZ_TRY(becomes("graph(%x : int):\r\n  return (%x)", "graph(%x : int):\n  return (%x)\n"));
    /* as PyTorch prints nodes without outputs: one column to the right */
    LZ_TRY(becomes("graph(%c : bool):\n   = prim::If(%c)\n    block0():\n       = prim::Print(%c)\n"
                   "       = prim::Print()\n      -> ()\n    block1():\n      -> ()\n   = prim::Print()\n"
                   "  return (%c)\n",
                   "graph(%c : bool):\n  prim::If(%c)\n    block0():\n      prim::Print(%c)\n"
                   "      prim::Print()\n      -> ()\n    block1():\n      -> ()\n  prim::Print()\n"
                   "  return (%c)\n"));
    /* an output that the text leaves out is there all the same */
    LZ_TRY(
        becomes("graph(%l : int[],\n      %1 : int):\n  aten::append(%l, %1)\n  return (%l)\n",
                "graph(%l : int[],\n      %1 : int):\n  %2 : int[] = aten::append(%l, %1)\n  return (%l)\n"));
    /* an int is a float if the type says so */
    return becomes("graph():\n  %a : float = prim::Constant[value=4]()\n  return (%a)\n",
                   "graph():\n  %a : float = prim::Constant[value=4.]()\n  return (%a)\n");
}

/* A name that comes again means the last one; the earlier gets another name. */
static lz_err *test_shadowing(void)
{
    LZ_TRY(
        becomes("graph(%x : Tensor):\n  %1 : Tensor = aten::relu(%x)\n  %1 : Tensor = aten::neg(%1)\n"
                "  %x.1 : Tensor = aten::exp(%x)\n  %x.1 : Tensor = aten::exp(%x.1)\n"
                "  %x : Tensor = aten::mul(%x.1, %1)\n  return (%x)\n",
                "graph(%x.3 : Tensor):\n  %1.1 : Tensor = aten::relu(%x.3)\n  %1 : Tensor = aten::neg(%1.1)\n"
                "  %x.2 : Tensor = aten::exp(%x.3)\n  %x.1 : Tensor = aten::exp(%x.2)\n"
                "  %x : Tensor = aten::mul(%x.1, %1)\n  return (%x)\n"));
    /* within the blocks of a node its outputs are not there yet */
    return becomes(
        "graph(%c : bool,\n      %y : int):\n  %y : int = prim::If(%c)\n    block0():\n      -> (%y)\n"
        "    block1():\n      -> (%y)\n  return (%y)\n",
        "graph(%c : bool,\n      %y.1 : int):\n  %y : int = prim::If(%c)\n    block0():\n"
        "      -> (%y.1)\n    block1():\n      -> (%y.1)\n  return (%y)\n");
}

/* ---- places in the user's program ---- */

static lz_err *test_places_are_kept(void)
{
    const char *text = "graph(%x : Tensor):\n"
                       "  %1 : Tensor = aten::relu(%x) # /a b/net.py:12:0\n"
                       "  %2 : Tensor = aten::relu(%1) # C:\\net.py:3:8\n"
                       "  %3 : Tensor = aten::relu(%2)\n"
                       "  return (%3)\n";
    lz_graph *g;
    lz_str got;
    LZ_TRY(graph_of(text, &g));
    const lz_ssa_node *n = lz_ssa_first(g->block);
    assert_string_equal(n->loc.file, "/a b/net.py");
    assert_int_equal(n->loc.line, 12);
    assert_int_equal(n->loc.col, 1);
    assert_int_equal(n->line, 2);
    assert_string_equal(n->next->loc.file, "C:\\net.py");
    assert_null(n->next->next->loc.file);
    lz_err *e = lz_graph_print(g, LZ_GRAPH_TEXT, &got);
    if (!e)
        assert_true(lz_str_is(got, text));
    lz_graph_release(g);
    return e;
}

static lz_err *test_comments_that_are_no_places(void)
{
    static const char *const comments[] = { "",       "hello",    "a:b:c",     ":1:2",
                                            "x.py:1", "x.py:0:0", "x.py:1:-1", "x.py:99999999999:1" };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof comments / sizeof *comments; i++) {
        char text[128];
        lz_graph *g;
        snprintf(text, sizeof text,
                 "graph(%%x : Tensor):\n  %%1 : Tensor = aten::relu(%%x) # %s\n  return (%%1)\n",
                 comments[i]);
        LZ_TRY(graph_of(text, &g));
        assert_null(lz_ssa_first(g->block)->loc.file);
        lz_graph_release(g);
    }
    return e;
}

/* ---- what is refused, and where ---- */

#define HEAD "graph(%x : Tensor, %n : int, %c : bool):\n"

static const struct {
    const char *text, *why;
    int line, col;
} bad[] = {
    { "", "expected graph", 1, 1 },
    { "graph", "expected '('", 1, 6 },
    { "graph()", "expected ':'", 1, 8 },
    { "grph(%x):\n  return (%x)\n", "expected graph", 1, 1 },
    { "graph(%x : Tensor:\n  return (%x)\n", "expected ')'", 1, 18 },
    { "graph(x):\n  return ()\n", "expected a value", 1, 7 },
    { "graph(%):\n  return ()\n", "a name follows", 1, 7 },
    { "graph(%a..b):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%a.):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%.a):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%1a):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%1.a):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%a.1b):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%a.if):\n  return ()\n", "is no name", 1, 7 },
    { "graph(%x : Float(2, device=gpu)):\n  return ()\n", "expected a device", 1, 28 },
    { "graph():\n  aten::return()\n  return ()\n", "the name of an operator", 2, 9 },
    { "graph():\n", "expected return", 2, 1 },
    { "graph():\nreturn ()\n", "a block is empty", 2, 1 },
    { "graph():\n  return ()\n  return ()\n", "the end of the text", 3, 3 },
    { "graph():\n  return () 1\n", "the end of the line", 2, 13 },
    { "graph():\n  -> ()\n", "the name of an operator", 2, 3 },
    { "graph():\n  %1 : int = prim::Constant[value=1]\n  return ()\n", "expected '('", 2, 37 },
    { "graph():\n  %1 : int = prim::Constant[value=1]()\n    %2 : int = prim::Constant[value=2]()\n  return "
      "()\n",
      "the head of a block", 3, 5 },
    { "graph():\n  %1 : int = prim::Constant[value=1]()\n %2 : int = prim::Constant[value=2]()\n  return "
      "()\n",
      "indented neither", 3, 2 },
    { "graph():\n  prim::Print()\n     = prim::Print()\n  return ()\n", "indented neither", 3, 6 },
    { "graph():\n   = prim::Print()\n return ()\n", "indented neither", 3, 2 },
    { "graph():\n  %1 : int = prim::Constant[value=1.5]()\n  return ()\n", "expected int", 2, 29 },
    { "graph():\n  %1 : int = prim::Constant[value=\"1]()\n  return ()\n", "not closed", 2, 35 },
    { "graph():\n  %1 : int = prim::Constant[value=1, value=2]()\n  return ()\n", "at most one attribute", 2,
      3 },
    { "graph():\n  %1 : int = prim::Constant[x=1]()\n  return ()\n", "called value", 2, 3 },
    { "graph():\n  %1 : int = prim::Constant()\n  return ()\n", "of its type", 2, 3 },
    { "graph():\n  %1 : int, = prim::Constant()\n  return ()\n", "expected a value", 2, 13 },
    { HEAD "  %1 : Tensor = relu(%x)\n  return (%1)\n", "namespace::name", 2, 17 },
    { HEAD "  %1 : Tensor = aten:: relu(%x)\n  return (%1)\n", "namespace::name", 2, 17 },
    { HEAD "  %1 : Tensor = aten::relu(%x\n  return (%1)\n", "expected ')'", 3, 3 },
    { HEAD "  %1 : Tensor = aten::relu(x)\n  return (%1)\n", "expected a value", 2, 28 },
    { HEAD "  %1 : Tensor = aten::relu(%y)\n  return (%1)\n", "%y is not defined", 2, 28 },
    { HEAD "  %1 : Tensor = aten::relu(%1)\n  return (%1)\n", "%1 is not defined", 2, 28 },
    { HEAD "  %1 : Tensor = aten::relu(%x), x\n  return (%1)\n", "expected scope", 2, 33 },
    { HEAD "  %1 : int = aten::relu(%x)\n  return (%1)\n", "results contradict", 2, 3 },
    { HEAD "  %1 : Tensor, %2 : Tensor = aten::relu(%x)\n  return (%1)\n", "results contradict", 2, 3 },
    { HEAD "  %1 : Tensor = aten::relu(%n)\n  return (%1)\n", "no aten::relu takes (int)", 2, 3 },
    { HEAD "  %1 : float = aten::add(%n, %n)\n  return (%1)\n", "contradict aten::add.int(int, int) -> int",
      2, 3 },
    { HEAD "  %1 : Tensor = prim::Return()\n  return (%1)\n", "no node of its own", 2, 17 },
    { HEAD "  prim::If(%n)\n    block0():\n      -> ()\n    block1():\n      -> ()\n  return ()\n",
      "takes a bool", 2, 3 },
    { HEAD "  prim::If(%c)\n    block0():\n      -> ()\n  return ()\n", "two blocks", 2, 3 },
    { HEAD "  prim::If(%c)\n  return ()\n", "two blocks", 2, 3 },
    { HEAD "  prim::If(%c)\n    block0():\n      -> (%x)\n    block1():\n      -> ()\n  return ()\n",
      "gives what the node gives", 2, 3 },
    { HEAD
      "  %1 : int = prim::If(%c)\n    block0():\n      -> (%x)\n    block1():\n      -> (%n)\n  return ()\n",
      "gives what the node gives", 2, 3 },
    { HEAD "  prim::If(%c)\n    block0():\n    block1():\n      -> ()\n  return ()\n", "a block is empty", 4,
      5 },
    { HEAD "  prim::If(%c)\n    block0():\n      return ()\n", "the name of an operator", 4, 7 },
    { HEAD "  prim::If(%c)\n    blck0():\n      -> ()\n", "the head of a block", 3, 5 },
    { HEAD "  prim::If(%c)\n    block0()\n      -> ()\n", "expected ':'", 3, 13 },
    { HEAD "  prim::If(%c)\n    block0():\n      -> ()\n     block1():\n      -> ()\n", "stands in no block",
      5, 6 },
    { HEAD "  prim::If(%c)\n    block0():\n      %1 : Tensor = aten::relu(%x)\n      -> ()\n    block1():\n"
           "      -> ()\n  return (%1)\n",
      "its block, in line 4, has ended", 8, 11 },
    { HEAD
      "  %1 : Tensor = aten::relu(%x)\n  prim::If(%c)\n    block0():\n      %1 : Tensor = aten::relu(%x)\n"
      "      -> ()\n    block1():\n      -> ()\n  return (%1)\n",
      "has ended", 9, 11 },
    { HEAD "  %1 : Tensor = prim::If(%c)\n    block0():\n      -> (%1)\n    block1():\n      -> (%1)\n  "
           "return ()\n",
      "%1 is not defined", 4, 11 },
    { HEAD "  %1 : int = prim::Loop(%n, %c, %n)\n    block0(%i : int):\n      -> (%c)\n  return ()\n",
      "takes the iteration", 2, 3 },
    { HEAD "  %1 : int = prim::Loop(%n, %c, %n)\n    block0(%i : int, %j : int):\n      -> (%n, %j)\n  "
           "return ()\n",
      "next condition", 2, 3 },
    { HEAD "  %1 : int = prim::Loop(%n, %c, %n)\n    block0(%i : int, %j : bool):\n      -> (%c, %j)\n  "
           "return ()\n",
      "same types", 2, 3 },
    { HEAD "  %1 : Tensor = aten::relu(%x)\n    block0():\n      -> ()\n  return ()\n", "have blocks", 2, 3 },
    { HEAD "  %1 : int[] = prim::ListConstruct(%x)\n  return ()\n", "elements of a list", 2, 3 },
    { HEAD "  %1 : (int, int) = prim::TupleConstruct(%n)\n  return ()\n", "elements of a tuple", 2, 3 },
    { HEAD "  %1 : int = prim::TupleUnpack(%n)\n  return ()\n", "takes one tuple", 2, 3 },
    { HEAD "  %1 : Dict(str, int) = prim::DictConstruct(%n, %n)\n  return ()\n", "keys and values", 2, 3 },
    { HEAD "  %1 : Tensor = aten::relu[a=](%x)\n  return ()\n", "expected a value", 2, 30 },
    { HEAD "  %1 : Tensor = aten::relu[a=Foo](%x)\n  return ()\n", "no type 'Foo'", 2, 30 },
    { HEAD "  %1 : Tensor = aten::relu[=1](%x)\n  return ()\n", "name of an attribute", 2, 28 },
};

static lz_err *test_bad_texts_are_refused(void)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof bad / sizeof *bad; i++) {
        lz_graph *g;
        lz_err *refused = graph_of(bad[i].text, &g);
        if (!refused)
            fail_msg("not refused: %s", bad[i].text);
        lz_loc at = lz_err_loc(refused);
        if (lz_err_code(refused) != LZ_ERR_MEMORY && (at.line != bad[i].line || at.col != bad[i].col))
            fail_msg("at %d:%d, not %d:%d: %s\n%s", at.line, at.col, bad[i].line, bad[i].col,
                     lz_err_text(refused), bad[i].text);
        if (lz_err_code(refused) != LZ_ERR_MEMORY)
            assert_string_equal(at.file, "test");
        e = lz_check_err(refused, lz_err_code(refused), bad[i].why);
    }
    return e;
}

static lz_err *nested_text(int depth, lz_text *t)
{
    lz_text_puts(t, "graph(%c : bool):\n");
    for (int i = 0; i < depth; i++) {
        lz_text_fill(t, ' ', 4 * (size_t)i + 2);
        lz_text_puts(t, "prim::If(%c)\n");
        for (int b = 0; b < 2; b++) {
            lz_text_fill(t, ' ', 4 * (size_t)i + 4);
            lz_text_printf(t, "block%d():\n", b);
            lz_text_fill(t, ' ', 4 * (size_t)i + 6);
            lz_text_puts(t, b == 0 ? "-> ()\n" : "");
            t->len -= b == 0 ? 0 : 4 * (size_t)i + 6;
        }
    }
    for (int i = depth; i-- > 0;) {
        lz_text_fill(t, ' ', 4 * (size_t)i + 6);
        lz_text_puts(t, "-> ()\n");
    }
    lz_text_puts(t, "  return ()\n");
    return lz_text_check(t);
}

static lz_err *test_depth_is_bounded(void)
{
    lz_text t = { 0 };
    lz_graph *g;
    lz_err *e = nested_text(LZ_BLOCK_DEPTH, &t);
    e = e ? e : lz_graph_parse("deep", lz_text_view(&t), &g);
    if (!e) {
        lz_str out;
        e = lz_graph_print(g, LZ_GRAPH_TEXT, &out);
        if (!e)
            assert_true(lz_str_eq(out, lz_text_view(&t)));
        lz_graph_release(g);
    }
    lz_text_clear(&t);
    e = e ? e : nested_text(LZ_BLOCK_DEPTH + 1, &t);
    e = e ? e : lz_check_err(lz_graph_parse("deep", lz_text_view(&t), &g), LZ_ERR_LIMIT, "nested more than");
    lz_text_deinit(&t);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_canonical_text_is_kept),
        LZ_TEST(test_other_spellings),
        LZ_TEST(test_shadowing),
        LZ_TEST(test_places_are_kept),
        LZ_TEST(test_comments_that_are_no_places),
        LZ_TEST(test_bad_texts_are_refused),
        LZ_TEST(test_depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
