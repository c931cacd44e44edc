#include "gen/torch/gen_operators.h"
#include "gen/api/dispatcher.h"
#include "gen/emit/c_text.h"
#include "gen/torch/gen_static_dispatch.h"

void lzg_put_cpp_string(lz_text *out, lz_str s)
{
    static const char from[] = "\\\"\a\b\f\n\v\t", to[] = "\\\"abfnvt";
    size_t done = 0;
    lz_text_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        const char *at = s.ptr[i] ? strchr(from, s.ptr[i]) : NULL;
        if (!at)
            continue;
        lz_text_add(out, lz_str_sub(s, done, i));
        lz_text_putc(out, '\\');
        lz_text_putc(out, to[at - from]);
        done = i + 1;
    }
    lz_text_add(out, lz_str_sub(s, done, s.len));
    lz_text_putc(out, '"');
}

/* "R call(T a)", "R redispatch(c10::DispatchKeySet dispatchKeySet, T a)" */
static void put_entry(const lzg_sig *sig, lz_str scope, bool redispatches, lz_text *out)
{
    lzg_ctype_print(sig->returns, out);
    lz_text_putc(out, ' ');
    lz_text_add(out, scope);
    if (redispatches)
        lz_text_puts(out, sig->args.n ? "redispatch(c10::DispatchKeySet dispatchKeySet, "
                                      : "redispatch(c10::DispatchKeySet dispatchKeySet");
    else
        lzg_put(out, "call(");
    lzg_bindings_defn(sig->args, out);
    lz_text_putc(out, ')');
}

lz_err *lzg_put_operator_declaration(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    const lzg_op_name *name = &f->func->name;
    lzg_sig sig;
    (void)user;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    lzg_fill(out, "\nstruct TORCH_API $ {\n  using schema = ", name->unambiguous);
    lzg_sig_type(&sig, out);
    lzg_fill(out,
             ";\n"
             "  using ptr_schema = schema*;\n"
             "  // See Note [static constexpr char* members for windows NVCC]\n"
             "  static constexpr const char* name = \"aten::$\";\n"
             "  static constexpr const char* overload_name = \"$\";\n"
             "  static constexpr const char* schema_str = ",
             name->printed_base, name->overload);
    lzg_put_cpp_string(out, f->func->text);
    lzg_put(out, ";\n  static ");
    put_entry(&sig, LZ_STR(""), false, out);
    lzg_put(out, ";\n  static ");
    put_entry(&sig, LZ_STR(""), true, out);
    lzg_put(out, ";\n};");
    return lz_text_check(out);
}

/* The typed handle's own call. */
static void put_handle_call(const lzg_sig *sig, lz_str name, bool redispatches, lz_text *out)
{
    lzg_fill(out, "\n    static auto op = create_$_typed_handle();\n    return op.", name);
    if (redispatches)
        lz_text_puts(out, sig->args.n ? "redispatch(dispatchKeySet, " : "redispatch(dispatchKeySet");
    else
        lzg_put(out, "call(");
    lzg_bindings_names(sig->args, out);
    lzg_put(out, ");");
}

static lz_err *put_entry_definition(lz_arena *a, const lzg_torch_settings *s, const lzg_function *f,
                                    const lzg_sig *sig, bool redispatches, lz_text *out)
{
    lz_str name = f->func->name.unambiguous, scope;
    LZ_TRY(lz_arena_printf(a, &scope, "%.*s::", LZ_FMT(name)));
    lzg_fill(out, "\n// aten::$\n", f->func->text);
    put_entry(sig, scope, redispatches, out);
    lzg_put(out, " {\n    ");
    if (!redispatches && s->nstatic_dispatch)
        LZ_TRY(lzg_put_static_dispatch(a, s, f, sig, out));
    else
        put_handle_call(sig, name, redispatches, out);
    lzg_put(out, "\n}\n");
    return lz_text_check(out);
}

lz_err *lzg_put_operator_definition(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    lz_str name = f->func->name.unambiguous;
    lzg_sig sig;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    lzg_fill(out,
             "\n"
             "// aten::$\n"
             "static C10_NOINLINE c10::TypedOperatorHandle<$::schema> create_$_typed_handle() {\n"
             "  return c10::Dispatcher::singleton()\n"
             "      .findSchemaOrThrow($::name, $::overload_name)\n"
             "      .typed<$::schema>();\n"
             "}\n",
             f->func->text, name, name, name, name, name);
    LZ_TRY(put_entry_definition(a, user, f, &sig, false, out));
    return put_entry_definition(a, user, f, &sig, true, out);
}
