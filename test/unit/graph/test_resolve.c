/* Which overload a call means, by the types of its arguments alone. */
#include "graph_text.h"

static const struct {
    const char *args, *call; /* parameters of the graph; the node without outputs */
    const char *want;        /* "add.Tensor", ".int" for a built-in, "?" for nobody */
} cases[] = {
    { "%a : Tensor, %b : Tensor, %c : int", "aten::add(%a, %b, %c)", "add.Tensor" },
    { "%a : Tensor, %b : int, %c : int", "aten::add(%a, %b, %c)", "add.Scalar" },
    { "%a : Float(2, 3), %b : Long(3), %c : int", "aten::add(%a, %b, %c)", "add.Tensor" },
    { "%a : int, %b : int", "aten::add(%a, %b)", ".int" },
    { "%a : int, %b : float", "aten::add(%a, %b)", ".int_float" },
    { "%a : float, %b : float", "aten::add(%a, %b)", ".float" },
    { "%a : Scalar, %b : int", "aten::add(%a, %b)", "." },
    { "%a : str, %b : str", "aten::add(%a, %b)", ".str" },
    { "%a : Tensor[], %b : Tensor[]", "aten::add(%a, %b)", ".t" },
    { "%a : Tensor, %n : NoneType", "aten::sum(%a, %n)", "sum" },
    { "%a : Tensor, %l : int[], %b : bool, %n : NoneType", "aten::sum(%a, %l, %b, %n)", "sum.dim_IntList" },
    { "%a : Tensor", "aten::max(%a)", "max" },
    { "%a : Tensor, %i : int, %b : bool", "aten::max(%a, %i, %b)", "max.dim" },
    { "%a : Tensor, %b : Tensor", "aten::mul(%a, %b)", "mul.Tensor" },
    { "%a : Tensor, %b : float", "aten::mul(%a, %b)", "mul.Scalar" },
    { "%a : Tensor, %b : Tensor", "aten::eq(%a, %b)", "eq.Tensor" },
    { "%a : bool, %b : bool", "aten::eq(%a, %b)", ".bool" },
    { "%a : int[], %b : int[]", "aten::eq(%a, %b)", ".int_list" },
    { "%a : Dict(str, Tensor), %k : str", "aten::__getitem__(%a, %k)", ".Dict" },
    { "%a : str[], %k : int", "aten::__getitem__(%a, %k)", ".t" },
    { "%a : Tensor", "aten::len(%a)", ".Tensor" },
    { "%a : Tensor", "aten::Bool(%a)", ".Tensor" },
    { "%a : int?", "aten::_unwrap_optional(%a)", "." },
    { "%a : Any, %n : NoneType", "aten::__isnot__(%a, %n)", "." },
    { "%a : str, %b : int, %c : Tensor", "aten::format(%a, %b, %c)", "." },
    /* defaults are left out */
    { "%a : Tensor, %b : Tensor", "aten::add(%a, %b)", "add.Tensor" },
    { "%a : Tensor", "aten::sum(%a)", "sum" },
    /* an int is also a dtype, and that overload takes it as it is; one int for int[1] */
    { "%a : Tensor, %i : int", "aten::sum(%a, %i)", "sum" },
    { "%a : Tensor, %i : int, %b : bool", "aten::sum(%a, %i, %b)", "sum.dim_IntList" },
    /* a bool for a Scalar */
    { "%a : Tensor, %b : bool", "aten::mul(%a, %b)", "mul.Scalar" },
    /* names that nobody has */
    { "%a : Tensor", "aten::not_an_operator(%a)", "?" },
    { "%a : Tensor", "my::relu(%a)", "?" },
    { "%a : Tensor", "aten::upper(%a)", "?" },
};

static void check_choice(const lz_ssa_node *n, const char *call, const char *want)
{
    const char *got = n->op ? n->op->name : n->builtin ? n->builtin->overload : "?";
    bool ok = !strcmp(got, want + (want[0] == '.')) && (want[0] == '.') == (n->builtin != NULL);
    if (!ok)
        fail_msg("%s calls %s", call, got);
}

static lz_err *test_overloads(void)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        lz_text t = { 0 };
        lz_graph *g;
        lz_text_printf(&t, "graph(%s):\n  %s\n  return ()\n", cases[i].args, cases[i].call);
        e = lz_text_check(&t);
        e = e ? e : lz_graph_parse("call", lz_text_view(&t), &g);
        lz_text_deinit(&t);
        if (!e) {
            check_choice(lz_ssa_first(g->block), cases[i].call, cases[i].want);
            lz_graph_release(g);
        }
    }
    return e;
}

/* Results of built-ins with type variables; of twins the one that gives what is asked. */
static lz_err *test_results(void)
{
    static const char *const texts[][2] = {
        { "graph(%l : Tensor[], %i : int):\n  %1 = aten::__getitem__(%l, %i)\n  return (%1)\n",
          "graph(%l : Tensor[],\n      %i : int):\n  %1 : Tensor = aten::__getitem__(%l, %i)\n  return "
          "(%1)\n" },
        { "graph(%d : Dict(str, int[])):\n  %1 = aten::items(%d)\n  return (%1)\n",
          "graph(%d : Dict(str, int[])):\n  %1 : (str, int[])[] = aten::items(%d)\n  return (%1)\n" },
        { "graph(%d : Dict(int, float), %i : int):\n  %1 = aten::get(%d, %i)\n  return (%1)\n",
          "graph(%d : Dict(int, float),\n      %i : int):\n  %1 : float? = aten::get(%d, %i)\n  return "
          "(%1)\n" },
        { "graph(%a : int):\n  %1 = aten::divmod(%a, %a)\n  return (%1)\n", NULL },
        { "graph(%a : int):\n  %1 = aten::pow(%a, %a)\n  %2 : int = aten::pow(%a, %a)\n  return (%1, %2)\n",
          "graph(%a : int):\n  %1 : float = aten::pow(%a, %a)\n  %2 : int = aten::pow(%a, %a)\n  return (%1, "
          "%2)\n" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof texts / sizeof *texts; i++) {
        lz_graph *g;
        e = graph_of(texts[i][0], &g);
        if (!texts[i][1]) {
            e = lz_check_err(e, LZ_ERR_MODEL, "aten::divmod.int(int, int) -> (int, int)");
        } else if (!e) {
            e = graph_prints(g, texts[i][1]);
            lz_graph_release(g);
        }
    }
    return e;
}

static lz_err *test_refusals(void)
{
    static const char *const calls[][3] = {
        { "%a : int", "aten::relu(%a)",
          "no aten::relu takes (int); there are:\n    aten::relu(Tensor self) -> Tensor" },
        { "%a : Tensor, %b : Tensor", "aten::relu(%a, %b, %b)",
          "no aten::relu takes (Tensor, Tensor, Tensor)" },
        { "%a : int[], %b : str", "aten::append(%a, %b)", "aten::append.t(t[], t) -> t[]" },
        { "%a : int, %b : Tensor", "aten::mm(%a, %b)", "no aten::mm takes (int, Tensor)" },
        { "%a : Dict(str, int), %b : int", "aten::__getitem__(%a, %b)", "no aten::__getitem__ takes" },
        { "%a : str, %b : int", "aten::add(%a, %b)", "no aten::add takes (str, int)" },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof calls / sizeof *calls; i++) {
        lz_text t = { 0 };
        lz_graph *g;
        lz_text_printf(&t, "graph(%s):\n  %s\n  return ()\n", calls[i][0], calls[i][1]);
        e = lz_text_check(&t);
        e = e ? e : lz_check_err(lz_graph_parse("call", lz_text_view(&t), &g), LZ_ERR_MODEL, calls[i][2]);
        lz_text_deinit(&t);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_overloads), LZ_TEST(test_results),
                                        LZ_TEST(test_refusals) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
