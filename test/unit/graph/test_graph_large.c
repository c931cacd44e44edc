/* A million nodes in a chain, and blocks as deep as they may be, on a small stack: read,
 * checked, printed, copied, improved and freed. */
#include "base/thread.h"
#include "graph_edit.h"
#include "graph_equal.h"
#include "graph_text.h"

enum { NODES = 1000000 };

static void write_chain(lz_text *t)
{
    lz_text_puts(t, "graph(%x : Tensor,\n      %n : int):\n  %0 : Tensor = aten::relu(%x)\n");
    for (int i = 1; i < NODES; i++)
        lz_text_printf(t, "  %%%d : Tensor = aten::%s(%%%d%s)\n", i, i % 2 ? "mul" : "neg", i - 1,
                       i % 2 ? ", %x" : "");
    lz_text_printf(t, "  return (%%%d)\n", NODES - 1);
}

/* Nothing fails here but what must not. */
static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static void improve(lz_graph *g, const char *passes)
{
    must(lz_graph_improve(g, lz_str_of(passes), true));
}

static void *run(void *arg)
{
    lz_text *t = arg;
    lz_graph *g, *copy;
    lz_str printed;
    must(lz_graph_parse("chain", lz_text_view(t), &g));
    assert_int_equal(lz_graph_count(g), NODES);
    must(lz_graph_print(g, LZ_GRAPH_TEXT, &printed));
    assert_true(lz_str_eq(printed, lz_text_view(t)));
    must(lz_graph_clone(g, &copy));
    assert_true(graph_equal(g, copy));
    improve(copy, "constprop, peephole, cse, dce");
    assert_int_equal(lz_graph_count(copy), NODES);
    set_input(copy->block->ret, 0, copy->block->param->out[0]);
    improve(copy, "dce");
    assert_int_equal(lz_graph_count(copy), 0);
    lz_graph_release(copy);
    lz_graph_release(g);
    return NULL;
}

static void test_chain(void **state)
{
    lz_text t = { 0 };
    pthread_t thread;
    (void)state;
    write_chain(&t);
    must(lz_text_check(&t));
    must(lz_thread_start("chain", LZ_SMALL_STACK, run, &t, &thread));
    pthread_join(thread, NULL);
    lz_text_deinit(&t);
}

/* Equal nodes, one name again and again, one value used by all: nothing is quadratic. */
static void write_hard(lz_text *t)
{
    lz_text_puts(t, "graph(%x : Tensor):\n");
    for (int i = 0; i < NODES / 10; i++)
        lz_text_puts(t, "  %y : Tensor = aten::relu(%x)\n  %l : Tensor[] = prim::ListConstruct(%y, %x)\n");
    lz_text_puts(t, "  return (%l)\n");
}

static void test_hard(void **state)
{
    lz_text t = { 0 };
    lz_graph *g;
    (void)state;
    write_hard(&t);
    must(lz_text_check(&t));
    must(lz_graph_parse("hard", lz_text_view(&t), &g));
    improve(g, "cse, peephole, constprop, dce");
    assert_int_equal(lz_graph_count(g), 2);
    lz_graph_release(g);
    lz_text_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_chain), cmocka_unit_test(test_hard) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
