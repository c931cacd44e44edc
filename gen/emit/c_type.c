#include "gen/emit/c_type.h"

#define S(text)                                                                                              \
    {                                                                                                        \
        "" text, sizeof(text) - 1                                                                            \
    }
#define ROW(id, decl, member, absent)                                                                        \
    [LZG_C_##id] = { S(decl), S(#id), S(member), S(""), S(absent), S(""), LZG_C_##id }
#define OPT(id, of, decl, member, opt)                                                                       \
    [LZG_C_##id] = { S(decl), S(#of), S(member), S(opt), S("{ false, 0 }"), S(""), LZG_C_##of }
#define LIST(id, of, decl, member, element)                                                                  \
    [LZG_C_##id] = { S(decl), S(#id), S(member), S(""), S("{ NULL, -1 }"), S(element), LZG_C_##of }

const lzg_c_type_row lzg_c_types[LZG_C_TYPE_COUNT] = {
    ROW(TENSOR, "lz_tensor *", "tensor", "NULL"),
    ROW(GENERATOR, "lz_generator *", "generator", "NULL"),
    ROW(STORAGE, "lz_storage *", "storage", "NULL"),
    ROW(STREAM, "lz_stream *", "stream", "NULL"),
    ROW(OBJECT, "lz_object *", "object", "NULL"),
    ROW(INT, "int64_t ", "integer", ""),
    ROW(FLOAT, "double ", "real", ""),
    ROW(BOOL, "bool ", "truth", ""),
    ROW(SCALAR, "lz_scalar ", "scalar", "{ LZ_SCALAR_NONE, 0, 0, 0 }"),
    ROW(STR, "const char *", "str", "NULL"),
    ROW(DTYPE, "lz_dtype ", "dtype", "LZ_DTYPE_NONE"),
    ROW(LAYOUT, "lz_layout ", "layout", "LZ_LAYOUT_NONE"),
    ROW(MEMORY_FORMAT, "lz_memory_format ", "memory_format", "LZ_MEMORY_FORMAT_NONE"),
    ROW(QSCHEME, "lz_qscheme ", "qscheme", "LZ_QSCHEME_NONE"),
    ROW(DEVICE, "lz_device ", "device", "{ -1, -1 }"),
    LIST(INTS, INT, "lz_ints ", "ints", "int64_t"),
    LIST(FLOATS, FLOAT, "lz_floats ", "floats", "double"),
    LIST(BOOLS, BOOL, "lz_bools ", "bools", "bool"),
    LIST(SCALARS, SCALAR, "lz_scalars ", "scalars", "lz_scalar"),
    LIST(STRS, STR, "lz_strs ", "strs", "char *const"),
    LIST(TENSORS, TENSOR, "lz_tensors ", "tensors", "lz_tensor *const"),
    OPT(OPT_INT, INT, "lz_opt_int ", "integer", "opt_int"),
    OPT(OPT_FLOAT, FLOAT, "lz_opt_float ", "real", "opt_float"),
    OPT(OPT_BOOL, BOOL, "lz_opt_bool ", "truth", "opt_bool"),
};

/* The C types of a base type, of its option, and of its list; NONE: there is no C type. */
enum { NONE = LZG_C_TYPE_COUNT };
static const struct {
    int plain, option, list;
} forms[LZG_TY_COUNT] = {
    [LZG_TY_Generator] = { LZG_C_GENERATOR, LZG_C_GENERATOR, NONE },
    [LZG_TY_ScalarType] = { LZG_C_DTYPE, LZG_C_DTYPE, NONE },
    [LZG_TY_Tensor] = { LZG_C_TENSOR, LZG_C_TENSOR, LZG_C_TENSORS },
    [LZG_TY_int] = { LZG_C_INT, LZG_C_OPT_INT, LZG_C_INTS },
    [LZG_TY_DimVector] = { LZG_C_INTS, LZG_C_INTS, NONE },
    [LZG_TY_float] = { LZG_C_FLOAT, LZG_C_OPT_FLOAT, LZG_C_FLOATS },
    [LZG_TY_str] = { LZG_C_STR, LZG_C_STR, LZG_C_STRS },
    [LZG_TY_bool] = { LZG_C_BOOL, LZG_C_OPT_BOOL, LZG_C_BOOLS },
    [LZG_TY_Layout] = { LZG_C_LAYOUT, LZG_C_LAYOUT, NONE },
    [LZG_TY_Device] = { LZG_C_DEVICE, LZG_C_DEVICE, NONE },
    [LZG_TY_DeviceIndex] = { LZG_C_INT, LZG_C_OPT_INT, LZG_C_INTS },
    [LZG_TY_Scalar] = { LZG_C_SCALAR, LZG_C_SCALAR, LZG_C_SCALARS },
    [LZG_TY_MemoryFormat] = { LZG_C_MEMORY_FORMAT, LZG_C_MEMORY_FORMAT, NONE },
    [LZG_TY_QScheme] = { LZG_C_QSCHEME, LZG_C_QSCHEME, NONE },
    [LZG_TY_Storage] = { LZG_C_STORAGE, LZG_C_STORAGE, NONE },
    [LZG_TY_Stream] = { LZG_C_STREAM, LZG_C_STREAM, NONE },
    [LZG_TY_SymInt] = { LZG_C_INT, LZG_C_OPT_INT, LZG_C_INTS },
    [LZG_TY_SymBool] = { LZG_C_BOOL, LZG_C_OPT_BOOL, LZG_C_BOOLS },
    [LZG_TY_GraphModule] = { LZG_C_OBJECT, LZG_C_OBJECT, NONE },
};

static const lzg_type *without_options(const lzg_type *t)
{
    while (t->kind == LZG_TYPE_OPTIONAL)
        t = t->elem;
    return t;
}

static int of_base(const lzg_type *t, bool option)
{
    if (t->kind == LZG_TYPE_CLASS)
        return LZG_C_OBJECT;
    return option ? forms[t->base].option : forms[t->base].plain;
}

/* An element may be optional if NULL can represent None. */
static int of_list(const lzg_type *elem)
{
    const lzg_type *inner = without_options(elem);
    if (inner->kind != LZG_TYPE_BASE || (inner != elem && inner->base != LZG_TY_Tensor))
        return NONE;
    return forms[inner->base].list;
}

lz_err *lzg_c_type_of(const lzg_type *t, lzg_c_type *out)
{
    const lzg_type *inner = without_options(t);
    int found = inner->kind != LZG_TYPE_LIST ? of_base(inner, inner != t)
                : inner->size > INT16_MAX    ? NONE
                                             : of_list(inner->elem);
    *out = (lzg_c_type)found;
    if (found != NONE)
        return NULL;
    lz_text text = { 0 };
    lzg_type_print(t, &text);
    lz_err *e = lz_text_check(&text);
    if (!e)
        e = lz_errf(LZ_ERR_UNSUPPORTED, "the type %.*s has no form in C", LZ_FMT(lz_text_view(&text)));
    lz_text_deinit(&text);
    return e;
}
