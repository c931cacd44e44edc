#include "lazy/flat_text.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/scalar.h"
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

static void put_ints(lz_text *out, const lz_value *v)
{
    for (int64_t i = 0; i < v->ints.n; i++)
        lz_text_printf(out, "%s%lld", i ? ", " : "", (long long)v->ints.v[i]);
}

static void put_floats(lz_text *out, const lz_value *v)
{
    for (int64_t i = 0; i < v->floats.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_text_double(out, v->floats.v[i]);
    }
}

static void put_bools(lz_text *out, const lz_value *v)
{
    for (int64_t i = 0; i < v->bools.n; i++)
        lz_text_printf(out, "%s%s", i ? ", " : "", v->bools.v[i] ? "True" : "False");
}

static void put_scalars(lz_text *out, const lz_value *v)
{
    for (int64_t i = 0; i < v->scalars.n; i++) {
        lz_text_puts(out, i ? ", " : "");
        lz_scalar_print(v->scalars.v[i], out);
    }
}

static void put_device(lz_text *out, lz_device d)
{
    char buf[LZ_DEVICE_CHARS];
    lz_text_puts(out, lz_device_print(d, buf));
}

typedef void put_list_fn(lz_text *out, const lz_value *v);

static put_list_fn *const lists[LZ_KIND_COUNT] = { [LZ_KIND_INTS] = put_ints,
                                                   [LZ_KIND_FLOATS] = put_floats,
                                                   [LZ_KIND_BOOLS] = put_bools,
                                                   [LZ_KIND_SCALARS] = put_scalars };

void lz_put_value(lz_text *out, const lz_value *v)
{
    if (lists[v->kind]) {
        lz_text_putc(out, '[');
        lists[v->kind](out, v);
        lz_text_putc(out, ']');
        return;
    }
    switch (v->kind) {
    case LZ_KIND_INT:
        lz_text_int(out, v->integer);
        break;
    case LZ_KIND_FLOAT:
        lz_text_double(out, v->real);
        break;
    case LZ_KIND_BOOL:
        lz_text_puts(out, v->truth ? "True" : "False");
        break;
    case LZ_KIND_SCALAR:
        lz_scalar_print(v->scalar, out);
        break;
    case LZ_KIND_STR:
        lz_text_printf(out, "'%s'", v->str);
        break;
    case LZ_KIND_DTYPE:
        lz_text_puts(out, lz_dtype_get(v->dtype)->script);
        break;
    case LZ_KIND_DEVICE:
        put_device(out, v->device);
        break;
    case LZ_KIND_LAYOUT:
        lz_text_int(out, v->layout);
        break;
    case LZ_KIND_MEMORY_FORMAT:
        lz_text_int(out, v->memory_format);
        break;
    case LZ_KIND_QSCHEME:
        lz_text_int(out, v->qscheme);
        break;
    default:
        lz_text_puts(out, "None");
    }
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

static lz_slot slot_of(const lz_flat_node *n, uint32_t i)
{
    lz_slot s;
    memcpy(&s, &n->args[i], sizeof s);
    return s;
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
    lz_slot s = slot_of(n, i);
    lz_value v;
    switch ((lz_arg_kind)s.kind) {
    case LZ_ARG_NONE:
        lz_text_puts(out, "None");
        break;
    case LZ_ARG_VALUE:
        v = lz_unpack(n->fixed, s.first);
        lz_put_value(out, &v);
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
        lz_slot s = slot_of(n, i);
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
        lz_slot s = slot_of(n, i);
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

static void put_roots(lz_text *out, const lz_places *p, uint32_t place, const char *before)
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

void lz_flat_text(lz_text *out, const lz_places *p, lz_node *const *nodes)
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

void lz_flat_dot(lz_text *out, const lz_places *p, lz_node *const *nodes)
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
