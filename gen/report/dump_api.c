#include "gen/report/dump_api.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/functionalization.h"
#include "gen/api/lazy_node.h"
#include "gen/api/meta.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen/torch/functionalization/gen_functionalization_type.h"
#include "gen/torch/gen_aoti_c_shim.h"
#include "gen/torch/gen_vmap_plumbing.h"

typedef struct dump {
    const lzg_ops *ops;
    lz_arena *arena;
    lz_json_writer *out;
    lz_text text; /* for one value at a time */
} dump;

typedef lz_err *put_fn(dump *d, const lzg_function *f);

static lz_err *run(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w,
                   put_fn *put)
{
    dump d = { .ops = ops, .arena = scratch, .out = w };
    lz_err *e = (*put)(&d, f);
    lz_text_deinit(&d.text);
    return e;
}

/* ---- values ---- */

/* Writes what was printed into d->text. */
static lz_err *put_text(dump *d)
{
    LZ_TRY(lz_text_check(&d->text));
    lz_json_put_str(d->out, lz_text_view(&d->text));
    lz_text_clear(&d->text);
    return NULL;
}

static lz_err *put_decl(dump *d, const lzg_sig *sig)
{
    lzg_sig_decl(sig, &d->text);
    return put_text(d);
}

static lz_err *put_bindings(dump *d, lzg_bindings b)
{
    lz_json_begin_array(d->out);
    for (size_t i = 0; i < b.n; i++) {
        lzg_binding_decl(&b.at[i], &d->text);
        LZ_TRY(put_text(d));
    }
    lz_json_end_array(d->out);
    return NULL;
}

static void put_named(dump *d, const char *key, lz_str value)
{
    lz_json_member_str(d->out, key, value);
}

/* A refusal becomes {"error":true} and *refused; running out of memory stays an error. */
static lz_err *forgive(dump *d, lz_err *e, bool *refused)
{
    *refused = e != NULL;
    if (!e || lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_err_free(e);
    lzg_dump_error(d->out);
    return NULL;
}

/* ---- sig ---- */

/* One of the four C++ forms, or null where f does not have it. */
static lz_err *put_cpp(dump *d, const lzg_function *f, bool faithful, bool symint)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ .fallback = f->manual_cpp_binding }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        if (forms[i].faithful != faithful || forms[i].symint != symint)
            continue;
        LZ_TRY(lzg_cpp_signature(d->arena, f, forms[i], &sig));
        return put_decl(d, &sig);
    }
    lz_json_put_null(d->out);
    return NULL;
}

static lz_err *put_plain(dump *d, const lzg_function *f)
{
    return put_cpp(d, f, false, false);
}

static lz_err *put_faithful(dump *d, const lzg_function *f)
{
    return put_cpp(d, f, true, false);
}

static lz_err *put_symint(dump *d, const lzg_function *f)
{
    return put_cpp(d, f, false, true);
}

static lz_err *put_symint_faithful(dump *d, const lzg_function *f)
{
    return put_cpp(d, f, true, true);
}

static lz_err *put_methods(dump *d, const lzg_function *f)
{
    lzg_cpp_form forms[4], like = { .method = true, .fallback = f->manual_cpp_binding };
    size_t n = lzg_cpp_forms(f->func, like, forms);
    lz_json_begin_array(d->out);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(d->arena, f, forms[i], &sig));
        LZ_TRY(put_decl(d, &sig));
    }
    lz_json_end_array(d->out);
    return NULL;
}

static lz_err *dispatcher(dump *d, const lzg_function *f, bool nosymint, lzg_sig *out)
{
    return lzg_dispatcher_signature(d->arena, f->func, lzg_local_of(f),
                                    (lzg_dispatcher_form){ .nosymint = nosymint }, out);
}

static lz_err *put_dispatcher(dump *d, const lzg_function *f)
{
    lzg_sig sig;
    LZ_TRY(dispatcher(d, f, false, &sig));
    return put_decl(d, &sig);
}

static lz_err *put_dispatcher_type(dump *d, const lzg_function *f)
{
    lzg_sig sig;
    LZ_TRY(dispatcher(d, f, false, &sig));
    lzg_sig_type(&sig, &d->text);
    return put_text(d);
}

static lz_err *put_dispatcher_nosymint(dump *d, const lzg_function *f)
{
    lzg_sig sig;
    if (!lzg_schema_has_symint(f->func)) {
        lz_json_put_null(d->out);
        return NULL;
    }
    LZ_TRY(dispatcher(d, f, true, &sig));
    return put_decl(d, &sig);
}

static lz_err *put_native(dump *d, const lzg_function *f)
{
    lzg_sig sig;
    LZ_TRY(lzg_native_signature(d->arena, f->func, lzg_local_of(f), false, &sig));
    return put_decl(d, &sig);
}

static lz_err *put_native_symint(dump *d, const lzg_function *f)
{
    lzg_sig sig;
    if (!lzg_schema_has_symint(f->func)) {
        lz_json_put_null(d->out);
        return NULL;
    }
    LZ_TRY(lzg_native_signature(d->arena, f->func, lzg_local_of(f), true, &sig));
    return put_decl(d, &sig);
}

static lz_err *group_of(dump *d, const lzg_function *f, const lzg_group **out)
{
    *out = lz_map_get(&d->ops->group_of, f->func->name.text);
    return *out ? NULL : lz_err_at(LZ_ERR_MODEL, f->loc, "a structured operator outside a group");
}

static lz_err *put_meta(dump *d, const lzg_function *f)
{
    const lzg_group *g;
    lzg_sig sig = { .name = LZ_STR("meta"), .returns = lzg_ctype_base(LZG_CPP_void) };
    LZ_TRY(group_of(d, f, &g));
    LZ_TRY(lzg_structured_meta_arguments(d->arena, g, &sig.args));
    return put_decl(d, &sig);
}

static lz_err *put_impl(dump *d, const lzg_function *f)
{
    const lzg_group *g;
    lzg_sig sig = { .name = LZ_STR("impl"), .returns = lzg_ctype_base(LZG_CPP_void) };
    LZ_TRY(group_of(d, f, &g));
    LZ_TRY(lzg_structured_impl_arguments(d->arena, g, &sig.args));
    return put_decl(d, &sig);
}

static lz_err *put_structured_name(dump *d, const lzg_function *f)
{
    const lzg_group *g;
    lz_str name;
    LZ_TRY(group_of(d, f, &g));
    LZ_TRY(lzg_meta_name(d->arena, g, &name));
    lz_text_printf(&d->text, "structured_%.*s", LZ_FMT(name));
    return put_text(d);
}

static bool always(const lzg_function *f)
{
    (void)f;
    return true;
}

static bool is_method(const lzg_function *f)
{
    return f->variants & LZG_VARIANT_METHOD;
}

static bool is_structured(const lzg_function *f)
{
    return f->structured;
}

static const struct {
    const char *key;
    bool (*holds)(const lzg_function *f);
    put_fn *put;
} signatures[] = {
    { "cpp", always, put_plain },
    { "cpp_faithful", always, put_faithful },
    { "cpp_methods", is_method, put_methods },
    { "cpp_symint", always, put_symint },
    { "cpp_symint_faithful", always, put_symint_faithful },
    { "dispatcher", always, put_dispatcher },
    { "dispatcher_nosymint", always, put_dispatcher_nosymint },
    { "dispatcher_type", always, put_dispatcher_type },
    { "native", always, put_native },
    { "native_symint", always, put_native_symint },
    { "structured_impl", is_structured, put_impl },
    { "structured_meta", is_structured, put_meta },
    { "structured_name", is_structured, put_structured_name },
};

static lz_err *sig_value(dump *d, const lzg_function *f)
{
    lz_json_begin_object(d->out);
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        if (!signatures[i].holds(f))
            continue;
        lz_json_put_key(d->out, signatures[i].key);
        LZ_TRY(signatures[i].put(d, f));
    }
    lz_json_end_object(d->out);
    return NULL;
}

/* ---- lazy ---- */

static lz_err *put_lazy_arguments(dump *d, const char *key, const lzg_lazy_schema *s, bool values)
{
    lz_json_put_key(d->out, key);
    lz_json_begin_array(d->out);
    for (size_t i = 0; i < s->nargs; i++) {
        const lzg_lazy_argument *arg = &s->args[i];
        if (arg->value != values || (!values && arg->generator))
            continue;
        lz_json_begin_object(d->out);
        put_named(d, "name", arg->argument->name);
        lz_json_put_key(d->out, "type");
        lzg_ctype_print(arg->type, &d->text);
        LZ_TRY(put_text(d));
        lz_json_end_object(d->out);
    }
    lz_json_end_array(d->out);
    return NULL;
}

static void put_wrapped_scalars(dump *d, const lzg_lazy_schema *s)
{
    lz_json_put_key(d->out, "wrapped_scalars");
    lz_json_begin_array(d->out);
    for (size_t i = 0; i < s->nargs; i++)
        if (s->args[i].wrapped_scalar)
            lz_json_put_str(d->out, s->args[i].argument->name);
    lz_json_end_array(d->out);
}

static lz_err *put_lazy(dump *d, const lzg_function *f, bool symint)
{
    lzg_lazy_schema s;
    bool refused;
    lzg_lazy_options o = { .properties = lzg_lazy_defaults(), .symint = symint };
    LZ_TRY(forgive(d, lzg_lazy_schema_make(d->arena, f->func, o, &s), &refused));
    if (refused)
        return NULL;
    lz_json_begin_object(d->out);
    put_named(d, "aten_name", s.aten_name);
    lz_json_put_key(d->out, "generator");
    if (s.generator)
        lz_json_put_str(d->out, s.generator->name);
    else
        lz_json_put_null(d->out);
    put_named(d, "node_name", s.node_name);
    LZ_TRY(put_lazy_arguments(d, "scalars", &s, false));
    LZ_TRY(put_lazy_arguments(d, "values", &s, true));
    put_wrapped_scalars(d, &s);
    lz_json_end_object(d->out);
    return NULL;
}

static lz_err *lazy_value(dump *d, const lzg_function *f)
{
    lz_json_begin_object(d->out);
    lz_json_put_key(d->out, "int");
    LZ_TRY(put_lazy(d, f, false));
    if (lzg_schema_has_symint(f->func)) {
        lz_json_put_key(d->out, "symint");
        LZ_TRY(put_lazy(d, f, true));
    }
    lz_json_end_object(d->out);
    return NULL;
}

/* ---- functionalization ---- */

static lz_err *put_view_meta(dump *d, const lzg_view_group *g, const lzg_function *f)
{
    lzg_view_meta m;
    bool refused;
    LZ_TRY(forgive(d, lzg_view_meta_make(d->arena, d->ops->lists, g, f, &m), &refused));
    if (refused)
        return NULL;
    lz_json_begin_object(d->out);
    lz_json_member_bool(d->out, "as_strided", m.as_strided);
    lz_json_put_key(d->out, "attributes");
    LZ_TRY(put_bindings(d, m.attributes));
    put_named(d, "class", m.class_name);
    lz_json_put_key(d->out, "ctor");
    LZ_TRY(put_bindings(d, m.ctor));
    put_named(d, "forward_copy", m.forward_copy);
    put_named(d, "forward_reapply", m.forward_reapply);
    lz_json_member_bool(d->out, "multi_output", m.multi_output);
    put_named(d, "new", m.create);
    put_named(d, "reverse", m.reverse);
    lz_json_end_object(d->out);
    return NULL;
}

static lz_err *functionalization_value(dump *d, const lzg_function *f)
{
    const lzg_view_group *g = lz_map_get(&d->ops->view_group_of, f->func->name.text);
    bool has_class = g && !g->composite && f != g->view_copy;
    lz_str wrapper, inverse;
    lz_json_begin_object(d->out);
    if (has_class && f == g->view) {
        LZ_TRY(lzg_view_inverse_decl(d->arena, g, &inverse));
        put_named(d, "inverse_decl", inverse);
    }
    if (has_class) {
        lz_json_put_key(d->out, "view_meta");
        LZ_TRY(put_view_meta(d, g, f));
    }
    LZ_TRY(lzg_functionalization_wrapper(d->arena, f->func, &wrapper));
    put_named(d, "wrapper", wrapper);
    lz_json_end_object(d->out);
    return NULL;
}

/* ---- the others ---- */

static lz_err *vmap_value(dump *d, const lzg_function *f)
{
    lzg_vmap kind;
    lz_err *e = lzg_vmap_plumbing(d->arena, f, &kind);
    if (e && lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    lz_json_put_cstr(d->out, e ? "error" : lzg_vmap_name(kind));
    lz_err_free(e);
    return NULL;
}

static lz_err *c_shim_value(dump *d, const lzg_function *f)
{
    lz_str decl;
    bool refused;
    LZ_TRY(forgive(d, lzg_c_shim_declaration(d->arena, f->func, "aten", NULL, &decl), &refused));
    if (!refused)
        lz_json_put_str(d->out, decl);
    return NULL;
}

static lz_err *return_names_value(dump *d, const lzg_function *f)
{
    lz_str *names;
    LZ_TRY(lzg_cpp_return_names(d->arena, f, "result", &names));
    lz_json_begin_array(d->out);
    for (size_t i = 0; i < f->func->nreturns; i++)
        lz_json_put_str(d->out, names[i]);
    lz_json_end_array(d->out);
    return NULL;
}

lz_err *lzg_dump_sig(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return run(ops, f, scratch, w, sig_value);
}

lz_err *lzg_dump_lazy(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return run(ops, f, scratch, w, lazy_value);
}

lz_err *lzg_dump_functionalization(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch,
                                   lz_json_writer *w)
{
    return run(ops, f, scratch, w, functionalization_value);
}

lz_err *lzg_dump_vmap(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return run(ops, f, scratch, w, vmap_value);
}

lz_err *lzg_dump_c_shim(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return run(ops, f, scratch, w, c_shim_value);
}

lz_err *lzg_dump_return_names(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    return run(ops, f, scratch, w, return_names_value);
}
