/* The values that a kernel of VariableType saves in its node, and on which conditions. */
#include "gen/text/identifiers.h"
#include "gen/torch/autograd/gen_autograd_functions.h"
#include "gen/torch/autograd/saved_members.h"
#include "gen/torch/autograd/variable_kernel.h"

/* ---- conditions ---- */

static bool saves(const lzg_derivative *d, const lzg_saved *saved)
{
    for (size_t i = 0; i < d->saved_inputs.len; i++)
        if (lz_str_eq(d->saved_inputs.data[i].name, saved->name)
            && lz_str_eq(d->saved_inputs.data[i].expr, saved->expr))
            return true;
    return false;
}

/* The only formula that needs the value, or NULL. */
static const lzg_derivative *sole_user(const lzg_diff_info *info, const lzg_saved *saved)
{
    const lzg_derivative *user = NULL;
    for (size_t i = 0; i < info->nderivatives; i++) {
        if (!saves(&info->derivatives[i], saved))
            continue;
        if (user)
            return NULL;
        user = &info->derivatives[i];
    }
    return user;
}

/* grad_input_mask[1] becomes grad_fn->should_compute_output(1). */
static lz_str should_compute(lzg_snippets *s, lz_str condition)
{
    static const char mask[] = "grad_input_mask[";
    size_t done = 0, at;
    while ((at = lzg_find(condition, LZ_STR("grad_input_mask["), done)) != SIZE_MAX) {
        size_t from = at + strlen(mask), n = lzg_digit_run(condition, from);
        bool whole = n && from + n < condition.len && condition.ptr[from + n] == ']';
        lz_text_add(&s->text, lz_str_sub(condition, done, whole ? at : from));
        if (whole)
            lzg_fill(&s->text, "grad_fn->should_compute_output($)", lz_str_sub(condition, from, from + n));
        done = whole ? from + n + 1 : from;
    }
    lz_text_add(&s->text, lz_str_sub(condition, done, condition.len));
    return lzg_snippet_take(s);
}

/* The condition of wrap_opt_if(NAME, CONDITION) in a formula; one character is left out behind the comma. */
static lz_str wrapped_condition(lzg_snippets *s, lz_str formula, lz_str name)
{
    lz_str open = lzg_phrase(s, "wrap_opt_if($,", name);
    size_t at = lzg_find(formula, open, 0), from = at == SIZE_MAX ? at : at + open.len + 1;
    size_t end = at == SIZE_MAX ? at : lzg_find(formula, LZ_STR(")"), at);
    if (end == SIZE_MAX)
        return (lz_str){ 0 };
    return should_compute(s, lz_str_trim(lz_str_sub(formula, from < end ? from : end, end)));
}

static size_t place_of(const lzg_vkernel *v, lz_str name)
{
    size_t i = 0;
    while (i < v->nargs && !lz_str_eq(v->args[i].name, name))
        i++;
    return i;
}

static bool has_tensor_list(const lzg_vkernel *v)
{
    for (size_t i = 0; i < v->nargs; i++)
        if (lzg_is_tensor_list(v->args[i].type))
            return true;
    return false;
}

/* When a tensor need not be saved: a formula that is not computed is its only use. ptr NULL: always saved. */
static lz_str guard_of(const lzg_vkernel *v, const lzg_saved *saved)
{
    if ((has_tensor_list(v) && !v->foreach_inplace) || v->nargs <= 1
        || lz_str_find(v->info->name, LZ_STR("backward")) != SIZE_MAX
        || !lz_str_is(saved->type, "at::Tensor"))
        return (lz_str){ 0 };
    const lzg_derivative *user = sole_user(v->info, saved);
    if (!user)
        return (lz_str){ 0 };
    if (user->vars.len != 1)
        return wrapped_condition(v->s, user->formula, saved->name);
    return lzg_phrase(v->s, "grad_fn->should_compute_output($)",
                      lzg_snippet_int(v->s, (int64_t)place_of(v, user->vars.data[0])));
}

/* ---- statements ---- */

/* A value on its way into the node. */
typedef struct save {
    const lzg_vkernel *v;
    bool is_output;
    const lzg_argument *arg; /* of an in-place foreach kernel: the list in the place of the value; or NULL */
    lz_str element;          /* how its element is called */
    lz_str source;           /* what is replaced by it */
    lz_str member, expr;
    lz_str before; /* a statement, or empty */
} save;

static bool is_list_element(const save *x)
{
    return x->arg && lzg_is_list(x->arg);
}

static void map_to_element(save *x, lz_str name)
{
    lzg_snippets *s = x->v->s;
    size_t suffix = lz_str_find(name, LZ_STR("_scalar_type"));
    x->source = suffix == SIZE_MAX ? name : lz_str_sub(name, 0, suffix);
    x->arg = lzg_foreach_argument(x->v, x->source);
    if (!x->arg)
        return;
    x->element = lzg_phrase(s, "$$", x->arg->name, is_list_element(x) ? LZ_STR("[i]") : LZ_STR(""));
    x->expr = lzg_snippet_replace(s, x->expr, x->source, x->element);
}

/* In place, self is saved as it was before the call. */
static void save_original_self(save *x)
{
    bool list = x->v->foreach_inplace;
    x->before = list ? LZ_STR("if (!original_selfs[i].has_value()) original_selfs[i] = self[i].clone()")
                     : LZ_STR("if (!original_self.has_value()) original_self = self.clone()");
    x->expr = list ? LZ_STR("SavedVariable(original_selfs[i].value(), false)")
                   : LZ_STR("SavedVariable(original_self.value(), false)");
}

static lz_err *save_tensor(save *x, lz_str name)
{
    lzg_snippets *s = x->v->s;
    x->member = lzg_phrase(s, "$_", name);
    if (x->v->inplace && x->is_output) {
        lz_str var = x->v->foreach_inplace || is_list_element(x) ? LZ_STR("self[i]") : LZ_STR("self");
        if (!lz_str_is(name, "result"))
            return lz_err_at(LZ_ERR_MODEL, x->v->info->written->loc,
                             "in place only 'result' can be saved, not '%.*s'", LZ_FMT(name));
        x->expr = lzg_phrase(s, "SavedVariable($, true, $.is_view())", var, var);
        return NULL;
    }
    if (lz_str_is(name, "self") && x->v->inplace) {
        save_original_self(x);
        if (x->v->foreach_inplace)
            return NULL;
    } else {
        x->expr = lzg_phrase(s, "SavedVariable($, $)", name, x->is_output ? LZ_STR("true") : LZ_STR("false"));
    }
    if (x->arg)
        x->expr = lzg_snippet_replace(s, x->expr, x->source, x->element);
    return NULL;
}

static void save_value(save *x, lz_str type)
{
    lzg_snippets *s = x->v->s;
    if (lz_str_is(type, "at::IntArrayRef") || lz_str_is(type, "c10::SymIntArrayRef")
        || lz_str_is(type, "at::ArrayRef<at::Scalar>"))
        x->expr = lzg_phrase(s, "$.vec()", x->expr);
    else if (lz_str_is(type, "c10::string_view"))
        x->expr = lzg_phrase(s, "std::string($)", x->expr);
    else if (lz_str_is(type, "::std::optional<c10::string_view>"))
        x->expr = lzg_phrase(
            s, "$.has_value() ? ::std::optional<std::string>(std::string($.value())) : ::std::nullopt",
            x->expr, x->expr);
}

static lz_err *save_one(const lzg_vkernel *v, const lzg_saved *saved, bool is_output, lzg_pieces *to)
{
    lzg_snippets *s = v->s;
    save x = { .v = v, .is_output = is_output, .member = saved->name, .expr = saved->expr };
    lzg_keep keep = lzg_saved_form_of(saved->type, is_output)->keep;
    if (v->foreach_inplace)
        map_to_element(&x, saved->name);
    if (keep == LZG_KEEP_VARIABLE) {
        LZ_TRY(save_tensor(&x, saved->name));
    } else if (keep == LZG_KEEP_VARIABLES || keep == LZG_KEEP_OPTIONAL_VARIABLES) {
        x.expr = lzg_phrase(s, "make_saved_variable_list($, $)", saved->name,
                            v->foreach && is_output ? LZ_STR("true") : LZ_STR("false"));
        x.member = lzg_phrase(s, "$_", saved->name);
    } else {
        save_value(&x, saved->type);
    }
    lz_str guard = { 0 };
    if (!is_output)
        guard = guard_of(v, saved);
    lz_str indent = guard.ptr ? LZ_STR("  ") : LZ_STR("");
    if (guard.ptr)
        lzg_add_phrase(s, to, "if ($) {", guard);
    if (x.before.len)
        lzg_add_phrase(s, to, "$$;", indent, x.before);
    lzg_add_phrase(s, to, "$grad_fn->$ = $;", indent, x.member, x.expr);
    if (guard.ptr)
        lzg_pieces_add(s, to, LZ_STR("}"));
    return NULL;
}

static lz_err *save_all(const lzg_vkernel *v, lzg_saved_list list, bool is_output, lzg_pieces *to)
{
    lzg_saved_list sorted;
    LZ_TRY(lzg_saved_sorted(v->s->arena, list, &sorted));
    for (size_t i = 0; i < sorted.len; i++)
        LZ_TRY(save_one(v, &sorted.data[i], is_output, to));
    return NULL;
}

lz_str lzg_for_each_node(const lzg_vkernel *v, lz_str preamble, lz_str statements)
{
    return lzg_snippet(v->s,
                       "if (!grad_fns.empty()) {\n"
                       "    ${preamble}\n"
                       "    for (const auto& i : c10::irange(grad_fns.size())) {\n"
                       "        const auto& grad_fn = grad_fns[i];\n"
                       "        if (grad_fn != nullptr) {\n"
                       "            ${statements}\n"
                       "        }\n"
                       "    }\n"
                       "}\n",
                       { "preamble", preamble }, { "statements", statements });
}

lz_err *lzg_save_inputs(const lzg_vkernel *v, lzg_pieces *setup)
{
    lzg_pieces each = { 0 };
    if (!v->has_derivatives)
        return NULL;
    LZ_TRY(save_all(v, v->info->saved_inputs, false, v->foreach_inplace ? &each : setup));
    if (each.n)
        lzg_pieces_add(v->s, setup, lzg_for_each_node(v, LZ_STR(""), lzg_pieces_lines(v->s, &each)));
    for (size_t i = 0; !v->foreach_inplace && i < v->nargs; i++)
        if (lzg_is_tensor_list(v->args[i].type))
            lzg_add_phrase(v->s, setup, "grad_fn->$_size_ = $.size();", v->args[i].name, v->args[i].name);
    return NULL;
}

lz_err *lzg_save_outputs(const lzg_vkernel *v, lzg_pieces *body)
{
    lzg_pieces each = { 0 };
    if (v->out || !v->has_derivatives)
        return NULL;
    LZ_TRY(save_all(v, v->info->saved_outputs, true, &each));
    if (!each.n)
        return NULL;
    lz_str statements = lzg_pieces_lines(v->s, &each);
    lzg_pieces_add(v->s, body,
                   v->foreach_inplace ? lzg_for_each_node(v, LZ_STR(""), statements)
                                      : lzg_snippet(v->s,
                                                    "if (grad_fn) {\n"
                                                    "  ${statements}\n"
                                                    "}\n",
                                                    { "statements", statements }));
    return NULL;
}
