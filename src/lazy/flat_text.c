#include "lazy/flat_text.h"
#include "core/dtype.h"
#include "lazy/pack.h"
#include "op/op_table.h"
#include <string.h>

/* ---- small things ---- */

void lz_put_type(lz_text *out, lz_data_type t)
{
    lz_text_printf(out, "%s[", lz_dtype_get(t.dtype)->script);
    for (int64_t i = 0; i < t.sizes.n; i++)
        lz_text_printf(out, "%s%lld", i ? "," : "", (long long)t.sizes.v[i]);
    lz_text_putc(out, ']');
}

void lz_put_loc(lz_text *out, lz_loc at)
{
    if (at.file)
        lz_text_printf(out, "%s:%d", at.file, at.line);
    else
        lz_text_puts(out, "an unknown line");
}

/* ---- nodes ---- */

void lz_put_op(lz_text *out, const lz_flat_node *n, bool full)
{
    const lz_op_row *op = &lz_op_table[n->op];
    if (!n->op)
        lz_text_puts(out, "lazy_tensors::device_data");
    else
        lz_text_printf(out, "%s::%.*s", op->ns, full ? (int)strlen(op->name) : (int)op->base, op->name);
}

const char *lz_arg_name(const lz_flat_node *n, uint32_t i)
{
    const lz_op_row *op = &lz_op_table[n->op];
    return i < op->nargs ? op->args[i].name : "random";
}

static void put_ref(lz_text *out, uint64_t ref)
{
    if (!ref) {
        lz_text_puts(out, "None");
        return;
    }
    lz_text_printf(out, "%%%u", lz_flat_ref_place(ref));
    if (lz_flat_ref_output(ref))
        lz_text_printf(out, ".%u", lz_flat_ref_output(ref));
}

void lz_put_arg(lz_text *out, const lz_flat_node *n, uint32_t i)
{
    static const char *const numbers[] = { "None", "a bool", "an int", "a float", "a complex" };
    lz_slot s = lz_flat_slot(n, i);
    lz_value v;
    switch ((lz_arg_kind)s.kind) {
    case LZ_ARG_NONE:
        lz_text_puts(out, "None");
        break;
    case LZ_ARG_VALUE:
        v = lz_unpack(n->fixed, s.first);
        lz_value_print(&v, out);
        break;
    case LZ_ARG_TENSOR:
        put_ref(out, n->in[s.first]);
        break;
    case LZ_ARG_TENSORS:
        lz_text_putc(out, '[');
        for (uint32_t k = 0; k < s.n; k++) {
            lz_text_puts(out, k ? ", " : "");
            put_ref(out, n->in[s.first + k]);
        }
        lz_text_putc(out, ']');
        break;
    case LZ_ARG_SCALAR:
        lz_text_puts(out, numbers[s.scalar]);
        break;
    case LZ_ARG_RANDOM:
        lz_text_puts(out, "its position");
        break;
    }
}

static void put_types(lz_text *out, const lz_flat_node *n)
{
    for (uint32_t i = 0; i < n->nout; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_put_type(out, lz_flat_type(n, i));
    }
}

static bool is_operand(const lz_slot *s)
{
    return s->kind == LZ_ARG_TENSOR || s->kind == LZ_ARG_TENSORS;
}

static void put_operands(lz_text *out, const lz_flat_node *n)
{
    const char *before = "";
    for (uint32_t i = 0; i < n->nargs; i++) {
        lz_slot s = lz_flat_slot(n, i);
        if (!is_operand(&s))
            continue;
        lz_text_puts(out, before);
        lz_put_arg(out, n, i);
        before = ", ";
    }
}

static void put_attributes(lz_text *out, const lz_flat_node *n, const char *before, size_t most)
{
    for (uint32_t i = 0; i < n->nargs; i++) {
        lz_slot s = lz_flat_slot(n, i);
        if (is_operand(&s) || s.kind == LZ_ARG_NONE)
            continue;
        lz_text_printf(out, "%s%s=", before, lz_arg_name(n, i));
        size_t from = out->len;
        lz_put_arg(out, n, i);
        if (out->len - from > most) {
            out->len = from + most;
            lz_text_puts(out, "...");
        }
    }
}

static void put_roots(lz_text *out, const lz_graph_index *p, uint32_t place, const char *before)
{
    for (uint32_t k = 0; k < p->nroots; k++)
        if (lz_flat_ref_place(p->roots[k]) == place)
            lz_text_printf(out, "%sROOT=%u", before, k);
}

static void put_origin(lz_text *out, const lz_node *n, const char *before_scope, const char *before_line)
{
    if (n->scope)
        lz_text_printf(out, "%s%s", before_scope, n->scope);
    if (!n->at.file)
        return;
    lz_text_puts(out, before_line);
    lz_put_loc(out, n->at);
}

void lz_flat_text(lz_text *out, const lz_graph_index *p, lz_node *const *nodes)
{
    lz_text_puts(out, "IR {\n");
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        lz_text_printf(out, "  %%%u = [", i);
        put_types(out, &n);
        lz_text_puts(out, "] ");
        lz_put_op(out, &n, true);
        lz_text_putc(out, '(');
        put_operands(out, &n);
        lz_text_putc(out, ')');
        put_attributes(out, &n, ", ", SIZE_MAX);
        if (p->is_root[i])
            put_roots(out, p, i, ", ");
        if (n.op)
            put_origin(out, nodes[i], ", scope=", ", location=");
        lz_text_putc(out, '\n');
    }
    lz_text_puts(out, "}\n");
}

enum { DOT_ATTRIBUTE = 64 };

void lz_flat_dot(lz_text *out, const lz_graph_index *p, lz_node *const *nodes)
{
    lz_text_puts(out, "digraph G {\n");
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        lz_text_printf(out, "  node%u [label=\"", i);
        lz_put_op(out, &n, true);
        lz_text_puts(out, "\\n[");
        put_types(out, &n);
        lz_text_putc(out, ']');
        put_attributes(out, &n, "\\n", DOT_ATTRIBUTE);
        if (p->is_root[i])
            put_roots(out, p, i, "\\n");
        if (n.op)
            put_origin(out, nodes[i], "\\n", "\\n");
        lz_text_puts(out, "\"]\n");
    }
    for (uint32_t i = 0; i < p->n; i++) {
        lz_flat_node n = lz_flat_read(p->at[i]);
        for (uint32_t k = 0; k < n.nin; k++)
            if (n.in[k])
                lz_text_printf(out, "  node%u -> node%u [label=\"i=%u%s\"]\n", lz_flat_ref_place(n.in[k]), i,
                               k, lz_flat_ref_output(n.in[k]) ? ",o" : "");
    }
    lz_text_puts(out, "}\n");
}
