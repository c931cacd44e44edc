/* run_graph.c - reads a graph in TorchScript's text form and runs it: once on the program's own memory,
 * and once on inputs that do not fit, to show the error.
 *
 *     run_graph */
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "graph(%x : Tensor,\n"
                           "      %w : Tensor,\n"
                           "      %n : int):\n"
                           "  %2 : bool = prim::Constant[value=1]()\n"
                           "  %y : Tensor = prim::Loop(%n, %2, %x) # net.py:4:4\n"
                           "    block0(%i : int, %x.2 : Tensor):\n"
                           "      %4 : Tensor = aten::matmul(%x.2, %w) # net.py:5:12\n"
                           "      %5 : Tensor = aten::tanh(%4) # net.py:5:8\n"
                           "      -> (%2, %5)\n"
                           "  return (%y)\n";

static lz_err *value_of(float *data, lz_ints sizes, lz_gvalue **out)
{
    lz_array *a;
    lz_err *e = lz_array_wrap(&(lz_foreign){ .data = data, .dtype = LZ_F32, .sizes = sizes }, &a);
    if (e)
        return e;
    e = lz_gvalue_create_array(a, out);
    lz_array_release(a);
    return e;
}

static lz_err *run(lz_runner *r, lz_gvalue **in, size_t n)
{
    lz_gvalue *out;
    lz_run_stats stats;
    lz_str shown;
    lz_err *e = lz_runner_run(r, in, n, &out, &stats);
    if (e)
        return e;
    e = lz_gvalue_text(out, &shown);
    if (!e)
        printf("%.*s\n%zu launches, %zu plan\n", LZ_FMT(shown), stats.launches, stats.plans);
    lz_gvalue_release(out);
    return e;
}

static int report(lz_err *e)
{
    lz_loc at = lz_err_loc(e);
    if (!e)
        return 0;
    printf("line %d: %s\n", (int)at.line, lz_err_text(e));
    lz_err_free(e);
    return 1;
}

int main(void)
{
    float x[] = { 1, 0, 0, 1 }, w[] = { 0.5F, -0.5F, 0.25F, 1 }, odd[] = { 1, 2, 3 };
    lz_graph *g = NULL;
    lz_runner *r = NULL;
    lz_gvalue *in[3] = { NULL, NULL, NULL }, *wrong = NULL;
    lz_err *e = lz_graph_parse("net.ir", (lz_str){ text, strlen(text) }, &g);
    if (!e)
        e = lz_runner_create(g, NULL, &r);
    if (!e)
        e = value_of(x, LZ_DIMS(2, 2), &in[0]);
    if (!e)
        e = value_of(w, LZ_DIMS(2, 2), &in[1]);
    if (!e)
        e = lz_gvalue_create_literal((lz_str){ "2", 1 }, &in[2]);
    if (!e)
        e = value_of(odd, LZ_DIMS(1, 3), &wrong);
    if (!e)
        e = run(r, in, 3);
    int status = report(e);
    if (status == 0) {
        lz_gvalue *bad[] = { wrong, in[1], in[2] };
        status = !report(run(r, bad, 3)); /* this run must fail and report where */
    }
    lz_gvalue_release(wrong);
    for (int i = 0; i < 3; i++)
        lz_gvalue_release(in[i]);
    lz_runner_release(r);
    lz_graph_release(g);
    return status;
}
