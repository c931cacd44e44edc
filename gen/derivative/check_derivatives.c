/* Checks the derivatives of an operator under each dispatch key: inputs, outputs and forward formulas. */
#include "gen/api/cpp.h"
#include "gen/derivative/forward_formulas.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/text/identifiers.h"
#include "gen/text/lists.h"

/* One operator under one key, and the parts of its kernel. */
typedef struct subject {
    const lzg_derivatives *table;
    lz_arena *arena; /* rewound afterwards */
    const lzg_function *func;
    const lzg_diff_info *info;
    lzg_forwards forward;
    lzg_names inputs, outputs; /* the differentiable ones */
    const lzg_type *first_input;
    lz_str cpp_name;
    bool foreach_in_place, takes_part; /* has something to differentiate */
} subject;

static bool is_foreach_in_place(const lzg_function *f)
{
    return f->func->kind == LZG_INPLACE && lz_str_starts(f->func->name.printed_base, LZ_STR("_foreach"));
}

static bool differentiates(const lzg_diff_info *info)
{
    return info->nargs > 0;
}

/* ---- what there is ---- */

/* An in-place foreach operator is differentiated under its reference's names. */
static lz_err *find_inputs(subject *s)
{
    const lzg_schema *f = s->func->func, *ref = s->foreach_in_place ? s->info->func->func : f;
    lz_str *names;
    size_t n = 0;
    LZ_TRY(lz_arena_new(s->arena, &names, f->first[LZG_OUT]));
    for (size_t i = 0; i < f->first[LZG_OUT]; i++) {
        const lzg_argument *arg = i < ref->nargs ? &ref->args[i] : &f->args[i];
        if (arg->section == LZG_TENSOR_OPTIONS || !lzg_type_is_tensor_like(arg->type)
            || lzg_names_have(s->info->non_differentiable, arg->name))
            continue;
        s->first_input = n ? s->first_input : arg->type;
        names[n++] = arg->name;
    }
    s->inputs = (lzg_names){ names, n };
    return NULL;
}

static bool listed(const lzg_derivatives *t, const char *list, lz_str name)
{
    return t->ops->lists && lzg_lists_has(t->ops->lists, list, name);
}

static bool needs_no_derivative(const subject *s)
{
    static const char *const list = "gen_variable_type.dont_require_derivative";
    return listed(s->table, list, s->func->func->name.base) || listed(s->table, list, s->cpp_name);
}

/* Composites without a derivative are differentiated through the operators that they call. */
static bool has_a_kernel(const subject *s, const lzg_diff_infos *infos)
{
    return (s->func->is_abstract || lzg_diff_infos_any(infos))
           && !listed(s->table, "gen_inplace_or_view_type.manual_autograd", s->cpp_name);
}

/* As lists of foreach operators have it: without the underscore of an in-place one. */
static lz_err *name_out_of_place(lz_arena *a, const lzg_op_name *name, lz_str *out)
{
    *out = name->base;
    return name->overload.len
               ? lz_arena_printf(a, out, "%.*s.%.*s", LZ_FMT(name->base), LZ_FMT(name->overload))
               : NULL;
}

static lz_err *describe(subject *s)
{
    s->foreach_in_place = is_foreach_in_place(s->func);
    LZ_TRY(lzg_cpp_name(s->arena, s->func->func, (lzg_cpp_form){ 0 }, &s->cpp_name));
    LZ_TRY(lzg_differentiable_outputs(s->arena, s->func, s->info, &s->outputs));
    LZ_TRY(find_inputs(s));
    s->takes_part = !needs_no_derivative(s) && s->inputs.len && (s->outputs.len || s->foreach_in_place);
    return NULL;
}

/* ---- rules ---- */

static lz_err *refuse(const lzg_yaml *at, const subject *s, const char *why)
{
    return lz_err_at(LZ_ERR_MODEL, at->loc, "%.*s %s", LZ_FMT(s->func->func->name.text), why);
}

/* The dispatcher calls autograd kernels only for operators that backends implement. */
static lz_err *operator_is_abstract(const subject *s)
{
    bool fine = s->func->is_abstract || !differentiates(s->info);
    return fine ? NULL
                : refuse(
                    s->info->written, s,
                    "has a derivative, so it needs a dispatch table with backends or an explicit composite");
}

static size_t count_of(lzg_names names, lz_str name)
{
    size_t n = 0;
    for (size_t i = 0; i < names.len; i++)
        n += lz_str_eq(names.data[i], name);
    return n;
}

static lz_err *vars_are_differentiable_inputs(const subject *s)
{
    for (size_t i = 0; differentiates(s->info) && i < s->info->nderivatives; i++) {
        const lzg_derivative *d = &s->info->derivatives[i];
        for (size_t k = 0; k < d->vars.len; k++) {
            size_t n = count_of(s->inputs, d->vars.data[k]);
            if (n != 1)
                return lz_err_at(LZ_ERR_MODEL, d->written->loc, "'%.*s' %s of %.*s", LZ_FMT(d->vars.data[k]),
                                 n ? "is the name of several arguments" : "is no differentiable argument",
                                 LZ_FMT(s->func->func->name.text));
        }
    }
    return NULL;
}

static lz_err *derivative_has_a_use(const subject *s)
{
    bool ignored = differentiates(s->info) && !s->takes_part && s->func->func->nreturns;
    return ignored ? refuse(s->info->written, s, "has a derivative, but nothing to differentiate") : NULL;
}

static lz_err *every_output_has_a_forward_formula(const subject *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->forward.len; i++)
        n += s->forward.data[i].vars.len;
    if (!s->takes_part || !s->forward.len || s->foreach_in_place || n == s->outputs.len)
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, s->forward.data[0].written->loc,
                     "%.*s has %zu differentiable outputs, but forward formulas for %zu",
                     LZ_FMT(s->func->func->name.text), s->outputs.len, n);
}

/* Only operators that take a single list of tensors may look for tangents themselves. */
static lz_err *forward_uses_tangents(const subject *s)
{
    bool list = s->inputs.len == 1 && lzg_type_is_list_like(s->first_input);
    for (size_t i = 0; s->takes_part && !lzg_is_foreach(s->func) && i < s->forward.len; i++)
        if (!s->forward.data[i].tangents.len && !list)
            return refuse(s->forward.data[i].written, s, "has a forward formula that uses no tangent");
    return NULL;
}

static bool saves(const lzg_derivative *d, lz_str name)
{
    for (size_t i = 0; i < d->saved_inputs.len; i++)
        if (lz_str_eq(d->saved_inputs.data[i].name, name))
            return true;
    return false;
}

static const lzg_derivative *sole_user(const lzg_diff_info *info, lz_str name)
{
    const lzg_derivative *user = NULL;
    for (size_t i = 0; i < info->nderivatives; i++) {
        if (!saves(&info->derivatives[i], name))
            continue;
        if (user)
            return NULL;
        user = &info->derivatives[i];
    }
    return user;
}

/* A tensor that only one formula uses, and that for several inputs, may be saved on a
 * condition: wrap_opt_if(name, condition). */
static lz_err *check_condition(lz_arena *a, const lzg_diff_info *info, const lzg_saved *saved)
{
    const lzg_derivative *user = sole_user(info, saved->name);
    lz_str open;
    if (!user || user->vars.len == 1 || !lz_str_is(saved->type, "at::Tensor"))
        return NULL;
    LZ_TRY(lz_arena_printf(a, &open, "wrap_opt_if(%.*s", LZ_FMT(saved->name)));
    size_t at = lzg_find(user->formula, open, 0), comma = at + open.len;
    if (at == SIZE_MAX
        || (comma < user->formula.len && user->formula.ptr[comma] == ','
            && lzg_find(user->formula, LZ_STR(")"), comma) != SIZE_MAX))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(user->written, open),
                     "wrap_opt_if needs a name, a comma and a condition");
}

static lz_err *saving_conditions_are_whole(const subject *s)
{
    if (!s->takes_part || s->func->func->kind == LZG_OUT_KIND || s->info->nargs < 2
        || lz_str_find(s->info->name, LZ_STR("backward")) != SIZE_MAX)
        return NULL;
    for (size_t i = 0; i < s->info->saved_inputs.len; i++)
        LZ_TRY(check_condition(s->arena, s->info, &s->info->saved_inputs.data[i]));
    return NULL;
}

static bool are_tensors(const lzg_forward *fw)
{
    for (size_t i = 0; i < fw->ntypes; i++)
        if (!lzg_type_is(fw->types[i], LZG_TY_Tensor))
            return false;
    return true;
}

static lz_err *forward_gives_tensors(const subject *s)
{
    for (size_t i = 0; s->takes_part && s->func->func->kind != LZG_OUT_KIND && i < s->forward.len; i++) {
        const lzg_forward *fw = &s->forward.data[i];
        bool list =
            fw->ntypes == 1 && fw->types[0]->kind == LZG_TYPE_LIST && lzg_type_is_tensor_like(fw->types[0]);
        if (!list && !are_tensors(fw))
            return refuse(fw->written, s, "has a forward formula for outputs that are not tensors");
    }
    return NULL;
}

/* An in-place foreach operator does to each element what its reference does. */
static lz_err *elements_fit_the_reference(const subject *s)
{
    const lzg_schema *f = s->func->func, *ref = s->info->func->func;
    size_t n = f->first[LZG_OUT], m = ref->first[LZG_OUT];
    lz_str name;
    if (!s->foreach_in_place)
        return NULL;
    LZ_TRY(name_out_of_place(s->arena, &f->name, &name));
    if (n != m && !listed(s->table, "gen_variable_type.foreach_ops_with_different_arity", name))
        return lz_err_at(LZ_ERR_MODEL, s->func->func_loc, "it has %zu arguments, its reference %.*s has %zu",
                         n, LZ_FMT(ref->name.text), m);
    for (size_t i = 0; i < n && i < m; i++) {
        const lzg_type *t = f->args[i].type;
        if (!lzg_type_eq(t->kind == LZG_TYPE_LIST ? t->elem : t, ref->args[i].type))
            return lz_err_at(LZ_ERR_MODEL, s->func->func_loc,
                             "elements of '%.*s' are not what its reference %.*s takes",
                             LZ_FMT(f->args[i].name), LZ_FMT(ref->name.text));
    }
    return NULL;
}

static lz_err *(*const rules[])(const subject *) = {
    operator_is_abstract,  elements_fit_the_reference,         vars_are_differentiable_inputs,
    derivative_has_a_use,  every_output_has_a_forward_formula, forward_uses_tangents,
    forward_gives_tensors, saving_conditions_are_whole,
};

static lz_err *check_subject(subject *s, const lzg_diff_infos *infos)
{
    LZ_TRY(describe(s));
    for (size_t i = 0; has_a_kernel(s, infos) && i < sizeof rules / sizeof *rules; i++)
        LZ_TRY(rules[i](s));
    return NULL;
}

static lz_err *check_function(lzg_derivatives *t, const lzg_differentiable *d, lzg_diag *diag)
{
    lz_str schema = d->func->func->text;
    for (size_t i = 0; i < d->infos->len; i++) {
        subject s = { .table = t,
                      .arena = &t->arena,
                      .func = d->func,
                      .info = &d->infos->data[i],
                      .forward = d->forward[i] };
        lz_arena_mark mark = lz_arena_save(&t->arena);
        LZ_TRY(lzg_diag_take(diag, check_subject(&s, d->infos), d->func->func_loc, schema));
        lz_arena_rewind(&t->arena, mark);
    }
    return NULL;
}

/* ---- operators without derivatives ---- */

/* Those with a result get a common kernel that refuses the backward step. */
static bool gets_common_kernel(const lzg_derivatives *t, const lzg_schema *s)
{
    return s->nreturns && !listed(t, "gen_variable_type.reset_grad_accumulator", s->name.printed_base)
           && !listed(t, "gen_variable_type.dont_require_derivative", s->name.base)
           && !listed(t, "gen_variable_type.dont_enforce_same_tensor_impl_or_storage", s->name.printed_base)
           && !listed(t, "gen_variable_type.dont_enforce_storage_impl_use_count", s->name.unambiguous)
           && !listed(t, "gen_variable_type.dont_enforce_tensor_impl_use_count", s->name.unambiguous);
}

/* An in-place foreach operator returns nothing that could refuse: it is differentiated, or
 * known not to be. */
static lz_err *check_without_info(const lzg_derivatives *t, lz_arena *a, const lzg_function *f)
{
    lz_str name;
    if (!is_foreach_in_place(f) || f->form_of || !f->is_abstract || gets_common_kernel(t, f->func)
        || listed(t, "gen_inplace_or_view_type.manual_autograd", f->func->name.printed_base))
        return NULL;
    LZ_TRY(name_out_of_place(a, &f->func->name, &name));
    if (listed(t, "gen_variable_type.foreach_ops_without_differentiability_info", name))
        return NULL;
    return lz_err_at(LZ_ERR_MODEL, f->func_loc, "an in-place foreach operator needs a derivative");
}

/* ---- saved types ---- */

/* Views that a node can keep because it can own their base. */
static const char *const owned[] = {
    "at::ITensorListRef",
    "at::IntArrayRef",
    "c10::SymIntArrayRef",
    "at::OptionalIntArrayRef",
    "at::OptionalSymIntArrayRef",
    "::std::optional<at::IntArrayRef>",
    "::std::optional<c10::SymIntArrayRef>",
    "::std::optional<at::ArrayRef<double>>",
    "c10::string_view",
    "::std::optional<c10::string_view>",
    "at::ArrayRef<at::Scalar>",
};

static bool looks_borrowed(lz_str type)
{
    static const char *const signs[] = { "Ref", "ref", "View", "view", "*", "&" };
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        if (lz_str_is(type, owned[i]))
            return false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (lz_str_find(type, lz_str_of(signs[i])) != SIZE_MAX)
            return true;
    return false;
}

static lz_err *check_saved(const lzg_derivative *d, lzg_saved_list list, bool may_own_vectors)
{
    for (size_t i = 0; i < list.len; i++) {
        bool vector = lz_str_is(list.data[i].type, "::std::vector<at::Tensor>");
        if (looks_borrowed(list.data[i].type) || (vector && !may_own_vectors))
            return lz_err_at(LZ_ERR_MODEL, lzg_formula_at(d->written, list.data[i].expr),
                             "'%.*s' of type %.*s cannot be saved", LZ_FMT(list.data[i].name),
                             LZ_FMT(list.data[i].type));
    }
    return NULL;
}

static lz_err *check_node(const lzg_diff_info *info)
{
    for (size_t i = 0; differentiates(info) && i < info->nderivatives; i++) {
        LZ_TRY(check_saved(&info->derivatives[i], info->derivatives[i].saved_inputs, false));
        LZ_TRY(check_saved(&info->derivatives[i], info->derivatives[i].saved_outputs,
                           lzg_is_foreach(info->func)));
    }
    return NULL;
}

lz_err *lzg_derivatives_check_nodes(lzg_derivatives *t, lzg_diag *d)
{
    for (const lz_map_entry *e = lz_map_next(&t->infos, NULL); e; e = lz_map_next(&t->infos, e)) {
        const lzg_diff_infos *infos = e->value;
        for (size_t i = 0; i < infos->len; i++)
            LZ_TRY(lzg_diag_take(d, check_node(&infos->data[i]), infos->data[i].written->loc, e->key));
    }
    return NULL;
}

lz_err *lzg_derivatives_check(lzg_derivatives *t, lzg_diag *d)
{
    bool whole = !lzg_diag_any(d); /* else a derivative may be missing because it was refused */
    for (size_t i = 0; i < t->nfunctions; i++) {
        const lzg_function *f = t->functions[i].func;
        if (t->functions[i].infos)
            LZ_TRY(check_function(t, &t->functions[i], d));
        else if (whole)
            LZ_TRY(lzg_diag_take(d, check_without_info(t, &t->arena, f), f->func_loc, f->func->text));
    }
    return lzg_derivatives_check_nodes(t, d);
}
