#include "gen/derivative/forward_formulas.h"
#include "base/number.h"
#include "base/text.h"
#include "gen/text/identifiers.h"

bool lzg_is_foreach(const lzg_function *f)
{
    return lz_str_starts(f->func->name.base, LZ_STR("_foreach_"));
}

/* ---- making ---- */

/* The number in result<i>; false: it is not of that form. */
static bool result_index(lz_str name, uint64_t *out)
{
    lz_str digits = lz_str_sub(name, strlen("result"), name.len);
    return lz_str_starts(name, LZ_STR("result")) && digits.len && lzg_digit_run(digits, 0) == digits.len
           && (lz_uint64_parse(digits, out) || (*out = UINT64_MAX));
}

static lz_err *no_output(const lzg_yaml *written, const lzg_function *f, lz_str name)
{
    return lz_err_at(LZ_ERR_MODEL, written->loc, "'%.*s' is neither an argument nor an output of %.*s",
                     LZ_FMT(name), LZ_FMT(f->func->name.text));
}

/* Outputs without names are result, or result0, result1, ... */
static lz_err *default_outputs(const lzg_function *f, lzg_names vars, const lzg_yaml *written,
                               const lzg_type **types, size_t *n)
{
    const lzg_schema *s = f->func;
    if (vars.len == 1 && lz_str_is(vars.data[0], "result")) {
        if (s->nreturns != 1)
            return lz_err_at(LZ_ERR_MODEL, written->loc, "'result' needs one output, but %.*s has %zu",
                             LZ_FMT(s->name.text), s->nreturns);
        types[(*n)++] = s->returns[0].type;
    }
    for (size_t i = 0; i < vars.len; i++) {
        uint64_t index;
        if (!result_index(vars.data[i], &index))
            continue;
        if (index >= s->nreturns)
            return no_output(written, f, vars.data[i]);
        types[(*n)++] = s->returns[index].type;
    }
    return *n ? NULL : no_output(written, f, vars.data[0]);
}

lz_err *lzg_forward_make(lz_arena *a, const lzg_function *f, lzg_names vars, const lzg_yaml *written,
                         lzg_forward *out)
{
    const lzg_type **types;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &types, f->func->nreturns + vars.len));
    for (size_t i = 0; i < f->func->nreturns; i++)
        if (f->func->returns[i].name.ptr && lzg_names_have(vars, f->func->returns[i].name))
            types[n++] = f->func->returns[i].type;
    if (n == 0)
        LZ_TRY(default_outputs(f, vars, written, types, &n));
    *out = (lzg_forward){
        .formula = written->text, .vars = vars, .types = types, .ntypes = n, .written = written
    };
    return NULL;
}

/* ---- spelling out ---- */

/* A function over a list of tensors handles tangents itself; only foreach ones are taken apart. */
static bool handles_itself(const lzg_forward_entry *entry, const lzg_ctype *t)
{
    bool list = lzg_ctype_is(t, LZG_CPP_TensorList)
                || (t->kind == LZG_C_CONST_REF && lzg_ctype_is(t->elem, LZG_CPP_ITensorListRef));
    return list && !lzg_is_foreach(entry->func);
}

static lz_err *refuse_bare_name(const lzg_yaml *written, lz_str formula, lz_str name)
{
    if (!lzg_ident_used(formula, name))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(written, name),
                     "a forward formula may not use '%.*s'; %.*s_p is its primal, %.*s_t its tangent",
                     LZ_FMT(name), LZ_FMT(name), LZ_FMT(name));
}

/* The arguments x of which the formula uses x<suffix>. */
static lz_err *required(const lzg_forward_entry *entry, const lzg_forward *fw, const char *suffix,
                        lzg_names *out)
{
    lz_str *names, whole;
    LZ_TRY(lz_arena_new(entry->arena, &names, entry->nargs));
    *out = (lzg_names){ names, 0 };
    for (size_t i = 0; i < entry->nargs; i++) {
        lz_str name = entry->args[i].name;
        if (handles_itself(entry, entry->args[i].what.type))
            continue;
        LZ_TRY(refuse_bare_name(fw->written, fw->formula, name));
        LZ_TRY(lz_arena_printf(entry->arena, &whole, "%.*s%s", LZ_FMT(name), suffix));
        if (lzg_ident_used(fw->formula, whole) && !lzg_names_have(*out, name))
            names[out->len++] = name;
    }
    return NULL;
}

static lz_err *unfit(const lzg_forward *fw, const char *what)
{
    return lz_err_at(LZ_ERR_MODEL, fw->written->loc, "%.*s %s", LZ_FMT(fw->written->text), what);
}

static lz_err *check_element_wise(const lzg_forward_entry *entry, const lzg_forward *fw, size_t n)
{
    if (entry->func->func->kind == LZG_INPLACE)
        return unfit(fw, "is not for in-place operators");
    if (entry->nargs != 1 || n > 1 || fw->vars.len > 1)
        return unfit(fw, "needs a single differentiable input and a single differentiable output");
    if (entry->nderivatives != 1)
        return unfit(fw, "needs the backward formula of its input");
    return NULL;
}

/* Jacobians of element-wise functions are diagonal: J v = conj(conj(v)^T J). */
static lz_err *element_wise(const lzg_forward_entry *entry, lzg_forward *fw, size_t n)
{
    LZ_TRY(check_element_wise(entry, fw, n));
    lz_arena *a = entry->arena;
    lz_str name = entry->args[0].name, formula = entry->derivatives[0].original, tangent, primal;
    LZ_TRY(lz_arena_printf(a, &tangent, "%.*s_t.conj()", LZ_FMT(name)));
    LZ_TRY(lz_arena_printf(a, &primal, "%.*s_p", LZ_FMT(name)));
    LZ_TRY(lzg_ident_replace(a, formula, LZ_STR("grad"), tangent, &formula));
    LZ_TRY(lzg_ident_replace(a, formula, name, primal, &formula));
    fw->tangents = entry->all_args;
    return lz_arena_printf(a, &fw->formula, "(%.*s).conj()", LZ_FMT(formula));
}

static bool differentiates(const lzg_forward_entry *entry, lz_str name)
{
    for (size_t i = 0; i < entry->nargs; i++)
        if (lz_str_eq(entry->args[i].name, name))
            return true;
    return false;
}

static void put_arguments(const lzg_forward_entry *entry, size_t from, lz_text *t)
{
    for (size_t i = from; i < entry->all_args.len; i++) {
        lz_text_puts(t, i > from ? ", " : "");
        lz_text_add(t, entry->all_args.data[i]);
        lz_text_puts(t, differentiates(entry, entry->all_args.data[i]) ? "_t" : "");
    }
}

static void put_call(const lzg_forward_entry *entry, lz_text *t)
{
    bool function = entry->func->variants & LZG_VARIANT_FUNCTION;
    if (!function) {
        lz_text_add(t, entry->all_args.data[0]);
        lz_text_puts(t, differentiates(entry, entry->all_args.data[0]) ? "_t" : "");
    }
    lz_text_puts(t, function ? "at::" : ".");
    lz_text_add(t, entry->name);
    lz_text_puts(t, lzg_schema_has_symint(entry->func->func) ? "_symint(" : "(");
    put_arguments(entry, function ? 0 : 1, t);
    lz_text_putc(t, ')');
}

static lz_err *argument_names(const lzg_forward_entry *entry, lzg_names *out)
{
    lz_str *names;
    LZ_TRY(lz_arena_new(entry->arena, &names, entry->nargs));
    for (size_t i = 0; i < entry->nargs; i++)
        names[i] = entry->args[i].name;
    *out = (lzg_names){ names, entry->nargs };
    return NULL;
}

/* A linear function is its own Jacobian. */
static lz_err *linear(const lzg_forward_entry *entry, lzg_forward *fw, size_t n)
{
    if (n > 1 || fw->vars.len > 1)
        return unfit(fw, "needs a single differentiable output");
    if (entry->nargs == 0)
        return unfit(fw, "needs a differentiable argument");
    lz_text t = { 0 };
    put_call(entry, &t);
    lz_err *e = lz_text_save(&t, entry->arena, &fw->formula);
    lz_text_deinit(&t);
    return e ? e : argument_names(entry, &fw->tangents);
}

static const struct {
    const char *word;
    lz_err *(*spell)(const lzg_forward_entry *entry, lzg_forward *fw, size_t n);
} automatic[] = {
    { "auto_element_wise", element_wise },
    { "auto_linear", linear },
};

lz_err *lzg_forward_finish(const lzg_forward_entry *entry, lzg_forward *forwards, size_t n, size_t i)
{
    lzg_forward *fw = &forwards[i];
    LZ_TRY(required(entry, fw, "_t", &fw->tangents));
    for (size_t k = 0; k < sizeof automatic / sizeof *automatic; k++)
        if (lz_str_is(fw->written->text, automatic[k].word))
            LZ_TRY(automatic[k].spell(entry, fw, n));
    return required(entry, fw, "_p", &fw->primals);
}

/* ---- in place ---- */

static lz_err *refuse_original(const lzg_function *f, const lzg_forward *fw)
{
    return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(fw->written, LZ_STR("self_p")),
                     "the forward formula of %.*s uses the value that it overwrites; only 'result' is left",
                     LZ_FMT(f->func->name.text));
}

/* Self keeps its name but not its value: the old self is original_self, and the result is self. */
static lz_err *rename_self(lz_arena *a, lz_str *formula, bool had_primal)
{
    if (had_primal) {
        LZ_TRY(lzg_ident_replace(a, *formula, LZ_STR("self_p"), LZ_STR("original_self_p"), formula));
        LZ_TRY(lzg_ident_replace(a, *formula, LZ_STR("self_t"), LZ_STR("original_self_t"), formula));
    }
    return lzg_ident_replace(a, *formula, LZ_STR("result"), LZ_STR("self_p"), formula);
}

/* Whether a closing parenthesis in s belongs to an opening one before it, always. */
static bool nested(lz_str s)
{
    size_t level = 1;
    for (size_t i = 0; i < s.len; i++) {
        level += s.ptr[i] == '(';
        level -= s.ptr[i] == ')';
        if (level == 0)
            return false;
    }
    return true;
}

/* Whether the formula is one call self_t.<name>(...), and its name. */
static bool is_own_call(lz_str formula, lz_str name, lz_str *inside)
{
    size_t from = strlen("self_t.");
    size_t open = from + lzg_word_run(formula, from);
    if (!lz_str_starts(formula, LZ_STR("self_t")) || open >= formula.len || formula.ptr[open] != '('
        || !lz_str_ends(formula, LZ_STR(")")) || lz_str_find_char(formula, '\n') != SIZE_MAX)
        return false;
    *inside = lz_str_sub(formula, open + 1, formula.len - 1);
    return lz_str_eq(lz_str_sub(formula, from, open), name) && nested(*inside);
}

/* The tangent of self is changed where it is, if there is one. */
static lz_err *write_in_place(lz_arena *a, lz_str name, lz_str *formula)
{
    lz_str inside, old = *formula;
    if (is_own_call(old, name, &inside))
        return lz_arena_printf(a, formula, "self_t_raw.defined() ? self_t_raw.%.*s_(%.*s) : %.*s",
                               LZ_FMT(name), LZ_FMT(inside), LZ_FMT(old));
    return lz_arena_printf(a, formula, "self_t_raw.defined() ? self_t_raw.copy_(%.*s) : %.*s", LZ_FMT(old),
                           LZ_FMT(old));
}

static lz_err *append(lz_arena *a, lzg_names list, lz_str name, lzg_names *out)
{
    lz_str *names;
    LZ_TRY(lz_arena_new(a, &names, list.len + 1));
    if (list.len)
        memcpy(names, list.data, list.len * sizeof *names);
    names[list.len] = name;
    *out = (lzg_names){ names, list.len + 1 };
    return NULL;
}

static const lz_str self_name = { "self", 4 };

lz_err *lzg_forward_in_place(lz_arena *a, const lzg_function *f, const lzg_diff_info *info, bool exact,
                             lzg_forwards *out)
{
    if (info->forward.len != 1)
        return lz_err_at(LZ_ERR_MODEL, info->forward.data[1].written->loc,
                         "an in-place operator has one output, but there are %zu forward formulas for %.*s",
                         info->forward.len, LZ_FMT(f->func->name.text));
    lzg_forward *fw;
    LZ_TRY(lz_arena_new(a, &fw, 1));
    *fw = info->forward.data[0];
    bool had_primal = lzg_ident_used(fw->formula, LZ_STR("self_p"));
    if (had_primal && exact)
        return refuse_original(f, fw);
    LZ_TRY(rename_self(a, &fw->formula, had_primal));
    if (lzg_ident_used(fw->formula, LZ_STR("self_p")))
        LZ_TRY(append(a, fw->primals, self_name, &fw->primals));
    if (!exact)
        LZ_TRY(write_in_place(a, info->name, &fw->formula));
    fw->original_self = lzg_ident_used(fw->formula, LZ_STR("original_self_p"))
                        || lzg_ident_used(fw->formula, LZ_STR("original_self_t"));
    fw->vars = (lzg_names){ &self_name, 1 };
    fw->reuses_outplace = !exact;
    *out = (lzg_forwards){ fw, 1 };
    return NULL;
}
