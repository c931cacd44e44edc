#include "gen/torch/gen_static_dispatch.h"
#include "gen/api/cpp.h"
#include "gen/api/translate.h"
#include "gen/emit/c_text.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"

lz_err *lzg_static_call_signature(lz_arena *a, const lzg_function *f, lzg_sig *out)
{
    return lzg_cpp_signature(a, f, (lzg_cpp_form){ .symint = lzg_schema_has_symint(f->func) }, out);
}

/* "a, b" of the signature, from the dispatcher's variables. A memory format beside TensorOptions binds a name
 * of its own in the C++ signature; it is the dispatcher's memory_format. */
static lz_err *put_arguments(lz_arena *a, const lzg_sig *from, const lzg_sig *to, lz_text *out)
{
    lzg_binding *at;
    lz_str *exprs;
    bool special = false;
    for (size_t i = 0; i < to->args.n; i++)
        special = special || lz_str_eq(to->args.at[i].what.name, lzg_redundant_memory_format);
    LZ_TRY(lz_arena_new(a, &at, from->args.n));
    for (size_t i = 0; i < from->args.n; i++) {
        at[i] = from->args.at[i];
        if (special && lz_str_is(at[i].name, "memory_format"))
            at[i].what.name = lzg_redundant_memory_format;
    }
    LZ_TRY(lzg_translate_bindings(a, (lzg_bindings){ at, from->args.n }, to->args, &exprs));
    lzg_exprs_print(exprs, to->args.n, out);
    return NULL;
}

/* "return at::cpu::add(a, b);" */
static lz_err *put_call(lz_arena *a, const lzg_sig *from, const lzg_function *f, lz_str ns,
                        lzg_dispatch_key key, lz_text *out)
{
    lzg_sig to;
    LZ_TRY(lzg_static_call_signature(a, f, &to));
    lzg_fill(out, "return $::", ns);
    lzg_put_lower(out, lz_str_of(lzg_dispatch_key_name(key)));
    lzg_fill(out, "::$(", to.name);
    LZ_TRY(put_arguments(a, from, &to, out));
    lzg_put(out, ");");
    return lz_text_check(out);
}

static lz_err *put_backend_call(lz_arena *a, const lzg_sig *from, const lzg_function *f,
                                const lzg_backend_index *index, lz_text *out)
{
    const lzg_backend_metadata *m = lzg_index_kernel_of(index, f);
    lz_str ns = m && m->cpp_namespace.len ? m->cpp_namespace : LZ_STR("at::native");
    LZ_TRY(lzg_replace_all(a, ns, LZ_STR("::native"), LZ_STR(""), &ns));
    return put_call(a, from, f, ns, index->key, out);
}

/* The composite key whose kernel serves where there is no other; LZG_KEY_NONE: none. */
static lzg_dispatch_key composite_of(const lzg_function *f)
{
    return f->composite_explicit          ? lzg_key_explicit
           : f->composite_non_functional  ? lzg_key_non_functional
           : f->composite_implicit        ? lzg_key_implicit
           : f->composite_implicit_nested ? lzg_key_implicit_nested
                                          : LZG_KEY_NONE;
}

static lz_err *put_fallback_call(lz_arena *a, const lzg_torch_settings *s, const lzg_sig *from,
                                 const lzg_function *f, lz_text *out)
{
    lzg_dispatch_key key = composite_of(f);
    lzg_sig to;
    if (key != LZG_KEY_NONE)
        return put_call(a, from, f, LZ_STR("at"), key, out);
    LZ_TRY(lzg_static_call_signature(a, f, &to));
    lzg_fill(out, "TORCH_CHECK(false, \"Static dispatch does not support $ for", to.name);
    for (size_t i = 0; i < s->nstatic_dispatch; i++)
        lz_text_printf(out, "%s%s", i ? ", " : "", lzg_dispatch_key_name(s->static_dispatch[i]->key));
    lzg_put(out, " \");");
    return lz_text_check(out);
}

static bool serves(const lzg_backend_index *index, const lzg_function *f)
{
    return lzg_index_kernel_of(index, f)
           || (f->structured_delegate && lzg_dispatch_key_structured(index->key));
}

static bool is_tensor(const lzg_binding *b)
{
    return lzg_type_is_tensor_like(b->argument->type);
}

/* The key set of the arguments. */
static void put_key_set(const lzg_function *f, const lzg_sig *sig, lz_text *out)
{
    bool options = lzg_schema_has_tensor_options(f->func);
    size_t n = 0;
    lzg_put(out, "DispatchKeySet _dk_set = ");
    if (options)
        lzg_put(out, "DispatchKeySet(c10::computeDispatchKey(dtype, layout, device))");
    for (size_t i = 0; i < sig->args.n; i++) {
        if (!is_tensor(&sig->args.at[i]))
            continue;
        if (!n)
            lz_text_puts(out, options ? " | c10::detail::multi_dispatch_key_set("
                                      : "c10::detail::multi_dispatch_key_set(");
        lz_text_puts(out, n++ ? ", " : "");
        lz_text_add(out, sig->args.at[i].name);
    }
    lz_text_puts(out, n ? ");" : ";");
}

static lz_err *put_switch(lz_arena *a, const lzg_torch_settings *s, const lzg_function *f, const lzg_sig *sig,
                          lz_text *out)
{
    const char *separator = "";
    lzg_put(out, "\n    ");
    put_key_set(f, sig, out);
    lzg_put(out, "\n\t\tDispatchKey _dk = c10::highestPriorityBackendTypeId(_dk_set);\n"
                 "    switch (_dk) {\n        ");
    for (size_t i = 0; i < s->nstatic_dispatch; i++) {
        const lzg_backend_index *index = s->static_dispatch[i];
        if (!serves(index, f))
            continue;
        lz_text_printf(out, "%scase DispatchKey::%s:\n\t\t\t", separator, lzg_dispatch_key_name(index->key));
        LZ_TRY(put_backend_call(a, sig, f, index, out));
        lz_text_putc(out, ';');
        separator = "\n\t\t";
    }
    lzg_put(out, "\n        default:\n            ");
    LZ_TRY(put_fallback_call(a, s, sig, f, out));
    lzg_put(out, "\n    }\n    ");
    return lz_text_check(out);
}

lz_err *lzg_put_static_dispatch(lz_arena *a, const lzg_torch_settings *s, const lzg_function *f,
                                const lzg_sig *sig, lz_text *out)
{
    const lzg_backend_index *one = NULL;
    size_t n = 0;
    if (f->manual_kernel_registration)
        return NULL;
    for (size_t i = 0; i < s->nstatic_dispatch; i++)
        if (serves(s->static_dispatch[i], f)) {
            one = s->static_dispatch[i];
            n++;
        }
    if (n == 1)
        return put_backend_call(a, sig, f, one, out);
    return n ? put_switch(a, s, f, sig, out) : put_fallback_call(a, s, sig, f, out);
}

/* ---- headers ---- */

lz_err *lzg_static_dispatch_headers(const lzg_torch_settings *s, lzg_texts *out)
{
    const lzg_dispatch_key composites[] = { lzg_key_implicit, lzg_key_implicit_nested, lzg_key_explicit,
                                            lzg_key_non_functional };
    size_t n = s->nstatic_dispatch ? sizeof composites / sizeof *composites : 0;
    for (size_t i = 0; i < s->nstatic_dispatch + n; i++) {
        lzg_dispatch_key key =
            i < s->nstatic_dispatch ? s->static_dispatch[i]->key : composites[i - s->nstatic_dispatch];
        lz_text_printf(&out->text, "#include <ATen/%sFunctions.h>", lzg_dispatch_key_name(key));
        LZ_TRY(lzg_texts_end(out));
    }
    return NULL;
}

lz_err *lzg_static_dispatch_op_headers(const lzg_torch_settings *s, const lzg_function *f, lzg_texts *out)
{
    const char *separator = "";
    if (f->manual_kernel_registration)
        return NULL;
    for (size_t i = 0; i < s->nstatic_dispatch; i++) {
        const lzg_backend_index *index = s->static_dispatch[i];
        bool own = f->structured_delegate || lzg_index_kernel_of(index, f);
        lzg_dispatch_key key = own ? index->key : composite_of(f);
        if (key == LZG_KEY_NONE)
            continue;
        lz_text_printf(&out->text, "%s#include <ATen/ops/%.*s_", separator, LZ_FMT(f->func->name.base));
        lzg_put_lower(&out->text, lz_str_of(lzg_dispatch_key_name(key)));
        lzg_put(&out->text, "_dispatch.h>");
        separator = "\n";
    }
    return lzg_texts_end(out);
}
