#include "gen/torch/dest/register_dispatch_key.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen/api/translate.h"

/* The C++ signatures of at::<key>:: pass their arguments to the wrapper. */
static lz_err *check_direct(lz_arena *a, const lzg_function *f, lzg_bindings wrapper)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ 0 }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        lz_str *exprs;
        LZ_TRY(lzg_cpp_signature(a, f, forms[i], &sig));
        LZ_TRY(lzg_translate_bindings(a, sig.args, wrapper, &exprs));
    }
    return NULL;
}

lz_err *lzg_register_unstructured(lz_arena *a, const lzg_function *f, lzg_dispatch_key key,
                                  const lzg_backend_metadata *m, lzg_wrapper *out)
{
    lzg_sig kernel;
    lz_str *args;
    *out = (lzg_wrapper){ 0 };
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &out->sig));
    LZ_TRY(lz_arena_printf(a, &out->sig.name, "wrapper_%s_%.*s_%.*s", lzg_dispatch_key_name(key),
                           LZ_FMT(f->func->name.overload), LZ_FMT(out->sig.name)));
    LZ_TRY(check_direct(a, f, out->sig.args));
    if (!m)
        return NULL;
    LZ_TRY(lzg_kernel_signature(a, f, m, false, &kernel));
    LZ_TRY(lzg_translate_bindings(a, out->sig.args, kernel.args, &args));
    out->args = args;
    out->nargs = kernel.args.n;
    return lz_arena_printf(a, &out->callee, "%.*s::%.*s", LZ_FMT(m->cpp_namespace), LZ_FMT(m->kernel));
}

/* ---- structured ---- */

typedef struct structured {
    lz_arena *arena;
    const lzg_group *g;
    const lzg_function *f;
    lzg_dispatch_key key;
    lzg_scope scope; /* the wrapper's arguments, then the values that meta computed, then the outputs */
} structured;

static bool is_key(lzg_dispatch_key key, const char *name)
{
    return strcmp(lzg_dispatch_key_name(key), name) == 0;
}

static lz_err *call_meta(structured *w)
{
    lzg_bindings goals;
    lz_str *exprs;
    LZ_TRY(lzg_structured_meta_arguments(w->arena, w->g, &goals));
    return lzg_translate(&w->scope, goals, false, &exprs);
}

static lz_err *add_precomputed(structured *w, const lzg_argument *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lzg_nctype what = { .name = args[i].name };
        lz_str expr;
        LZ_TRY(lzg_structured_argumenttype(w->arena, args[i].type, &what.type));
        LZ_TRY(lz_arena_printf(w->arena, &expr, "precompute.%.*s", LZ_FMT(args[i].name)));
        LZ_TRY(lzg_scope_add(&w->scope, expr, what));
    }
    return NULL;
}

static lz_err *add_all_precomputed(structured *w)
{
    const lzg_precompute *p = w->g->out->precomputed;
    for (size_t i = 0; p && i < p->nreplace; i++)
        LZ_TRY(add_precomputed(w, p->replace[i].with, p->replace[i].n));
    return p ? add_precomputed(w, p->add, p->nadd) : NULL;
}

static lz_err *add_outputs(structured *w)
{
    lzg_bindings outs;
    bool given = w->f->func->kind == LZG_OUT_KIND;
    LZ_TRY(lzg_structured_out_arguments(w->arena, w->g, &outs));
    for (size_t i = 0; i < outs.n; i++) {
        lzg_nctype what = { outs.at[i].what.name, lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor) };
        lz_str expr;
        if (!lzg_ctype_eq(outs.at[i].what.type, lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_Tensor)))
            return lzg_refuse_type(outs.at[i].argument->type, "a structured op writes plain tensors");
        LZ_TRY(given ? lz_arena_printf(w->arena, &expr, "op.maybe_get_output(%zu)", i)
                     : lz_arena_printf(w->arena, &expr, "op.outputs_[%zu]", i));
        LZ_TRY(lzg_scope_add(&w->scope, expr, what));
    }
    return NULL;
}

/* impl of the backend's class, or the out op in its stead; Meta calls neither. */
static lz_err *call_impl(structured *w, lzg_wrapper *out)
{
    lzg_sig sig = { .name = LZ_STR("op.impl") };
    lz_str *exprs;
    if (is_key(w->key, "Meta"))
        return NULL;
    if (w->key == lzg_key_non_functional) {
        lzg_cpp_form form = lzg_cpp_most_faithful(w->g->out->func);
        form.fallback = w->f->manual_cpp_binding;
        LZ_TRY(lzg_cpp_signature_in(w->arena, w->g->out, lzg_local_of(w->f), form, &sig));
        LZ_TRY(lz_arena_printf(w->arena, &sig.name, "at::%.*s", LZ_FMT(sig.name)));
    } else {
        LZ_TRY(lzg_structured_impl_arguments(w->arena, w->g, &sig.args));
    }
    LZ_TRY(lzg_translate(&w->scope, sig.args, false, &exprs));
    out->callee = sig.name;
    out->args = exprs;
    out->nargs = sig.args.n;
    return NULL;
}

static lz_err *wrapper_signature(const structured *w, lzg_sig *out)
{
    const lzg_backend_metadata *m = lzg_function_kernel(w->f, w->key);
    bool symint = m && lzg_backend_metadata_symint(m);
    LZ_TRY(lzg_native_signature(w->arena, w->f->func, lzg_local_of(w->f), symint, out));
    return lz_arena_printf(w->arena, &out->name, "wrapper_%s_%.*s", lzg_dispatch_key_name(w->key),
                           LZ_FMT(out->name));
}

lz_err *lzg_register_structured(lz_arena *a, const lzg_group *g, const lzg_function *f, lzg_dispatch_key key,
                                lzg_wrapper *out)
{
    structured w = { .arena = a, .g = g, .f = f, .key = key };
    lzg_schema_kind kind = f->func->kind;
    *out = (lzg_wrapper){ 0 };
    if (f->manual_kernel_registration)
        return lz_errf(LZ_ERR_MODEL, "a structured operator is registered by its dispatch table");
    if (key == lzg_key_non_functional && kind == LZG_OUT_KIND)
        return NULL;
    if (kind == LZG_MUTABLE || kind == LZG_SCRATCH)
        return lz_errf(LZ_ERR_UNSUPPORTED, "structured operators have no %s form",
                       lzg_schema_kind_name(kind));
    LZ_TRY(wrapper_signature(&w, &out->sig));
    LZ_TRY(check_direct(a, f, out->sig.args));
    lzg_scope_init(&w.scope, a);
    LZ_TRY(lzg_scope_add_bindings(&w.scope, out->sig.args));
    LZ_TRY(call_meta(&w));
    LZ_TRY(add_all_precomputed(&w));
    LZ_TRY(add_outputs(&w));
    return call_impl(&w, out);
}

/* ---- all keys ---- */

static size_t count(lz_str s, lz_str part)
{
    size_t n = 0;
    for (bool more = true; more; n++)
        lz_str_cut(&s, part, &more);
    return n - 1;
}

/* a::b::native is registered in a::b and declared in a::b::cpu: two and three levels at most. */
static lz_err *check_namespace(const lzg_backend_metadata *m)
{
    size_t levels = 1 + count(m->cpp_namespace, LZ_STR("::"));
    if (levels <= 3 && levels - count(m->cpp_namespace, LZ_STR("::native")) <= 2)
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s: kernels are registered from two levels of namespaces at most",
                   LZ_FMT(m->cpp_namespace));
}

/* An inplace op without a kernel for Meta gets one that only checks, unless a composite serves. */
static bool has_meta_stub(const lzg_function *f)
{
    for (size_t i = 0; i < f->ndispatch; i++)
        if (is_key(f->dispatch[i].key, "Meta"))
            return false;
    return f->func->kind == LZG_INPLACE && !lzg_function_has_composite(f) && f->func->nreturns == 1;
}

/* Whether a structured group makes f's kernel for the key from its meta function. */
static bool is_made(const lzg_group *g, lzg_dispatch_key key)
{
    if (!g || !g->structured)
        return false;
    const lzg_backend_metadata *primary = lzg_function_kernel(g->out, key);
    return is_key(key, "Meta") || key == lzg_key_non_functional || (primary && primary->structured);
}

/* The kernels that f's table names; g is its group or NULL. */
static lz_err *register_kernels(lz_arena *a, const lzg_function *f, const lzg_group *g)
{
    lzg_wrapper w;
    if (f->manual_kernel_registration)
        return NULL;
    for (size_t i = 0; i < f->ndispatch; i++) {
        const lzg_backend_metadata *m = &f->dispatch[i];
        if (is_made(g, m->key))
            continue;
        if (!g || f == g->out)
            LZ_TRY(check_namespace(m));
        LZ_TRY(lzg_register_unstructured(a, f, m->key, m, &w));
    }
    if ((g && g->structured) || !has_meta_stub(f))
        return NULL;
    return lzg_register_unstructured(a, f, lzg_dispatch_key_find(LZ_STR("Meta")), NULL, &w);
}

static lz_err *register_members(lz_arena *a, const lzg_group *g, lzg_dispatch_key key)
{
    const lzg_function *const all[] = { g->functional, g->out, g->inplace, g->mutable };
    lzg_wrapper w;
    for (size_t i = 0; i < 4; i++)
        if (all[i])
            LZ_TRY(lzg_register_structured(a, g, all[i], key, &w));
    return NULL;
}

static lz_err *register_structured_keys(lz_arena *a, const lzg_group *g)
{
    lzg_dispatch_key made[] = { lzg_dispatch_key_find(LZ_STR("Meta")), lzg_key_non_functional };
    for (size_t i = 0; i < 2; i++) {
        if (lzg_function_kernel(g->out, made[i]))
            return lz_errf(LZ_ERR_MODEL, "the %s kernel of a structured operator is made, not named",
                           lzg_dispatch_key_name(made[i]));
        LZ_TRY(register_members(a, g, made[i]));
    }
    for (size_t i = 0; i < g->out->ndispatch; i++) {
        const lzg_backend_metadata *m = &g->out->dispatch[i];
        if (!m->structured)
            continue;
        LZ_TRY(check_namespace(m));
        LZ_TRY(register_members(a, g, m->key));
    }
    return NULL;
}

lz_err *lzg_register_group(lz_arena *a, const lzg_group *g)
{
    const lzg_function *const all[] = { g->functional, g->out, g->inplace, g->mutable };
    for (size_t i = 0; i < 4; i++)
        if (all[i])
            LZ_TRY(register_kernels(a, all[i], g));
    return g->structured ? register_structured_keys(a, g) : NULL;
}

lz_err *lzg_register_single(lz_arena *a, const lzg_function *f)
{
    return register_kernels(a, f, NULL);
}
