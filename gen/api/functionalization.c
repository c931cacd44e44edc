#include "gen/api/functionalization.h"
#include "gen/api/dispatcher.h"

#define BINDING(text, t)                                                                                     \
    {                                                                                                        \
        .name = { text, sizeof(text) - 1 }, .what = { { text, sizeof(text) - 1 }, t }                        \
    }
#define TENSOR  &lzg_ctypes[LZG_C_CONST_REF][LZG_CPP_Tensor]
#define BASE(t) &lzg_ctypes[LZG_C_BASE][LZG_CPP_##t]

const lzg_binding lzg_base_binding = BINDING("base", TENSOR);
const lzg_binding lzg_mutated_view_binding = BINDING("mutated_view", TENSOR);
static const lzg_binding has_symbolic_inputs = BINDING("has_symbolic_inputs", BASE(bool));
static const lzg_binding out_index = BINDING("out_index", BASE(long));
static const lzg_binding reapply_views = BINDING("reapply_views", BASE(bool));
static const lzg_binding inverse_return_mode = BINDING("inverse_return_mode", BASE(InverseReturnMode));

bool lzg_functionalization_multi_output(const lzg_schema *s)
{
    return s->nreturns > 1 || (s->nreturns == 1 && lzg_type_is_list_like(s->returns[0].type));
}

/* Room for the arguments and `extra` more; the first argument must be the viewed Tensor. */
static lz_err *begin(lz_arena *a, const lzg_schema *s, size_t extra, lzg_binding **out)
{
    if (s->nargs == 0 || !lzg_type_is(s->args[0].type, LZG_TY_Tensor))
        return lz_errf(LZ_ERR_UNSUPPORTED, "a view's first argument must be a Tensor");
    return lz_arena_new(a, out, s->nargs + extra);
}

static lz_err *add_rest(lz_arena *a, const lzg_schema *s, lzg_local local, bool owning, lzg_binding *at,
                        size_t n, lzg_bindings *out)
{
    for (size_t i = 1; i < s->nargs; i++)
        LZ_TRY(lzg_dispatcher_argument(a, &s->args[i], local, (lzg_dispatcher_form){ .owning = owning },
                                       &at[n++]));
    *out = (lzg_bindings){ at, n };
    return NULL;
}

lz_err *lzg_functionalization_attributes(lz_arena *a, const lzg_schema *s, lzg_local local, bool owning,
                                         lzg_bindings *out)
{
    lzg_binding *at;
    LZ_TRY(begin(a, s, 2, &at));
    at[0] = reapply_views;
    at[1] = inverse_return_mode;
    return add_rest(a, s, local, owning, at, 2, out);
}

lz_err *lzg_functionalization_base_arguments(lz_arena *a, const lzg_schema *s, lzg_bindings *out)
{
    lzg_binding *at;
    LZ_TRY(lz_arena_new(a, &at, 2));
    at[0] = has_symbolic_inputs;
    at[1] = out_index;
    *out = (lzg_bindings){ at, lzg_functionalization_multi_output(s) ? 2 : 1 };
    return NULL;
}

lz_err *lzg_functionalization_ctor_arguments(lz_arena *a, const lzg_schema *s, lzg_local local,
                                             lzg_bindings *out)
{
    lzg_binding *at;
    size_t n = 0;
    LZ_TRY(begin(a, s, 4, &at));
    at[n++] = has_symbolic_inputs;
    if (lzg_functionalization_multi_output(s))
        at[n++] = out_index;
    at[n++] = reapply_views;
    at[n++] = inverse_return_mode;
    return add_rest(a, s, local, false, at, n, out);
}

lz_err *lzg_functionalization_op_arguments(lz_arena *a, const lzg_schema *s, lzg_local local, bool reverse,
                                           lzg_bindings *out)
{
    lzg_binding *at;
    size_t n = 0;
    LZ_TRY(begin(a, s, 4, &at));
    at[n++] = lzg_base_binding;
    if (reverse) {
        at[n++] = lzg_mutated_view_binding;
        at[n++] = inverse_return_mode;
        if (lzg_functionalization_multi_output(s))
            at[n++] = out_index;
    }
    return add_rest(a, s, local, false, at, n, out);
}

static lz_err *check_returns(const lzg_schema *s)
{
    for (size_t i = 0; i < s->nreturns; i++)
        if (!lzg_type_is_tensor_like(s->returns[i].type))
            return lzg_refuse_type(s->returns[i].type, "a view returns tensors only");
    return s->nreturns ? NULL : lz_errf(LZ_ERR_UNSUPPORTED, "a view returns something");
}

lz_err *lzg_view_inverse_decl(lz_arena *a, const lzg_view_group *g, lz_str *out)
{
    const lzg_schema *s = g->view->func;
    lzg_sig sig = { .returns = BASE(Tensor) };
    LZ_TRY(check_returns(s));
    LZ_TRY(lz_arena_printf(a, &sig.name, "%.*s_inverse", LZ_FMT(s->name.unambiguous)));
    LZ_TRY(lzg_functionalization_op_arguments(a, s, lzg_local_of(g->view), true, &sig.args));
    lz_text t = { 0 };
    lz_text_puts(&t, "static ");
    lzg_sig_decl(&sig, &t);
    lz_text_putc(&t, ';');
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}
