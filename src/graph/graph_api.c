/* The public functions of lazuli/graph.h that need the operators of the library. */
#include "graph/ir.h"
#include "op/op_find.h"

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

/* A node without an operator is a built-in or a lz_prim. */
static lz_err *check_known(const lz_graph *g, const lz_ssa_node *n)
{
    if (n->op || n->builtin || n->sym->prim != LZ_PRIM_NONE)
        return NULL;
    return lz_ssa_locate(g, n, lz_op_unknown(LZ_ERR_UNSUPPORTED, n->sym->name));
}

static lz_err *collect_operators(const lz_graph *g, bool *seen, const lz_op_row **list, size_t *n)
{
    for (const lz_ssa_node *node = lz_ssa_first(g->block); node; node = lz_ssa_next(node)) {
        LZ_TRY(check_known(g, node));
        if (!node->op || seen[node->op - lz_op_table])
            continue;
        seen[node->op - lz_op_table] = true;
        list[(*n)++] = node->op;
    }
    return NULL;
}

lz_err *lz_graph_operators(lz_graph *g, const lz_op_row *const **out, size_t *n)
{
    bool seen[LZ_OP_COUNT] = { false };
    const lz_op_row **list;
    size_t nodes = lz_graph_count(g);
    *n = 0;
    LZ_TRY(lz_arena_new(&g->arena, &list, nodes < LZ_OP_COUNT ? nodes : LZ_OP_COUNT));
    *out = list;
    return collect_operators(g, seen, list, n);
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
