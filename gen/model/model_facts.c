/* Fields that name an argument or another operator: mask, length, number, statistics, copying. */
#include "gen/model/model_entry.h"

static lz_loc at(const lzg_yaml *v, lz_str part)
{
    return lzg_yaml_at(v, (size_t)(part.ptr - v->text.ptr));
}

static lz_err *find_argument(const lzg_entry *x, lzg_field field, const lzg_yaml *v, lz_str name,
                             uint8_t *out)
{
    const lzg_schema *s = x->f->func;
    for (size_t i = 0; i < s->nargs; i++)
        if (lz_str_eq(s->args[i].name, name)) {
            *out = (uint8_t)i;
            return NULL;
        }
    return lz_err_at(LZ_ERR_MODEL, at(v, name), "%s names '%.*s', which is no argument",
                     lzg_field_name(field), LZ_FMT(name));
}

/* ---- mask: condition, number: other ---- */

static lz_err *find_tensor(lzg_entry *x, lzg_field field, const lzg_yaml *v, uint8_t *out)
{
    uint8_t i = 0;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(field, v, "a string");
    LZ_TRY(find_argument(x, field, v, v->text, &i));
    if (!lzg_type_is_tensor_like(x->f->func->args[i].type))
        return lz_err_at(LZ_ERR_MODEL, v->loc, "%s names '%.*s', which is no tensor", lzg_field_name(field),
                         LZ_FMT(v->text));
    *out = (uint8_t)(i + 1);
    return NULL;
}

lz_err *lzg_entry_mask(lzg_entry *x, const lzg_yaml *v)
{
    return find_tensor(x, LZG_F_mask, v, &x->f->layout.mask);
}

lz_err *lzg_entry_number(lzg_entry *x, const lzg_yaml *v)
{
    return find_tensor(x, LZG_F_number, v, &x->f->layout.number);
}

/* ---- length: indices + 1 ---- */

lz_err *lzg_entry_length(lzg_entry *x, const lzg_yaml *v)
{
    uint8_t i = 0;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_length, v, "a string");
    lz_str name = v->text, more = LZ_STR(" + 1");
    bool one_more = lz_str_ends(name, more);
    name.len -= one_more ? more.len : 0;
    LZ_TRY(find_argument(x, LZG_F_length, v, name, &i));
    const lzg_type *type = x->f->func->args[i].type;
    if (!lzg_type_is_base_like(type, LZG_TY_int) && !lzg_type_is_symint_like(type))
        return lz_err_at(LZ_ERR_MODEL, v->loc, "length names '%.*s', which is no number and no list of them",
                         LZ_FMT(name));
    x->f->layout.length = (uint8_t)(i + 1);
    x->f->layout.more = one_more;
    return NULL;
}

/* ---- statistics: _native_batch_norm_legit if training ---- */

lz_err *lzg_entry_statistics(lzg_entry *x, const lzg_yaml *v)
{
    lzg_function *f = x->f;
    bool more = false;
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_statistics, v, "a string");
    lz_str when = v->text;
    f->statistics = lz_str_cut(&when, LZ_STR(" if "), &more);
    if (!more)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "statistics is an operator, 'if' and an argument");
    LZ_TRY(find_argument(x, LZG_F_statistics, v, when, &f->statistics_when));
    if (!lzg_type_is(f->func->args[f->statistics_when].type, LZG_TY_bool))
        return lz_err_at(LZ_ERR_MODEL, at(v, when), "statistics names '%.*s', which is no bool",
                         LZ_FMT(when));
    f->layout.memory |= LZ_MEMORY_STATISTICS;
    return NULL;
}

int lzg_statistics_argument(const lzg_function *f, const lzg_argument *a)
{
    if (lzg_type_is_tensor_like(a->type) && lzg_type_is_nullable(a->type))
        return LZ_NO_ARGUMENT;
    for (size_t i = 0; i < f->func->nargs; i++)
        if (lz_str_eq(f->func->args[i].name, a->name))
            return (int)i;
    return lzg_type_is(a->type, LZG_TY_bool) ? f->statistics_when : -1;
}

static lz_err *check_statistics(const lzg_ops *ops, const lzg_function *f)
{
    const lzg_function *marked = lzg_ops_find(ops, f->statistics);
    if (!f->statistics.ptr)
        return NULL;
    if (!marked || marked->func->kind != LZG_MUTABLE)
        return lz_err_at(LZ_ERR_MODEL, f->func_loc,
                         "statistics names '%.*s', which is no operator that writes", LZ_FMT(f->statistics));
    for (size_t i = 0; i < marked->func->nargs; i++)
        if (lzg_statistics_argument(f, &marked->func->args[i]) < 0)
            return lz_err_at(LZ_ERR_MODEL, f->func_loc, "%.*s needs '%.*s', which is no argument",
                             LZ_FMT(f->statistics), LZ_FMT(marked->func->args[i].name));
    return NULL;
}

/* ---- copying: reshape ---- */

lz_err *lzg_entry_copying(lzg_entry *x, const lzg_yaml *v)
{
    if (v->kind != LZG_YAML_STR)
        return lzg_entry_wrong(LZG_F_copying, v, "a string");
    x->f->copying = v->text;
    return NULL;
}

static bool same_types(const lzg_schema *a, const lzg_schema *b)
{
    bool same = a->nargs == b->nargs;
    for (size_t i = 0; same && i < a->nargs; i++)
        same = lzg_type_eq(a->args[i].type, b->args[i].type);
    return same;
}

static lz_err *check_copying(const lzg_ops *ops, const lzg_function *f)
{
    const lzg_function *other = lzg_ops_find(ops, f->copying);
    if (f->copying.ptr && (!other || !same_types(f->func, other->func)))
        return lz_err_at(LZ_ERR_MODEL, f->func_loc,
                         "copying names '%.*s', which is no operator with these arguments",
                         LZ_FMT(f->copying));
    return NULL;
}

lz_err *lzg_facts_check(const lzg_ops *ops, const lzg_function *f)
{
    LZ_TRY(check_statistics(ops, f));
    return check_copying(ops, f);
}
