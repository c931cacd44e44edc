#include "gen/torch/dest/native_functions.h"
#include "gen/api/meta.h"
#include "gen/api/native.h"
#include "gen/api/structured.h"

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

static lz_err *save(lz_text *t, lz_arena *a, lz_str *out)
{
    lz_err *e = lz_text_save(t, a, out);
    lz_text_deinit(t);
    return e;
}

lz_err *lzg_native_declaration(lz_arena *a, const lzg_function *f, const lzg_backend_metadata *m, lz_str *out)
{
    lzg_sig sig;
    *out = LZ_STR("");
    LZ_TRY(lzg_kernel_signature(a, f, m, false, &sig));
    if (lz_str_find(m->kernel, LZ_STR("legacy::")) != SIZE_MAX)
        return NULL;
    lz_text t = { 0 };
    sig.name = m->kernel;
    lzg_sig_decl(&sig, &t);
    lz_text_putc(&t, ';');
    return save(&t, a, out);
}

lz_err *lzg_native_structured(lz_arena *a, const lzg_group *g, const lzg_backend_metadata *m, lz_str *out)
{
    lz_str name;
    lzg_sig impl = { .name = LZ_STR("impl"), .returns = lzg_ctype_base(LZG_CPP_void) };
    LZ_TRY(lzg_meta_name(a, g, &name));
    LZ_TRY(lzg_structured_impl_arguments(a, g, &impl.args));
    lz_text t = { 0 };
    lz_text_printf(&t, "struct structured_%.*s : public at::meta::structured_%.*s {\n", LZ_FMT(m->kernel),
                   LZ_FMT(name));
    lzg_sig_decl(&impl, &t);
    lz_text_puts(&t, ";\n};");
    return save(&t, a, out);
}
