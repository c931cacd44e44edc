#include "gen/api/dispatcher.h"
#include "gen/api/cpp.h"

lz_err *lzg_dispatcher_argument(lz_arena *a, const lzg_argument *arg, lzg_local local,
                                lzg_dispatcher_form form, lzg_binding *out)
{
    lzg_cpp_rules r = {
        .local = local, .writes = lzg_argument_writes(arg), .owning = form.owning, .symint = !form.nosymint
    };
    *out = (lzg_binding){ .name = arg->name, .what.name = arg->name, .argument = arg };
    return lzg_cpp_argumenttype(a, arg->type, r, &out->what.type);
}

lz_err *lzg_dispatcher_arguments(lz_arena *a, const lzg_schema *s, lzg_local local, lzg_dispatcher_form form,
                                 lzg_bindings *out)
{
    lzg_binding *at;
    LZ_TRY(lz_arena_new(a, &at, s->nargs));
    for (size_t i = 0; i < s->nargs; i++)
        LZ_TRY(lzg_dispatcher_argument(a, &s->args[i], local, form, &at[i]));
    *out = (lzg_bindings){ at, s->nargs };
    return NULL;
}

lz_err *lzg_dispatcher_signature(lz_arena *a, const lzg_schema *s, lzg_local local, lzg_dispatcher_form form,
                                 lzg_sig *out)
{
    LZ_TRY(lzg_cpp_name(a, s, (lzg_cpp_form){ 0 }, &out->name));
    LZ_TRY(lzg_cpp_returns_type(a, s, local, &out->returns));
    return lzg_dispatcher_arguments(a, s, local, form, &out->args);
}
