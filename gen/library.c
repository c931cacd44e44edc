/* The public face of the generator (lazuli/gen.h): no facts of its own. */
#include "base/mem.h"
#include "gen/api/cpp.h"
#include "gen/api/dispatcher.h"
#include "gen/api/native.h"
#include "gen/api/python.h"
#include "gen/model/model.h"
#include "gen/torch/gen_aoti_c_shim.h"
#include <lazuli/gen.h>

struct lzg_set {
    lzg_ops ops;
    lz_arena texts; /* the text printed on request */
};

/* ---- opening ---- */

static lz_err *load(lzg_set *s, const lzg_set_options *o)
{
    const lzg_ops_options options = { .files = o->files, .tags = o->tags, .own_fields = o->own_fields };
    lzg_diag d;
    lzg_diag_init(&d);
    lz_err *e = lzg_ops_load(&s->ops, &options, &d);
    if (!e)
        e = lzg_diag_error(&d);
    lzg_diag_deinit(&d);
    return e;
}

lz_err *lzg_set_open(const lzg_set_options *o, lzg_set **out)
{
    lzg_set *s = lz_mem_zalloc(1, sizeof *s);
    if (!s)
        return lz_err_oom();
    lz_err *e = load(s, o);
    if (e) {
        lzg_set_close(s);
        return e;
    }
    *out = s;
    return NULL;
}

void lzg_set_close(lzg_set *s)
{
    if (!s)
        return;
    lzg_ops_deinit(&s->ops);
    lz_arena_deinit(&s->texts);
    lz_mem_free(s);
}

/* ---- operators ---- */

size_t lzg_set_count(const lzg_set *s)
{
    return s->ops.nfunctions;
}

const lzg_function *lzg_set_at(const lzg_set *s, size_t i)
{
    return i < s->ops.nfunctions ? s->ops.functions[i] : NULL;
}

const lzg_function *lzg_set_find(const lzg_set *s, const char *name)
{
    return lzg_ops_find(&s->ops, lz_str_of(name));
}

lzg_facts lzg_describe(const lzg_function *f)
{
    const lzg_schema *func = f->func;
    return (lzg_facts){
        .ns = f->ns,
        .name = func->name.text,
        .base = func->name.base,
        .overload = func->name.overload,
        .schema = func->text,
        .signature = f->signature,
        .kind = lz_str_of(lzg_schema_kind_name(func->kind)),
        .python_module = f->python_module,
        .loc = f->loc,
        .structured = f->structured,
        .generated = f->generated,
        .is_view = f->is_view_op,
        .is_abstract = f->is_abstract,
        .has_function = (f->variants & LZG_VARIANT_FUNCTION) != 0,
        .has_method = (f->variants & LZG_VARIANT_METHOD) != 0,
        .nargs = func->nargs,
        .nreturns = func->nreturns,
        .ntags = f->ntags,
        .nkernels = f->ndispatch,
    };
}

static lz_err *out_of_range(const lzg_function *f, const char *what, size_t i, size_t n)
{
    return lz_errf(LZ_ERR_ARG, "%.*s: %s %zu of %zu", LZ_FMT(f->func->name.text), what, i, n);
}

static lz_err *print_type(lzg_set *s, const lzg_type *type, const lzg_annotation *annotation,
                          lzg_arg_facts *out)
{
    lz_text t = { 0 };
    lzg_type_print(type, &t);
    lz_err *e = lz_text_save(&t, &s->texts, &out->type);
    if (!e && annotation) {
        lzg_annotation_print(annotation, &t);
        e = lz_text_save(&t, &s->texts, &out->annotation);
    }
    lz_text_deinit(&t);
    out->write = annotation && annotation->write;
    out->tensor_like = lzg_type_is_tensor_like(type);
    out->symint_like = lzg_type_is_symint_like(type);
    out->nullable = lzg_type_is_nullable(type);
    return e;
}

lz_err *lzg_describe_arg(lzg_set *s, const lzg_function *f, size_t i, lzg_arg_facts *out)
{
    if (i >= f->func->nargs)
        return out_of_range(f, "argument", i, f->func->nargs);
    const lzg_argument *arg = &f->func->args[i];
    *out = (lzg_arg_facts){ .name = arg->name,
                            .deflt = arg->deflt,
                            .keyword_only = arg->section >= LZG_PRE_TENSOR_OPTIONS,
                            .out = arg->section == LZG_OUT };
    return print_type(s, arg->type, arg->annotation, out);
}

lz_err *lzg_describe_return(lzg_set *s, const lzg_function *f, size_t i, lzg_arg_facts *out)
{
    if (i >= f->func->nreturns)
        return out_of_range(f, "return", i, f->func->nreturns);
    const lzg_return *r = &f->func->returns[i];
    *out = (lzg_arg_facts){ .name = r->name };
    return print_type(s, r->type, r->annotation, out);
}

static lzg_kernel_facts kernel_facts(const lzg_backend_metadata *m)
{
    return (lzg_kernel_facts){ .key = lz_str_of(lzg_dispatch_key_name(m->key)),
                               .kernel = m->kernel,
                               .ns = m->cpp_namespace,
                               .structured = m->structured,
                               .symint = lzg_backend_metadata_symint(m) };
}

lz_err *lzg_describe_kernel(const lzg_function *f, size_t i, lzg_kernel_facts *out)
{
    if (i >= f->ndispatch)
        return out_of_range(f, "kernel", i, f->ndispatch);
    *out = kernel_facts(&f->dispatch[i]);
    return NULL;
}

lz_err *lzg_describe_tag(const lzg_function *f, size_t i, lz_str *out)
{
    if (i >= f->ntags)
        return out_of_range(f, "tag", i, f->ntags);
    *out = f->tags[i];
    return NULL;
}

/* ---- groups and indices ---- */

size_t lzg_set_groups(const lzg_set *s)
{
    return s->ops.ngroups;
}

lz_err *lzg_describe_group(const lzg_set *s, size_t i, lzg_group_facts *out)
{
    if (i >= s->ops.ngroups)
        return lz_errf(LZ_ERR_ARG, "group %zu of %zu", i, s->ops.ngroups);
    const lzg_group *g = &s->ops.groups[i];
    *out = (lzg_group_facts){ .functional = g->functional,
                              .inplace = g->inplace,
                              .mutable_ = g->mutable,
                              .out = g->out,
                              .structured = g->structured };
    return NULL;
}

size_t lzg_set_views(const lzg_set *s)
{
    return s->ops.nview_groups;
}

lz_err *lzg_describe_view(const lzg_set *s, size_t i, lzg_view_facts *out)
{
    if (i >= s->ops.nview_groups)
        return lz_errf(LZ_ERR_ARG, "view group %zu of %zu", i, s->ops.nview_groups);
    const lzg_view_group *g = &s->ops.view_groups[i];
    *out = (lzg_view_facts){
        .view = g->view, .view_copy = g->view_copy, .view_inplace = g->view_inplace, .composite = g->composite
    };
    return NULL;
}

size_t lzg_set_indices(const lzg_set *s)
{
    return s->ops.nindices;
}

static lz_err *index_at(const lzg_set *s, size_t i, const lzg_backend_index **out)
{
    if (i >= s->ops.nindices)
        return lz_errf(LZ_ERR_ARG, "backend index %zu of %zu", i, s->ops.nindices);
    *out = &s->ops.indices[i];
    return NULL;
}

lz_err *lzg_describe_index(const lzg_set *s, size_t i, lzg_index_facts *out)
{
    const lzg_backend_index *x;
    LZ_TRY(index_at(s, i, &x));
    *out = (lzg_index_facts){ .key = lz_str_of(lzg_dispatch_key_name(x->key)),
                              .nkernels = lz_map_count(&x->index),
                              .device_guard = x->device_guard };
    return NULL;
}

lz_err *lzg_index_kernel(const lzg_set *s, size_t i, const lzg_function *f, lzg_kernel_facts *out)
{
    const lzg_backend_index *x;
    LZ_TRY(index_at(s, i, &x));
    const lzg_backend_metadata *m = lz_map_get(&x->index, f->func->name.text);
    if (!m)
        return lz_errf(LZ_ERR_NOT_FOUND, "%.*s has no kernel for %s", LZ_FMT(f->func->name.text),
                       lzg_dispatch_key_name(x->key));
    *out = kernel_facts(m);
    return NULL;
}

/* ---- signatures ---- */

typedef lz_err *print_fn(lz_arena *a, const lzg_function *f, lz_text *out);

static lz_err *print_cpp(lz_arena *a, const lzg_function *f, bool faithful, bool symint, lz_text *out)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ .fallback = f->manual_cpp_binding }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        if (forms[i].faithful != faithful || forms[i].symint != symint)
            continue;
        LZ_TRY(lzg_cpp_signature(a, f, forms[i], &sig));
        lzg_sig_decl(&sig, out);
    }
    return NULL;
}

static lz_err *cpp(lz_arena *a, const lzg_function *f, lz_text *out)
{
    return print_cpp(a, f, false, false, out);
}

static lz_err *cpp_faithful(lz_arena *a, const lzg_function *f, lz_text *out)
{
    return print_cpp(a, f, true, false, out);
}

static lz_err *cpp_symint(lz_arena *a, const lzg_function *f, lz_text *out)
{
    return print_cpp(a, f, false, true, out);
}

static lz_err *cpp_symint_faithful(lz_arena *a, const lzg_function *f, lz_text *out)
{
    return print_cpp(a, f, true, true, out);
}

static lz_err *dispatcher(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    lzg_sig_decl(&sig, out);
    return NULL;
}

static lz_err *dispatcher_type(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_dispatcher_signature(a, f->func, lzg_local_of(f), (lzg_dispatcher_form){ 0 }, &sig));
    lzg_sig_type(&sig, out);
    return NULL;
}

static lz_err *native(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_native_signature(a, f->func, lzg_local_of(f), false, &sig));
    lzg_sig_decl(&sig, out);
    return NULL;
}

static lz_err *native_symint(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_sig sig;
    if (!lzg_schema_has_symint(f->func))
        return NULL;
    LZ_TRY(lzg_native_signature(a, f->func, lzg_local_of(f), true, &sig));
    lzg_sig_decl(&sig, out);
    return NULL;
}

static lz_err *c_shim(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lz_str text;
    LZ_TRY(lzg_c_shim_declaration(a, f->func, "aten", NULL, &text));
    lz_text_add(out, text);
    return NULL;
}

static lz_err *python(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_py_signature sig;
    LZ_TRY(lzg_python_signature(a, f->func, f->category_override, false, &sig));
    return lzg_python_print(&sig, (lzg_py_form){ 0 }, out);
}

static lz_err *pyi(lz_arena *a, const lzg_function *f, lz_text *out)
{
    lzg_py_signature sig;
    LZ_TRY(lzg_python_signature(a, f->func, f->category_override, false, &sig));
    return lzg_python_print_pyi(a, &sig, false, out);
}

static print_fn *const printers[LZG_SIG_COUNT] = {
    [LZG_SIG_CPP] = cpp,
    [LZG_SIG_CPP_FAITHFUL] = cpp_faithful,
    [LZG_SIG_CPP_SYMINT] = cpp_symint,
    [LZG_SIG_CPP_SYMINT_FAITHFUL] = cpp_symint_faithful,
    [LZG_SIG_DISPATCHER] = dispatcher,
    [LZG_SIG_DISPATCHER_TYPE] = dispatcher_type,
    [LZG_SIG_NATIVE] = native,
    [LZG_SIG_NATIVE_SYMINT] = native_symint,
    [LZG_SIG_C_SHIM] = c_shim,
    [LZG_SIG_PYTHON] = python,
    [LZG_SIG_PYI] = pyi,
};

lz_err *lzg_set_signature(lzg_set *s, const lzg_function *f, lzg_sig_kind kind, lz_str *out)
{
    if ((unsigned)kind >= LZG_SIG_COUNT)
        return lz_errf(LZ_ERR_ARG, "no kind of signature has the number %d", (int)kind);
    lz_arena scratch = { 0 };
    lz_text t = { 0 };
    lz_err *e = printers[kind](&scratch, f, &t);
    *out = (lz_str){ 0 };
    if (!e && (t.len || t.failed))
        e = lz_text_save(&t, &s->texts, out);
    lz_text_deinit(&t);
    lz_arena_deinit(&scratch);
    return e;
}
