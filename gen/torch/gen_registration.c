#include "gen/torch/gen_registration.h"
#include "base/json_write.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/emit/c_text.h"
#include "gen/text/lists.h"
#include "gen/torch/gen_operators.h"
#include <stddef.h>

/* ---- RegistrationDeclarations.h ---- */

/* Whether kernels for some key decide; those of the implicit composites do not. */
static bool dispatches(const lzg_function *f)
{
    bool implicit = false, nested = false;
    for (size_t i = 0; i < f->ndispatch; i++) {
        lzg_dispatch_key key = f->dispatch[i].key;
        if (key != lzg_key_implicit && key != lzg_key_implicit_nested)
            return true;
        implicit = implicit || key == lzg_key_implicit;
        nested = nested || key == lzg_key_implicit_nested;
    }
    return !implicit;
}

/* Structured operators have generated kernels for every key. */
static bool has_default(const lzg_function *f)
{
    bool structured = f->structured || f->structured_delegate;
    bool generated = structured && (f->func->kind == LZG_FUNCTIONAL || f->func->kind == LZG_INPLACE);
    return f->composite_implicit || f->composite_explicit || f->composite_non_functional || generated;
}

static const char *python_bool(bool v)
{
    return v ? "True" : "False";
}

lz_err *lzg_put_registration_declaration(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    lz_str schema;
    lz_json_writer w;
    (void)user;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    LZ_TRY(lz_arena_printf(a, &schema, "aten::%.*s", LZ_FMT(f->func->text)));
    lzg_sig_defn(&sig, out);
    lzg_put(out, "; // {\"schema\": ");
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_json_put_str(&w, schema);
    LZ_TRY(lz_json_finish(&w));
    lz_text_printf(out, ", \"dispatch\": \"%s\", \"default\": \"%s\"}\n", python_bool(dispatches(f)),
                   python_bool(has_default(f)));
    return lz_text_check(out);
}

/* ---- ATenOpList.cpp ---- */

lz_err *lzg_put_aten_op(lz_arena *a, const void *user, const lzg_function *f, lz_text *out)
{
    (void)a;
    (void)user;
    lzg_fill(out, "{\"aten::$\", \"$\"},", f->func->name.printed_base, f->func->name.overload);
    return lz_text_check(out);
}

static lz_err *fill_op_list(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    return lzg_job_list(j, "aten_ops", lzg_put_aten_op, s, env);
}

/* ---- RegisterSchema.cpp ---- */

/* Sets of tags are variables, each defined before its first use. */
typedef struct schemas {
    lzg_job *job;
    const lzg_torch_settings *s;
    lz_map known; /* "{at::Tag::core}": its number is its place */
} schemas;

static lz_err *tags_text(lz_arena *a, const lzg_function *f, lz_str *out)
{
    lz_text t = { 0 };
    lz_text_putc(&t, '{');
    for (size_t i = 0; i < f->ntags; i++)
        lzg_fill(&t, "$at::Tag::$", i ? LZ_STR(", ") : LZ_STR(""), f->tags[i]);
    lz_text_putc(&t, '}');
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

static lz_err *put_schema(schemas *c, const lzg_function *f, lzg_texts *out)
{
    bool selected;
    lz_str tags;
    LZ_TRY(lzg_selector_has_function(c->s->schema_selector, f, &selected));
    if (!selected)
        return NULL;
    LZ_TRY(tags_text(&c->job->arena, f, &tags));
    const lz_map_entry *known = lz_map_find(&c->known, tags);
    size_t number = known ? (size_t)(known - c->known.entries) : lz_map_count(&c->known);
    if (f->ntags && !known) {
        lz_text_printf(&out->text, "const std::vector<at::Tag> tags_%zu = %.*s;\n", number, LZ_FMT(tags));
        LZ_TRY(lz_map_put(&c->known, tags, NULL));
    }
    lzg_put(&out->text, "m.def(");
    lzg_put_cpp_string(&out->text, f->func->text);
    if (f->ntags)
        lz_text_printf(&out->text, ", tags_%zu);\n", number);
    else
        lzg_put(&out->text, ", {});\n");
    return lzg_texts_end(out);
}

/* Those of one namespace. */
static lz_err *put_schemas(lzg_job *j, const lzg_torch_settings *s, lz_str ns, lzg_texts *out)
{
    schemas c = { .job = j, .s = s };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < j->run->ops.nfunctions; i++) {
        const lzg_function *f = j->run->ops.functions[i];
        if (lz_str_eq(f->ns, ns))
            e = lzg_job_take(j, put_schema(&c, f, out), f);
    }
    lz_map_deinit(&c.known);
    return e;
}

/* A library of its own, or a part of one that exists. */
static lz_err *put_library(lzg_job *j, const lzg_torch_settings *s, lz_str ns, lz_text *out)
{
    lzg_texts *items;
    bool part = lzg_lists_has(j->run->ops.lists, "model.fragment_namespaces", ns);
    LZ_TRY(lzg_job_texts(j, &items));
    LZ_TRY(put_schemas(j, s, ns, items));
    lzg_fill(out, "\n$($, m) {\n  ", part ? LZ_STR("TORCH_LIBRARY_FRAGMENT") : LZ_STR("TORCH_LIBRARY"), ns);
    for (size_t i = 0; i < lzg_texts_count(items); i++)
        lzg_fill(out, "$$", i ? LZ_STR("\t") : LZ_STR(""), lzg_texts_item(items, i));
    lzg_put(out, "\n};");
    return lz_text_check(out);
}

static lz_err *put_other_libraries(lzg_job *j, const lzg_torch_settings *s, lz_map *seen, lz_text *out)
{
    for (size_t i = 0; i < j->run->ops.nfunctions; i++) {
        lz_str ns = j->run->ops.functions[i]->ns;
        if (lz_map_find(seen, ns))
            continue;
        LZ_TRY(lz_map_put(seen, ns, NULL));
        LZ_TRY(put_library(j, s, ns, out));
    }
    return NULL;
}

static lz_err *put_libraries(lzg_job *j, const lzg_torch_settings *s, lzg_texts *own, lz_text *others)
{
    lz_map seen = { 0 };
    lz_err *e = put_schemas(j, s, LZ_STR("aten"), own);
    if (!e)
        e = lz_map_put(&seen, LZ_STR("aten"), NULL);
    if (!e)
        e = put_other_libraries(j, s, &seen, others);
    lz_map_deinit(&seen);
    return e;
}

static lz_err *fill_schemas(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    lzg_texts *own, *others;
    LZ_TRY(lzg_job_texts(j, &own));
    LZ_TRY(lzg_job_texts(j, &others));
    LZ_TRY(put_libraries(j, s, own, &others->text));
    LZ_TRY(lzg_env_list(env, "aten_schema_registrations"));
    if (s->o->skip_dispatcher_op_registration)
        return lzg_env_list(env, "schema_registrations");
    LZ_TRY(lzg_env_texts(env, "aten_schema_registrations", own));
    return lzg_env_text(env, "schema_registrations", lz_text_view(&others->text));
}

/* ---- RegisterBackendSelect.cpp ---- */

/* Operators with TensorOptions, but for those that take them from a tensor. */
static lz_err *selects_backend(const lzg_torch_settings *s, const lzg_function *f, bool *out)
{
    lz_str name = f->func->name.printed_base;
    *out = false;
    if (lz_str_ends(name, LZ_STR("_like")) || lz_str_starts(name, LZ_STR("new_"))
        || !lzg_schema_has_tensor_options(f->func))
        return NULL;
    return lzg_selector_has_function(s->selector, f, out);
}

/* The set of dispatch keys, from the options and the tensors. */
static void put_key_set(const lzg_sig *sig, lz_text *out)
{
    size_t n = 0;
    for (size_t i = 0; i < sig->args.n; i++) {
        if (!lzg_type_is_tensor_like(sig->args.at[i].argument->type))
            continue;
        if (!n)
            lzg_put(out,
                    "DispatchKeySet _dk_set = c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, "
                    "device)) | c10::detail::multi_dispatch_key_set(");
        lzg_fill(out, "$$", n ? LZ_STR(", ") : LZ_STR(""), sig->args.at[i].name);
        n++;
    }
    if (n)
        lzg_put(out, ");\n"
                     "DispatchKeySet _dk_mask = c10::DispatchKeySet(DispatchKeySet::FULL_AFTER, "
                     "DispatchKey::BackendSelect);\n"
                     "DispatchKeySet _dk = c10::impl::computeDispatchKeySet(_dk_set, _dk_mask);");
    else
        lzg_put(out,
                "DispatchKeySet _dk = c10::DispatchKeySet(c10::computeDispatchKey(dtype, layout, device));");
}

static lz_err *put_definition(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    LZ_TRY(lzg_native_name(a, f->func, &sig.name));
    lzg_fill(out, "// aten::$\nC10_ALWAYS_INLINE\n", f->func->text);
    lzg_sig_defn(&sig, out);
    lzg_put(out, " {\n  ");
    put_key_set(&sig, out);
    lzg_fill(out, "\n  return at::_ops::$::redispatch(\n      _dk, ", f->func->name.unambiguous);
    lzg_bindings_names(sig.args, out);
    lzg_put(out, ");\n}\n");
    return lz_text_check(out);
}

typedef struct backend_select {
    lzg_texts *headers, *definitions, *registrations;
} backend_select;

static lz_err *put_backend_select(lzg_job *j, const lzg_torch_settings *s, const lzg_function *f,
                                  backend_select *b)
{
    lz_str name;
    bool selects;
    LZ_TRY(selects_backend(s, f, &selects));
    if (!selects)
        return NULL;
    LZ_TRY(lzg_native_name(&j->scratch, f->func, &name));
    lzg_fill(&b->headers->text, "#include <ATen/ops/$_ops.h>", f->func->name.base);
    LZ_TRY(lzg_texts_end(b->headers));
    LZ_TRY(put_definition(&j->scratch, f, &b->definitions->text));
    LZ_TRY(lzg_texts_end(b->definitions));
    lzg_fill(&b->registrations->text, "m.impl(\"aten::$\", TORCH_FN($));", f->func->name.text, name);
    return lzg_texts_end(b->registrations);
}

static lz_err *fill_backend_select(lzg_job *j, const lzg_torch_settings *s, lzg_env *env)
{
    backend_select b;
    LZ_TRY(lzg_job_texts(j, &b.headers));
    LZ_TRY(lzg_job_texts(j, &b.definitions));
    LZ_TRY(lzg_job_texts(j, &b.registrations));
    for (size_t i = 0; i < j->run->ops.nfunctions; i++) {
        const lzg_function *f = j->run->ops.functions[i];
        LZ_TRY(lzg_job_take(j, put_backend_select(j, s, f, &b), f));
    }
    LZ_TRY(lzg_env_texts(env, "ops_headers", b.headers));
    LZ_TRY(lzg_env_texts(env, "backend_select_method_definitions", b.definitions));
    return lzg_env_texts(env, "backend_select_function_registrations", b.registrations);
}

#define FOLDER(name) offsetof(lzg_torch_settings, name)
static const lzg_torch_file files[] = {
    { "RegisterSchema.cpp", FOLDER(cpu), 5, fill_schemas },
    { "RegisterBackendSelect.cpp", FOLDER(cpu), 2, fill_backend_select },
    { "ATenOpList.cpp", FOLDER(core), 2, fill_op_list },
    { 0 },
};

lz_err *lzg_plan_registration(lzg_torch_settings *s)
{
    return lzg_torch_plan(s, files);
}
