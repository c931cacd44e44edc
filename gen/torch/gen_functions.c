#include "gen/torch/gen_functions.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/translate.h"
#include "gen/emit/c_text.h"

/* One C++ signature and the expressions with which it calls the dispatcher's. */
typedef struct call {
    const lzg_function *f;
    lzg_cpp_form form;
    lzg_sig sig;
    lz_str *exprs;
    size_t n;
} call;

static lz_err *make_call(lz_arena *a, const lzg_function *f, lzg_cpp_form form, lzg_bindings goals, call *out)
{
    lzg_scope scope;
    *out = (call){ .f = f, .form = form, .n = goals.n };
    LZ_TRY(lzg_cpp_signature(a, f, form, &out->sig));
    lzg_scope_init(&scope, a);
    LZ_TRY(lzg_scope_add_bindings(&scope, out->sig.args));
    if (form.method)
        LZ_TRY(lzg_scope_add_this(&scope));
    return lzg_translate(&scope, goals, false, &out->exprs);
}

typedef struct calls {
    call at[4];
    size_t n;
} calls;

/* All signatures of f as a function or a method. */
static lz_err *make_calls(lz_arena *a, const lzg_function *f, bool method, calls *out)
{
    lzg_cpp_form forms[4];
    lzg_bindings goals;
    LZ_TRY(lzg_dispatcher_arguments(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &goals));
    out->n =
        lzg_cpp_forms(f->func, (lzg_cpp_form){ .method = method, .fallback = f->manual_cpp_binding }, forms);
    for (size_t i = 0; i < out->n; i++)
        LZ_TRY(make_call(a, f, forms[i], goals, &out->at[i]));
    return NULL;
}

static void put_returns(const call *c, lz_text *out)
{
    lzg_ctype_print(c->sig.returns, out);
    lz_text_putc(out, ' ');
}

/* "at::_ops::NAME::call(exprs)" */
static void put_call(const call *c, lz_text *out)
{
    lzg_fill(out, "at::_ops::$::call(", c->f->func->name.unambiguous);
    lzg_exprs_print(c->exprs, c->n, out);
    lz_text_putc(out, ')');
}

/* ---- Functions.h ---- */

static void put_inline_function(const call *c, lz_text *out)
{
    lzg_fill(out, "\n// aten::$\ninline ", c->f->func->text);
    lzg_sig_decl(&c->sig, out);
    lzg_put(out, " {\n    return ");
    put_call(c, out);
    lzg_put(out, ";\n}");
}

/* For templates that are about int64_t or c10::SymInt; there are such functions for methods, too. */
static lz_err *put_symint_template(lz_arena *a, const call *c, lz_text *out)
{
    lzg_sig sig = c->sig;
    lzg_cpp_form form = c->form;
    form.symint = false;
    LZ_TRY(lzg_cpp_name(a, c->f->func, form, &sig.name));
    lzg_fill(out,
             "\n"
             "namespace symint {\n"
             "  template <typename T, typename = std::enable_if_t<std::is_same_v<T, $>>>\n  ",
             c->form.symint ? LZ_STR("c10::SymInt") : LZ_STR("int64_t"));
    lzg_sig_decl(&sig, out);
    lzg_put(out, " {\n    return ");
    put_call(c, out);
    lzg_put(out, ";\n  }\n}\n");
    return NULL;
}

lz_err *lzg_put_function(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    calls all;
    (void)user;
    LZ_TRY(make_calls(a, f, false, &all));
    for (size_t i = 0; i < all.n; i++) {
        if (f->variants & LZG_VARIANT_FUNCTION)
            put_inline_function(&all.at[i], out);
        if (lzg_schema_has_symint(f->func))
            LZ_TRY(put_symint_template(a, &all.at[i], out));
    }
    return lz_text_check(out);
}

/* ---- TensorBody.h ---- */

static lz_err *check_method(const lzg_function *f)
{
    if (lzg_schema_is_out_fn(f->func))
        return lz_errf(LZ_ERR_MODEL, "an operator with out arguments is no method");
    return lzg_schema_self(f->func) ? NULL : lz_errf(LZ_ERR_MODEL, "a method needs a self argument");
}

lz_err *lzg_put_method_declaration(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    lzg_cpp_form forms[4];
    (void)user;
    if (!(f->variants & LZG_VARIANT_METHOD))
        return NULL;
    LZ_TRY(check_method(f));
    size_t n =
        lzg_cpp_forms(f->func, (lzg_cpp_form){ .method = true, .fallback = f->manual_cpp_binding }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(a, f, forms[i], &sig));
        lzg_sig_decl(&sig, out);
        lzg_put(out, " const;\n");
    }
    return lz_text_check(out);
}

static void put_method(const call *c, lz_text *out)
{
    lzg_fill(out, "\n// aten::$\ninline ", c->f->func->text);
    put_returns(c, out);
    lzg_fill(out, "Tensor::$(", c->sig.name);
    lzg_bindings_defn(c->sig.args, out);
    lzg_put(out, ") const {\n    return ");
    put_call(c, out);
    lzg_put(out, ";\n}\n");
}

lz_err *lzg_put_method_definition(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    calls all;
    (void)user;
    if (!(f->variants & LZG_VARIANT_METHOD))
        return NULL;
    LZ_TRY(check_method(f));
    LZ_TRY(make_calls(a, f, true, &all));
    for (size_t i = 0; i < all.n; i++)
        put_method(&all.at[i], out);
    return lz_text_check(out);
}

/* ---- RedispatchFunctions.h ---- */

static void put_redispatch(const call *c, lz_text *out)
{
    lzg_fill(out, "\n// aten::$\ninline ", c->f->func->text);
    put_returns(c, out);
    lzg_fill(out, "$(c10::DispatchKeySet dispatchKeySet", c->sig.name);
    lz_text_puts(out, c->sig.args.n ? ", " : "");
    lzg_bindings_decl(c->sig.args, out);
    lzg_fill(out, ") {\n    return at::_ops::$::redispatch(dispatchKeySet", c->f->func->name.unambiguous);
    lz_text_puts(out, c->n ? ", " : "");
    lzg_exprs_print(c->exprs, c->n, out);
    lzg_put(out, ");\n}\n");
}

lz_err *lzg_put_redispatch_function(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    calls all;
    (void)user;
    LZ_TRY(make_calls(a, f, false, &all));
    for (size_t i = 0; i < all.n; i++)
        put_redispatch(&all.at[i], out);
    return lz_text_check(out);
}
