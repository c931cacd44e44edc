#include "gen/derivative/foreach_derivatives.h"
#include "gen/api/cpp.h"
#include "gen/text/identifiers.h"

/* Facts about the operator set, by full name. */
static const char *const inplace_reference[] = { "_foreach_zero_", NULL };
static const char *const takes_tensor[] = { "_foreach_add.Tensor", "_foreach_mul.Tensor",
                                            "_foreach_div.Tensor", NULL };
/* Their references have an alpha in addition. */
static const char *const fewer_arguments[] = {
    "_foreach_add.Scalar",      "_foreach_add_.Scalar",     "_foreach_add.ScalarList",
    "_foreach_add_.ScalarList", "_foreach_sub.Scalar",      "_foreach_sub_.Scalar",
    "_foreach_sub.ScalarList",  "_foreach_sub_.ScalarList", NULL,
};

static bool listed(const char *const *list, lz_str name)
{
    while (*list && !lz_str_is(name, *list))
        list++;
    return *list != NULL;
}

/* ---- the reference ---- */

static size_t non_out(const lzg_schema *s)
{
    return s->first[LZG_OUT];
}

static size_t common(const lzg_schema *a, const lzg_schema *b)
{
    return non_out(a) < non_out(b) ? non_out(a) : non_out(b);
}

static lz_str reference_base(lz_str base)
{
    lz_str part = base;
    for (bool more = true; more;)
        part = lz_str_cut(&base, LZ_STR("_foreach_"), &more);
    return part;
}

static bool is_element(const lzg_type *of, const lzg_type *t)
{
    return lzg_type_eq(of, t)
           || ((of->kind == LZG_TYPE_LIST || of->kind == LZG_TYPE_OPTIONAL) && lzg_type_eq(of->elem, t));
}

static bool is_reference(const lzg_schema *f, lz_str base, const lzg_schema *ref)
{
    if (!lz_str_eq(ref->name.base, base)
        || (non_out(f) != non_out(ref) && !listed(fewer_arguments, f->name.text)))
        return false;
    for (size_t i = 0; i < common(f, ref); i++)
        if (!is_element(f->args[i].type, ref->args[i].type))
            return false;
    return true;
}

typedef struct reference {
    const lzg_schema *signature;
    const lzg_diff_info *info;
} reference;

static lz_err *search(const lz_map *map, const lzg_function *f, reference *out)
{
    lz_str base = reference_base(f->func->name.base);
    for (const lz_map_entry *e = lz_map_next(map, NULL); e && !out->info; e = lz_map_next(map, e)) {
        const lzg_signed_infos *s = e->value;
        if (!is_reference(f->func, base, s->signature))
            continue;
        *out = (reference){ s->signature, lzg_diff_infos_get(s->infos, LZ_STR("Default")) };
        if (!out->info)
            return lz_err_at(LZ_ERR_MODEL, f->func_loc, "its reference %.*s has no derivatives for Default",
                             LZ_FMT(s->infos->func->func->name.text));
    }
    return NULL;
}

static lz_err *find_reference(const lzg_function *f, const lz_map *functional, const lz_map *non_functional,
                              reference *out)
{
    LZ_TRY(search(functional, f, out));
    bool try_inplace = f->func->kind == LZG_INPLACE && listed(inplace_reference, f->func->name.text);
    return out->info || !try_inplace ? NULL : search(non_functional, f, out);
}

/* ---- backward ---- */

typedef struct work {
    lz_arena *arena;
    const lzg_function *f;
    reference ref;
} work;

/* The argument in the position of the reference's argument of that name, or NULL. */
static const lzg_argument *stand_in(const work *w, lz_str name)
{
    for (size_t i = common(w->f->func, w->ref.signature); i-- > 0;)
        if (lz_str_eq(w->ref.signature->args[i].name, name))
            return &w->f->func->args[i];
    return NULL;
}

static lz_err *no_stand_in(const work *w, lz_str name)
{
    return lz_err_at(LZ_ERR_MODEL, w->f->func_loc,
                     "its derivative is that of %.*s, but it has no argument for '%.*s' of that operator",
                     LZ_FMT(w->ref.info->func->func->name.text), LZ_FMT(name));
}

static lz_err *argument_type(const work *w, const lzg_argument *arg, const lzg_ctype **out)
{
    lzg_cpp_rules rules = { .local = lzg_local_of(w->f), .writes = lzg_argument_writes(arg) };
    return lzg_cpp_argumenttype(w->arena, arg->type, rules, out);
}

static lz_err *saved_whole(const work *w, const lzg_argument *arg, lzg_saved *out)
{
    const lzg_ctype *type;
    lz_text text = { 0 };
    LZ_TRY(argument_type(w, arg, &type));
    LZ_TRY(lzg_ctype_remove_const_ref(w->arena, type, &type));
    lzg_ctype_print(type, &text);
    *out = (lzg_saved){ .name = arg->name, .expr = arg->name };
    lz_err *e = lz_text_save(&text, w->arena, &out->type);
    lz_text_deinit(&text);
    return e;
}

/* The list is saved whole; the formula uses the i-th element for the value that the reference saved. */
static lz_err *save_input(const work *w, const lzg_saved *from, lz_str *formula, lzg_saved *out)
{
    bool more;
    lz_str rest = from->expr, name = lz_str_cut(&rest, LZ_STR("."), &more), element, expr;
    const lzg_argument *arg = stand_in(w, name);
    if (!arg)
        return no_stand_in(w, name);
    LZ_TRY(lz_arena_printf(w->arena, &element, "%.*s%s", LZ_FMT(arg->name),
                           arg->type->kind == LZG_TYPE_LIST ? "[i]" : ""));
    LZ_TRY(lzg_replace_all(w->arena, from->expr, name, element, &expr));
    LZ_TRY(lzg_replace_all(w->arena, *formula, from->name, expr, formula));
    return saved_whole(w, arg, out);
}

static lz_err *save_inputs(const work *w, lzg_derivative *d)
{
    lzg_saved *saved;
    LZ_TRY(lz_arena_new(w->arena, &saved, d->saved_inputs.len));
    for (size_t i = 0; i < d->saved_inputs.len; i++)
        LZ_TRY(save_input(w, &d->saved_inputs.data[i], &d->formula, &saved[i]));
    d->saved_inputs.data = saved;
    return NULL;
}

static lz_err *save_outputs(const work *w, lzg_derivative *d)
{
    lzg_saved *saved;
    LZ_TRY(lz_arena_new(w->arena, &saved, d->saved_outputs.len));
    for (size_t i = 0; i < d->saved_outputs.len; i++) {
        if (!lz_str_is(d->saved_outputs.data[i].name, "result"))
            return lz_err_at(LZ_ERR_MODEL, w->f->func_loc,
                             "its derivative is that of %.*s, which saves '%.*s' instead of 'result'",
                             LZ_FMT(w->ref.info->func->func->name.text),
                             LZ_FMT(d->saved_outputs.data[i].name));
        saved[i] = (lzg_saved){ LZ_STR("result"), LZ_STR("at::TensorList"), LZ_STR("result") };
    }
    d->saved_outputs.data = saved;
    return NULL;
}

static lz_err *map_vars(const work *w, lzg_names *vars)
{
    lz_str *names;
    LZ_TRY(lz_arena_new(w->arena, &names, vars->len));
    for (size_t i = 0; i < vars->len; i++) {
        const lzg_argument *arg = stand_in(w, vars->data[i]);
        if (!arg)
            return no_stand_in(w, vars->data[i]);
        names[i] = arg->name;
    }
    vars->data = names;
    return NULL;
}

static lz_err *derive_backward(const work *w, const lzg_derivative *from, lzg_derivative *d)
{
    *d = *from;
    d->original = from->formula;
    d->named_gradients = (lzg_names){ 0 };
    LZ_TRY(lzg_replace_all(w->arena, d->formula, LZ_STR("grad"), LZ_STR("grads[i]"), &d->formula));
    LZ_TRY(lzg_replace_all(w->arena, d->formula, LZ_STR("result"), LZ_STR("result[i]"), &d->formula));
    LZ_TRY(save_inputs(w, d));
    LZ_TRY(save_outputs(w, d));
    return map_vars(w, &d->vars);
}

/* ---- forward ---- */

static lz_err *replace_name(lz_arena *a, lz_str *formula, lz_str from, lz_str to, const char *after_from,
                            const char *after_to)
{
    lz_str what, with;
    LZ_TRY(lz_arena_printf(a, &what, "%.*s%s", LZ_FMT(from), after_from));
    LZ_TRY(lz_arena_printf(a, &with, "%.*s%s", LZ_FMT(to), after_to));
    return lzg_replace_all(a, *formula, what, with, formula);
}

static lz_err *rewrite_tensor(const work *w, lz_str *formula, const lzg_argument *arg, lz_str ref)
{
    if (arg->type->kind != LZG_TYPE_LIST
        && !(lzg_type_is(arg->type, LZG_TY_Tensor) && listed(takes_tensor, w->f->func->name.text)))
        return lz_err_at(LZ_ERR_MODEL, w->f->func_loc, "argument '%.*s' should be a list of tensors",
                         LZ_FMT(arg->name));
    LZ_TRY(replace_name(w->arena, formula, ref, arg->name, "_p", "_p"));
    return replace_name(w->arena, formula, ref, arg->name, "_t", "_t");
}

static lz_err *rewrite(const work *w, lz_str *formula, const lzg_argument *arg, lz_str ref)
{
    if (lzg_type_is_tensor_like(arg->type))
        return rewrite_tensor(w, formula, arg, ref);
    bool list = arg->type->kind == LZG_TYPE_LIST;
    return replace_name(w->arena, formula, ref, arg->name, "", list ? "[i]" : "");
}

static lz_err *copy_names(lz_arena *a, lzg_names from, lz_str **out)
{
    LZ_TRY(lz_arena_new(a, out, from.len));
    if (from.len)
        memcpy(*out, from.data, from.len * sizeof **out);
    return NULL;
}

static void rename_in(lz_str *names, size_t n, lz_str from, lz_str to)
{
    for (size_t i = 0; i < n; i++)
        if (lz_str_eq(names[i], from))
            names[i] = to;
}

/* Outputs are not arguments, so their names and types stay; the inputs' change. */
static lz_err *derive_forward(const work *w, const lzg_forward *from, lzg_forward *fw)
{
    const lzg_schema *f = w->f->func, *ref = w->ref.info->func->func;
    lz_str *vars, *tangents, *primals;
    *fw = *from;
    LZ_TRY(copy_names(w->arena, from->vars, &vars));
    LZ_TRY(copy_names(w->arena, from->tangents, &tangents));
    LZ_TRY(copy_names(w->arena, from->primals, &primals));
    LZ_TRY(lzg_replace_all(w->arena, fw->formula, LZ_STR("result"), LZ_STR("result[i]"), &fw->formula));
    for (size_t i = 0; i < common(f, ref); i++) {
        lz_str old = ref->args[i].name, new = f->args[i].name;
        LZ_TRY(rewrite(w, &fw->formula, &f->args[i], old));
        rename_in(vars, from->vars.len, old, new);
        rename_in(tangents, from->tangents.len, old, new);
        rename_in(primals, from->primals.len, old, new);
    }
    fw->vars.data = vars;
    fw->tangents.data = tangents;
    fw->primals.data = primals;
    return NULL;
}

/* ---- the info ---- */

static lz_err *derive_formulas(const work *w, lzg_diff_info *info)
{
    const lzg_diff_info *ref = w->ref.info;
    lzg_derivative *derivatives;
    lzg_forward *forward;
    LZ_TRY(lz_arena_new(w->arena, &derivatives, ref->nderivatives));
    LZ_TRY(lz_arena_new(w->arena, &forward, ref->forward.len));
    for (size_t i = 0; i < ref->nderivatives; i++)
        LZ_TRY(derive_backward(w, &ref->derivatives[i], &derivatives[i]));
    for (size_t i = 0; i < ref->forward.len; i++)
        LZ_TRY(derive_forward(w, &ref->forward.data[i], &forward[i]));
    info->derivatives = derivatives;
    info->nderivatives = ref->nderivatives;
    info->forward = (lzg_forwards){ forward, ref->forward.len };
    return NULL;
}

static bool differentiates(const lzg_diff_info *info, lz_str name)
{
    for (size_t i = 0; i < info->nderivatives; i++)
        if (lzg_names_have(info->derivatives[i].vars, name))
            return true;
    return false;
}

static lz_err *pick_args(const work *w, lzg_diff_info *info)
{
    const lzg_schema *s = w->f->func;
    lzg_binding *args;
    LZ_TRY(lz_arena_new(w->arena, &args, non_out(s)));
    for (size_t i = 0; i < non_out(s); i++) {
        if (!differentiates(info, s->args[i].name))
            continue;
        lzg_binding *b = &args[info->nargs++];
        *b = (lzg_binding){ .name = s->args[i].name, .what.name = s->args[i].name, .argument = &s->args[i] };
        LZ_TRY(argument_type(w, &s->args[i], &b->what.type));
    }
    info->args = args;
    return NULL;
}

static lz_err *derive(const work *w, lzg_diff_info *info)
{
    const lzg_op_name *name = &w->f->func->name;
    lz_str node = w->ref.info->node.ptr ? w->ref.info->node : LZ_STR("None");
    *info = (lzg_diff_info){
        .key = LZ_STR("Default"), .name = name->base, .func = w->f, .written = w->ref.info->written
    };
    LZ_TRY(lz_arena_printf(w->arena, &info->node, "Foreach%.*s%.*s", LZ_FMT(node), LZ_FMT(name->overload)));
    LZ_TRY(derive_formulas(w, info));
    LZ_TRY(lzg_diff_info_unite_saved(w->arena, info));
    return pick_args(w, info);
}

lz_err *lzg_foreach_derive(lz_arena *a, const lzg_function *f, const lz_map *functional,
                           const lz_map *non_functional, const lzg_diff_infos **out, bool *made)
{
    work w = { .arena = a, .f = f };
    lzg_diff_infos *infos;
    lzg_diff_info *info;
    *out = NULL;
    *made = false;
    LZ_TRY(find_reference(f, functional, non_functional, &w.ref));
    if (!w.ref.info)
        return NULL;
    LZ_TRY(lz_arena_new(a, &infos, 1));
    *infos = (lzg_diff_infos){ f, w.ref.info, 1 };
    *made = f->func->kind != LZG_INPLACE;
    if (*made) {
        LZ_TRY(lz_arena_new(a, &info, 1));
        LZ_TRY(derive(&w, info));
        infos->data = info;
    }
    *out = infos;
    return NULL;
}
