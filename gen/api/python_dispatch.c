#include "gen/api/python_dispatch.h"
#include "gen/api/cpp.h"
#include "gen/api/python_types.h"
#include "gen/text/lists.h"

/* ---- returns ---- */

static lz_err *returns_by_value(lz_arena *a, const lzg_function *f, const lzg_ctype **out)
{
    lzg_schema s = *f->func;
    lzg_return *returns;
    LZ_TRY(lz_arena_new(a, &returns, s.nreturns));
    for (size_t i = 0; i < s.nreturns; i++)
        returns[i] = (lzg_return){ .name = s.returns[i].name, .type = s.returns[i].type };
    s.returns = returns;
    return lzg_cpp_returns_type(a, &s, lzg_local_of(f), out);
}

lz_err *lzg_python_lambda_return(lz_arena *a, const lzg_ops *ops, const lzg_function *f, lz_str *out)
{
    const lzg_ctype *type;
    lz_text text = { 0 };
    LZ_TRY(returns_by_value(a, f, &type));
    lzg_ctype_print(type, &text);
    lz_err *e = lz_text_save(&text, a, out);
    lz_text_deinit(&text);
    LZ_TRY(e);
    if (lzg_lists_has(ops->lists, "python.supported_return_types", *out))
        return NULL;
    return lz_errf(LZ_ERR_UNSUPPORTED, "Python cannot wrap the return type %.*s", LZ_FMT(*out));
}

/* ---- arguments ---- */

static bool parsed(const lzg_py_argument *args, size_t n, lz_str name)
{
    for (size_t i = 0; i < n; i++)
        if (lz_str_eq(args[i].name, name))
            return true;
    return false;
}

static lz_err *check_accessors(const lzg_py_signature *sig)
{
    lz_text text = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sig->n; i++)
        e = lzg_python_unpack(sig->args[i].type, sig->args[i].deflt, sig->args[i].init.ptr, &text);
    e = e ? e : lz_text_check(&text);
    lz_text_deinit(&text);
    return e;
}

/* Options that Python parsed go into the operator's, or are compared with its out tensor's. */
static lz_err *check_options(const lzg_py_signature *sig, const lzg_function *f)
{
    bool python_has = sig->n > sig->ninputs + sig->has_out;
    if (lzg_schema_has_tensor_options(f->func))
        return python_has ? NULL
                          : lz_errf(LZ_ERR_MODEL,
                                    "the operator has tensor options and its Python signature has not: it "
                                    "is no factory, no new_ and no _like function");
    if (!python_has)
        return NULL;
    if (!lzg_schema_is_out_fn(f->func))
        return lz_errf(LZ_ERR_MODEL, "Python adds tensor options to a factory, and this one takes none");
    if (!parsed(sig->args, sig->n, LZ_STR("out")))
        return lz_errf(LZ_ERR_MODEL, "tensor options are compared with an argument called out");
    return NULL;
}

lz_err *lzg_python_lambda_arguments(lz_arena *a, const lzg_py_signature *sig, const lzg_function *f,
                                    lzg_bindings *out)
{
    lzg_function g = *f;
    lzg_schema s = sig->deprecated ? *sig->schema : *f->func;
    lzg_sig cpp;
    s.nreturns = 0;
    g.func = &s;
    LZ_TRY(lzg_cpp_signature_in(a, &g, lzg_local_of(f), (lzg_cpp_form){ .symint = true }, &cpp));
    *out = cpp.args;
    return NULL;
}

/* Where a parameter's value comes from: the packed options (which are no argument), a
 * method's own self, a parsed argument, a part of a packed out. */
static bool is_bound(const lzg_py_signature *sig, const lzg_function *f, const lzg_binding *b)
{
    bool unpacked = sig->has_out && sig->noutputs > 1 && lzg_schema_is_out_fn(f->func);
    if (!b->argument && lzg_schema_has_tensor_options(f->func))
        return true;
    if (sig->method && lz_str_is(b->name, "self"))
        return true;
    if (parsed(sig->args, sig->ninputs, b->name))
        return true;
    return unpacked ? parsed(sig->outputs, sig->noutputs, b->name)
                    : sig->has_out && lz_str_eq(sig->args[sig->ninputs].name, b->name);
}

static lz_err *check_arguments(lz_arena *a, const lzg_py_signature *sig, const lzg_function *f)
{
    lzg_bindings args;
    LZ_TRY(lzg_python_lambda_arguments(a, sig, f, &args));
    for (size_t i = 0; i < args.n; i++)
        if (!is_bound(sig, f, &args.at[i]))
            return lz_errf(LZ_ERR_MODEL, "the Python signature has no argument '%.*s'",
                           LZ_FMT(args.at[i].name));
    return NULL;
}

/* In-place foreach operators return nothing in C++, and their list in Python. */
static lz_err *check_foreach(const lzg_function *f)
{
    const lzg_argument *self = lzg_schema_self(f->func);
    if (f->func->nreturns || f->func->kind != LZG_INPLACE
        || !lz_str_starts(f->func->name.text, LZ_STR("_foreach_")))
        return NULL;
    if (self && lzg_type_is_tensor_like(self->type) && lzg_type_is_list_like(self->type))
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "self of an in-place foreach operator must be a list of tensors");
}

lz_err *lzg_python_check_dispatch(lz_arena *a, const lzg_ops *ops, const lzg_py_signature *sig,
                                  const lzg_function *f)
{
    lz_str returns;
    LZ_TRY(lzg_python_lambda_return(a, ops, f, &returns));
    LZ_TRY(check_accessors(sig));
    LZ_TRY(check_options(sig, f));
    LZ_TRY(check_arguments(a, sig, f));
    return check_foreach(f);
}
