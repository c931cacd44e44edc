/* Target `functionalization`: the functional forms of views and of operators that write, and the other
 * forms of each operator. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"
#include "gen/torch/consumers.h"

static const char header[] = "op/functional_table.h", source[] = "op/functional_table.c";

static const lzg_group *group_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lz_map_get(&e->c->ops->group_of, op->f->func->name.text);
}

static const lzg_view_group *view_group_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lz_map_get(&e->c->ops->view_group_of, op->f->func->name.text);
}

static size_t count_writes(const lzg_c_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < op->nparams; i++)
        n += lzg_argument_writes(op->params[i].arg);
    return n;
}

static bool writes(const lzg_c_op *op)
{
    return count_writes(op) > 0;
}

/* mul_.Scalar is the in-place form of mul.Scalar, and __iand__.Tensor that of __and__.Tensor, even if no
 * group contains both. */
static const lzg_c_op *functional_by_name(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_op_name *n = &op->f->func->name;
    const lzg_c_op *found = NULL;
    lz_text name = { 0 };
    if (op->f->func->kind != LZG_INPLACE)
        return NULL;
    lz_text_printf(&name, n->dunder ? "__%.*s__" : "%.*s", LZ_FMT(n->base));
    if (n->overload.len)
        lz_text_printf(&name, ".%.*s", LZ_FMT(n->overload));
    if (!name.failed)
        found = lzg_c_ops_find(e->c, lzg_ops_find(e->c->ops, lz_text_view(&name)));
    lz_text_deinit(&name);
    return found && !writes(found) ? found : NULL;
}

/* The operator to compute with; NULL: none is known. */
static const lzg_c_op *functional_of(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_group *g = group_of(e, op);
    const lzg_view_group *v = view_group_of(e, op);
    if (!writes(op))
        return lzg_c_ops_find(e->c, v ? v->view_copy : NULL);
    const lzg_c_op *functional = lzg_c_ops_find(e->c, g ? g->functional : NULL);
    return functional ? functional : functional_by_name(e, op);
}

/* slice_scatter is the inverse of slice.Tensor. */
static const lzg_c_op *inverse_of(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_view_group *v = view_group_of(e, op);
    const lzg_c_op *found = NULL;
    lz_text name = { 0 };
    if (!v || v->view != op->f)
        return NULL;
    lzg_fill(&name, "$_scatter", op->f->func->name.base);
    if (!name.failed)
        found = lz_map_get(&e->c->by_ident, lz_text_view(&name));
    lz_text_deinit(&name);
    return found;
}

/* The results of in-place and out forms are the written values. In other forms the written values
 * follow the results. */
static size_t first_written(const lzg_c_op *op)
{
    lzg_schema_kind kind = op->f->func->kind;
    return kind == LZG_INPLACE || kind == LZG_OUT_KIND ? 0 : op->nreturns;
}

static size_t put_writes(lz_text *out, const lzg_c_op *op)
{
    size_t n = 0, result = first_written(op);
    for (size_t i = 0; i < op->nparams; i++) {
        if (!lzg_argument_writes(op->params[i].arg))
            continue;
        if (!n++)
            lzg_fill(out, "static const lz_write_row write_$[] = { ", op->ident);
        else
            lzg_put(out, ", ");
        lzg_put(out, "{ ");
        lz_text_int(out, (int64_t)i);
        lzg_put(out, ", ");
        lz_text_int(out, (int64_t)result++);
        lzg_put(out, " }");
    }
    if (n)
        lzg_put(out, " };\n");
    return n;
}

/* ---- arguments of the functional operator ---- */

static size_t param_of(const lzg_c_op *op, lz_str name)
{
    size_t i = 0;
    while (i < op->nparams && !lz_str_eq(op->params[i].arg->name, name))
        i++;
    return i < op->nparams ? i : LZ_NO_ARGUMENT;
}

/* The argument of the operator that argument i of the functional operator is: the one of that name. The first
 * one of an in-place form is always called self: dropout_(self, ...) is the form of dropout(input, ...). */
static size_t source_by_name(const lzg_c_op *op, const lzg_c_op *functional, size_t i)
{
    size_t named = param_of(op, functional->params[i].arg->name);
    bool first = i == 0 && op->f->func->kind == LZG_INPLACE;
    return first && named == LZ_NO_ARGUMENT ? 0 : named;
}

/* Both have the same arguments, or the first ones. */
static bool same_params(const lzg_c_op *op, const lzg_c_op *functional)
{
    bool same = true;
    for (size_t i = 0; same && i < functional->nparams; i++)
        same = source_by_name(op, functional, i) == i;
    return same;
}

static size_t source_of(const lzg_c_op *op, const lzg_c_op *functional, size_t i, bool statistics)
{
    return statistics ? (size_t)lzg_statistics_argument(op->f, functional->params[i].arg)
                      : source_by_name(op, functional, i);
}

static void put_sources(lz_text *out, const char *prefix, const lzg_c_op *op, const lzg_c_op *functional)
{
    bool statistics = op->f->statistics.ptr;
    lzg_fill(out, "static const uint8_t $_$[] = { ", lz_str_of(prefix), op->ident);
    for (size_t i = 0; i < functional->nparams; i++) {
        size_t from = source_of(op, functional, i, statistics);
        lz_text_puts(out, i ? ", " : "");
        if (from == LZ_NO_ARGUMENT)
            lz_text_puts(out, "LZ_NO_ARGUMENT");
        else
            lz_text_int(out, (int64_t)from);
    }
    lzg_put(out, " };\n");
}

static bool has_sources(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_c_op *functional = writes(op) ? functional_of(e, op) : NULL;
    return functional && !same_params(op, functional);
}

/* ---- statistics ---- */

/* The operator whose schema marks the statistics; NULL: op writes none. */
static const lzg_c_op *marked_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lzg_c_ops_find(e->c, op->f->statistics.ptr ? lzg_ops_find(e->c->ops, op->f->statistics) : NULL);
}

static void put_statistics_writes(lz_text *out, const lzg_c_op *op, const lzg_c_op *marked)
{
    size_t n = 0, result = first_written(marked);
    lzg_fill(out, "static const lz_write_row statistics_write_$[] = { ", op->ident);
    for (size_t i = 0; i < marked->nparams; i++)
        if (lzg_argument_writes(marked->params[i].arg))
            lz_text_printf(out, "%s{ %zu, %zu }", n++ ? ", " : "", param_of(op, marked->params[i].arg->name),
                           result++);
    lzg_put(out, " };\n");
}

static void put_statistics(lz_text *out, const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_c_op *marked = marked_of(e, op), *functional = marked ? functional_of(e, marked) : NULL;
    if (!functional)
        return;
    put_sources(out, "statistics_from", op, functional);
    put_statistics_writes(out, op, marked);
    lzg_fill(out, "static const lz_functional_row statistics_$ = {\n    .functional = LZ_OP_$, ", op->ident,
             functional->ident);
    lz_text_printf(out, ".nwrites = %zu, .when = %d,\n    ", count_writes(marked), op->f->statistics_when);
    lzg_fill(out, ".writes = statistics_write_$, .from = statistics_from_$\n};\n", op->ident, op->ident);
}

/* ---- rows ---- */

/* t_ makes its argument look as t does. */
static const lzg_c_op *view_of(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_view_group *v = view_group_of(e, op);
    return lzg_c_ops_find(e->c, v && v->view_inplace == op->f ? v->view : NULL);
}

static const lzg_c_op *inplace_of(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_group *g = group_of(e, op);
    return lzg_c_ops_find(e->c, g && g->functional == op->f ? g->inplace : NULL);
}

/* The operators that a row names, by member. */
typedef struct relatives {
    const lzg_c_op *functional, *inverse, *view, *inplace, *copying;
} relatives;

static const lzg_c_op *copying_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lzg_c_ops_find(e->c, op->f->copying.ptr ? lzg_ops_find(e->c->ops, op->f->copying) : NULL);
}

static relatives relatives_of(const lzg_emit *e, const lzg_c_op *op)
{
    return (relatives){ functional_of(e, op), inverse_of(e, op), view_of(e, op), inplace_of(e, op),
                        copying_of(e, op) };
}

size_t lzg_relatives_of(const lzg_emit *e, const lzg_c_op *op, const lzg_c_op *out[LZG_RELATIVES])
{
    relatives r = relatives_of(e, op);
    const lzg_c_op *marked = marked_of(e, op);
    const lzg_c_op *all[] = { r.functional, r.inverse, r.view,
                              r.copying,    marked,    marked ? functional_of(e, marked) : NULL };
    size_t n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            out[n++] = all[i];
    return n;
}

static bool has_row(const lzg_emit *e, const lzg_c_op *op)
{
    relatives r = relatives_of(e, op);
    return writes(op) || r.functional || r.inverse || r.view || r.inplace || r.copying || marked_of(e, op);
}

static void put_relative(lz_text *out, const char *member, const lzg_c_op *other)
{
    if (other)
        lzg_fill(out, ".$ = LZ_OP_$, ", lz_str_of(member), other->ident);
}

/* What only a row of an operator that writes says. */
static void put_writing(lz_text *out, const lzg_emit *e, const lzg_c_op *op, const lzg_c_op *functional)
{
    size_t dtype = functional ? param_of(functional, LZ_STR("dtype")) : LZ_NO_ARGUMENT;
    if (dtype != LZ_NO_ARGUMENT)
        lz_text_printf(out, ", .dtype = %zu", dtype + 1);
    lzg_fill(out, ", .writes = write_$", op->ident);
    if (has_sources(e, op))
        lzg_fill(out, ", .from = from_$", op->ident);
}

static void put_row(lz_text *out, const lzg_emit *e, const lzg_c_op *op)
{
    relatives r = relatives_of(e, op);
    size_t n = count_writes(op);
    if (!has_row(e, op))
        return;
    lzg_fill(out, "    [LZ_OP_$] = { ", op->ident);
    put_relative(out, "functional", r.functional);
    put_relative(out, "inverse", r.inverse);
    put_relative(out, "view", r.view);
    put_relative(out, "inplace", r.inplace);
    put_relative(out, "copying", r.copying);
    lzg_put(out, ".nwrites = ");
    lz_text_int(out, (int64_t)n);
    if (n)
        put_writing(out, e, op, r.functional);
    if (marked_of(e, op))
        lzg_fill(out, ", .statistics = &statistics_$", op->ident);
    lzg_put(out, " },\n");
}

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(out,
            "/* functional_table.h - what views and operators that write are without memory. Made by\n"
            " * lazuli-gen from the operator files. */\n"
            "#ifndef LZ_OP_FUNCTIONAL_TABLE_H\n#define LZ_OP_FUNCTIONAL_TABLE_H\n\n"
            "#include \"op/op_table.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
            "/* By lz_op; all zero: the operator neither looks nor writes, and has no in-place form. */\n"
            "extern const lz_functional_row lz_functional_table[LZ_OP_COUNT];\n\n"
            "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

static lz_err *emit_source(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"op/functional_table.h\"\n\n");
    for (size_t i = 0; i < e->c->n; i++) {
        const lzg_c_op *op = &e->c->all[i];
        put_writes(out, op);
        if (has_sources(e, op))
            put_sources(out, "from", op, functional_of(e, op));
        put_statistics(out, e, op);
        lzg_emit_flush(e);
    }
    lzg_put(out,
            "\nconst lz_functional_row lz_functional_table[LZ_OP_COUNT] = {\n    [LZ_OP_NONE] = { 0 },\n");
    for (size_t i = 0; i < e->c->n; i++) {
        put_row(out, e, &e->c->all[i]);
        lzg_emit_flush(e);
    }
    lzg_put(out, "};\n");
    return lzg_emit_end(e);
}

/* Operators that functionalization cannot handle are refused as in torchgen; operators with formulas
 * need no kernels. */
static lz_err *check(const lzg_c_ops *c)
{
    lzg_diag d;
    lz_text t = { 0 };
    if (c->definitions)
        return NULL;
    lzg_diag_init(&d);
    lz_err *e = lzg_check_functionalize(c->ops, &d);
    if (!e && lzg_diag_any(&d)) {
        lzg_diag_print(&d, &t);
        e = lz_text_check(&t);
        e = e ? e : lz_errf(LZ_ERR_MODEL, "%.*s", LZ_FMT(lz_text_view(&t)));
    }
    lz_text_deinit(&t);
    lzg_diag_deinit(&d);
    return e;
}

lz_err *lzg_emit_functionalization(lzg_emit *e)
{
    LZ_TRY(check(e->c));
    LZ_TRY(emit_header(e));
    return emit_source(e);
}

lz_err *lzg_why_functionalization(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    if (!has_row(e, op))
        return NULL;
    return lzg_use_add(a, out, source, "lz_functional_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident);
}
