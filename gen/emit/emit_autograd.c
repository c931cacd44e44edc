/* Target `autograd`: derivatives as functions, and the table with the formulas of each operator, the values
 * that they save, and the arguments and results that can have gradients.
 *
 * The emitter of `lower` turns a formula of derivatives.yaml into C, so the function has the signature
 * of a lowering function. One function both lowers and records, because formulas call operators through
 * lz_low_apply: the `apply` of a builder gets every call as an operator's number and values. Sizes and
 * dtypes are known in both cases, so conditions and loops are plain C. An operator without an entry is
 * expanded in the same way: by its lowering function, called with a builder that has `apply`. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit_lower.h"
#include "gen/formula/formula_diff.h"

static const char header[] = "autograd/grad_table.h", source[] = "autograd/grad_table.c";

static bool holds_formulas(const lzg_diff *d)
{
    return d && d->like == d && (d->nformulas || d->nforwards);
}

static const lzg_diff *diff_at(const lzg_emit *e, size_t i)
{
    return lzg_diff_of(e->diffs, e->c->all[i].f);
}

/* "mul_Tensor_self", "mul_Tensor_forward_result" */
static lz_err *symbol_of(lz_arena *a, const lzg_c_op *op, const lzg_diff_formula *f, bool forward,
                         lz_str *out)
{
    return lz_arena_printf(a, out, "%.*s_%s%.*s", LZ_FMT(op->ident), forward ? "forward_" : "",
                           LZ_FMT(f->name));
}

typedef lz_err *each_fn(lzg_emit *e, const lzg_c_op *op, const lzg_diff_formula *f, lz_str symbol,
                        lz_text *out);

static lz_err *each_of(lzg_emit *e, size_t i, bool forward, each_fn *fn, lz_text *out)
{
    const lzg_diff *d = diff_at(e, i);
    const lzg_diff_formula *list = forward ? d->forwards : d->formulas;
    lz_arena a = { 0 };
    lz_err *err = NULL;
    for (size_t k = 0; !err && k < (forward ? d->nforwards : d->nformulas); k++) {
        lz_str symbol = { 0 };
        err = symbol_of(&a, &e->c->all[i], &list[k], forward, &symbol);
        if (!err)
            err = fn(e, &e->c->all[i], &list[k], symbol, out);
    }
    lz_arena_deinit(&a);
    return err;
}

static lz_err *put_function(lzg_emit *e, const lzg_c_op *op, const lzg_diff_formula *f, lz_str symbol,
                            lz_text *out)
{
    return lzg_lower_function(e->c, op, &f->def, "lz_grad_", symbol, out);
}

static lz_err *put_declaration(lzg_emit *e, const lzg_c_op *op, const lzg_diff_formula *f, lz_str symbol,
                               lz_text *out)
{
    (void)e, (void)op, (void)f;
    lzg_fill(out, "lz_lower_fn lz_grad_$;\n", symbol);
    return NULL;
}

static lz_err *put_formula(lzg_emit *e, const lzg_c_op *op, const lzg_diff_formula *f, lz_str symbol,
                           lz_text *out)
{
    (void)e, (void)op;
    lzg_fill(out, "    { lz_grad_$, ", symbol);
    lz_text_printf(out, "0x%llx, 0x%llx, 0x%llx, %s },\n", (unsigned long long)f->gives,
                   (unsigned long long)f->whole, (unsigned long long)f->facts, f->zeros ? "true" : "false");
    return NULL;
}

/* ---- files ---- */

static lz_err *emit_functions(lzg_emit *e, lz_str family, lz_text *out)
{
    for (size_t i = 0; i < e->c->n; i++) {
        if (!holds_formulas(diff_at(e, i)) || !lz_str_eq(lzg_family_of(e->c->all[i].f), family))
            continue;
        LZ_TRY(each_of(e, i, false, put_function, out));
        LZ_TRY(each_of(e, i, true, put_function, out));
        lzg_emit_flush(e);
    }
    return NULL;
}

static const lzg_families families = { "autograd/grad_",
                                       "#include \"autograd/grad_table.h\"\n#include \"lower/lower_calc.h\"\n"
                                       "#include \"lower/lower_table.h\"\n#include <math.h>\n\n",
                                       NULL, emit_functions };

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(out, "/* grad_table.h - operators by number, and their derivatives. Made by lazuli-gen from\n"
                 " * ops/derivatives.yaml. */\n"
                 "#ifndef LZ_AUTOGRAD_GRAD_TABLE_H\n#define LZ_AUTOGRAD_GRAD_TABLE_H\n\n"
                 "#include \"autograd/grad_row.h\"\n#include \"op/op_table.h\"\n\n"
                 "/* By lz_op; row 0 is empty. */\n"
                 "extern const lz_grad_row lz_grad_table[LZ_OP_COUNT];\n\n");
    for (size_t i = 0; i < e->c->n; i++)
        if (holds_formulas(diff_at(e, i))) {
            LZ_TRY(each_of(e, i, false, put_declaration, out));
            LZ_TRY(each_of(e, i, true, put_declaration, out));
        }
    lzg_put(out, "\n#endif\n");
    return lzg_emit_end(e);
}

/* ---- the table ---- */

static lz_err *put_arrays(lzg_emit *e, size_t i, lz_text *out)
{
    const lzg_diff *d = diff_at(e, i);
    for (int forward = 0; forward < 2; forward++) {
        if (!(forward ? d->nforwards : d->nformulas))
            continue;
        lz_text_printf(out, "static const lz_grad_formula %.*s_%s[] = {\n", LZ_FMT(e->c->all[i].ident),
                       forward ? "forwards" : "formulas");
        LZ_TRY(each_of(e, i, forward, put_formula, out));
        lzg_put(out, "};\n");
    }
    return NULL;
}

static void put_row(const lzg_emit *e, const lzg_c_op *op, const lzg_diff *d, lz_text *out)
{
    static const char *const kinds[LZG_DIFF_KINDS] = { "NOT", "OWN", "PARTS", "NOT" };
    static const char *const forwards[LZG_FORWARD_KINDS] = { "NONE", "LINEAR", "ELEMENT", "WRITTEN" };
    const lzg_c_op *by = lzg_c_ops_find(e->c, d->like->function);
    lzg_fill(out, "    [LZ_OP_$] = { ", op->ident);
    lz_text_printf(out, "LZ_GRAD_%s, LZ_FORWARD_%s, %zu, %zu, 0x%llx, 0x%llx, ", kinds[d->kind],
                   forwards[d->forward], d->nformulas, d->nforwards, (unsigned long long)d->args,
                   (unsigned long long)d->results);
    if (d->nformulas)
        lzg_fill(out, "$_formulas, ", by->ident);
    else
        lzg_put(out, "NULL, ");
    if (d->nforwards)
        lzg_fill(out, "$_forwards },\n", by->ident);
    else
        lzg_put(out, "NULL },\n");
}

static lz_err *emit_table(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"autograd/grad_table.h\"\n\n");
    for (size_t i = 0; i < e->c->n; i++)
        if (holds_formulas(diff_at(e, i)))
            LZ_TRY(put_arrays(e, i, out));
    lzg_put(out, "\nconst lz_grad_row lz_grad_table[LZ_OP_COUNT] = {\n"
                 "    [LZ_OP_NONE] = { LZ_GRAD_NOT, LZ_FORWARD_NONE, 0, 0, 0, 0, NULL, NULL },\n");
    for (size_t i = 0; i < e->c->n; i++) {
        put_row(e, &e->c->all[i], diff_at(e, i), out);
        lzg_emit_flush(e);
    }
    lzg_put(out, "};\n");
    return lzg_emit_end(e);
}

lz_err *lzg_emit_autograd(lzg_emit *e)
{
    if (!e->diffs) /* without a file of derivatives there are no derivatives */
        return NULL;
    LZ_TRY(emit_header(e));
    LZ_TRY(emit_table(e));
    return lzg_emit_families(e, &families);
}

lz_err *lzg_why_autograd(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    const lzg_diff *d = e->diffs ? lzg_diff_of(e->diffs, op->f) : NULL;
    lz_str file, symbol;
    if (!d)
        return NULL;
    LZ_TRY(lzg_use_add(a, out, source, "lz_grad_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident));
    const lzg_c_op *by = lzg_c_ops_find(e->c, d->like->function);
    LZ_TRY(lzg_family_file(&families, lzg_family_of(by->f), a, &file));
    for (size_t i = 0; i < d->nformulas; i++) {
        LZ_TRY(symbol_of(a, by, &d->formulas[i], false, &symbol));
        LZ_TRY(lzg_use_add(a, out, file.ptr, "lz_grad_$", "lz_err *lz_grad_$(", symbol));
    }
    return NULL;
}
