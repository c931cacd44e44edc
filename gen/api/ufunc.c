#include "gen/api/ufunc.h"
#include "gen/api/cpp.h"
#include "gen/api/structured.h"

lz_err *lzg_ufunc_kernel_name(lz_arena *a, const lzg_group *g, lzg_dispatch_key key, lz_str *out)
{
    return lz_arena_printf(a, out, "ufunc_%.*s_%s", LZ_FMT(g->out->func->name.printed_base),
                           lzg_dispatch_key_name(key));
}

/* Value types as they are, Tensor and Scalar in the type of the computation. */
static lz_err *argument(lz_arena *a, const lzg_argument *arg, const lzg_ctype *compute, lzg_binding *out)
{
    *out = (lzg_binding){ .name = arg->name, .what.name = arg->name, .argument = arg };
    LZ_TRY(lzg_cpp_valuetype(a, arg->type, false, &out->what.type));
    if (out->what.type)
        return NULL;
    out->what.type = compute;
    if (lzg_type_is(arg->type, LZG_TY_Tensor) || lzg_type_is(arg->type, LZG_TY_Scalar))
        return NULL;
    return lzg_refuse_type(arg->type, "a ufunc takes no argument of this type");
}

lz_err *lzg_ufunc_arguments(lz_arena *a, const lzg_group *g, const lzg_ctype *compute, lzg_bindings *out)
{
    const lzg_schema *s = g->functional->func;
    lzg_binding *at;
    size_t n = s->first[LZG_OUT];
    LZ_TRY(lz_arena_new(a, &at, n));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(argument(a, &s->args[i], compute, &at[i]));
    *out = (lzg_bindings){ at, n };
    return NULL;
}

static lz_err *apply_argument(const lzg_argument *arg, lzg_binding *out)
{
    *out = (lzg_binding){ .name = arg->name,
                          .what = { arg->name, lzg_ctype_base(LZG_CPP_scalar_t) },
                          .argument = arg };
    if (lzg_type_is(arg->type, LZG_TY_Tensor))
        return NULL;
    return lzg_refuse_type(arg->type, "a functor applies to plain tensors");
}

lz_err *lzg_ufunctor_arguments(lz_arena *a, const lzg_group *g, int scalar_tensor, lzg_ufunctor *out)
{
    const lzg_schema *s = g->functional->func;
    lzg_binding *ctor, *apply;
    size_t n = s->first[LZG_OUT], nctor = 0, napply = 0;
    int tensors = 0;
    LZ_TRY(lz_arena_new(a, &ctor, n));
    LZ_TRY(lz_arena_new(a, &apply, n));
    for (size_t i = 0; i < n; i++) {
        bool tensor = lzg_type_is_tensor_like(s->args[i].type);
        if (tensor && tensors++ != scalar_tensor)
            LZ_TRY(apply_argument(&s->args[i], &apply[napply++]));
        else
            LZ_TRY(argument(a, &s->args[i], lzg_ctype_base(LZG_CPP_opmath_t), &ctor[nctor++]));
    }
    if (scalar_tensor >= tensors)
        return lz_errf(LZ_ERR_MODEL, "a functor on tensor %d needs that many tensors", scalar_tensor);
    *out = (lzg_ufunctor){ { ctor, nctor }, { apply, napply } };
    return NULL;
}

lz_err *lzg_ufunc_stub_arguments(lz_arena *a, const lzg_group *g, lzg_bindings *out)
{
    const lzg_schema *s = g->out->func;
    lzg_binding *at;
    size_t n = 0;
    LZ_TRY(lz_arena_new(a, &at, s->first[LZG_OUT]));
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        if (!lzg_type_is_tensor_like(s->args[i].type))
            LZ_TRY(lzg_structured_argument(a, &s->args[i], &at[n++]));
    *out = (lzg_bindings){ at, n };
    return NULL;
}
