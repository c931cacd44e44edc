#include "gen/torch/dest/register_dispatch_key.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/torch/dest/native_functions.h"
#include "gen/torch/dest/register_impl.h"
#include "gen/torch/selective_build/selector.h"

lz_str lzg_key_text(lzg_dispatch_key key)
{
    return lz_str_of(lzg_dispatch_key_name(key));
}

bool lzg_key_is(lzg_dispatch_key key, const char *name)
{
    return strcmp(lzg_dispatch_key_name(key), name) == 0;
}

bool lzg_key_is_one_of(lzg_dispatch_key key, const char *const *names)
{
    while (*names && !lzg_key_is(key, *names))
        names++;
    return *names;
}

void lzg_registration_deinit(lzg_registration *r)
{
    lz_text_deinit(&r->wrappers);
    lz_text_deinit(&r->direct);
    lz_text_deinit(&r->impls);
}

/* ---- devices ---- */

static void check_device_of(lz_text *out, const lzg_argument *arg, lz_str wrapper)
{
    if (!lzg_type_is_tensor_like(arg->type))
        return;
    lzg_fill_named(out,
                   "\n  c10::impl::check_and_update_common_device(common_device, ${arg}, \"${wrapper}\", "
                   "\"${arg}\");",
                   { "arg", arg->name }, { "wrapper", wrapper });
}

void lzg_put_device_check(lz_text *out, const lzg_function *f, lz_str wrapper)
{
    const lzg_schema *s = f->func;
    if (!f->device_check) {
        lz_text_puts(out, "  // No device check\n");
        return;
    }
    lz_text_puts(out, "std::optional<Device> common_device = std::nullopt;\n"
                      "(void)common_device; // Suppress unused variable warning\n");
    for (size_t i = s->first[LZG_OUT]; i < s->nargs; i++)
        check_device_of(out, &s->args[i], wrapper);
    for (size_t i = 0; i < s->first[LZG_PRE_TENSOR_OPTIONS]; i++)
        check_device_of(out, &s->args[i], wrapper);
}

static const lzg_argument *tensor_in(const lzg_schema *s, lzg_section first, lzg_section end)
{
    for (size_t i = s->first[first]; i < s->first[end]; i++)
        if (lzg_type_is_tensor_like(s->args[i].type))
            return &s->args[i];
    return NULL;
}

/* Whose device the kernel runs on: self, an output, another argument by position. */
static const lzg_argument *guarded_argument(const lzg_schema *s)
{
    const lzg_argument *arg = tensor_in(s, LZG_SELF, LZG_POST_SELF);
    if (!arg)
        arg = tensor_in(s, LZG_OUT, LZG_SECTION_COUNT);
    return arg ? arg : tensor_in(s, LZG_PRE_SELF, LZG_PRE_TENSOR_OPTIONS);
}

static void put_device_guard(lz_text *out, const lzg_backend_index *index, const lzg_function *f)
{
    const lzg_argument *arg = guarded_argument(f->func);
    bool guards = f->device_guard && index->device_guard;
    if (guards && lzg_schema_has_tensor_options(f->func)) {
        if (lzg_dispatch_key_is_cuda(index->key))
            lz_text_puts(out, "globalContext().lazyInitDevice(c10::DeviceType::CUDA);\n");
        lz_text_puts(out, "\n  const DeviceGuard device_guard(device_or_default(device));");
    } else if (guards && arg) {
        lzg_fill_named(out, "const OptionalDeviceGuard device_guard(device_of(${arg}));",
                       { "arg", arg->name });
    } else {
        lz_text_puts(out, "// DeviceGuard omitted");
    }
}

/* ---- direct functions ---- */

/* "a, b": the wrapper's arguments from those of a caller. */
static lz_err *put_passed(lz_arena *a, lzg_bindings from, lzg_bindings goals, lz_text *out)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate_bindings(a, from, goals, &exprs));
    lzg_exprs_print(exprs, goals.n, out);
    return NULL;
}

lz_err *lzg_put_direct(const lzg_registrar *r, const lzg_function *f, const lzg_sig *wrapper, lz_text *out)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ 0 }, forms);
    for (size_t i = 0; i < n && !r->class_name.ptr; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(r->arena, f, forms[i], &sig));
        lzg_sig_defn(&sig, out);
        lz_text_puts(out, " {\nreturn ");
        lz_text_add(out, wrapper->name);
        lz_text_putc(out, '(');
        LZ_TRY(put_passed(r->arena, sig.args, wrapper->args, out));
        lz_text_puts(out, ");\n}\n");
    }
    return NULL;
}

lz_err *lzg_is_registered(const lzg_registrar *r, const lzg_function *f, bool *out)
{
    *out = !r->selector || r->selector->include_all_operators;
    return *out ? NULL : lzg_selector_has_function(r->selector, f, out);
}

/* ---- unstructured kernels ---- */

typedef enum origin {
    NOT_MADE,
    OF_KERNEL,     /* calls the kernel that the index names */
    META_STUB,     /* of an inplace op without a kernel for Meta: only checks */
    OF_FUNCTIONAL, /* calls the functional member, and copies into what it writes */
} origin;

static bool has_meta_stub(const lzg_backend_index *index, const lzg_function *f)
{
    return lzg_key_is(index->key, "Meta") && f->func->kind == LZG_INPLACE && !lzg_function_has_composite(f)
           && f->func->nreturns == 1;
}

static origin origin_of(const lzg_backend_index *index, const lzg_group *g, const lzg_function *f)
{
    if (f->manual_kernel_registration)
        return NOT_MADE;
    if (lzg_index_kernel_of(index, f))
        return OF_KERNEL;
    if (has_meta_stub(index, f))
        return META_STUB;
    bool from_functional = !index->use_out_as_primary && g && f->func->kind != LZG_FUNCTIONAL
                           && lzg_index_kernel_of(index, g->functional);
    return from_functional ? OF_FUNCTIONAL : NOT_MADE;
}

static lz_err *wrapper_signature(const lzg_registrar *r, const lzg_function *f, lzg_local local, lzg_sig *out)
{
    lz_str key = lzg_key_text(r->index->key), overload = f->func->name.overload;
    LZ_TRY(lzg_dispatcher_signature(r->arena, f->func, local, (lzg_dispatcher_form){ 0 }, out));
    return lz_arena_printf(r->arena, &out->name, "wrapper_%.*s_%.*s_%.*s", LZ_FMT(key), LZ_FMT(overload),
                           LZ_FMT(out->name));
}

static void put_meta_stub(const lzg_function *f, const lzg_sig *sig, lz_text *out)
{
    lzg_sig_defn(sig, out);
    lzg_fill_named(out,
                   " {\n"
                   "  TORCH_CHECK_NOT_IMPLEMENTED(${self}.is_meta(),\n"
                   "    \"Cannot inplace into non-meta tensor with meta tensor argument\");\n"
                   "  return ${self};\n"
                   "}\n",
                   { "self", lzg_schema_self(f->func)->name });
}

static lz_err *put_callee(const lzg_registrar *r, const lzg_backend_metadata *m, lz_text *out)
{
    lz_text_add(out, m->cpp_namespace);
    lz_text_puts(out, "::");
    if (r->class_name.ptr)
        lzg_fill_named(out, "${class}::", { "class", r->class_name });
    lz_text_add(out, m->kernel);
    return NULL;
}

static lz_err *put_kernel_wrapper(const lzg_registrar *r, const lzg_function *f, const lzg_sig *sig,
                                  lz_text *out)
{
    const lzg_backend_metadata *m = lzg_index_kernel_of(r->index, f);
    lzg_sig kernel;
    LZ_TRY(lzg_kernel_signature(r->arena, f, m, r->index->external, &kernel));
    lz_text_puts(out, "namespace {\n\n");
    lzg_sig_defn(sig, out);
    lz_text_puts(out, " {\n  ");
    if (r->index->device_guard)
        lzg_put_device_check(out, f, sig->name);
    else
        lz_text_puts(out, "  // No device check\n");
    lz_text_puts(out, "\n\n  ");
    put_device_guard(out, r->index, f);
    lz_text_puts(out, "\n  return ");
    LZ_TRY(put_callee(r, m, out));
    lz_text_putc(out, '(');
    LZ_TRY(put_passed(r->arena, sig->args, kernel.args, out));
    lz_text_puts(out, ");\n}\n\n} // anonymous namespace\n");
    return NULL;
}

/* ---- wrappers around the functional member ---- */

static void put_copies(const char *copy, lz_str result, const lz_str *names, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        lz_text_puts(out, i ? "\n  " : "");
        if (n > 1)
            lz_text_printf(out, "%s(std::get<%zu>(%.*s), %.*s);", copy, i, LZ_FMT(result), LZ_FMT(names[i]));
        else
            lz_text_printf(out, "%s(%.*s, %.*s);", copy, LZ_FMT(result), LZ_FMT(names[i]));
    }
}

/* The operator returns nothing: its one out argument is a tensor or a list of tensors. */
static lz_err *put_copy_of_out(const char *copy, lz_str result, const lzg_schema *s, lz_text *out)
{
    const lzg_argument *outs;
    if (lzg_schema_section(s, LZG_OUT, &outs) != 1)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s returns nothing, so it needs exactly one out argument",
                       LZ_FMT(s->name.text));
    lzg_named_text fields[] = {
        { "copy", lz_str_of(copy) },
        { "result", result },
        { "out", outs->name },
    };
    lzg_fill_fields(out,
                    lzg_type_is_list_like(outs->type)
                        ? LZ_STR("    for (int64_t i = 0; i < ${result}.size(); ++i) {\n"
                                 "        ${copy}(${result}[i], ${out}[i]);\n"
                                 "    }")
                        : LZ_STR("${copy}(${result}, ${out});"),
                    fields, 3);
    return NULL;
}

static void put_returned(const lzg_sig *sig, const lz_str *names, size_t n, lz_text *out)
{
    if (n > 1) {
        lzg_ctype_print(sig->returns, out);
        lz_text_putc(out, '(');
    }
    lzg_exprs_print(names, n, out);
    lz_text_puts(out, n > 1 ? ")" : "");
}

static lz_err *put_functional_wrapper(const lzg_registrar *r, const lzg_group *g, const lzg_function *f,
                                      const lzg_sig *sig, lz_text *out)
{
    const char *copy = f->func->kind == LZG_OUT_KIND ? "at::_copy_from_and_resize" : "at::_copy_from";
    lzg_sig functional;
    lz_str *names, result;
    size_t n = f->func->nreturns;
    if (f->func->kind != LZG_OUT_KIND && f->func->kind != LZG_INPLACE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "%.*s: only out and inplace ops are made from a functional kernel",
                       LZ_FMT(f->func->name.text));
    LZ_TRY(wrapper_signature(r, g->functional, lzg_local_of(f), &functional));
    LZ_TRY(lzg_cpp_return_names(r->arena, f, "result", &names));
    LZ_TRY(lz_arena_printf(r->arena, &result, "%.*s_tmp", LZ_FMT(sig->name)));
    lzg_sig_defn(sig, out);
    lzg_fill_named(out, " {\n  auto ${result} = ${functional}(", { "result", result },
                   { "functional", functional.name });
    LZ_TRY(put_passed(r->arena, sig->args, functional.args, out));
    lz_text_puts(out, ");\n  ");
    if (n)
        put_copies(copy, result, names, n, out);
    else
        LZ_TRY(put_copy_of_out(copy, result, f->func, out));
    lz_text_puts(out, "\n  return ");
    put_returned(sig, names, n, out);
    lz_text_puts(out, ";\n}\n");
    return NULL;
}

static lz_err *put_wrapper(const lzg_registrar *r, const lzg_group *g, const lzg_function *f, origin from,
                           const lzg_sig *sig, lz_text *out)
{
    if (from == OF_KERNEL)
        return put_kernel_wrapper(r, f, sig, out);
    if (from == OF_FUNCTIONAL)
        return put_functional_wrapper(r, g, f, sig, out);
    put_meta_stub(f, sig, out);
    return NULL;
}

static lz_err *register_unstructured(const lzg_registrar *r, const lzg_group *g, const lzg_function *f,
                                     lzg_registration *out)
{
    origin from = origin_of(r->index, g, f);
    lzg_sig sig;
    bool registered;
    if (from == NOT_MADE)
        return NULL;
    LZ_TRY(wrapper_signature(r, f, lzg_local_of(f), &sig));
    LZ_TRY(put_wrapper(r, g, f, from, &sig, &out->wrappers));
    LZ_TRY(lzg_put_direct(r, f, &sig, &out->direct));
    LZ_TRY(lzg_is_registered(r, f, &registered));
    out->any = true;
    if (registered)
        lzg_fill_named(&out->impls, "m.impl(\"${op}\",\nTORCH_FN(${wrapper}));\n",
                       { "op", f->func->name.text }, { "wrapper", sig.name });
    return NULL;
}

/* ---- groups ---- */

/* Whether a structured group makes its kernels for this key from its meta function. */
static lz_err *is_structured(const lzg_backend_index *index, const lzg_group *g, bool *out)
{
    const lzg_backend_metadata *primary = g ? lzg_index_kernel_of_group(index, g) : NULL;
    bool made = lzg_key_is(index->key, "Meta") || index->key == lzg_key_non_functional;
    *out = g && g->structured && (made || (primary && primary->structured));
    if (*out && made && lzg_index_kernel_of(index, g->out))
        return lz_errf(LZ_ERR_MODEL, "the %s kernel of a structured operator is made, not named",
                       lzg_dispatch_key_name(index->key));
    return NULL;
}

lz_err *lzg_register_wrappers(const lzg_registrar *r, const lzg_grouped *g, lzg_registration *out)
{
    const lzg_function *members[LZG_GROUP_MEMBERS];
    size_t n = lzg_grouped_members(g, members);
    bool structured;
    LZ_TRY(is_structured(r->index, g->group, &structured));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(structured ? lzg_register_structured(r, g->group, members[i], out)
                          : register_unstructured(r, g->group, members[i], out));
    LZ_TRY(lz_text_check(&out->wrappers));
    LZ_TRY(lz_text_check(&out->direct));
    return lz_text_check(&out->impls);
}

/* ---- declarations ---- */

/* Under the key that takes the out op for granted, this one alone has no wrapper. */
static bool has_wrapper(const lzg_registrar *r, const lzg_group *g, const lzg_function *f, bool structured)
{
    if (structured)
        return r->index->key != lzg_key_non_functional || f->func->kind != LZG_OUT_KIND;
    return origin_of(r->index, g, f) != NOT_MADE;
}

static lz_err *put_declarations(const lzg_registrar *r, const lzg_function *f, lz_text *out)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ 0 }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(r->arena, f, forms[i], &sig));
        lz_text_puts(out, lzg_export_macro(r->index));
        lz_text_putc(out, ' ');
        lzg_sig_decl(&sig, out);
        lz_text_puts(out, ";\n");
    }
    return NULL;
}

lz_err *lzg_register_declarations(const lzg_registrar *r, const lzg_grouped *g, lzg_texts *out)
{
    const lzg_function *members[LZG_GROUP_MEMBERS];
    size_t n = lzg_grouped_members(g, members);
    bool structured;
    LZ_TRY(is_structured(r->index, g->group, &structured));
    for (size_t i = 0; i < n; i++) {
        if (!has_wrapper(r, g->group, members[i], structured))
            continue;
        LZ_TRY(put_declarations(r, members[i], &out->text));
        LZ_TRY(lzg_texts_end(out));
    }
    return NULL;
}

/* ---- checks ---- */

static lz_err *check_key(lz_arena *a, const lzg_backend_index *index, const lzg_grouped *g)
{
    const lzg_registrar r = { .arena = a, .index = index, .key = index->key };
    lzg_registration out = { 0 };
    lz_err *e = lzg_kernel_namespace_check(lzg_kernel_namespace(&r, g));
    if (!e)
        e = lzg_register_wrappers(&r, g, &out);
    lzg_registration_deinit(&out);
    return e;
}

lz_err *lzg_register_check(lz_arena *a, const lzg_ops *ops, const lzg_grouped *g)
{
    for (size_t i = 0; i < ops->nindices; i++)
        LZ_TRY(check_key(a, &ops->indices[i], g));
    return NULL;
}
