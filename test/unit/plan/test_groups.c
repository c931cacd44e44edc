/* How many launches graphs become: counted in the text that the pass "fuse" gives. */
#include "check.h"
#include "graph/ir.h"

typedef struct shape {
    const char *name, *params, *body, *results;
    int groups, runs;
} shape;

static const char prelude[] = "  %i0 : int = prim::Constant[value=0]()\n"
                              "  %i1 : int = prim::Constant[value=1]()\n"
                              "  %i4 : int = prim::Constant[value=4]()\n"
                              "  %i64 : int = prim::Constant[value=64]()\n"
                              "  %last : int = prim::Constant[value=-1]()\n"
                              "  %second : int = prim::Constant[value=-2]()\n"
                              "  %ignore : int = prim::Constant[value=-100]()\n"
                              "  %no : bool = prim::Constant[value=0]()\n"
                              "  %yes : bool = prim::Constant[value=1]()\n"
                              "  %none : NoneType = prim::Constant()\n"
                              "  %zero : float = prim::Constant[value=0.]()\n"
                              "  %eps : float = prim::Constant[value=1e-05]()\n"
                              "  %tenth : float = prim::Constant[value=0.1]()\n"
                              "  %tanh : str = prim::Constant[value=\"tanh\"]()\n"
                              "  %d0 : int[] = prim::ListConstruct(%i0)\n"
                              "  %d1 : int[] = prim::ListConstruct(%i1)\n"
                              "  %d11 : int[] = prim::ListConstruct(%i1, %i1)\n"
                              "  %d64 : int[] = prim::ListConstruct(%i64)\n";

static const shape shapes[] = {
    { "a pointwise chain", "%x : Float(5, 7), %y : Float(7)",
      "  %1 = aten::mul(%x, %y)\n  %2 = aten::tanh(%1)\n  %3 = aten::sub(%2, %x, %i1)\n  %4 = "
      "aten::relu(%3)\n",
      "%4", 1, 0 },
    { "two outputs over one loop", "%x : Float(4, 16)", "  %1 = aten::exp(%x)\n  %2 = aten::neg(%1)\n",
      "%1, %2", 1, 0 },
    { "a row sum with prologue and epilogue", "%x : Float(4, 100), %y : Float(4, 100)",
      "  %1 = aten::mul(%x, %y)\n  %2 = aten::add(%1, %i1, %i1)\n  %3 = aten::sum(%2, %d1, %no, %none)\n"
      "  %4 = aten::sqrt(%3)\n",
      "%4", 1, 0 },
    { "a sum of all with prologue and epilogue", "%x : Float(4, 100), %y : Float(4, 100)",
      "  %1 = aten::mul(%x, %y)\n  %2 = aten::add(%1, %i1, %i1)\n  %3 = aten::sum(%2, %none)\n"
      "  %4 = aten::sqrt(%3)\n",
      "%4", 1, 0 },
    { "a column sum with prologue and epilogue", "%x : Float(100, 64)",
      "  %1 = aten::mul(%x, %x)\n  %2 = aten::sum(%1, %d0, %no, %none)\n  %3 = aten::sqrt(%2)\n", "%3", 1,
      0 },
    { "softmax", "%x : Float(4, 100)", "  %1 = aten::softmax(%x, %last, %none)\n", "%1", 1, 0 },
    { "softmax along columns", "%x : Float(4, 100)", "  %1 = aten::softmax(%x, %i0, %none)\n", "%1", 1, 0 },
    { "log_softmax", "%x : Float(4, 100)", "  %1 = aten::log_softmax(%x, %last, %none)\n", "%1", 1, 0 },
    { "layer_norm", "%x : Float(4, 8, 64), %w : Float(64), %b : Float(64)",
      "  %1 = aten::layer_norm(%x, %d64, %w, %b, %eps, %no)\n", "%1", 1, 0 },
    { "layer_norm between pointwise nodes", "%x : Float(4, 8, 64), %w : Float(64), %b : Float(64)",
      "  %0 = aten::add(%x, %x, %i1)\n  %1 = aten::layer_norm(%0, %d64, %w, %b, %eps, %no)\n"
      "  %2 = aten::gelu(%1, %tanh)\n",
      "%2", 1, 0 },
    { "group_norm", "%x : Float(2, 8, 5, 5), %w : Float(8), %b : Float(8)",
      "  %1 = aten::group_norm(%x, %i4, %w, %b, %eps, %yes)\n", "%1", 1, 0 },
    { "batch_norm in inference",
      "%x : Float(2, 8, 5, 5), %w : Float(8), %b : Float(8), %m : Float(8), %v : Float(8)",
      "  %1 = aten::batch_norm(%x, %w, %b, %m, %v, %no, %tenth, %eps, %yes)\n", "%1", 1, 0 },
    { "gelu of linear", "%x : Float(4, 16), %w : Float(32, 16), %b : Float(32)",
      "  %1 = aten::linear(%x, %w, %b)\n  %2 = aten::gelu(%1, %tanh)\n", "%2", 1, 1 },
    { "gelu of linear over batches", "%x : Float(2, 4, 16), %w : Float(32, 16), %b : Float(32)",
      "  %1 = aten::linear(%x, %w, %b)\n  %2 = aten::gelu(%1, %tanh)\n", "%2", 1, 1 },
    { "attention", "%q : Float(2, 4, 8), %k : Float(2, 4, 8), %v : Float(2, 4, 8)",
      "  %kt = aten::transpose(%k, %second, %last)\n  %1 = aten::matmul(%q, %kt)\n"
      "  %2 = aten::mul(%1, %tenth)\n  %3 = aten::softmax(%2, %last, %none)\n  %4 = aten::matmul(%3, %v)\n",
      "%4", 1, 2 },
    { "two reductions of one input", "%x : Float(4, 100)",
      "  %1 = aten::sum(%x, %d1, %no, %none)\n  %2 = aten::amax(%x, %d1, %no)\n", "%1, %2", 1, 0 },
    { "two reductions of all of one input", "%x : Float(4, 100)",
      "  %1 = aten::sum(%x, %none)\n  %2 = aten::max(%x)\n", "%1, %2", 1, 0 },
    { "mean and variance", "%x : Float(4, 100)",
      "  %1 = aten::mean(%x, %d1, %no, %none)\n  %2 = aten::var(%x, %d1, %yes, %no)\n", "%1, %2", 1, 0 },
    { "two column sums of one input", "%x : Float(100, 64)",
      "  %1 = aten::sum(%x, %d0, %no, %none)\n  %2 = aten::mul(%x, %x)\n"
      "  %3 = aten::sum(%2, %d0, %no, %none)\n",
      "%1, %3", 1, 0 },
    { "what takes a cat", "%x : Float(4, 3), %y : Float(4, 5)",
      "  %l : Tensor[] = prim::ListConstruct(%x, %y)\n  %1 = aten::cat(%l, %i1)\n  %2 = aten::relu(%1)\n",
      "%2", 1, 0 },
    { "a sum of a stack", "%x : Float(4, 3), %y : Float(4, 3)",
      "  %l : Tensor[] = prim::ListConstruct(%x, %y)\n  %1 = aten::stack(%l, %i0)\n"
      "  %2 = aten::sum(%1, %d0, %no, %none)\n",
      "%2", 1, 0 },
    { "what takes a pad", "%x : Float(4, 3)",
      "  %1 = aten::constant_pad_nd(%x, %d11, %i0)\n  %2 = aten::relu(%1)\n  %3 = aten::add(%2, %i1, %i1)\n",
      "%3", 1, 0 },
    { "a sum of a pad", "%x : Float(4, 30)",
      "  %1 = aten::constant_pad_nd(%x, %d11, %i0)\n  %3 = aten::sum(%1, %d1, %no, %none)\n", "%3", 1, 0 },
    { "a gather", "%x : Float(10, 8), %i : Long(5)",
      "  %1 = aten::index_select(%x, %i0, %i)\n  %2 = aten::mul(%1, %1)\n", "%2", 1, 0 },
    { "one element of each row of a log_softmax", "%x : Float(4, 100), %i : Long(4, 1)",
      "  %1 = aten::log_softmax(%x, %last, %none)\n  %2 = aten::gather(%1, %i1, %i, %no)\n", "%2", 1, 0 },
    { "the loss of each row", "%x : Float(4, 100), %i : Long(4)",
      "  %1 = aten::cross_entropy_loss(%x, %i, %none, %i0, %ignore, %zero)\n", "%1", 1, 0 },
    { "the gradient of that loss", "%x : Float(4, 100), %i : Long(4), %g : Float(), %n : Float()",
      "  %f32 : int = prim::Constant[value=6]()\n  %1 = aten::log_softmax(%x, %last, %none)\n"
      "  %2 = aten::nll_loss_backward(%g, %1, %i, %none, %i1, %ignore, %n)\n"
      "  %3 = aten::_log_softmax_backward_data(%2, %1, %last, %f32)\n",
      "%3", 1, 0 },
    { "softmax of what is scaled and masked", "%x : Float(2, 4, 8, 40), %m : Bool(8, 40)",
      "  %1 = aten::mul(%x, %tenth)\n  %2 = aten::masked_fill(%1, %m, %ignore)\n"
      "  %3 = aten::softmax(%2, %last, %none)\n",
      "%3", 1, 0 },
    { "rms_norm", "%x : Float(4, 8, 64), %w : Float(64)", "  %1 = aten::rms_norm(%x, %d64, %w, %eps)\n", "%1",
      1, 0 },
    { "layer_norm and the sum that it is of", "%x : Float(4, 64), %y : Float(4, 64), %w : Float(64)",
      "  %1 = aten::add(%x, %y, %i1)\n  %2 = aten::layer_norm(%1, %d64, %w, %none, %eps, %no)\n", "%1, %2", 1,
      0 },
    { "mean and variance of one operator", "%x : Float(4, 100)",
      "  %1, %2 = aten::var_mean(%x, %d1, %yes, %no)\n", "%1, %2", 1, 0 },
    { "what a sum of rows becomes, and the sum", "%x : Float(4, 100), %y : Float(4)",
      "  %1 = aten::sum(%x, %d1, %no, %none)\n  %2 = aten::mul(%1, %tenth)\n"
      "  %3 = aten::add(%2, %y, %i1)\n  %4 = aten::exp(%2)\n",
      "%1, %3, %4", 1, 0 },
    { "siblings that a third one brings together", "%x : Float(4, 100), %y : Float(4, 100)",
      "  %1 = aten::mul(%x, %y)\n  %2 = aten::exp(%x)\n  %3 = aten::sigmoid(%y)\n", "%1, %2, %3", 1, 0 },
    { "three tensors updated in place",
      "%p : Float(1000), %g : Float(1000), %m : Float(1000), %v : Float(1000)",
      "  %m1 = aten::mul_(%m, %tenth)\n  %m2 = aten::add_(%m1, %g, %tenth)\n  %v1 = aten::mul_(%v, %tenth)\n"
      "  %v2 = aten::addcmul_(%v1, %g, %g, %tenth)\n  %d = aten::sqrt(%v2)\n"
      "  %de = aten::add_(%d, %eps, %i1)\n  %p1 = aten::addcdiv_(%p, %m2, %de, %tenth)\n",
      "%p1", 1, 0 },
    { "the gradients of three slices, added up", "%x : Float(4, 8), %y : Float(4, 8), %z : Float(4, 48)",
      "  %i8 : int = prim::Constant[value=8]()\n  %i16 : int = prim::Constant[value=16]()\n"
      "  %s : int[] = prim::ListConstruct(%i4, %i64)\n"
      "  %1 = aten::slice_backward(%x, %s, %i1, %i0, %i8, %i1)\n"
      "  %2 = aten::slice_backward(%y, %s, %i1, %i8, %i16, %i1)\n"
      "  %3 = aten::slice_backward(%z, %s, %i1, %i16, %i64, %i1)\n"
      "  %4 = aten::add(%1, %2, %i1)\n  %5 = aten::add(%4, %3, %i1)\n",
      "%5", 1, 0 },
    { "a batch of rows times one matrix", "%x : Float(2, 3, 8), %w : Float(8, 5)",
      "  %1 = aten::matmul(%x, %w)\n  %2 = aten::relu(%1)\n", "%2", 1, 1 },
};

static lz_err *text_of(const shape *s, lz_text *out)
{
    lz_text_printf(out, "graph(%s):\n%s%s  return (%s)\n", s->params, prelude, s->body, s->results);
    return lz_text_check(out);
}

static void count(const lz_graph *g, int *groups, int *runs)
{
    *groups = *runs = 0;
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n != g->block->ret; n = n->next) {
        *groups += lz_ssa_named(n, "lz::group");
        *runs += lz_ssa_named(n, "lz::run");
    }
}

static void check_shape(const shape *s)
{
    lz_text text = { 0 };
    lz_graph *g = NULL;
    lz_str printed = LZ_STR("");
    int groups, runs;
    lz_err *e = text_of(s, &text);
    e = e ? e : lz_graph_parse(s->name, lz_text_view(&text), &g);
    e = e ? e : lz_graph_improve(g, LZ_STR("fuse"), true);
    if (e) {
        fail_msg("%s: %s", s->name, lz_err_text(e));
        return;
    }
    count(g, &groups, &runs);
    if (groups != s->groups || runs != s->runs) {
        assert_null(lz_graph_print(g, LZ_GRAPH_TEXT_PLAIN, &printed));
        fail_msg("%s: %d groups, %d runs\n%.*s", s->name, groups, runs, LZ_FMT(printed));
    }
    lz_graph_release(g);
    lz_text_deinit(&text);
}

static void test_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_shapes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
