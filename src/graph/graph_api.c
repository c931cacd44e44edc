/* The public functions of lazuli/graph.h that need the operators of the library. */
#include "graph/ir.h"
#include "op/op_table.h"

static const lz_ssa_ops operators = { .rows = lz_op_table, .by_name = lz_op_by_name, .n = LZ_OP_COUNT };

const lz_ssa_ops *lz_ssa_operators(void)
{
    return &operators;
}

lz_err *lz_graph_parse(const char *name, lz_str text, lz_graph **out)
{
    const lz_parse_options o = { .name = name, .ops = &operators };
    lz_graph *g;
    LZ_TRY(lz_graph_read(text, &o, &g));
    lz_err *e = lz_graph_verify(g);
    if (e)
        lz_graph_release(g);
    else
        *out = g;
    return e;
}

lz_err *lz_graph_print(lz_graph *g, lz_graph_form form, lz_str *out)
{
    lz_text_clear(&g->text);
    if ((unsigned)form > LZ_GRAPH_DOT)
        return lz_errf(LZ_ERR_ARG, "%d is no form of a graph", (int)form);
    if (form == LZ_GRAPH_DOT)
        LZ_TRY(lz_graph_dot(g, &g->text));
    else
        LZ_TRY(lz_graph_write(g, form == LZ_GRAPH_TEXT ? LZ_PRINT_PLACES : 0, &g->text));
    *out = lz_text_view(&g->text);
    return NULL;
}
