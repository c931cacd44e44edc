#include "gen/torch/dest/native_functions.h"
#include "gen/api/meta.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"
#include "gen/emit/c_text.h"
#include "gen/text/lists.h"
#include "gen/torch/namespaced_lists.h"

static const char cpu_dll_kernels[] = "dest.native_functions.cpu_dll_cuda_kernels";

lz_err *lzg_native_one_namespace(const lzg_function *f)
{
    for (size_t i = 1; i < f->ndispatch; i++) {
        lz_str first = f->dispatch[0].cpp_namespace, here = f->dispatch[i].cpp_namespace;
        if (!lz_str_eq(first, here))
            return lz_errf(LZ_ERR_UNSUPPORTED, "kernels of one operator in two namespaces: %.*s and %.*s",
                           LZ_FMT(first), LZ_FMT(here));
    }
    return NULL;
}

lz_err *lzg_put_native_declaration(lz_arena *a, const char *prefix, const lzg_function *f,
                                   const lzg_backend_metadata *m, bool external, lz_text *out)
{
    lzg_sig sig;
    LZ_TRY(lzg_kernel_signature(a, f, m, external, &sig));
    if (lz_str_find(m->kernel, LZ_STR("legacy::")) != SIZE_MAX)
        return NULL;
    sig.name = m->kernel;
    lz_text_puts(out, prefix);
    lz_text_putc(out, ' ');
    lzg_sig_decl(&sig, out);
    lz_text_putc(out, ';');
    return lz_text_check(out);
}

lz_err *lzg_put_native_structured(lz_arena *a, const char *prefix, const lzg_group *g,
                                  const lzg_backend_metadata *m, lz_text *out)
{
    lz_str name;
    lzg_bindings args;
    LZ_TRY(lzg_meta_name(a, g, &name));
    LZ_TRY(lzg_structured_impl_arguments(a, g, &args));
    lzg_fill(out, "struct $$structured_$ : public at::meta::structured_$ {\nvoid impl(", lz_str_of(prefix),
             lz_str_of(*prefix ? " " : ""), m->kernel, name);
    lzg_bindings_decl(args, out);
    lzg_put(out, ");\n};\n");
    return lz_text_check(out);
}

/* ---- macros ---- */

const char *lzg_export_macro(const lzg_backend_index *index)
{
    if (index->external)
        return "";
    return lzg_dispatch_key_is_cuda(index->key)  ? "TORCH_CUDA_CPP_API"
           : lzg_dispatch_key_is_xpu(index->key) ? "TORCH_XPU_API"
                                                 : "TORCH_API";
}

/* That of one kernel: some kernels for CUDA are in the CPU library. */
static const char *kernel_macro(const lzg_ops *ops, const lzg_backend_index *index,
                                const lzg_backend_metadata *m)
{
    const char *macro = lzg_export_macro(index);
    bool cuda = *macro && lzg_dispatch_key_is_cuda(index->key);
    return cuda && lzg_lists_has(ops->lists, cpu_dll_kernels, m->kernel) ? "TORCH_API" : macro;
}

static bool has_cuda_kernel(const lzg_ops *ops, lz_str kernel)
{
    for (size_t i = 0; i < ops->nindices; i++) {
        const lz_map *index = &ops->indices[i].index;
        if (!lzg_dispatch_key_is_cuda(ops->indices[i].key))
            continue;
        for (lz_map_entry *e = lz_map_next(index, NULL); e; e = lz_map_next(index, e))
            if (lz_str_eq(((const lzg_backend_metadata *)e->value)->kernel, kernel))
                return true;
    }
    return false;
}

lz_err *lzg_check_cpu_dll_kernels(const lzg_ops *ops)
{
    const lz_json *list = lzg_lists_get(ops->lists, cpu_dll_kernels);
    for (size_t i = 0; list && i < list->len; i++)
        if (!has_cuda_kernel(ops, list->items[i].str))
            return lz_errf(LZ_ERR_UNSUPPORTED,
                           "the list %s names the kernel %.*s, which no operator has for a CUDA key",
                           cpu_dll_kernels, LZ_FMT(list->items[i].str));
    return NULL;
}

/* ---- declarations for an index ---- */

static const lzg_backend_metadata *kernel_of(const lzg_backend_index *index, const lzg_function *f)
{
    return lz_map_get(&index->index, f->func->name.text);
}

static lz_err *put_unstructured(lz_arena *a, const lzg_ops *ops, const lzg_backend_index *index,
                                const lzg_function *f, lzg_texts *out)
{
    const lzg_backend_metadata *m = f ? kernel_of(index, f) : NULL;
    if (!m)
        return NULL;
    const char *prefix = index->external ? "static" : kernel_macro(ops, index, m);
    LZ_TRY(lzg_put_native_declaration(a, prefix, f, m, index->external, &out->text));
    return lzg_texts_end_if_any(out);
}

lz_err *lzg_put_native_declarations(lz_arena *a, const lzg_ops *ops, const lzg_backend_index *index,
                                    const lzg_grouped *g, lzg_texts *out)
{
    if (!g->group)
        return put_unstructured(a, ops, index, g->f, out);
    const lzg_group *all = g->group;
    const lzg_backend_metadata *m = kernel_of(index, index->use_out_as_primary ? all->out : all->functional);
    if (m && m->structured && index->external)
        return lz_errf(LZ_ERR_UNSUPPORTED, "structured kernels of an external backend");
    if (m && m->structured) {
        LZ_TRY(lzg_put_native_structured(a, kernel_macro(ops, index, m), all, m, &out->text));
        return lzg_texts_end(out);
    }
    const lzg_function *const members[] = { all->functional, all->out, all->inplace, all->mutable };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        LZ_TRY(put_unstructured(a, ops, index, members[i], out));
    return NULL;
}

/* ---- declarations by namespace ---- */

typedef struct collector {
    lz_arena *a;
    const lzg_ops *ops;
    lzg_namespaced_lists lists;
    lzg_texts found;
    lz_text key;
} collector;

static lz_str cut_macro(lz_str line)
{
    static const lz_str macros[] = { { "TORCH_CUDA_CPP_API ", 19 },
                                     { "TORCH_XPU_API ", 14 },
                                     { "TORCH_API ", 10 } };
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (lz_str_starts(line, macros[i]))
            return lz_str_trim(lz_str_sub(line, macros[i].len, line.len));
    return line;
}

static lz_str cut_struct(lz_str line, bool *had)
{
    *had = lz_str_starts(line, LZ_STR("struct "));
    return *had ? lz_str_trim(lz_str_sub(line, 7, line.len)) : line;
}

/* The declaration without macros and empty lines. */
static void put_key(lz_str decl, lz_text *out)
{
    for (bool more = true, any = false; more;) {
        bool is_struct;
        lz_str line = lz_str_trim(lz_str_cut(&decl, LZ_STR("\n"), &more));
        if (!line.len)
            continue;
        line = cut_macro(cut_struct(line, &is_struct));
        lz_text_puts(out, any ? "\n" : "");
        lz_text_puts(out, is_struct ? "struct " : "");
        lz_text_add(out, line);
        any = true;
    }
}

static bool is_torch_api(lz_str decl)
{
    bool is_struct;
    return lz_str_starts(cut_struct(lz_str_trim(decl), &is_struct), LZ_STR("TORCH_API "));
}

/* Of two that differ in the macro alone, the one with TORCH_API stays, else the first. */
static lz_err *add_declaration(collector *c, lz_str ns, lz_str text)
{
    lz_str *there;
    lz_text_clear(&c->key);
    put_key(text, &c->key);
    LZ_TRY(lz_text_check(&c->key));
    LZ_TRY(lzg_namespaced_lists_add(&c->lists, ns, lz_text_view(&c->key), text, &there));
    return !is_torch_api(*there) && is_torch_api(text) ? lz_arena_copy(c->a, text, there) : NULL;
}

static lz_err *collect_index(collector *c, const lzg_backend_index *index, const lzg_grouped *g)
{
    const lzg_backend_metadata *m =
        kernel_of(index, g->group && index->use_out_as_primary ? g->group->out : g->f);
    lz_str ns = m ? m->cpp_namespace : LZ_STR("at::native");
    LZ_TRY(lzg_namespaced_lists_open(&c->lists, ns));
    c->found.text.len = c->found.ends.len = 0;
    LZ_TRY(lzg_put_native_declarations(c->a, c->ops, index, g, &c->found));
    for (size_t i = 0; i < lzg_texts_count(&c->found); i++)
        LZ_TRY(add_declaration(c, ns, lzg_texts_item(&c->found, i)));
    return NULL;
}

static lz_err *collect(collector *c, const lzg_grouped *g)
{
    LZ_TRY(lzg_native_one_namespace(g->group ? g->group->out : g->f));
    for (size_t i = 0; i < c->ops->nindices; i++)
        LZ_TRY(collect_index(c, lzg_ops_index(c->ops, c->ops->key_order[i]), g));
    return NULL;
}

lz_err *lzg_put_namespaced_kernels(lz_arena *a, const lzg_ops *ops, const lzg_grouped *g, size_t n,
                                   lzg_texts *out)
{
    enum { LEVELS = 4 };
    collector c = { .a = a, .ops = ops, .lists.arena = a };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = collect(&c, &g[i]);
    if (!e)
        e = lzg_namespaced_lists_print(&c.lists, LEVELS, true, out);
    lzg_namespaced_lists_deinit(&c.lists);
    lzg_texts_deinit(&c.found);
    lz_text_deinit(&c.key);
    return e;
}
