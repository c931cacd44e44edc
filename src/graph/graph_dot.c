/* The graph in Graphviz's DOT: nodes are boxes, values are arrows, blocks are frames. */
#include "graph/ir.h"

/* Appends s within a DOT string: escapes quotes and backslashes. */
static void put_escaped(lz_text *out, lz_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"' || s.ptr[i] == '\\')
            lz_text_putc(out, '\\');
        lz_text_putc(out, s.ptr[i]);
    }
}

/* The label of a node: its name, or the value of a constant. */
static void put_label(lz_text *out, const lz_ssa_node *n)
{
    lz_text line = { 0 };
    lz_script_value v;
    if (n->nout == 1 && lz_ssa_const(n->out[0], &v)) {
        lz_err *e = lz_script_value_repr(v, &line);
        lz_err_drop(e); /* too deep to show */
    } else {
        lz_text_add(&line, n->sym->name);
    }
    put_escaped(out, lz_str_sub(lz_text_view(&line), 0, 60));
    lz_text_deinit(&line);
}

static void put_edges(lz_text *out, const lz_ssa_node *n)
{
    for (uint32_t i = 0; i < n->nin; i++) {
        const lz_ssa_value *v = lz_ssa_in(n, i);
        lz_text t = { 0 };
        lz_ssa_print_name(v, &t);
        lz_text_printf(out, "  n%u -> n%u [label=\"", v->node->mark, n->mark);
        put_escaped(out, lz_text_view(&t));
        lz_text_puts(out, " : ");
        lz_text_clear(&t);
        lz_type_print(v->type, &t);
        put_escaped(out, lz_text_view(&t));
        lz_text_puts(out, "\"];\n");
        lz_text_deinit(&t);
    }
}

static void put_node(lz_text *out, lz_ssa_node *n, uint32_t *number)
{
    n->mark = (*number)++;
    lz_text_printf(out, "  n%u [shape=box, label=\"", n->mark);
    put_label(out, n);
    lz_text_puts(out, "\"];\n");
}

static void open_block(lz_text *out, const lz_ssa_block *b, uint32_t *number)
{
    lz_text_printf(out, "subgraph cluster%u {\n  label=\"block%u\";\n", *number, b->index);
    put_node(out, b->param, number);
}

lz_err *lz_graph_dot(const lz_graph *g, lz_text *out)
{
    uint32_t number = 0;
    lz_text_puts(
        out, "digraph graph_ {\n  node [fontname=monospace];\n  edge [fontname=monospace, fontsize=9];\n");
    put_node(out, g->block->param, &number);
    for (lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
        if (n->block->owner && lz_ssa_first(n->block) == n)
            open_block(out, n->block, &number);
        put_node(out, n, &number);
        if (!n->next && n->block->owner)
            lz_text_puts(out, "}\n");
    }
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n))
        put_edges(out, n);
    lz_text_puts(out, "}\n");
    return lz_text_check(out);
}
