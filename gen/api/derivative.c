#include "gen/api/derivative.h"
#include "base/number.h"
#include "gen/api/cpp.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"

const lzg_diff_info *lzg_diff_infos_get(const lzg_diff_infos *infos, lz_str key)
{
    for (size_t i = 0; infos && i < infos->len; i++)
        if (lz_str_eq(infos->data[i].key, key))
            return &infos->data[i];
    return NULL;
}

bool lzg_diff_infos_any(const lzg_diff_infos *infos)
{
    for (size_t i = 0; infos && i < infos->len; i++)
        if (infos->data[i].nargs > 0)
            return true;
    return false;
}

bool lzg_diff_uses(const lzg_diff_info *info, lz_str ident)
{
    for (size_t i = 0; info && i < info->nderivatives; i++)
        if (lzg_ident_used(info->derivatives[i].formula, ident))
            return true;
    return false;
}

static bool is_zero(const lzg_yaml *y)
{
    double v;
    return (y->kind == LZG_YAML_INT || y->kind == LZG_YAML_FLOAT) && lz_double_parse(y->text, &v) && v == 0;
}

bool lzg_yaml_truthy(const lzg_yaml *y)
{
    switch (y->kind) {
    case LZG_YAML_NULL:
        return false;
    case LZG_YAML_BOOL:
        return y->truth;
    case LZG_YAML_STR:
        return y->text.len > 0;
    case LZG_YAML_LIST:
    case LZG_YAML_MAP:
        return y->len > 0;
    default:
        return !is_zero(y);
    }
}

/* An entry that says "no", as opposed to one that says nothing. */
static bool says_false(const lzg_yaml *y)
{
    return (y->kind == LZG_YAML_BOOL && !y->truth) || is_zero(y);
}

static lz_err *check_given(const lzg_function *f, const lzg_yaml *given)
{
    if (given->len != f->func->nreturns)
        return lz_err_at(LZ_ERR_MODEL, given->loc,
                         "output_differentiability has %zu elements, but %.*s has %zu outputs", given->len,
                         LZ_FMT(f->func->name.text), f->func->nreturns);
    for (size_t i = 0; f->func->kind == LZG_INPLACE && i < given->len; i++)
        if (says_false(given->items[i]))
            return lz_err_at(LZ_ERR_MODEL, given->items[i]->loc,
                             "the output of the in-place operator %.*s cannot be non-differentiable",
                             LZ_FMT(f->func->name.text));
    return NULL;
}

static bool may_differ(const lzg_diff_info *info, const lzg_type *type, lz_str name)
{
    return lzg_type_is_tensor_like(type) && !(info && lzg_names_have(info->non_differentiable, name));
}

lz_err *lzg_differentiable_outputs(lz_arena *a, const lzg_function *f, const lzg_diff_info *info,
                                   lzg_names *out)
{
    const lzg_yaml *given = info ? info->output_differentiability : NULL;
    lz_str *names;
    size_t n = 0;
    const lzg_ctype *type;
    LZ_TRY(lzg_cpp_return_names(a, f, "result", &names));
    for (size_t i = 0; i < f->func->nreturns; i++)
        LZ_TRY(lzg_cpp_return_type(a, &f->func->returns[i], lzg_local_of(f), &type));
    if (given)
        LZ_TRY(check_given(f, given));
    for (size_t i = 0; i < f->func->nreturns; i++)
        if (given ? info->conditional || lzg_yaml_truthy(given->items[i])
                  : may_differ(info, f->func->returns[i].type, names[i]))
            names[n++] = names[i];
    bool first_only = !given && lzg_diff_uses(info, LZ_STR("grad"));
    *out = (lzg_names){ names, first_only && n > 1 ? 1 : n };
    return NULL;
}

lz_err *lzg_node_prefix(lz_arena *a, lz_str name, lz_str *out)
{
    lz_text t = { 0 };
    lzg_put_title(&t, name);
    lz_text_puts(&t, "Backward");
    lz_err *e = lzg_replace_all(a, lz_text_view(&t), LZ_STR("ForwardBackward"), LZ_STR("Backward"), out);
    if (!e && out->ptr == t.ptr)
        e = lz_arena_copy(a, *out, out);
    e = lz_err_first(lz_text_check(&t), e);
    lz_text_deinit(&t);
    return e;
}

lz_err *lzg_diff_info_view_copy(lz_arena *a, const lzg_diff_info *info, const lzg_view_group *g,
                                lzg_diff_info *out)
{
    *out = *info;
    out->func = g->view_copy;
    LZ_TRY(lz_arena_printf(a, &out->name, "%.*s_copy.", LZ_FMT(info->name)));
    if (info->node.ptr)
        LZ_TRY(lz_arena_printf(a, &out->node, "%.*s_copy", LZ_FMT(info->node)));
    return NULL;
}

static lz_err *unite(lz_arena *a, const lzg_diff_info *info, bool outputs, lzg_saved_list *out)
{
    lzg_saved *all;
    size_t n = 0;
    for (size_t i = 0; i < info->nderivatives; i++)
        n += outputs ? info->derivatives[i].saved_outputs.len : info->derivatives[i].saved_inputs.len;
    LZ_TRY(lz_arena_new(a, &all, n));
    n = 0;
    for (size_t i = 0; i < info->nderivatives; i++) {
        const lzg_derivative *d = &info->derivatives[i];
        lzg_saved_list list = outputs ? d->saved_outputs : d->saved_inputs;
        for (size_t k = 0; k < list.len; k++)
            all[n++] = list.data[k];
    }
    return lzg_saved_unique(a, (lzg_saved_list){ all, n }, out);
}

lz_err *lzg_diff_info_unite_saved(lz_arena *a, lzg_diff_info *info)
{
    LZ_TRY(unite(a, info, false, &info->saved_inputs));
    return unite(a, info, true, &info->saved_outputs);
}
