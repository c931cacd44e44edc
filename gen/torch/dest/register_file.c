/* What surrounds the wrappers of a dispatch key in a file: namespaces, registrations, headers. */
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"
#include "gen/torch/dest/register_impl.h"

lz_str lzg_kernel_namespace(const lzg_registrar *r, const lzg_grouped *g)
{
    const lzg_backend_metadata *m =
        g->group ? lzg_index_kernel_of_group(r->index, g->group) : lzg_index_kernel_of(r->index, g->f);
    return m ? m->cpp_namespace : LZ_STR("at::native");
}

lz_err *lzg_kernel_namespace_check(lz_str ns)
{
    lz_str outer = ns;
    while (lz_str_ends(outer, LZ_STR("::native")))
        outer.len -= LZ_STR("::native").len;
    lz_err *e = lzg_namespace_check(ns, 3, (lz_loc){ 0 });
    return e ? e : lzg_namespace_check(outer, 2, (lz_loc){ 0 });
}

static lz_err *lower_key(lz_arena *a, lzg_dispatch_key key, lz_str *out)
{
    lz_text t = { 0 };
    lzg_put_lower(&t, lzg_key_text(key));
    lz_err *e = lz_text_save(&t, a, out);
    lz_text_deinit(&t);
    return e;
}

/* Appends s without its empty lines. */
static void put_lines(lz_str s, lz_text *out)
{
    for (bool more = true; more;) {
        lz_str line = lz_str_cut(&s, LZ_STR("\n"), &more);
        if (!line.len)
            continue;
        lz_text_add(out, line);
        lz_text_putc(out, '\n');
    }
}

/* ---- definitions ---- */

static lz_err *print_registration(const lzg_registrar *r, const lzg_grouped *g, lz_str impls, lz_str *out)
{
    lz_str key = lzg_key_text(r->key), ns = g->f->ns;
    *out = LZ_STR("");
    if (!impls.len)
        return NULL;
    return lz_arena_printf(r->arena, out, "\nTORCH_LIBRARY_IMPL(%.*s, %.*s, m) {\n    %.*s}", LZ_FMT(ns),
                           LZ_FMT(key), LZ_FMT(impls));
}

typedef struct frame {
    lz_str open, close, key, registration;
} frame;

static lz_err *make_frame(const lzg_registrar *r, bool skip, const lzg_grouped *g, lz_str impls, frame *out)
{
    lz_text t = { 0 };
    lz_str ns;
    lz_err *e = lzg_replace_all(r->arena, lzg_kernel_namespace(r, g), LZ_STR("::native"), LZ_STR(""), &ns);
    if (!e)
        lzg_namespace_open(&t, ns);
    if (!e)
        e = lz_text_save(&t, r->arena, &out->open);
    if (!e)
        lzg_namespace_close(&t, ns);
    if (!e)
        e = lz_text_save(&t, r->arena, &out->close);
    if (!e)
        e = lower_key(r->arena, r->key, &out->key);
    if (!e)
        e = print_registration(r, g, skip ? LZ_STR("") : impls, &out->registration);
    lz_text_deinit(&t);
    return e;
}

static lz_err *fill_env(lzg_env *env, const lzg_env *base, const frame *f, const lzg_registration *one)
{
    if (base)
        LZ_TRY(lzg_env_merge(env, base));
    LZ_TRY(lzg_env_text(env, "ns_prologue", f->open));
    LZ_TRY(lzg_env_text(env, "ns_epilogue", f->close));
    LZ_TRY(lzg_env_text(env, "dispatch_namespace", f->key));
    LZ_TRY(lzg_env_text(env, "static_init_dispatch_registrations", f->registration));
    LZ_TRY(lzg_env_text(env, "deferred_dispatch_registrations", LZ_STR("")));
    LZ_TRY(lzg_env_add(env, "dispatch_anonymous_definitions", lz_text_view(&one->wrappers)));
    return lzg_env_add(env, "dispatch_namespaced_definitions", lz_text_view(&one->direct));
}

static lz_err *expand(const lzg_registrar *r, const lzg_register_file *file, const lzg_grouped *g,
                      const lzg_registration *one, lz_text *out)
{
    lz_text t = { 0 };
    lzg_env env;
    frame f;
    LZ_TRY(make_frame(r, file->skip_registration, g, lz_text_view(&one->impls), &f));
    lzg_env_init(&env, r->arena);
    lz_err *e = fill_env(&env, file->base, &f, one);
    if (!e)
        e = lzg_template_expand(file->definitions, &env, &t);
    if (!e)
        put_lines(lz_text_view(&t), out);
    lzg_env_deinit(&env);
    lz_text_deinit(&t);
    return e ? e : lz_text_check(out);
}

lz_err *lzg_register_definitions(const lzg_registrar *r, const lzg_register_file *file, const lzg_grouped *g,
                                 lz_text *out)
{
    lzg_registration one = { 0 };
    lz_err *e = lzg_kernel_namespace_check(lzg_kernel_namespace(r, g));
    if (!e)
        e = lzg_register_wrappers(r, g, &one);
    if (!e && one.any)
        e = expand(r, file, g, &one, out);
    lzg_registration_deinit(&one);
    return e;
}

/* ---- headers and helpers ---- */

typedef struct key_header {
    const char *key, *header;
} key_header;

static const key_header empty_headers[] = {
    { "CPU", "#include <ATen/EmptyTensor.h>" },       { "Meta", "#include <ATen/EmptyTensor.h>" },
    { "CUDA", "#include <ATen/cuda/EmptyTensor.h>" }, { "MPS", "#include <ATen/mps/EmptyTensor.h>" },
    { "XPU", "#include <ATen/xpu/EmptyTensor.h>" },   { "MTIA", "#include <ATen/native/mtia/EmptyTensor.h>" },
};

static const char *empty_header(lzg_dispatch_key key, bool rocm)
{
    if (rocm && lzg_key_is(key, "CUDA"))
        return "#include <ATen/hip/EmptyTensor.h>";
    for (size_t i = 0; i < sizeof empty_headers / sizeof *empty_headers; i++)
        if (lzg_key_is(key, empty_headers[i].key))
            return empty_headers[i].header;
    return NULL;
}

/* A key without functions of its own allocates through the dispatcher. */
static const char *const dispatched[] = {
    "#include <ATen/ops/empty.h>",
    "#include <ATen/ops/empty_strided.h>",
    "#include <ATen/ops/_copy_from_and_resize.h>",
    "#include <ATen/ops/_copy_from.h>",
};

static lz_err *add_texts(lzg_env *env, const char *list, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lzg_env_add(env, list, lz_str_of(texts[i])));
    return NULL;
}

lz_err *lzg_register_headers(const lzg_backend_index *index, lzg_register_options o, lzg_env *env,
                             const char *list)
{
    const char *empty = empty_header(index->key, o.rocm);
    LZ_TRY(lzg_env_add(env, list,
                       lz_str_of(o.per_operator_headers ? "#include <ATen/ops/as_strided_native.h>"
                                                        : "#include <ATen/NativeFunctions.h>")));
    if (empty)
        LZ_TRY(lzg_env_add(env, list, lz_str_of(empty)));
    else if (o.per_operator_headers)
        LZ_TRY(add_texts(env, list, dispatched, sizeof dispatched / sizeof *dispatched));
    else
        LZ_TRY(lzg_env_add(env, list, LZ_STR("#include <ATen/Functions.h>")));
    if (o.has_native_aot && lzg_key_is(index->key, "CUDA"))
        LZ_TRY(lzg_env_add(env, list, LZ_STR("#include <ATen/NativeAotStubs.h>")));
    return lzg_env_add(env, list, LZ_STR("#include <c10/macros/Macros.h>"));
}
