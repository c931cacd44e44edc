/* Target `dispatch`: the kernel of each operator and dispatch key, from the operator files. The run
 * time provides the functions. */
#include "gen/emit/c_text.h"
#include "gen/emit/emit.h"

static const char header[] = "op/dispatch_table.h", source[] = "op/dispatch_table.c";

static bool is_explicit(const lzg_function *f)
{
    return f->composite_explicit;
}

static bool is_non_functional(const lzg_function *f)
{
    return f->composite_non_functional;
}

static bool is_implicit(const lzg_function *f)
{
    return f->composite_implicit;
}

static bool is_nested(const lzg_function *f)
{
    return f->composite_implicit_nested;
}

enum { COMPOSITES = 4 };

/* In the order in which to try them. An operator may have one of them, and in addition to an explicit
 * or implicit one the one for nested tensors. */
static const struct {
    const char *key;
    bool (*has)(const lzg_function *f);
} composites[COMPOSITES] = {
    { "CompositeExplicitAutograd", is_explicit },
    { "CompositeExplicitAutogradNonFunctional", is_non_functional },
    { "CompositeImplicitAutograd", is_implicit },
    { "CompositeImplicitAutogradNestedTensor", is_nested },
};

static unsigned composite_bits(const lzg_function *f)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < COMPOSITES; i++)
        bits |= composites[i].has(f) ? 1U << i : 0;
    return bits;
}

/* ---- dispatch_table.h ---- */

static const char row_types[] =
    "enum {\n    LZ_KERNEL_STRUCTURED = 1,\n    LZ_KERNEL_SYMINT = 2, /* takes symbolic sizes as they are "
    "*/\n};\n\n"
    "typedef struct lz_kernel_row {\n"
    "    const char *name, *ns; /* \"mul_sparse\", \"at::native\" */\n"
    "    uint16_t key;          /* lz_key */\n"
    "    uint8_t flags;\n"
    "} lz_kernel_row;\n\n"
    "/* How an operator that has no kernel for some key is made from others, in the order of trying: bit i "
    "of\n"
    " * composite stands for entry i of lz_composite_order. */\n"
    "typedef struct lz_dispatch_row {\n"
    "    const lz_kernel_row *kernels; /* in the order of the file */\n"
    "    uint16_t delegate;            /* the structured operator whose kernels serve this one; 0: none */\n"
    "    uint8_t nkernels;\n"
    "    uint8_t composite;\n"
    "    bool device_check; /* all tensors must be on one device */\n"
    "    bool device_guard;\n"
    "} lz_dispatch_row;\n\n";

static lz_err *emit_header(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, header, &out));
    lzg_put(
        out,
        "/* dispatch_table.h - kernels by operator and dispatch key. Made by lazuli-gen from the operator\n"
        " * files. */\n"
        "#ifndef LZ_OP_DISPATCH_TABLE_H\n#define LZ_OP_DISPATCH_TABLE_H\n\n#include \"op/op_table.h\"\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\ntypedef enum lz_key {\n");
    for (unsigned key = 0; key < LZG_KEY_COUNT; key++)
        lzg_fill(out, "    LZ_KEY_$,\n", lz_str_of(lzg_dispatch_key_name((lzg_dispatch_key)key)));
    lzg_put(out, "    LZ_KEY_COUNT\n} lz_key;\n\n");
    lz_text_puts(out, row_types);
    lz_text_printf(out,
                   "enum { LZ_COMPOSITES = %d };\n\n"
                   "/* The keys whose kernels serve every backend, in the order of trying. */\n"
                   "extern const uint16_t lz_composite_order[LZ_COMPOSITES];\n"
                   "/* By lz_op; row 0 is empty. */\n"
                   "extern const lz_dispatch_row lz_dispatch_table[LZ_OP_COUNT];\n\n"
                   "#ifdef __cplusplus\n}\n#endif\n#endif\n",
                   COMPOSITES);
    return lzg_emit_end(e);
}

/* ---- dispatch_table.c ---- */

static void put_kernel(lz_text *out, const lzg_backend_metadata *m)
{
    bool symint = lzg_backend_metadata_symint(m);
    lzg_put(out, "    { ");
    lzg_put_c_string(out, m->kernel);
    lzg_put(out, ", ");
    lzg_put_c_string(out, m->cpp_namespace);
    lzg_fill(out, ", LZ_KEY_$, ", lz_str_of(lzg_dispatch_key_name(m->key)));
    lz_text_puts(out, m->structured && symint ? "LZ_KERNEL_STRUCTURED | LZ_KERNEL_SYMINT },\n"
                      : m->structured         ? "LZ_KERNEL_STRUCTURED },\n"
                      : symint                ? "LZ_KERNEL_SYMINT },\n"
                                              : "0 },\n");
}

static void put_kernels(lz_text *out, const lzg_c_op *op)
{
    if (!op->f->ndispatch)
        return;
    lzg_fill(out, "static const lz_kernel_row $_kernels[] = {\n", op->ident);
    for (size_t i = 0; i < op->f->ndispatch; i++)
        put_kernel(out, &op->f->dispatch[i]);
    lzg_put(out, "};\n");
}

static const lzg_c_op *delegate_of(const lzg_emit *e, const lzg_function *f)
{
    return f->structured_delegate
               ? lzg_c_ops_find(e->c, lzg_ops_find(e->c->ops, f->structured_delegate->text))
               : NULL;
}

static void put_row(lz_text *out, const lzg_emit *e, const lzg_c_op *op)
{
    const lzg_c_op *delegate = delegate_of(e, op->f);
    unsigned composite = composite_bits(op->f);
    lzg_fill(out, "    [LZ_OP_$] = { ", op->ident);
    if (op->f->ndispatch) {
        lzg_fill(out, ".kernels = $_kernels, .nkernels = ", op->ident);
        lz_text_int(out, (int64_t)op->f->ndispatch);
        lzg_put(out, ", ");
    }
    if (delegate)
        lzg_fill(out, ".delegate = LZ_OP_$, ", delegate->ident);
    if (composite) {
        lzg_put(out, ".composite = ");
        lz_text_int(out, composite);
        lzg_put(out, ", ");
    }
    lz_text_puts(out, op->f->device_check ? ".device_check = true, " : "");
    lz_text_puts(out, op->f->device_guard ? ".device_guard = true },\n" : ".device_guard = false },\n");
}

static lz_err *emit_source(lzg_emit *e)
{
    lz_text *out;
    LZ_TRY(lzg_emit_begin(e, source, &out));
    lzg_put(out, "#include \"op/dispatch_table.h\"\n\n"
                 "const uint16_t lz_composite_order[LZ_COMPOSITES] = {\n");
    for (size_t i = 0; i < COMPOSITES; i++)
        lzg_fill(out, "    LZ_KEY_$,\n", lz_str_of(composites[i].key));
    lzg_put(out, "};\n\n");
    lzg_emit_each(e, put_kernels);
    lzg_put(out, "\nconst lz_dispatch_row lz_dispatch_table[LZ_OP_COUNT] = {\n    [LZ_OP_NONE] = { 0 },\n");
    for (size_t i = 0; i < e->c->n; i++) {
        put_row(out, e, &e->c->all[i]);
        lzg_emit_flush(e);
    }
    lzg_put(out, "};\n");
    return lzg_emit_end(e);
}

lz_err *lzg_emit_dispatch(lzg_emit *e)
{
    LZ_TRY(emit_header(e));
    return emit_source(e);
}

lz_err *lzg_why_dispatch(const lzg_emit *e, const lzg_c_op *op, lz_arena *a, lzg_uses *out)
{
    const lzg_c_op *delegate = delegate_of(e, op->f);
    LZ_TRY(lzg_use_add(a, out, source, "lz_dispatch_table[LZ_OP_$]", "    [LZ_OP_$] = ", op->ident));
    if (op->f->ndispatch)
        LZ_TRY(lzg_use_add(a, out, source, "$_kernels", "static const lz_kernel_row $_kernels[]", op->ident));
    return delegate && delegate->f->ndispatch ? lzg_use_add(
               a, out, source, "$_kernels", "static const lz_kernel_row $_kernels[]", delegate->ident)
                                              : NULL;
}
