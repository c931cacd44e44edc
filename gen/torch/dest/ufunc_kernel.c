#include "gen/torch/dest/ufunc_kernel.h"
#include "gen/api/structured.h"
#include "gen/api/translate.h"
#include "gen/api/ufunc.h"

static const lzg_ufunc_loop *loop_of(const lzg_group *g, lzg_ufunc_key key)
{
    for (size_t i = 0; i < g->out->nufunc; i++)
        if (g->out->ufunc[i].key == key)
            return &g->out->ufunc[i];
    return NULL;
}

static bool loop_has(const lzg_ufunc_loop *l, lz_str dtype)
{
    for (size_t i = 0; l && i < l->ndtypes; i++)
        if (lz_str_eq(l->dtypes[i], dtype))
            return true;
    return false;
}

/* The stub takes the arguments of the kernel's class, without the tensors. */
static lz_err *check_stub(lz_arena *a, const lzg_group *g)
{
    lzg_bindings stub, impl;
    lz_str *exprs;
    LZ_TRY(lzg_ufunc_stub_arguments(a, g, &stub));
    LZ_TRY(lzg_structured_impl_arguments(a, g, &impl));
    return lzg_translate_bindings(a, impl, stub, &exprs);
}

/* ---- CPU ---- */

/* The dtypes of a CPU loop come from its own key, then from these. */
static const lzg_ufunc_key scalar_keys[] = { LZG_UFUNC_CPUScalar, LZG_UFUNC_ScalarOnly, LZG_UFUNC_Generic };
static const lzg_ufunc_key vector_keys[] = { LZG_UFUNC_CPUVector, LZG_UFUNC_Generic };

static bool has_scalar_loop(const lzg_group *g, lz_str dtype)
{
    for (size_t i = 0; i < 3; i++)
        if (loop_has(loop_of(g, scalar_keys[i]), dtype))
            return true;
    return false;
}

/* *any: there is a vector loop at all. */
static lz_err *check_vector_dtypes(const lzg_group *g, bool *any)
{
    for (size_t i = 0; i < 2; i++) {
        const lzg_ufunc_loop *l = loop_of(g, vector_keys[i]);
        *any = *any || l;
        for (size_t k = 0; l && k < l->ndtypes; k++)
            if (!has_scalar_loop(g, l->dtypes[k]))
                return lz_errf(LZ_ERR_MODEL, "%.*s has a vector loop but no scalar one",
                               LZ_FMT(l->dtypes[k]));
    }
    return NULL;
}

/* Inside the loop: the elements of the tensors, and every Scalar in the same type. */
static lz_err *check_cpu_loop(lz_arena *a, const lzg_group *g, const lzg_ctype *element)
{
    const lzg_schema *s = g->functional->func;
    lzg_scope scope;
    lzg_bindings goals, stub;
    lz_str *exprs;
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_ufunc_stub_arguments(a, g, &stub));
    for (size_t i = 0; i < stub.n; i++)
        if (lzg_type_is(stub.at[i].argument->type, LZG_TY_Scalar))
            LZ_TRY(lzg_scope_add(&scope, stub.at[i].name, (lzg_nctype){ stub.at[i].what.name, element }));
    for (size_t i = 0; i < s->first[LZG_OUT]; i++) {
        if (!lzg_type_is_tensor_like(s->args[i].type))
            continue;
        if (!lzg_type_is(s->args[i].type, LZG_TY_Tensor))
            return lzg_refuse_type(s->args[i].type, "a ufunc loops over plain tensors");
        LZ_TRY(lzg_scope_add(&scope, s->args[i].name, (lzg_nctype){ s->args[i].name, element }));
    }
    LZ_TRY(lzg_ufunc_arguments(a, g, element, &goals));
    return lzg_translate(&scope, goals, false, &exprs);
}

lz_err *lzg_ufunc_cpu(lz_arena *a, const lzg_group *g)
{
    bool vector = false, scalar = false;
    LZ_TRY(check_stub(a, g));
    LZ_TRY(check_vector_dtypes(g, &vector));
    for (size_t i = 0; i < 3; i++)
        scalar = scalar || loop_of(g, scalar_keys[i]);
    if (scalar)
        LZ_TRY(check_cpu_loop(a, g, lzg_ctype_base(LZG_CPP_scalar_t)));
    return vector ? check_cpu_loop(a, g, lzg_ctype_of(LZG_C_VECTORIZED, LZG_CPP_scalar_t)) : NULL;
}

/* ---- CUDA ---- */

/* The functors: which tensor moves into the constructor, and under which name the kernel
 * hands its value over. */
static const struct {
    lzg_ufunc_key key;
    int held;
    const char *held_name;
} functors[] = {
    { LZG_UFUNC_CUDAFunctorOnSelf, 1, "other" },
    { LZG_UFUNC_CUDAFunctorOnOther, 0, "self" },
    { LZG_UFUNC_CUDAFunctor, -1, NULL },
};

static bool is_binary(const lzg_group *g)
{
    const lzg_schema *s = g->functional->func;
    int tensors = 0;
    for (size_t i = 0; i < s->first[LZG_OUT]; i++)
        tensors += lzg_type_is_tensor_like(s->args[i].type);
    return tensors == 2;
}

/* A functor that no key names is made from the one template that ScalarOnly and Generic share. */
static lz_err *check_template(lz_arena *a, const lzg_group *g, const lzg_ufunctor *functor)
{
    const lzg_ufunc_loop *only = loop_of(g, LZG_UFUNC_ScalarOnly), *generic = loop_of(g, LZG_UFUNC_Generic);
    if (!only && !generic)
        return lz_errf(LZ_ERR_MODEL, "a CUDA functor needs its own, a ScalarOnly or a Generic loop");
    if (only && generic && !lz_str_eq(only->name, generic->name))
        return lz_errf(LZ_ERR_MODEL, "ScalarOnly and Generic must name the same ufunc");
    lzg_scope scope;
    lzg_bindings goals;
    lz_str *exprs;
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_scope_add_bindings(&scope, functor->ctor));
    LZ_TRY(lzg_scope_add_bindings(&scope, functor->apply));
    LZ_TRY(lzg_ufunc_arguments(a, g, lzg_ctype_base(LZG_CPP_opmath_t), &goals));
    return lzg_translate(&scope, goals, false, &exprs);
}

/* The kernel constructs the functor from its own arguments and the held operand's value. */
static lz_err *check_construction(lz_arena *a, const lzg_group *g, size_t i, const lzg_ufunctor *functor)
{
    lzg_scope scope;
    lzg_bindings impl;
    lz_str *exprs;
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_structured_impl_arguments(a, g, &impl));
    LZ_TRY(lzg_scope_add_bindings(&scope, impl));
    if (functors[i].held_name)
        LZ_TRY(lzg_scope_add(
            &scope, LZ_STR("iter.scalar_value<opmath_t>"),
            (lzg_nctype){ lz_str_of(functors[i].held_name), lzg_ctype_base(LZG_CPP_opmath_t) }));
    return lzg_translate(&scope, functor->ctor, false, &exprs);
}

static bool functor_has(const lzg_group *g, lzg_ufunc_key key, lz_str dtype)
{
    const lzg_ufunc_loop *own = loop_of(g, key);
    if (own)
        return loop_has(own, dtype);
    return loop_has(loop_of(g, LZG_UFUNC_ScalarOnly), dtype)
           || loop_has(loop_of(g, LZG_UFUNC_Generic), dtype);
}

/* Whatever dtype a functor knows, the plain one must know. */
static lz_err *check_dtypes(const lzg_group *g, lzg_ufunc_key key)
{
    for (size_t l = 0; l < g->out->nufunc; l++)
        for (size_t i = 0; i < g->out->ufunc[l].ndtypes; i++) {
            lz_str dtype = g->out->ufunc[l].dtypes[i];
            if (functor_has(g, key, dtype) && !functor_has(g, LZG_UFUNC_CUDAFunctor, dtype))
                return lz_errf(LZ_ERR_MODEL, "%.*s has a %s but no CUDAFunctor", LZ_FMT(dtype),
                               lzg_ufunc_key_name(key));
        }
    return NULL;
}

static lz_err *check_functor(lz_arena *a, const lzg_group *g, size_t i)
{
    lzg_ufunctor functor;
    LZ_TRY(lzg_ufunctor_arguments(a, g, functors[i].held, &functor));
    if (!loop_of(g, functors[i].key))
        LZ_TRY(check_template(a, g, &functor));
    LZ_TRY(check_dtypes(g, functors[i].key));
    return check_construction(a, g, i, &functor);
}

lz_err *lzg_ufunc_cuda(lz_arena *a, const lzg_group *g)
{
    bool binary = is_binary(g);
    for (size_t i = 0; i < 3; i++) {
        bool held = functors[i].held >= 0;
        if (!held || binary)
            LZ_TRY(check_functor(a, g, i));
        else if (loop_of(g, functors[i].key))
            return lz_errf(LZ_ERR_MODEL, "%s is for operators on two tensors",
                           lzg_ufunc_key_name(functors[i].key));
    }
    return check_stub(a, g);
}
