#include "gen/formula/formula_diff.h"
#include "gen/api/cpp.h"
#include "gen/formula/diff_flow.h"
#include "gen/text/identifiers.h"

typedef struct reader {
    lzg_diffs *d;
    lzg_diag *diag;
    lz_arena *arena;
} reader;

static lz_str function_key(const lzg_function *const *f)
{
    return (lz_str){ (const char *)f, sizeof *f };
}

lzg_diff_layout lzg_diff_layout_of(const lzg_schema *s)
{
    size_t args = s->first[LZG_OUT], n = s->nreturns;
    return (lzg_diff_layout){ args, n, args + n, args + 2 * n, args + 2 * n + 1, args + 2 * n + 2 };
}

/* ---- the names that a formula may use ---- */

static lz_err *list_of_grads(lz_arena *a, const lzg_fty **out)
{
    LZ_TRY(lzg_fty_optional(a, lzg_fty_base(LZG_TY_Tensor), out));
    return lzg_fty_list(a, *out, -1, out);
}

/* A gradient has one name: that of its result if the entry names gradients, or grad. A name with a
 * blank cannot occur in a formula. */
static lz_err *grad_name(lz_arena *a, const lzg_schema *s, size_t i, bool named, lz_str *out)
{
    if (named && s->returns[i].name.ptr)
        return lz_arena_printf(a, out, "grad_%.*s", LZ_FMT(s->returns[i].name));
    bool plain = !named && i == 0 && lzg_type_is(s->returns[i].type, LZG_TY_Tensor);
    return plain ? lz_arena_copy(a, LZ_STR("grad"), out) : lz_arena_printf(a, out, "grad %zu", i);
}

static lz_err *give_results(reader *r, const lzg_function *f, bool named, lzg_given *given)
{
    const lzg_schema *s = f->func;
    lzg_diff_layout at = lzg_diff_layout_of(s);
    lz_str *names;
    LZ_TRY(lzg_cpp_return_names(r->arena, f, "result", &names));
    for (size_t i = 0; i < s->nreturns; i++) {
        lzg_given *result = &given[at.args + i], *grad = &given[at.grads + i];
        result->name = lz_str_is(names[i], "self") ? LZ_STR("result") : names[i];
        LZ_TRY(lzg_fty_of(r->arena, s->returns[i].type, &result->type));
        LZ_TRY(grad_name(r->arena, s, i, named, &grad->name));
        grad->type = lzg_fty_base(LZG_TY_Tensor);
    }
    return NULL;
}

static lz_err *give_all(reader *r, const lzg_function *f, bool named, lzg_expectation *expect)
{
    const lzg_definition *def = lzg_definition_of(r->d->definitions, f);
    lzg_diff_layout at = lzg_diff_layout_of(f->func);
    lzg_expectation args;
    lzg_given *given;
    LZ_TRY(lzg_expectation_of(r->arena, f, def ? def->is_static : NULL, false, &args));
    LZ_TRY(lz_arena_new(r->arena, &given, at.n));
    for (size_t i = 0; i < at.args; i++)
        given[i] = args.given[i];
    LZ_TRY(give_results(r, f, named, given));
    given[at.list].name = LZ_STR("grads");
    LZ_TRY(list_of_grads(r->arena, &given[at.list].type));
    given[at.mask].name = LZ_STR("grad_input_mask");
    LZ_TRY(lzg_fty_list(r->arena, lzg_fty_base(LZG_TY_bool), -1, &given[at.mask].type));
    *expect = (lzg_expectation){ .given = given, .ngiven = at.n, .who = f->func->name.text };
    return NULL;
}

/* ---- what it must give ---- */

static lz_err *gradient_type(lz_arena *a, const lzg_type *t, const lzg_fty **out)
{
    bool list = lzg_type_is_list_like(t);
    LZ_TRY(lzg_fty_optional(a, lzg_fty_base(LZG_TY_Tensor), out));
    return list ? lzg_fty_list(a, *out, -1, out) : NULL;
}

static lz_err *expect_vars(reader *r, const lzg_function *f, const lzg_derivative *d, lzg_expectation *expect,
                           uint64_t *gives)
{
    const lzg_fty **results;
    size_t last = 0;
    LZ_TRY(lz_arena_new(r->arena, &results, d->vars.len));
    *gives = 0;
    for (size_t i = 0; i < d->vars.len; i++) {
        const lzg_argument *arg = lzg_schema_arg(f->func, d->vars.data[i]);
        if (!arg)
            return lz_err_at(LZ_ERR_MODEL, d->written->loc, "%.*s has no argument '%.*s'",
                             LZ_FMT(f->func->name.text), LZ_FMT(d->vars.data[i]));
        size_t at = (size_t)(arg - f->func->args);
        if (i && at <= last)
            return lz_err_at(LZ_ERR_MODEL, d->written->loc, "'%.*s' is out of order in the key",
                             LZ_FMT(arg->name));
        last = at;
        *gives |= UINT64_C(1) << at;
        LZ_TRY(gradient_type(r->arena, arg->type, &results[i]));
    }
    expect->results = results;
    expect->nresults = d->vars.len;
    return NULL;
}

/* ---- what it needs ---- */

/* Per slot of a formula. */
typedef struct needs {
    bool *whole, *facts;
} needs;

/* Operations that use only dtype and sizes. */
static bool looks(const lzg_term *t)
{
    static const bool facts[LZG_PRIM_COUNT] = {
        [LZG_PRIM_SHAPE] = true, [LZG_PRIM_NDIM] = true,    [LZG_PRIM_NUMEL] = true,
        [LZG_PRIM_DTYPE] = true, [LZG_PRIM_DEVICE] = true,  [LZG_PRIM_LAYOUT] = true,
        [LZG_PRIM_LEN] = true,   [LZG_PRIM_IS_NONE] = true, [LZG_PRIM_RESULT_TYPE] = true,
    };
    return t->kind == LZG_TERM_PRIM && facts[t->prim];
}

/* Terms whose value is their argument: an item of a list, or a conversion. */
static bool hands_on(const lzg_term *t)
{
    return t->kind == LZG_TERM_CONVERT
           || (t->kind == LZG_TERM_PRIM && (t->prim == LZG_PRIM_INDEX || t->prim == LZG_PRIM_SLICE));
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the formula */

static void find_needs(const lzg_term *t, bool facts, const needs *out);

/* kids[from] is bound to the last slot; the uses of that slot decide what is needed. */
static void find_bound(const lzg_term *t, size_t from, const needs *out)
{
    uint32_t slot = t->slots[t->nslots - 1];
    for (size_t i = t->nkids; i-- > 0;)
        if (i != from)
            find_needs(t->kids[i], false, out);
    find_needs(t->kids[from], !out->whole[slot], out);
}

static void find_needs(const lzg_term *t, bool facts, const needs *out)
{
    if (!t)
        return;
    if (t->kind == LZG_TERM_VAR)
        (facts ? out->facts : out->whole)[t->integer] = true;
    if (t->kind == LZG_TERM_MAP || t->kind == LZG_TERM_FOLD)
        find_bound(t, t->kind == LZG_TERM_MAP ? 1 : t->nslots - 1, out);
    else if (t->kind == LZG_TERM_LET && t->nslots == 1)
        find_bound(t, 0, out);
    else
        for (size_t i = 0; i < t->nkids; i++)
            find_needs(t->kids[i], looks(t) || (facts && hands_on(t)), out);
}

/* NOLINTEND(misc-no-recursion) */

static lz_err *read_needs(lz_arena *a, const lzg_checked *c, size_t values, lzg_diff_formula *out)
{
    needs n;
    LZ_TRY(lz_arena_new(a, &n.whole, c->nslots + 1));
    LZ_TRY(lz_arena_new(a, &n.facts, c->nslots + 1));
    find_needs(c->root, false, &n);
    for (size_t i = 0; i < values && i < 64; i++) {
        out->whole |= (uint64_t)n.whole[i] << i;
        out->facts |= (uint64_t)(n.facts[i] && !n.whole[i]) << i;
    }
    return NULL;
}

static lz_err *join_names(lz_arena *a, lzg_names names, const char *between, lz_str *out)
{
    lz_text t = { 0 };
    for (size_t i = 0; i < names.len; i++)
        lz_text_printf(&t, "%s%.*s", i ? between : "", LZ_FMT(names.data[i]));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

/* ---- one formula ---- */

static lz_err *check_formula(reader *r, const lzg_function *f, const lzg_yaml *written, lzg_names vars,
                             const lzg_expectation *expect, lzg_diff_formula *out)
{
    lz_str key;
    lzg_diff_layout at = lzg_diff_layout_of(f->func);
    LZ_TRY(join_names(r->arena, vars, "_", &out->name));
    LZ_TRY(join_names(r->arena, vars, ", ", &key));
    LZ_TRY(lzg_formula_parse(r->arena, written, key, &out->def.expr));
    LZ_TRY(lzg_formula_check(r->arena, (lzg_callees *)&r->d->definitions->callees, out->def.expr, expect,
                             &out->def.checked));
    out->def.function = f;
    out->def.kind = LZG_DEF_FORMULA;
    return read_needs(r->arena, &out->def.checked, at.args + at.results, out);
}

static lz_err *read_backward(reader *r, const lzg_function *f, const lzg_derivative *d, lzg_diff_formula *out)
{
    lzg_expectation expect;
    bool named = d->named_gradients.len > 0;
    LZ_TRY(give_all(r, f, named, &expect));
    LZ_TRY(expect_vars(r, f, d, &expect, &out->gives));
    out->zeros = named;
    return check_formula(r, f, d->written, d->vars, &expect, out);
}

/* ---- forward formulas ---- */

/* The names of tangents replace those of gradients: x_t, and x_p for x itself. */
static lz_err *give_tangents(reader *r, const lzg_function *f, uint64_t args, lzg_expectation *expect)
{
    lzg_diff_layout at = lzg_diff_layout_of(f->func);
    lzg_given *given;
    size_t n = at.grads + at.args;
    LZ_TRY(give_all(r, f, false, expect));
    LZ_TRY(lz_arena_new(r->arena, &given, n));
    for (size_t i = 0; i < at.grads; i++)
        given[i] = expect->given[i];
    for (size_t i = 0; i < at.args; i++) {
        const lzg_argument *arg = &f->func->args[i];
        bool tensor = args >> i & 1;
        if (tensor && !lzg_type_is_list_like(arg->type))
            LZ_TRY(lz_arena_printf(r->arena, &given[i].name, "%.*s_p", LZ_FMT(arg->name)));
        LZ_TRY(lz_arena_printf(r->arena, &given[at.grads + i].name, tensor ? "%.*s_t" : "%.*s tangent",
                               LZ_FMT(arg->name)));
        given[at.grads + i].type = lzg_fty_base(LZG_TY_Tensor);
        if (lzg_type_is_list_like(arg->type))
            LZ_TRY(lzg_fty_list(r->arena, given[at.grads + i].type, -1, &given[at.grads + i].type));
    }
    expect->given = given;
    expect->ngiven = n;
    return NULL;
}

/* The result that a forward formula names; `result` for an in-place operator. */
static lz_err *find_result(reader *r, const lzg_function *f, const lzg_forward *fw, lz_str name, size_t *out)
{
    lz_str *names;
    LZ_TRY(lzg_cpp_return_names(r->arena, f, "result", &names));
    for (*out = 0; *out < f->func->nreturns; ++*out)
        if (lz_str_eq(names[*out], name) || (lz_str_is(names[*out], "self") && lz_str_is(name, "result")))
            return NULL;
    return lz_err_at(LZ_ERR_MODEL, fw->written->loc, "%.*s has no output '%.*s'", LZ_FMT(f->func->name.text),
                     LZ_FMT(name));
}

static lz_err *read_forward(reader *r, const lzg_function *f, const lzg_forward *fw, uint64_t args,
                            lzg_diff_formula *out)
{
    lzg_expectation expect;
    const lzg_fty **results;
    LZ_TRY(give_tangents(r, f, args, &expect));
    LZ_TRY(lz_arena_new(r->arena, &results, fw->vars.len));
    for (size_t i = 0; i < fw->vars.len; i++) {
        size_t at;
        LZ_TRY(find_result(r, f, fw, fw->vars.data[i], &at));
        LZ_TRY(lzg_fty_of(r->arena, f->func->returns[at].type, &results[i]));
        out->gives |= UINT64_C(1) << at;
    }
    expect.results = results;
    expect.nresults = fw->vars.len;
    out->zeros = true;
    return check_formula(r, f, fw->written, fw->vars, &expect, out);
}

static lz_err *read_forwards(reader *r, const lzg_diff_info *info, lzg_diff *out)
{
    lzg_diff_formula *forwards;
    LZ_TRY(lz_arena_new(r->arena, &forwards, info->forward.len));
    for (size_t i = 0; i < info->forward.len; i++) {
        const lzg_forward *fw = &info->forward.data[i];
        lz_str text = lz_str_trim(fw->written->text);
        out->forward = lz_str_is(text, "auto_linear")         ? LZG_FORWARD_LINEAR
                       : lz_str_is(text, "auto_element_wise") ? LZG_FORWARD_ELEMENT
                                                              : LZG_FORWARD_WRITTEN;
        if (out->forward == LZG_FORWARD_WRITTEN)
            LZ_TRY(lzg_diag_take(r->diag,
                                 read_forward(r, info->func, fw, out->args, &forwards[out->nforwards++]),
                                 fw->written->loc, info->func->func->text));
    }
    out->forwards = forwards;
    return NULL;
}

/* ---- one entry ---- */

/* Every argument needs a formula or a statement that it needs none. */
static bool is_mentioned(const lzg_diff_info *info, lz_str name)
{
    for (size_t i = 0; i < info->nderivatives; i++)
        if (lzg_names_have(info->derivatives[i].vars, name))
            return true;
    return lzg_names_have(info->non_differentiable, name);
}

static lz_err *check_arguments(const lzg_diff_info *info, uint64_t results)
{
    const lzg_schema *s = info->func->func;
    for (size_t i = 0; results && i < s->first[LZG_OUT]; i++)
        if (lzg_type_is_tensor_like(s->args[i].type) && !is_mentioned(info, s->args[i].name))
            return lz_err_at(LZ_ERR_MODEL, info->written->loc,
                             "'%.*s' needs a formula or the value non_differentiable",
                             LZ_FMT(s->args[i].name));
    return NULL;
}

/* grad is the gradient of the first result, and never None when a formula is called: so it must be the
 * only gradient. */
static lz_err *check_grad(const lzg_diff_info *info, uint64_t results)
{
    if (results <= 1 || !lzg_diff_uses(info, LZ_STR("grad")))
        return NULL;
    return lz_err_at(
        LZ_ERR_MODEL, info->output_differentiability->loc,
        "formulas use grad, but several outputs can have gradients: use grads[i] or grad_<output>");
}

static lz_err *result_bits(reader *r, const lzg_diff_info *info, uint64_t *out)
{
    lzg_names with;
    lz_str *names;
    *out = 0;
    LZ_TRY(lzg_differentiable_outputs(r->arena, info->func, info, &with));
    LZ_TRY(lzg_cpp_return_names(r->arena, info->func, "result", &names));
    for (size_t i = 0; i < info->func->func->nreturns; i++)
        *out |= (uint64_t)lzg_names_have(with, names[i]) << i;
    return NULL;
}

/* Features of PyTorch's files that our files may not use. */
static lz_err *check_plain(const lzg_diff_infos *all)
{
    const lzg_diff_info *info = &all->data[0];
    if (all->len != 1 || !lz_str_is(info->key, "Default"))
        return lz_err_at(LZ_ERR_MODEL, info->written->loc, "derivatives are the same for every dispatch key");
    if (info->conditional)
        return lz_err_at(LZ_ERR_MODEL, info->output_differentiability->loc,
                         "output_differentiability is a list of booleans");
    return NULL;
}

static lz_err *read_entry(reader *r, const lzg_diff_info *info, lzg_diff *out)
{
    lzg_diff_formula *formulas;
    LZ_TRY(lz_arena_new(r->arena, &formulas, info->nderivatives));
    LZ_TRY(result_bits(r, info, &out->results));
    for (size_t i = 0; i < info->nderivatives; i++) {
        const lzg_derivative *d = &info->derivatives[i];
        lzg_diff_formula *f = &formulas[out->nformulas++];
        LZ_TRY(lzg_diag_take(r->diag, read_backward(r, info->func, d, f), d->written->loc,
                             info->func->func->text));
        out->args |= f->gives;
    }
    out->formulas = formulas;
    out->kind = out->args && out->results ? LZG_DIFF_OWN : LZG_DIFF_NOT;
    LZ_TRY(lzg_diag_take(r->diag, check_arguments(info, out->results), info->written->loc,
                         info->func->func->text));
    LZ_TRY(
        lzg_diag_take(r->diag, check_grad(info, out->results), info->written->loc, info->func->func->text));
    return read_forwards(r, info, out);
}

/* ---- all operators ---- */

static lzg_diff *find(const lzg_diffs *d, const lzg_function *f)
{
    return lz_map_get(&d->by_function, function_key(&f));
}

static lz_err *read_entries(reader *r)
{
    const lz_map *infos = &r->d->read->infos;
    for (const lz_map_entry *e = lz_map_next(infos, NULL); e; e = lz_map_next(infos, e)) {
        const lzg_diff_infos *all = e->value;
        const lzg_diff_info *info = lzg_diff_infos_get(all, LZ_STR("Default"));
        lzg_diff *d = find(r->d, all->func);
        if (!d || !all->len)
            continue;
        d->like = d;
        lz_err *wrong = check_plain(all);
        if (wrong) {
            LZ_TRY(lzg_diag_take(r->diag, wrong, all->func->func_loc, all->func->func->text));
            continue;
        }
        LZ_TRY(read_entry(r, info, d));
    }
    return NULL;
}

/* In-place and other forms use the entry that was matched with them. */
static void share_entries(reader *r)
{
    const lzg_derivatives *t = r->d->read;
    for (size_t i = 0; i < t->nfunctions; i++) {
        const lzg_differentiable *m = &t->functions[i];
        const lzg_diff_info *info = lzg_diff_infos_get(m->infos, LZ_STR("Default"));
        lzg_diff *to = find(r->d, m->func), *from = info ? find(r->d, info->func) : NULL;
        if (!to || !from || to == from || to->like || !from->like)
            continue;
        const lzg_function *f = to->function;
        *to = *from;
        to->function = f;
        to->like = from;
    }
}

static lz_err *report_missing(reader *r)
{
    for (size_t i = 0; i < r->d->n; i++) {
        const lzg_diff *d = &r->d->list[i];
        const lzg_function *f = d->function;
        if (d->kind != LZG_DIFF_MISSING || d->like != d)
            continue;
        lz_err *e =
            lz_err_at(LZ_ERR_MODEL, f->func_loc, "%.*s has no derivative, and no formula to take it from",
                      LZ_FMT(f->func->name.text));
        LZ_TRY(lzg_diag_take(r->diag, e, f->func_loc, f->func->text));
    }
    return NULL;
}

static lz_err *read_all(reader *r, const lzg_yaml *entries)
{
    lzg_diffs *d = r->d;
    LZ_TRY(lzg_derivatives_load(d->ops, entries, r->diag, &d->read));
    LZ_TRY(lz_arena_new(r->arena, &d->list, d->ops->nfunctions));
    for (d->n = 0; d->n < d->ops->nfunctions; d->n++) {
        d->list[d->n].function = d->ops->functions[d->n];
        LZ_TRY(lz_map_put(&d->by_function, function_key(&d->list[d->n].function), &d->list[d->n]));
    }
    if (lzg_diag_any(r->diag))
        return NULL;
    LZ_TRY(read_entries(r));
    share_entries(r);
    LZ_TRY(lzg_diff_flow(d));
    return report_missing(r);
}

lz_err *lzg_diffs_init(lzg_diffs *d, const lzg_ops *ops, const lzg_definitions *definitions,
                       const lzg_yaml *entries, lzg_diag *diag)
{
    *d = (lzg_diffs){ .ops = ops, .definitions = definitions };
    reader r = { d, diag, &d->arena };
    return read_all(&r, entries);
}

void lzg_diffs_deinit(lzg_diffs *d)
{
    lzg_derivatives_free(d->read);
    lz_map_deinit(&d->by_function);
    lz_arena_deinit(&d->arena);
    *d = (lzg_diffs){ 0 };
}

const lzg_diff *lzg_diff_of(const lzg_diffs *d, const lzg_function *f)
{
    return find(d, f);
}
