#include "gen/api/structured.h"
#include "gen/api/cpp.h"

static bool is_optional_of(const lzg_type *t, lzg_base_ty elem)
{
    return t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, elem);
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *wrap_elem(lz_arena *a, lzg_ctype_kind wrap, const lzg_type *t, const lzg_ctype **out)
{
    const lzg_ctype *elem;
    LZ_TRY(lzg_structured_argumenttype(a, t->elem, &elem));
    return lzg_ctype_wrap(a, wrap, elem, out);
}

static lz_err *optional_type(lz_arena *a, const lzg_type *t, const lzg_ctype **out)
{
    const lzg_type *elem = t->elem;
    if (lzg_type_is(elem, LZG_TY_Tensor))
        *out = lzg_ctype_base(LZG_CPP_OptionalTensorRef);
    else if (lzg_type_is(elem, LZG_TY_Scalar))
        *out = lzg_ctype_base(LZG_CPP_OptionalScalarRef);
    else if (elem->kind == LZG_TYPE_LIST && lzg_type_is(elem->elem, LZG_TY_int))
        *out = lzg_ctype_base(LZG_CPP_OptionalIntArrayRef);
    else
        return wrap_elem(a, LZG_C_OPTIONAL, t, out);
    return NULL;
}

static lz_err *list_type(lz_arena *a, const lzg_type *t, const lzg_ctype **out)
{
    const lzg_type *elem = t->elem;
    if (lzg_type_is(elem, LZG_TY_Tensor))
        *out = lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_ITensorListRef);
    else if (is_optional_of(elem, LZG_TY_Tensor))
        *out = lzg_ctype_base(LZG_CPP_IOptTensorListRef);
    else if (lzg_type_is(elem, LZG_TY_int))
        *out = lzg_ctype_base(LZG_CPP_IntArrayRef);
    else
        return wrap_elem(a, LZG_C_ARRAY_REF, t, out);
    return NULL;
}

lz_err *lzg_structured_argumenttype(lz_arena *a, const lzg_type *t, const lzg_ctype **out)
{
    LZ_TRY(lzg_cpp_valuetype(a, t, false, out));
    if (*out)
        return NULL;
    if (t->kind == LZG_TYPE_OPTIONAL)
        return optional_type(a, t, out);
    if (t->kind == LZG_TYPE_LIST)
        return list_type(a, t, out);
    *out = lzg_ctype_of(LZG_C_CONST_REF, t->base == LZG_TY_Tensor ? LZG_CPP_Tensor : LZG_CPP_Scalar);
    return NULL;
}
/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_structured_argument(lz_arena *a, const lzg_argument *arg, lzg_binding *out)
{
    if (arg->section == LZG_TENSOR_OPTIONS)
        return lz_errf(LZ_ERR_UNSUPPORTED, "structured kernels take no TensorOptions");
    *out = (lzg_binding){ .name = arg->name, .what.name = arg->name, .argument = arg };
    return lzg_structured_argumenttype(a, arg->type, &out->what.type);
}

static lz_err *append(lz_arena *a, const lzg_argument *args, size_t n, lzg_binding *at, size_t *len)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lzg_structured_argument(a, &args[i], &at[(*len)++]));
    return NULL;
}

lz_err *lzg_structured_meta_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out)
{
    const lzg_schema *s = g->functional->func;
    lzg_binding *at;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &at, s->nargs));
    LZ_TRY(append(a, s->args, s->first[LZG_OUT], at, &n));
    *out = (lzg_bindings){ at, n };
    return NULL;
}

lz_err *lzg_structured_out_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out)
{
    const lzg_schema *s = g->out->func;
    const lzg_argument *outs;
    lzg_binding *at;
    size_t n = 0, nouts = lzg_schema_section(s, LZG_OUT, &outs);
    LZ_TRY(lz_arena_new(a, &at, nouts));
    LZ_TRY(append(a, outs, nouts, at, &n));
    *out = (lzg_bindings){ at, n };
    return NULL;
}

/* The replacement of the argument, or NULL; self is never replaced. */
static const lzg_precompute_replace *replacement(const lzg_precompute *p, const lzg_argument *arg)
{
    for (size_t i = 0; p && arg->section != LZG_SELF && i < p->nreplace; i++)
        if (lz_str_eq(p->replace[i].arg, arg->name))
            return &p->replace[i];
    return NULL;
}

static size_t impl_count(const lzg_schema *s, const lzg_precompute *p)
{
    size_t n = s->nargs + (p ? p->nadd : 0);
    for (size_t i = 0; i < s->nargs; i++) {
        const lzg_precompute_replace *r = replacement(p, &s->args[i]);
        n += r ? r->n : 0;
    }
    return n;
}

lz_err *lzg_structured_impl_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out)
{
    const lzg_schema *s = g->out->func;
    const lzg_precompute *p = g->out->precomputed;
    lzg_binding *at;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &at, impl_count(s, p)));
    for (size_t i = 0; i < s->first[LZG_OUT]; i++) {
        const lzg_precompute_replace *r = replacement(p, &s->args[i]);
        LZ_TRY(r ? append(a, r->with, r->n, at, &n) : append(a, &s->args[i], 1, at, &n));
    }
    if (p)
        LZ_TRY(append(a, p->add, p->nadd, at, &n));
    LZ_TRY(append(a, s->args + s->first[LZG_OUT], s->nargs - s->first[LZG_OUT], at, &n));
    *out = (lzg_bindings){ at, n };
    return NULL;
}
