/* What surrounds the wrappers of a dispatch key in a file: namespaces, registrations, declarations of the
 * direct functions. */
#include "base/vec.h"
#include "gen/api/cpp.h"
#include "gen/text/identifiers.h"
#include "gen/text/utils.h"
#include "gen/torch/dest/register_impl.h"

static const lz_str native = { "at::native", 10 };

static lz_str kernel_namespace(const lzg_backend_index *index, lzg_unit u)
{
    const lzg_backend_metadata *m = lzg_index_unit(index, u);
    return m ? m->cpp_namespace : native;
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

static lz_err *print_registration(const lzg_registrar *r, lzg_unit u, lz_str impls, lz_arena *a, lz_str *out)
{
    lz_str key = lzg_key_text(r->index->key), ns = lzg_unit_functional(u)->ns;
    *out = LZ_STR("");
    if (!impls.len)
        return NULL;
    return lz_arena_printf(a, out, "\nTORCH_LIBRARY_IMPL(%.*s, %.*s, m) {\n    %.*s}", LZ_FMT(ns),
                           LZ_FMT(key), LZ_FMT(impls));
}

typedef struct frame {
    lz_str open, close, key, registration;
} frame;

static lz_err *make_frame(const lzg_registrar *r, bool skip, lzg_unit u, lz_str impls, frame *out)
{
    lz_text t = { 0 };
    lz_str ns;
    lz_err *e = lzg_replace_all(r->arena, kernel_namespace(r->index, u), LZ_STR("::native"), LZ_STR(""), &ns);
    if (!e)
        lzg_namespace_open(&t, ns);
    if (!e)
        e = lz_text_save(&t, r->arena, &out->open);
    if (!e)
        lzg_namespace_close(&t, ns);
    if (!e)
        e = lz_text_save(&t, r->arena, &out->close);
    if (!e)
        e = lower_key(r->arena, r->index->key, &out->key);
    if (!e)
        e = print_registration(r, u, skip ? LZ_STR("") : impls, r->arena, &out->registration);
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

static lz_err *expand(const lzg_registrar *r, const lzg_register_file *file, lzg_unit u,
                      const lzg_registration *one, lz_text *out)
{
    lz_text t = { 0 };
    lzg_env env;
    frame f;
    LZ_TRY(make_frame(r, file->skip_registration, u, lz_text_view(&one->impls), &f));
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

lz_err *lzg_register_definitions(const lzg_registrar *r, const lzg_register_file *file, lzg_unit u,
                                 lz_text *out)
{
    lzg_registration one = { 0 };
    lz_err *e = lzg_kernel_namespace_check(kernel_namespace(r->index, u));
    if (!e)
        e = lzg_register_unit(r, u, &one);
    if (!e && one.any)
        e = expand(r, file, u, &one, out);
    lzg_registration_deinit(&one);
    return e;
}

/* ---- declarations ---- */

lz_str lzg_export_macro(const lzg_backend_index *index)
{
    if (index->external)
        return LZ_STR("");
    if (lzg_key_is_cuda(index->key))
        return LZ_STR("TORCH_CUDA_CPP_API");
    return lzg_dispatch_key_device_guard(index->key) ? LZ_STR("TORCH_XPU_API") : LZ_STR("TORCH_API");
}

/* The direct functions of one operator. */
static lz_err *print_direct(const lzg_registrar *r, const lzg_function *f, lz_text *out)
{
    lzg_cpp_form forms[4];
    size_t n = lzg_cpp_forms(f->func, (lzg_cpp_form){ 0 }, forms);
    for (size_t i = 0; i < n; i++) {
        lzg_sig sig;
        LZ_TRY(lzg_cpp_signature(r->arena, f, forms[i], &sig));
        lz_text_add(out, lzg_export_macro(r->index));
        lz_text_putc(out, ' ');
        lzg_sig_decl(&sig, out);
        lz_text_puts(out, ";\n");
    }
    return NULL;
}

/* Declarations of one namespace, and the operators' parts of them, so that each comes once. */
typedef struct declared {
    lz_str ns; /* of the kernels */
    lz_text text;
    lz_map seen;
} declared;

typedef struct declarer {
    const lzg_registrar *r;
    lz_text one;
    LZ_VEC(declared) all;
} declarer;

static lz_err *declare_member(declarer *d, declared *to, const lzg_function *f)
{
    lz_str text;
    LZ_TRY(print_direct(d->r, f, &d->one));
    LZ_TRY(lz_text_save(&d->one, d->r->arena, &text));
    if (lz_map_find(&to->seen, text))
        return NULL;
    lz_text_add(&to->text, text);
    return lz_map_put(&to->seen, text, NULL);
}

static lz_err *find_namespace(declarer *d, lz_str ns, declared **out)
{
    size_t i = 0;
    while (i < d->all.len && !lz_str_eq(d->all.data[i].ns, ns))
        i++;
    if (i == d->all.len)
        LZ_TRY(lz_vec_push(&d->all, (declared){ .ns = ns }));
    *out = &d->all.data[i];
    return NULL;
}

static lz_err *declare_unit(declarer *d, lzg_unit u)
{
    const lzg_function *members[LZG_UNIT_MEMBERS];
    declared *to;
    size_t n;
    LZ_TRY(find_namespace(d, kernel_namespace(d->r->index, u), &to));
    LZ_TRY(lzg_wrapped_members(d->r, u, members, &n));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(declare_member(d, to, members[i]));
    return NULL;
}

/* a::native is declared in a::KEY. The line of blanks behind becomes an empty one in the file. */
static lz_err *print_declared(const lzg_registrar *r, const declared *d, lz_text *out)
{
    lz_str key, ns;
    if (!d->text.len)
        return NULL;
    LZ_TRY(lower_key(r->arena, r->index->key, &key));
    LZ_TRY(lzg_replace_all(r->arena, d->ns, LZ_STR("native"), key, &ns));
    LZ_TRY(lzg_namespace_check(ns, 3, (lz_loc){ 0 }));
    lzg_namespace_open(out, ns);
    lz_text_putc(out, '\n');
    lz_text_add(out, lz_text_view(&d->text));
    lzg_namespace_close(out, ns);
    lz_text_puts(out, "\n        \n");
    return lz_text_check(out);
}

static lz_err *declare_all(declarer *d, const lzg_unit *units, size_t n, lz_text *out)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(declare_unit(d, units[i]));
    for (size_t i = 0; i < d->all.len; i++)
        LZ_TRY(print_declared(d->r, &d->all.data[i], out));
    return NULL;
}

lz_err *lzg_register_declarations(const lzg_registrar *r, const lzg_unit *units, size_t n, lz_text *out)
{
    declarer d = { .r = r };
    lz_err *e = declare_all(&d, units, n, out);
    for (size_t i = 0; i < d.all.len; i++) {
        lz_text_deinit(&d.all.data[i].text);
        lz_map_deinit(&d.all.data[i].seen);
    }
    lz_vec_deinit(&d.all);
    lz_text_deinit(&d.one);
    return e;
}

/* ---- headers and helpers ---- */

typedef struct key_header {
    const char *key, *header;
} key_header;

static const key_header empty_headers[] = {
    { "CPU", "#include <ATen/EmptyTensor.h>" },
    { "Meta", "#include <ATen/EmptyTensor.h>" },
    { "CUDA", "#include <ATen/cuda/EmptyTensor.h>" },
    { "MPS", "#include <ATen/mps/EmptyTensor.h>" },
    { "XPU", "#include <ATen/xpu/EmptyTensor.h>" },
    { "MTIA", "#include <ATen/native/mtia/EmptyTensor.h>" },
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
