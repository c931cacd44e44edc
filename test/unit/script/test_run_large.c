/* Graphs of a million nodes, read, improved, run and freed on a small stack. Sanitizers make
 * everything many times slower, so that they get fewer nodes. */
#include "base/poison.h"
#include "base/text.h"
#include "base/thread.h"
#include "check.h"
#include <lazuli/run.h>

#if defined(LZ_ASAN) || defined(__SANITIZE_THREAD__)
enum { NODES = 50000, FEWER = 10000 };
#else
enum { NODES = 1000000, FEWER = 100000 };
#endif

static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

/* Every operator undoes the one before it. */
static void write_tensors(lz_text *t)
{
    static const struct {
        const char *name, *rest;
    } ops[] = { { "add", "%one, %k" }, { "sub", "%one, %k" }, { "mul", "%two" }, { "div", "%two" } };
    lz_text_puts(t, "graph(%0 : Tensor,\n      %one : Tensor,\n      %two : Tensor):\n"
                    "  %k : int = prim::Constant[value=1]()\n");
    for (int i = 0; i < NODES; i++)
        lz_text_printf(t, "  %%%d : Tensor = aten::%s(%%%d, %s) # deep.py:%d:4\n", i + 1, ops[i % 4].name, i,
                       ops[i % 4].rest, i + 1);
    lz_text_printf(t, "  return (%%%d)\n", NODES);
}

/* The int is known at run time only, and so is every size that depends on it. */
static void write_mixed(lz_text *t)
{
    lz_text_puts(t, "graph(%t0 : Tensor,\n      %n0 : int):\n"
                    "  %k : int = prim::Constant[value=1]()\n  %z : int = prim::Constant[value=0]()\n");
    for (int i = 0; i < NODES / 4; i++) {
        lz_text_printf(t, "  %%a%d : int = aten::add(%%n%d, %%k)\n", i, i);
        lz_text_printf(t, "  %%u%d : Tensor = aten::add(%%t%d, %%a%d, %%k)\n", i, i, i);
        lz_text_printf(t, "  %%n%d : int = aten::sub(%%a%d, %%k)\n", i + 1, i);
        lz_text_printf(t, "  %%t%d : Tensor = aten::sub(%%u%d, %%a%d, %%k)\n", i + 1, i, i);
    }
    lz_text_printf(t, "  return (%%t%d, %%n%d)\n", NODES / 4, NODES / 4);
}

/* One run-time number, which all operators use. */
static void write_number(lz_text *t)
{
    lz_text_puts(t, "graph(%0 : Tensor,\n      %s : float):\n  %k : int = prim::Constant[value=1]()\n");
    for (int i = 0; i < FEWER; i++)
        lz_text_printf(t, "  %%%d : Tensor = aten::%s(%%%d, %%s, %%k)\n", i + 1, i % 2 ? "sub" : "add", i);
    lz_text_printf(t, "  return (%%%d)\n", FEWER);
}

/* Only ints: nothing but built-ins, one by one. */
static void write_ints(lz_text *t)
{
    lz_text_puts(t, "graph(%0 : int):\n  %k : int = prim::Constant[value=1]()\n");
    for (int i = 0; i < FEWER; i++)
        lz_text_printf(t, "  %%%d : int = aten::%s(%%%d, %%k)\n", i + 1, i % 2 ? "sub" : "add", i);
    lz_text_printf(t, "  return (%%%d)\n", FEWER);
}

typedef struct chain {
    void (*write)(lz_text *t);
    const char *inputs[3], *want;
} chain;

static void run_chain(lz_runner *r, const chain *c)
{
    lz_gvalue *in[3], *out[2];
    lz_run_stats stats;
    lz_str got;
    size_t n = lz_runner_inputs(r);
    for (size_t i = 0; i < n; i++)
        must(lz_gvalue_create_literal(lz_str_of(c->inputs[i]), &in[i]));
    must(lz_runner_run(r, in, n, out, &stats));
    assert_true(stats.real_peak <= stats.predicted_peak);
    must(lz_gvalue_text(out[0], &got));
    assert_true(lz_str_is(got, c->want));
    for (size_t i = 0; i < n; i++)
        lz_gvalue_release(in[i]);
    for (size_t i = 0; i < lz_runner_outputs(r); i++)
        lz_gvalue_release(out[i]);
}

static void *work(void *arg)
{
    const chain *c = arg;
    lz_text t = { 0 };
    lz_graph *g;
    lz_runner *r;
    c->write(&t);
    must(lz_text_check(&t));
    must(lz_graph_parse("chain", lz_text_view(&t), &g));
    lz_text_deinit(&t);
    must(lz_graph_improve(g, lz_str_of("constprop, peephole, cse, dce"), false));
    must(lz_runner_create(g, &(lz_runner_options){ .threads = 1 }, &r));
    lz_graph_release(g);
    run_chain(r, c);
    run_chain(r, c);
    lz_runner_release(r);
    return NULL;
}

static void on_small_stack(chain *c)
{
    pthread_t thread;
    must(lz_thread_start("chain", LZ_SMALL_STACK, work, c, &thread));
    pthread_join(thread, NULL);
}

static void test_tensors(void **state)
{
    (void)state;
    on_small_stack(&(chain){
        write_tensors, { "{3., 5., 7.}", "{1., 2., 4.}", "{2., 4., 8.}" }, "tensor([3., 5., 7.])" });
}

static void test_mixed(void **state)
{
    (void)state;
    on_small_stack(&(chain){ write_mixed, { "{3., 5., 7.}", "9" }, "tensor([3., 5., 7.])" });
}

static void test_number(void **state)
{
    (void)state;
    on_small_stack(&(chain){ write_number, { "{3., 5., 7.}", "0.5" }, "tensor([3., 5., 7.])" });
}

static void test_ints(void **state)
{
    (void)state;
    on_small_stack(&(chain){ write_ints, { "9" }, "9" });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tensors), cmocka_unit_test(test_mixed),
                                        cmocka_unit_test(test_number), cmocka_unit_test(test_ints) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
