#include "gen/report/reference.h"

static void put_code(lz_text *out, lz_str text)
{
    lz_text_printf(out, "```text of the entry\n%.*s\n```\n\n", LZ_FMT(lz_str_trim(text)));
}

/* ---- forms ---- */

/* Forms that the entry lists, and forms of its own that have their own entries and share its definition. */
static void put_forms(const lzg_reference *r, const lzg_function *f, lz_text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->ops->nfunctions; i++) {
        const lzg_function *g = r->ops->functions[i];
        if (g != f && (g->form_of == f || (g->generated && lz_str_eq(g->signature, f->signature))))
            lz_text_printf(out, "%s`%.*s`", n++ ? ", " : "Forms: ", LZ_FMT(g->func->name.text));
    }
    if (n)
        lz_text_puts(out, ".\n\n");
}

/* ---- dtypes ---- */

static bool says_dtype(const lzg_expr *e)
{
    static const char *const names[] = { "dtype", "is_floating_point", "is_integral", "is_complex" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((e->kind == LZG_EXPR_ATTR || e->kind == LZG_EXPR_NAME) && lz_str_is(e->text, names[i]))
            return true;
    return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): a tree is at most LZG_FORMULA_DEPTH high */
static bool mentions_dtype(const lzg_expr *e)
{
    if (!e)
        return false;
    if (says_dtype(e))
        return true;
    for (size_t i = 0; i < e->nkids; i++)
        if (mentions_dtype(e->kids[i]))
            return true;
    return false;
}

/* Conditions on dtypes at the beginning of a formula. */
static size_t put_checks(const lzg_expr *e, lz_text *out)
{
    size_t n = 0;
    for (; e && (e->kind == LZG_EXPR_CHECK || e->kind == LZG_EXPR_LET); e = e->kids[1]) {
        if (e->kind == LZG_EXPR_LET || !mentions_dtype(e->kids[0]))
            continue;
        lz_text_puts(out, n++ ? "`, `" : "Dtypes: `");
        lzg_formula_print(e->kids[0], out);
    }
    return n;
}

static void put_dtypes(const lzg_definition *d, lz_text *out)
{
    if (d->expr && put_checks(d->expr, out))
        lz_text_puts(out, "`.\n\n");
    else if (d->rule && lzg_shape_rule_dtypes(d->rule))
        lz_text_printf(out, "Dtypes: %s.\n\n", lzg_shape_rule_dtypes(d->rule));
}

/* ---- definitions ---- */

static void put_definition(const lzg_function *f, const lzg_definition *d, lz_text *out)
{
    if (f->same_as) {
        lz_text_printf(out, "Same as `%.*s`.\n\n", LZ_FMT(f->same_as->func->name.text));
        return;
    }
    if (d->kind == LZG_DEF_DERIVED) {
        lz_text_printf(out, "Made from `%.*s`.\n\n", LZ_FMT(d->from->func->name.text));
        return;
    }
    if (d->kind == LZG_DEF_FORMULA) {
        lz_text_puts(out, "Formula:\n\n");
        put_code(out, f->formula->text);
    } else if (d->kind == LZG_DEF_POINTWISE) {
        lz_text_printf(out, "For each element (rule `%s`):\n\n", d->rule->name);
        put_code(out, f->inner->text);
    } else {
        lz_text_printf(out, "Primitive (rule `%s`).\n\n", d->rule->name);
    }
}

/* ---- derivatives ---- */

static void put_formulas(const char *title, const lzg_diff_formula *list, size_t n, lz_text *out)
{
    lz_text_printf(out, "%s:\n\n", title);
    for (size_t i = 0; i < n; i++) {
        lz_text_printf(out, "- `%.*s`: `", LZ_FMT(list[i].name));
        lzg_formula_print(list[i].def.expr, out);
        lz_text_puts(out, "`\n");
    }
    lz_text_puts(out, "\n");
}

static void put_derivative(const lzg_diff *d, lz_text *out)
{
    static const char *const others[LZG_DIFF_KINDS] = {
        [LZG_DIFF_NOT] = "Not differentiable.\n\n",
        [LZG_DIFF_PARTS] = "Differentiated through its formula.\n\n",
    };
    const lzg_diff *like = d->like ? d->like : d;
    if (d->kind != LZG_DIFF_OWN)
        lz_text_puts(out, others[d->kind] ? others[d->kind] : "");
    else if (like != d)
        lz_text_printf(out, "Derivative as `%.*s`.\n\n", LZ_FMT(like->function->func->name.text));
    else
        put_formulas("Derivative", like->formulas, like->nformulas, out);
    if (d->kind == LZG_DIFF_OWN && like == d && like->forward == LZG_FORWARD_WRITTEN)
        put_formulas("Forward derivative", like->forwards, like->nforwards, out);
}

/* ---- the page ---- */

static void put_entry(const lzg_reference *r, const lzg_function *f, lz_text *out)
{
    const lzg_definition *d = lzg_definition_of(r->definitions, f);
    lz_text_printf(out, "### %.*s\n\n", LZ_FMT(f->func->name.text));
    put_code(out, f->func->text);
    put_forms(r, f, out);
    put_definition(f, d, out);
    put_dtypes(d, out);
    if (r->diffs)
        put_derivative(lzg_diff_of(r->diffs, f), out);
}

/* "ops/pointwise.yaml" is the family pointwise. */
static lz_str family_of(const char *file)
{
    lz_str s = lz_str_of(file);
    size_t slash = lz_str_rfind(s, LZ_STR("/")), dot = lz_str_rfind(s, LZ_STR("."));
    return lz_str_sub(s, slash == SIZE_MAX ? 0 : slash + 1, dot == SIZE_MAX ? s.len : dot);
}

static void put_left_out(const lzg_left_out *l, lz_text *out)
{
    lz_str family = { 0 };
    if (!l || !l->n)
        return;
    lz_text_puts(
        out, "## Left out\n\nThese operators of PyTorch are not planned. A `*` stands for any characters.\n");
    for (size_t i = 0; i < l->n; i++) {
        bool same = lz_str_eq(family, l->rows[i].family);
        family = l->rows[i].family;
        if (!same)
            lz_text_printf(out, "%s\n- %.*s: ", i ? "." : "", LZ_FMT(family));
        lz_text_printf(out, "%s`%.*s`", same ? ", " : "", LZ_FMT(l->rows[i].pattern));
    }
    lz_text_puts(out, ".\n");
}

static const char intro[] = "# Operators\n\n"
                            "Made by `lazuli gen reference` from `ops/*.yaml`; `make reference` makes it "
                            "again. Each operator has its schema,\n"
                            "its in-place and out forms, its definition, conditions on dtypes, and its "
                            "derivative. [formulas.md](formulas.md)\n"
                            "explains formulas, rules of primitives and [names in derivatives](autograd.md). "
                            "An operator without a line on dtypes\n"
                            "takes those of the operators that its formula calls.\n\n";

lz_err *lzg_reference_print(const lzg_reference *r, lz_text *out)
{
    const char *file = NULL;
    lz_text_puts(out, intro);
    for (size_t i = 0; i < r->ops->nfunctions; i++) {
        const lzg_function *f = r->ops->functions[i];
        if (f->generated || f->form_of)
            continue;
        if (!file || strcmp(file, f->loc.file) != 0)
            lz_text_printf(out, "## %.*s\n\n", LZ_FMT(family_of(f->loc.file)));
        file = f->loc.file;
        put_entry(r, f, out);
    }
    put_left_out(r->left_out, out);
    return lz_text_check(out);
}
