/* Prints the graph as TorchScript does, so that its parser can read it; but a node without outputs has no
 * "=". */
#include "graph/ir.h"
#include <stdarg.h>

void lz_ssa_print_name(const lz_ssa_value *v, lz_text *out)
{
    lz_text_putc(out, '%');
    if (v->name.len)
        lz_text_add(out, v->name);
    else
        lz_text_int(out, v->id);
}

static void print_typed(const lz_ssa_value *v, lz_text *out)
{
    lz_ssa_print_name(v, out);
    if (v->type) {
        lz_text_puts(out, " : ");
        lz_type_print(v->type, out);
    }
}

static void print_outputs(const lz_ssa_node *n, const char *between, lz_text *out)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_text_puts(out, i ? between : "");
        print_typed(n->out[i], out);
    }
}

static void print_inputs(const lz_ssa_node *n, lz_text *out)
{
    lz_text_putc(out, '(');
    for (uint32_t i = 0; i < n->nin; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_ssa_print_name(lz_ssa_in(n, i), out);
    }
    lz_text_putc(out, ')');
}

/* ---- attributes ---- */

static const char *const python_names[LZ_GRAPH_TYPE_LEAVES] = {
    [LZ_GRAPH_TYPE_TENSOR] = "Tensor", [LZ_GRAPH_TYPE_INT] = "int", [LZ_GRAPH_TYPE_FLOAT] = "float",
    [LZ_GRAPH_TYPE_BOOL] = "bool",     [LZ_GRAPH_TYPE_STR] = "str", [LZ_GRAPH_TYPE_SCALAR] = "number",
};

/* "List[int]", which TorchScript prints for an empty list only. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static void print_python_type(const lz_type *t, lz_text *out)
{
    static const char *const names[LZ_GRAPH_TYPE_COUNT] = {
        [LZ_GRAPH_TYPE_LIST] = "List",
        [LZ_GRAPH_TYPE_OPTIONAL] = "Optional",
        [LZ_GRAPH_TYPE_DICT] = "Dict",
        [LZ_GRAPH_TYPE_TUPLE] = "Tuple",
    };
    if (!names[t->kind]) {
        const char *leaf = t->kind < LZ_GRAPH_TYPE_LEAVES ? python_names[t->kind] : NULL;
        lz_text_puts(out, leaf ? leaf : "Any");
        return;
    }
    lz_text_puts(out, names[t->kind]);
    lz_text_putc(out, '[');
    for (size_t i = 0; i < t->n; i++) {
        lz_text_puts(out, i ? ", " : "");
        print_python_type(t->elem[i], out);
    }
    lz_text_putc(out, ']');
}

static bool is_empty(lz_script_value v)
{
    return (v.kind == LZ_SCRIPT_VALUE_LIST && !v.list->len)
           || (v.kind == LZ_SCRIPT_VALUE_DICT && !lz_script_value_dict_count(v));
}

/* Bools of constants are printed as 0 and 1, because the type is printed with them. */
static lz_err *print_value(const lz_ssa_node *n, lz_script_value v, lz_text *out)
{
    bool constant = lz_ssa_is(n, LZ_PRIM_CONSTANT) && n->nout == 1;
    const lz_type *t = constant ? n->out[0]->type : NULL;
    if (constant && v.kind == LZ_SCRIPT_VALUE_BOOL) {
        lz_text_putc(out, v.b ? '1' : '0');
        return NULL;
    }
    if (!constant || !is_empty(v))
        return lz_script_value_repr(v, out);
    lz_text_puts(out, "annotate(");
    print_python_type(t->kind == LZ_GRAPH_TYPE_OPTIONAL ? t->elem[0] : t, out);
    lz_text_puts(out, v.kind == LZ_SCRIPT_VALUE_LIST ? ", [])" : ", {})");
    return NULL;
}

static lz_err *print_attrs(const lz_ssa_node *n, lz_text *out)
{
    if (!n->nattrs)
        return NULL;
    lz_text_putc(out, '[');
    for (uint32_t i = 0; i < n->nattrs; i++) {
        const lz_ssa_attr *a = n->attrs[i];
        lz_text_printf(out, "%s%.*s=", i ? ", " : "", LZ_FMT(a->name));
        if (a->type)
            lz_type_print(a->type, out);
        else
            LZ_TRY(print_value(n, a->value, out));
    }
    lz_text_putc(out, ']');
    return NULL;
}

/* ---- nodes and blocks ---- */

static lz_err *print_node(const lz_ssa_node *n, lz_text *out)
{
    print_outputs(n, ", ", out);
    lz_text_puts(out, n->nout ? " = " : "");
    lz_text_add(out, n->sym->name);
    LZ_TRY(print_attrs(n, out));
    print_inputs(n, out);
    return NULL;
}

void lz_ssa_print_node(const lz_ssa_node *n, lz_text *out)
{
    if (lz_ssa_is(n, LZ_PRIM_RETURN)) {
        lz_text_puts(out, n->block && n->block->owner ? "-> " : "return ");
        print_inputs(n, out);
        return;
    }
    lz_err *e = print_node(n, out);
    if (e)
        lz_text_puts(out, "...");
    lz_err_drop(e);
}

/* lz_loc counts columns from 1, the text from 0. */
static void print_place(const lz_loc *l, lz_text *out)
{
    if (l->file && l->line)
        lz_text_printf(out, " # %s:%d:%d", l->file, l->line, l->col > 0 ? l->col - 1 : 0);
}

static void print_block_head(const lz_ssa_block *b, uint32_t depth, lz_text *out)
{
    lz_text_fill(out, ' ', 4 * (size_t)depth);
    lz_text_printf(out, "block%u(", b->index);
    print_outputs(b->param, ", ", out);
    lz_text_puts(out, "):\n");
}

/* Depth 0 is the graph's own block: its nodes are indented by two columns. */
static lz_err *print_line(const lz_ssa_node *n, uint32_t depth, unsigned flags, lz_text *out)
{
    bool ret = lz_ssa_is(n, LZ_PRIM_RETURN);
    lz_text_fill(out, ' ', 4 * (size_t)depth + 2);
    if (ret)
        lz_ssa_print_node(n, out);
    else
        LZ_TRY(print_node(n, out));
    if (!ret && (flags & LZ_PRINT_PLACES))
        print_place(&n->loc, out);
    lz_text_putc(out, '\n');
    return NULL;
}

static bool ends_last_block(const lz_ssa_node *n)
{
    const lz_ssa_node *owner = n->next ? NULL : n->block->owner;
    return owner && n->block->index + 1 == owner->nblocks;
}

lz_err *lz_graph_write(const lz_graph *g, unsigned flags, lz_text *out)
{
    uint32_t depth = 0;
    lz_text_puts(out, "graph(");
    print_outputs(g->block->param, ",\n      ", out);
    lz_text_puts(out, "):\n");
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n)) {
        if (n->block->owner && lz_ssa_first(n->block) == n)
            print_block_head(n->block, depth, out);
        LZ_TRY(print_line(n, depth, flags, out));
        depth += n->nblocks > 0;
        depth -= ends_last_block(n);
    }
    return lz_text_check(out);
}

/* ---- errors ---- */

static void print_error(const lz_ssa_node *n, lz_text *out, const char *fmt, va_list ap)
{
    lz_text_vprintf(out, fmt, ap);
    lz_text_puts(out, "\n    in ");
    lz_ssa_print_node(n, out);
    print_place(&n->loc, out);
}

lz_err *lz_ssa_locate(const lz_graph *g, const lz_ssa_node *n, lz_err *e)
{
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err *located = lz_ssa_error(g, n, lz_err_code(e), "%s", lz_err_text(e));
    lz_err_set_reason(located, lz_err_reason(e));
    lz_err_free(e);
    return located;
}

lz_err *lz_ssa_error(const lz_graph *g, const lz_ssa_node *n, lz_code code, const char *fmt, ...)
{
    lz_loc at = n->line ? (lz_loc){ g->file, (int32_t)n->line, (int32_t)n->col } : n->loc;
    lz_text t = { 0 };
    va_list ap;
    va_start(ap, fmt);
    print_error(n, &t, fmt, ap);
    va_end(ap);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_err_at(code, at, "%.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}
