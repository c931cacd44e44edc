#include "gen/api/native.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"

lz_err *lzg_native_name(lz_arena *a, const lzg_schema *s, lz_str *out)
{
    bool is_out = lzg_schema_is_out_fn(s);
    *out = s->name.printed_base;
    if (!is_out && !s->name.overload.len)
        return NULL;
    return lz_arena_printf(a, out, "%.*s%s%s%.*s", LZ_FMT(s->name.printed_base), is_out ? "_out" : "",
                           s->name.overload.len ? "_" : "", LZ_FMT(s->name.overload));
}

/* Differs from the C++ API only in a written Tensor?, which stays optional. */
static lz_err *argument_type(lz_arena *a, const lzg_argument *arg, lzg_local local, bool symint,
                             const lzg_ctype **out)
{
    const lzg_type *t = arg->type;
    lzg_cpp_rules r = { .local = local, .writes = lzg_argument_writes(arg), .symint = symint };
    bool keeps = t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, LZG_TY_Tensor) && r.writes
                 && !local.const_ref_mutable;
    if (keeps)
        return lzg_ctype_wrap(a, LZG_C_MUT_REF, lzg_ctype_of(LZG_C_OPTIONAL, LZG_CPP_Tensor), out);
    return lzg_cpp_argumenttype(a, t, r, out);
}

/* The four of TensorOptions are optional here whatever the schema says. */
static const lzg_cpp options_types[] = { LZG_CPP_ScalarType, LZG_CPP_Layout, LZG_CPP_Device, LZG_CPP_bool };
static const char *const options_names[] = { "dtype", "layout", "device", "pin_memory" };

static lzg_binding options_argument(size_t i, bool defaults)
{
    lz_str name = lz_str_of(options_names[i]);
    lzg_binding b = { .name = name, .what = { name, lzg_ctype_of(LZG_C_OPTIONAL, options_types[i]) } };
    if (defaults)
        b.deflt = LZ_STR("{}");
    return b;
}

static lz_err *argument(lz_arena *a, const lzg_argument *arg, lzg_local local, bool symint, bool defaults,
                        lzg_binding *out)
{
    *out = (lzg_binding){ .name = arg->name, .what.name = arg->name, .argument = arg };
    LZ_TRY(argument_type(a, arg, local, symint, &out->what.type));
    if (!defaults || !arg->deflt.ptr)
        return NULL;
    return lzg_cpp_default_expr(a, arg->deflt, arg->type, symint, &out->deflt);
}

lz_err *lzg_native_arguments(lz_arena *a, const lzg_schema *s, lzg_local local, bool symint,
                             lzg_bindings *out)
{
    lzg_binding *at;
    bool defaults = !lzg_schema_is_out_fn(s);
    LZ_TRY(lz_arena_new(a, &at, s->nargs));
    for (size_t i = 0; i < s->nargs; i++) {
        if (s->args[i].section == LZG_TENSOR_OPTIONS)
            at[i] = options_argument(i - s->first[LZG_TENSOR_OPTIONS], defaults);
        else
            LZ_TRY(argument(a, &s->args[i], local, symint, defaults, &at[i]));
    }
    *out = (lzg_bindings){ at, s->nargs };
    return NULL;
}

lz_err *lzg_native_signature(lz_arena *a, const lzg_schema *s, lzg_local local, bool symint, lzg_sig *out)
{
    LZ_TRY(lzg_native_name(a, s, &out->name));
    LZ_TRY(lzg_cpp_returns_type(a, s, local, &out->returns));
    return lzg_native_arguments(a, s, local, symint, &out->args);
}

lz_err *lzg_kernel_signature(lz_arena *a, const lzg_function *f, const lzg_backend_metadata *m, bool external,
                             lzg_sig *out)
{
    lzg_local local = lzg_local_of(f);
    bool symint = m && lzg_backend_metadata_symint(m);
    if (symint && !lzg_schema_has_symint(f->func))
        return lz_errf(LZ_ERR_MODEL, "%.*s: a _symint kernel needs a SymInt in the schema",
                       LZ_FMT(m->kernel));
    if (external)
        return lzg_dispatcher_signature(a, f->func, local, (lzg_dispatcher_form){ .nosymint = !symint }, out);
    return lzg_native_signature(a, f->func, local, symint, out);
}
