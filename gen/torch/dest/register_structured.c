/* The wrappers of structured operators: construct the kernel's class, call meta, call impl, return what the
 * class holds. */
#include "gen/api/cpp.h"
#include "gen/api/meta.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen/api/translate.h"
#include "gen/text/fill.h"
#include "gen/torch/dest/register_impl.h"

typedef struct wrapper {
    const lzg_registrar *r;
    const lzg_group *g;
    const lzg_function *f;
    lzg_dispatch_key key;
    lzg_sig sig;
    lzg_structured_class cls;
    lzg_scope scope; /* the wrapper's arguments, then the values that meta computed, then the outputs */
    lz_text *out;
} wrapper;

/* ---- names ---- */

static lz_err *wrapper_signature(wrapper *w)
{
    const lzg_backend_metadata *m = lzg_index_kernel_of(w->r->index, w->f);
    bool symint = m && lzg_backend_metadata_symint(m);
    lz_str key = lzg_key_text(w->key);
    LZ_TRY(lzg_native_signature(w->r->arena, w->f->func, lzg_local_of(w->f), symint, &w->sig));
    return lz_arena_printf(w->r->arena, &w->sig.name, "wrapper_%.*s_%.*s", LZ_FMT(key), LZ_FMT(w->sig.name));
}

/* Without a kernel's class the one of meta is extended. */
static lz_err *name_made_class(wrapper *w, const char *what)
{
    lz_str meta, kind = lz_str_of(lzg_schema_kind_name(w->f->func->kind));
    LZ_TRY(lzg_meta_name(w->r->arena, w->g, &meta));
    LZ_TRY(lz_arena_printf(w->r->arena, &w->cls.parent, "at::meta::structured_%.*s", LZ_FMT(meta)));
    return lz_arena_printf(w->r->arena, &w->cls.name, "structured_%.*s_%s_%.*s", LZ_FMT(meta), what,
                           LZ_FMT(kind));
}

static lz_err *name_class(wrapper *w)
{
    if (lzg_key_is(w->key, "Meta"))
        return name_made_class(w, "meta");
    if (w->key == lzg_key_non_functional)
        return name_made_class(w, "default_backend");
    const lzg_backend_metadata *m = lzg_index_kernel_of_group(w->r->index, w->g);
    lz_str kind = lz_str_of(lzg_schema_kind_name(w->f->func->kind));
    LZ_TRY(lz_arena_printf(w->r->arena, &w->cls.parent, "%.*s::structured_%.*s", LZ_FMT(m->cpp_namespace),
                           LZ_FMT(m->kernel)));
    return lz_arena_printf(w->r->arena, &w->cls.name, "structured_%.*s_%.*s", LZ_FMT(m->kernel),
                           LZ_FMT(kind));
}

/* ---- the body ---- */

static void put_out_names(const lzg_schema *s, lz_text *out)
{
    for (size_t i = s->first[LZG_OUT]; i < s->nargs; i++) {
        lz_text_puts(out, i > s->first[LZG_OUT] ? ", " : "");
        lz_text_add(out, s->args[i].name);
    }
}

static void put_constructor(const wrapper *w)
{
    lz_text_add(w->out, w->cls.name);
    lz_text_puts(w->out, " op");
    if (w->cls.kind == LZG_INPLACE)
        lz_text_puts(w->out, "(self)");
    if (w->cls.kind == LZG_OUT_KIND) {
        lz_text_putc(w->out, '(');
        put_out_names(w->f->func, w->out);
        lz_text_putc(w->out, ')');
    }
    lz_text_puts(w->out, ";\n");
}

static lz_err *put_exprs(const wrapper *w, lzg_bindings goals)
{
    lz_str *exprs;
    LZ_TRY(lzg_translate(&w->scope, goals, false, &exprs));
    lzg_exprs_print(exprs, goals.n, w->out);
    return NULL;
}

static lz_err *put_meta_call(wrapper *w)
{
    lzg_bindings goals;
    LZ_TRY(lzg_structured_meta_arguments(w->r->arena, w->g, &goals));
    lz_text_puts(w->out, w->g->out->precomputed ? "auto precompute = op.meta(" : "op.meta(");
    LZ_TRY(put_exprs(w, goals));
    lz_text_puts(w->out, w->g->out->precomputed ? ");\n(void)precompute;\n" : ");\n");
    return NULL;
}

static lz_err *add_precomputed(wrapper *w, const lzg_argument *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lzg_nctype what = { .name = args[i].name };
        lz_str expr;
        LZ_TRY(lzg_structured_argumenttype(w->r->arena, args[i].type, &what.type));
        LZ_TRY(lz_arena_printf(w->r->arena, &expr, "precompute.%.*s", LZ_FMT(args[i].name)));
        LZ_TRY(lzg_scope_add(&w->scope, expr, what));
    }
    return NULL;
}

static lz_err *add_all_precomputed(wrapper *w)
{
    const lzg_precompute *p = w->g->out->precomputed;
    for (size_t i = 0; p && i < p->nreplace; i++)
        LZ_TRY(add_precomputed(w, p->replace[i].with, p->replace[i].n));
    return p ? add_precomputed(w, p->add, p->nadd) : NULL;
}

static lz_err *add_outputs(wrapper *w)
{
    lzg_bindings outs;
    bool given = w->cls.kind == LZG_OUT_KIND;
    LZ_TRY(lzg_structured_out_arguments(w->r->arena, w->g, &outs));
    for (size_t i = 0; i < outs.n; i++) {
        lzg_nctype what = { outs.at[i].what.name, lzg_ctype_of(LZG_C_MUT_REF, LZG_CPP_Tensor) };
        lz_str expr;
        if (!lzg_ctype_eq(outs.at[i].what.type, lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_Tensor)))
            return lzg_refuse_type(outs.at[i].argument->type, "a structured op writes plain tensors");
        LZ_TRY(given ? lz_arena_printf(w->r->arena, &expr, "op.maybe_get_output(%zu)", i)
                     : lz_arena_printf(w->r->arena, &expr, "op.outputs_[%zu]", i));
        LZ_TRY(lzg_scope_add(&w->scope, expr, what));
    }
    return NULL;
}

/* The out op in the place of impl: at::NAME_outf(...) */
static lz_err *put_out_call(wrapper *w)
{
    lzg_cpp_form form = lzg_cpp_most_faithful(w->g->out->func);
    lzg_sig sig;
    form.fallback = w->f->manual_cpp_binding;
    LZ_TRY(lzg_cpp_signature_in(w->r->arena, w->g->out, lzg_local_of(w->f), form, &sig));
    lzg_fill_named(w->out, "at::${name}(", { "name", sig.name });
    LZ_TRY(put_exprs(w, sig.args));
    lz_text_puts(w->out, ");\n");
    return NULL;
}

static lz_err *put_impl_call(wrapper *w)
{
    lzg_bindings goals;
    lz_str *exprs, args;
    lz_text t = { 0 };
    bool found = false;
    LZ_TRY(lzg_structured_impl_arguments(w->r->arena, w->g, &goals));
    LZ_TRY(lzg_translate(&w->scope, goals, false, &exprs));
    lzg_exprs_print(exprs, goals.n, &t);
    lz_err *e = lz_text_save(&t, w->r->arena, &args);
    lz_text_deinit(&t);
    if (!e && w->r->consult)
        e = w->r->consult(w->r->context, w->g, args, w->out, &found);
    if (!e && !found)
        lzg_fill_named(w->out, "op.impl(${args});", { "args", args });
    lz_text_putc(w->out, '\n');
    return e;
}

static lz_err *put_call(wrapper *w)
{
    if (w->key == lzg_key_non_functional)
        return put_out_call(w);
    return lzg_key_is(w->key, "Meta") ? NULL : put_impl_call(w);
}

/* Where a proxy took the result in other strides, it goes to the output now. */
static void put_proxy_copies(const wrapper *w)
{
    for (size_t i = 0; w->cls.kind != LZG_FUNCTIONAL && i < w->cls.nreturns; i++)
        lz_text_printf(w->out,
                       "if (op.proxy_outputs_[%zu].has_value()) "
                       "op.outputs_[%zu].get().copy_(*op.proxy_outputs_[%zu]);\n",
                       i, i, i);
}

static void put_moved(const wrapper *w)
{
    bool several = w->cls.nreturns != 1;
    lz_text_puts(w->out, several ? "std::make_tuple(" : "");
    for (size_t i = 0; i < w->cls.nreturns; i++)
        lz_text_printf(w->out, "%sstd::move(op.outputs_[%zu])", i ? ", " : "", i);
    lz_text_puts(w->out, several ? ")" : "");
}

static void put_return(const wrapper *w)
{
    bool several = w->cls.nreturns != 1;
    lz_text_puts(w->out, "return ");
    if (w->cls.kind == LZG_FUNCTIONAL)
        put_moved(w);
    else if (w->cls.kind == LZG_INPLACE)
        lz_text_puts(w->out, "self");
    else {
        lz_text_puts(w->out, several ? "std::forward_as_tuple(" : "");
        put_out_names(w->f->func, w->out);
        lz_text_puts(w->out, several ? ")" : "");
    }
    lz_text_puts(w->out, ";\n");
}

static lz_err *put_body(wrapper *w)
{
    if (w->r->index->device_guard) {
        lzg_put_device_check(w->out, w->f, w->sig.name);
        lz_text_putc(w->out, '\n');
    }
    put_constructor(w);
    lzg_scope_init(&w->scope, w->r->arena);
    LZ_TRY(lzg_scope_add_bindings(&w->scope, w->sig.args));
    LZ_TRY(put_meta_call(w));
    LZ_TRY(add_all_precomputed(w));
    LZ_TRY(add_outputs(w));
    LZ_TRY(put_call(w));
    put_proxy_copies(w);
    put_return(w);
    return NULL;
}

static lz_err *put_wrapper(wrapper *w)
{
    LZ_TRY(lzg_put_structured_class(&w->cls, w->out));
    lz_text_puts(w->out, "\n\n");
    lzg_sig_defn(&w->sig, w->out);
    lz_text_puts(w->out, " {\n");
    LZ_TRY(put_body(w));
    lz_text_puts(w->out, "\n}\n");
    return lz_text_check(w->out);
}

lz_err *lzg_register_structured(const lzg_registrar *r, const lzg_group *g, const lzg_function *f,
                                lzg_registration *out)
{
    wrapper w = { .r = r, .g = g, .f = f, .key = r->index->key, .out = &out->wrappers };
    bool registered;
    if (f->manual_kernel_registration)
        return lz_errf(LZ_ERR_MODEL, "a structured operator is registered by its dispatch table");
    if (w.key == lzg_key_non_functional && f->func->kind == LZG_OUT_KIND)
        return NULL;
    w.cls = (lzg_structured_class){ .key = w.key,
                                    .kind = f->func->kind,
                                    .nreturns = f->func->nreturns,
                                    .calls_parent = g->out->structured_inherits.ptr };
    LZ_TRY(wrapper_signature(&w));
    LZ_TRY(name_class(&w));
    LZ_TRY(put_wrapper(&w));
    LZ_TRY(lzg_put_direct(r, f, &w.sig, &out->direct));
    LZ_TRY(lzg_is_registered(r, f, &registered));
    out->any = true;
    if (registered)
        lzg_fill_named(&out->impls, "m.impl(\"${op}\", TORCH_FN(${wrapper}));\n",
                       { "op", f->func->name.text }, { "wrapper", w.sig.name });
    return NULL;
}
