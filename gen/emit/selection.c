#include "gen/emit/selection.h"
#include "gen/emit/c_name.h"
#include "gen/formula/formula_diff.h"

typedef struct closing {
    const lzg_emit *e;
    lz_arena arena;
    bool *kept;                      /* by index in e->c->all */
    LZ_VEC(const lzg_c_op *) needed; /* those kept, in the order in which they were found */
} closing;

static lz_err *keep(closing *s, const lzg_c_op *op)
{
    size_t i = op ? (size_t)(op - s->e->c->all) : 0;
    if (!op || s->kept[i])
        return NULL;
    s->kept[i] = true;
    return lz_vec_push(&s->needed, op);
}

static lz_err *keep_function(closing *s, const lzg_function *f)
{
    return keep(s, lzg_c_ops_find(s->e->c, f));
}

/* ---- what an operator needs ---- */

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the formula */
static lz_err *keep_calls(closing *s, const lzg_term *t)
{
    if (!t)
        return NULL;
    if (t->kind == LZG_TERM_CALL)
        LZ_TRY(keep_function(s, t->function));
    for (size_t i = 0; i < t->nkids; i++)
        LZ_TRY(keep_calls(s, t->kids[i]));
    return NULL;
}

static lz_err *keep_definition(closing *s, const lzg_definition *def)
{
    if (!def)
        return NULL;
    LZ_TRY(keep_function(s, def->from));
    return keep_calls(s, def->checked.root);
}

static lz_err *keep_derivatives(closing *s, const lzg_diff *d)
{
    if (!d)
        return NULL;
    LZ_TRY(keep_function(s, d->like ? d->like->function : NULL));
    for (size_t i = 0; i < d->nformulas; i++)
        LZ_TRY(keep_calls(s, d->formulas[i].def.checked.root));
    for (size_t i = 0; i < d->nforwards; i++)
        LZ_TRY(keep_calls(s, d->forwards[i].def.checked.root));
    return NULL;
}

static lz_err *keep_forms(closing *s, const lzg_c_op *op)
{
    const lzg_c_op *forms[LZG_RELATIVES];
    size_t n = lzg_relatives_of(s->e, op, forms);
    for (size_t i = 0; i < n; i++)
        LZ_TRY(keep(s, forms[i]));
    return NULL;
}

static lz_err *close_over(closing *s)
{
    const lzg_emit *e = s->e;
    for (size_t i = 0; i < s->needed.len; i++) {
        const lzg_c_op *op = s->needed.data[i];
        if (e->c->definitions)
            LZ_TRY(keep_definition(s, lzg_definition_of(e->c->definitions, op->f)));
        if (e->diffs)
            LZ_TRY(keep_derivatives(s, lzg_diff_of(e->diffs, op->f)));
        LZ_TRY(keep_forms(s, op));
    }
    return NULL;
}

/* ---- roots: the selection ---- */

static bool is_named(const lzg_c_ops *c, const lzg_selected_op *op)
{
    for (size_t i = 0; i < c->n; i++) {
        const lzg_function *f = c->all[i].f;
        size_t ns = f->ns.len;
        lz_str name = f->func->name.text, asked = op->name;
        if (!lz_str_starts(asked, f->ns) || !lz_str_starts(lz_str_sub(asked, ns, asked.len), LZ_STR("::")))
            continue;
        asked = lz_str_sub(asked, ns + 2, asked.len);
        if (lz_str_eq(asked, name)
            || (op->include_all_overloads && lz_str_eq(asked, lzg_strip_overload(name))))
            return true;
    }
    return false;
}

static lz_err *check_names(const lzg_c_ops *c, const lzg_selector *s, lzg_diag *d)
{
    for (lz_map_entry *e = lz_map_next(&s->operators, NULL); e; e = lz_map_next(&s->operators, e))
        if (!is_named(c, e->value))
            LZ_TRY(lzg_diag_take(
                d, lz_errf(LZ_ERR_MODEL, "the selection names '%.*s', which is no operator", LZ_FMT(e->key)),
                (lz_loc){ 0 }, e->key));
    return NULL;
}

static lz_err *keep_selected(closing *s, const lzg_selector *selector)
{
    for (size_t i = 0; i < s->e->c->n; i++) {
        bool has;
        LZ_TRY(lzg_selector_has_function(selector, s->e->c->all[i].f, &has));
        if (has)
            LZ_TRY(keep(s, &s->e->c->all[i]));
    }
    return NULL;
}

/* ---- roots: C files ---- */

static bool is_word(const lz_map *names, lz_text *word, lz_str stem, lz_str end)
{
    lz_text_clear(word);
    lz_text_add(word, stem);
    lz_text_add(word, end);
    return lz_map_find(names, lz_text_view(word));
}

/* "add_Tensor" or, for a form with a short name, "add"; alone or with an end of a declaration. */
static bool is_called(const lz_map *names, const lzg_c_op *op, lz_text *word)
{
    static const lz_str ends[] = {
        { "", 0 }, { "_at", 3 }, { "_any_at", 7 }, { "_args", 5 }, { "_defaults", 9 }
    };
    lz_str overload = op->f->func->name.overload, brief = op->ident;
    if (overload.len && op->f->func->kind != LZG_OUT_KIND)
        brief.len -= overload.len + 1;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (is_word(names, word, op->ident, ends[i]) || is_word(names, word, brief, ends[i]))
            return true;
    return false;
}

static lz_err *keep_used(closing *s, const char *const *files)
{
    lz_map calls = { 0 }, numbers = { 0 };
    lz_text word = { 0 };
    lz_err *e = NULL;
    for (; !e && files && *files; files++) {
        e = lzg_c_names_read(&s->arena, *files, LZ_STR("lz_"), &calls);
        if (!e)
            e = lzg_c_names_read(&s->arena, *files, LZ_STR("LZ_OP_"), &numbers);
    }
    for (size_t i = 0; !e && i < s->e->c->n; i++) {
        const lzg_c_op *op = &s->e->c->all[i];
        if (lz_map_find(&numbers, op->ident) || is_called(&calls, op, &word))
            e = keep(s, op);
    }
    lz_map_deinit(&calls);
    lz_map_deinit(&numbers);
    if (!e)
        e = lz_text_check(&word);
    lz_text_deinit(&word);
    return e;
}

/* ---- all ---- */

static lz_err *collect(closing *s, const lzg_selection *selection)
{
    LZ_TRY(lz_arena_new(&s->arena, &s->kept, s->e->c->n));
    LZ_TRY(keep_selected(s, selection->selector));
    LZ_TRY(keep_used(s, selection->uses));
    return close_over(s);
}

lz_err *lzg_selection_apply(const lzg_selection *selection, const lzg_emit *e, lzg_c_ops *c, lzg_diag *d)
{
    closing s = { .e = e };
    LZ_TRY(check_names(c, selection->selector, d));
    lz_err *err = collect(&s, selection);
    if (!err)
        err = lzg_c_ops_keep(c, s.kept);
    lz_vec_deinit(&s.needed);
    lz_arena_deinit(&s.arena);
    return err;
}
