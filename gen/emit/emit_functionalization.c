/* Target `functionalization`: what operators that look at memory or write to it are
 * without memory. */
#include "gen/consumers.h"
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"

static const char header[] = "lazy/functional_table.h", source[] = "lazy/functional_table.c";

static const lzg_group *group_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lz_map_get(&e->c->ops->group_of, op->f->func->name.text);
}

static const lzg_view_group *view_group_of(const lzg_emit *e, const lzg_c_op *op)
{
    return lz_map_get(&e->c->ops->view_group_of, op->f->func->name.text);
}

static bool writes(const lzg_c_op *op)
{
    for (size_t i = 0; i < op->nparams; i++)
        if (lzg_argument_writes(op->params[i].arg))
            return true;
    return false;
}

/* mul_.Scalar is mul.Scalar in place, also where no group says so. */
static const lzg_c_op *functional_by_name(const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_op_name *n = &op->f->func->name;
    const lzg_c_op *found = NULL;
    lz_text ident = { 0 };
    if (op->f->func->kind != LZG_INPLACE)
        return NULL;
    lz_text_add(&ident, n->base);
    if (n->overload.len)
        lzg_fill(&ident, "_$", n->overload);
    if (!ident.failed)
        found = lz_map_get(&e->c->by_ident, lz_text_view(&ident));
    lz_text_deinit(&ident);
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

/* slice.Tensor is put back by slice_scatter. */
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

/* In place and out: the results are what is written. Otherwise that comes behind them. */
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

static void put_row(lz_text *out, const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_c_op *functional = functional_of(e, op), *inverse = inverse_of(e, op);
    size_t n = 0;
    for (size_t i = 0; i < op->nparams; i++)
        n += lzg_argument_writes(op->params[i].arg);
    if (!functional && !inverse && !n)
        return;
    lzg_fill(out, "    [LZ_OP_$] = { ", op->ident);
    if (functional)
        lzg_fill(out, ".functional = LZ_OP_$, ", functional->ident);
    if (inverse)
        lzg_fill(out, ".inverse = LZ_OP_$, ", inverse->ident);
    lzg_put(out, ".nwrites = ");
    lz_text_int(out, (int64_t)n);
    if (n)
        lzg_fill(out, ", .writes = write_$", op->ident);
    lzg_put(out, " },\n");
}

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(out, "/* functional_table.h - what views and operators that write are without memory. Made by\n"
                 " * lazuli-gen from the operator files. */\n"
                 "#ifndef LZ_LAZY_FUNCTIONAL_TABLE_H\n#define LZ_LAZY_FUNCTIONAL_TABLE_H\n\n"
                 "#include \"op/op_table.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
                 "/* By lz_op; all zero: the operator neither looks nor writes. */\n"
                 "extern const lz_functional_row lz_functional_table[LZ_OP_COUNT];\n\n"
                 "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return lzg_emit_end(e);
}

static lz_err *emit_source(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"lazy/functional_table.h\"\n\n");
    for (size_t i = 0; i < e->c->n; i++) {
        put_writes(out, &e->c->all[i]);
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

/* What functionalization cannot handle is refused as the original does it; operators that
 * have formulas need no kernels. */
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
    if (!writes(op) && !functional_of(e, op) && !inverse_of(e, op))
        return NULL;
    return lzg_use_add(a, out, source, "lz_functional_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident);
}
