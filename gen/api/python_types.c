#include "gen/api/python_types.h"
#include "base/number.h"
#include "gen/api/cpp.h"

/* ---- parser strings ---- */

static const char *const parser_names[LZG_TY_COUNT] = {
    [LZG_TY_int] = "int64_t",
    [LZG_TY_float] = "double",
    [LZG_TY_str] = "c10::string_view",
    [LZG_TY_Tensor] = "Tensor",
    [LZG_TY_bool] = "bool",
    [LZG_TY_QScheme] = "QScheme",
    [LZG_TY_Scalar] = "Scalar",
    [LZG_TY_ScalarType] = "ScalarType",
    [LZG_TY_Generator] = "Generator",
    [LZG_TY_Storage] = "Storage",
    [LZG_TY_Layout] = "Layout",
    [LZG_TY_Device] = "Device",
    [LZG_TY_DeviceIndex] = "DeviceIndex",
    [LZG_TY_MemoryFormat] = "MemoryFormat",
    [LZG_TY_Stream] = "Stream",
    [LZG_TY_SymInt] = "SymInt",
};

static const char *const parser_lists[LZG_TY_COUNT] = {
    [LZG_TY_int] = "IntArrayRef",
    [LZG_TY_SymInt] = "SymIntArrayRef",
    [LZG_TY_Tensor] = "TensorList",
    [LZG_TY_Scalar] = "ScalarList",
};

static bool is_optional_tensor(const lzg_type *t)
{
    return t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, LZG_TY_Tensor);
}

static lz_err *bool_list(const lzg_type *t, lz_text *out)
{
    if (t->size < 0)
        return lzg_refuse_type(t, "a list of bools needs a size");
    lz_text_printf(out, "::std::array<bool,%d>", (int)t->size);
    return NULL;
}

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */

static lz_err *parser_list(const lzg_type *t, bool symint, lz_text *out)
{
    const lzg_type *elem = t->elem;
    lzg_base_ty base = elem->base == LZG_TY_SymInt && !symint ? LZG_TY_int : elem->base;
    if (lzg_type_is(elem, LZG_TY_bool))
        return bool_list(t, out);
    if (elem->kind == LZG_TYPE_BASE && parser_lists[base]) {
        lz_text_puts(out, parser_lists[base]);
        if (t->size >= 0)
            lz_text_printf(out, "[%d]", (int)t->size);
        return NULL;
    }
    if (is_optional_tensor(elem)) {
        lz_text_puts(out, "c10::List<::std::optional<Tensor>>");
        return NULL;
    }
    lz_text_puts(out, "ArrayRef<");
    LZ_TRY(lzg_python_type(elem, symint, out));
    lz_text_putc(out, '>');
    return NULL;
}

lz_err *lzg_python_type(const lzg_type *t, bool symint, lz_text *out)
{
    if (t->kind == LZG_TYPE_LIST)
        return parser_list(t, symint, out);
    if (t->kind == LZG_TYPE_OPTIONAL) {
        LZ_TRY(lzg_python_type(t->elem, symint, out));
        lz_text_putc(out, '?');
        return NULL;
    }
    if (t->kind == LZG_TYPE_CLASS || !parser_names[t->base])
        return lzg_refuse_type(t, "the Python parser has no name for this type");
    lz_text_puts(out, parser_names[t->base]);
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the type */
static lz_err *without_sizes(lz_arena *a, const lzg_type *t, const lzg_type **out)
{
    lzg_type *copy;
    *out = t;
    if (t->kind != LZG_TYPE_OPTIONAL && t->kind != LZG_TYPE_LIST)
        return NULL;
    LZ_TRY(lz_arena_new(a, &copy, 1));
    *copy = *t;
    if (t->kind == LZG_TYPE_LIST && !lzg_type_is(t->elem, LZG_TY_bool))
        copy->size = -1;
    *out = copy;
    return without_sizes(a, t->elem, &copy->elem);
}

lz_err *lzg_python_simple_type(lz_arena *a, const lzg_type *t, lz_text *out)
{
    LZ_TRY(without_sizes(a, t, &t));
    return lzg_python_type(t, true, out);
}

/* ---- stubs ---- */

/* Types without a name there leave the place empty. */
static const char *const stub_names[LZG_TY_COUNT] = {
    [LZG_TY_int] = "_int",
    [LZG_TY_DeviceIndex] = "_int",
    [LZG_TY_SymInt] = "_int | SymInt",
    [LZG_TY_float] = "_float",
    [LZG_TY_str] = "str",
    [LZG_TY_Scalar] = "Number | _complex | PySymType",
    [LZG_TY_ScalarType] = "_dtype",
    [LZG_TY_bool] = "_bool",
    [LZG_TY_QScheme] = "_qscheme",
    [LZG_TY_Layout] = "_layout",
    [LZG_TY_Device] = "DeviceLikeType | None",
    [LZG_TY_MemoryFormat] = "memory_format",
    [LZG_TY_Storage] = "Storage | UntypedStorage",
    [LZG_TY_Tensor] = "Tensor",
    [LZG_TY_Generator] = "Generator",
    [LZG_TY_Stream] = "Stream",
};

void lzg_python_or_none(lz_text *out)
{
    if (!lz_str_ends(lz_text_view(out), LZ_STR(" | None")))
        lz_text_puts(out, " | None");
}

static void stub_tensors(const lzg_type *t, lz_text *out)
{
    bool nullable = t->elem->kind == LZG_TYPE_OPTIONAL;
    const char *elem = nullable ? "Tensor | None" : "Tensor";
    lz_text_puts(out, t->size >= 0 ? "Tensor | " : "");
    lz_text_printf(out, "tuple[%s, ...] | list[%s]", elem, elem);
    if (nullable)
        lzg_python_or_none(out);
}

/* A list of fixed size may be given as one element. */
static lz_err *stub_list(const lzg_type *t, lz_text *out)
{
    bool sized = t->size >= 0;
    if (lzg_type_is(t->elem, LZG_TY_int)) {
        lz_text_puts(out, sized ? "_int | _size" : "_size");
        return NULL;
    }
    if (lzg_type_is_tensor_like(t)) {
        stub_tensors(t, out);
        return NULL;
    }
    if (lzg_type_is(t->elem, LZG_TY_SymInt) && sized)
        lz_text_printf(out, "%s | ", stub_names[LZG_TY_SymInt]);
    lz_text_puts(out, "Sequence[");
    LZ_TRY(lzg_python_type_pyi(t->elem, out));
    lz_text_putc(out, ']');
    return NULL;
}

lz_err *lzg_python_type_pyi(const lzg_type *t, lz_text *out)
{
    const lzg_type *inner = t->kind == LZG_TYPE_OPTIONAL ? t->elem : t;
    if (inner->kind == LZG_TYPE_LIST)
        LZ_TRY(stub_list(inner, out));
    else if (inner->kind != LZG_TYPE_BASE)
        return lzg_refuse_type(t, "stubs have no name for this type");
    else if (stub_names[inner->base])
        lz_text_puts(out, stub_names[inner->base]);
    if (inner != t)
        lzg_python_or_none(out);
    return NULL;
}

lz_err *lzg_python_return_pyi(const lzg_type *t, lz_text *out)
{
    if (t->kind == LZG_TYPE_OPTIONAL) {
        LZ_TRY(lzg_python_return_pyi(t->elem, out));
        lzg_python_or_none(out);
        return NULL;
    }
    if (t->kind == LZG_TYPE_LIST) {
        lz_text_puts(out, "tuple[");
        LZ_TRY(lzg_python_return_pyi(t->elem, out));
        lz_text_puts(out, ", ...]");
        return NULL;
    }
    if (!lzg_type_is(t, LZG_TY_Device))
        return lzg_python_type_pyi(t, out);
    lz_text_puts(out, "_device");
    return NULL;
}

/* ---- defaults ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Without the underscores that Python allows between two digits; false if one stands elsewhere. */
static bool join_digits(lz_str s, char *buf, lz_str *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '_')
            buf[n++] = s.ptr[i];
        else if (i == 0 || i + 1 == s.len || !is_digit(s.ptr[i - 1]) || !is_digit(s.ptr[i + 1]))
            return false;
    }
    *out = (lz_str){ buf, n };
    return true;
}

/* Of any length: no plus, no leading zeros, no minus before 0. */
static bool print_integer(lz_str s, lz_text *out)
{
    bool negative = s.len && s.ptr[0] == '-';
    lz_str digits = lz_str_sub(s, s.len && (negative || s.ptr[0] == '+') ? 1 : 0, s.len);
    bool ok = digits.len > 0;
    for (size_t i = 0; ok && i < digits.len; i++)
        ok = is_digit(digits.ptr[i]);
    while (ok && digits.len > 1 && digits.ptr[0] == '0')
        digits = lz_str_sub(digits, 1, digits.len);
    if (ok && negative && digits.ptr[0] != '0')
        lz_text_putc(out, '-');
    if (ok)
        lz_text_add(out, digits);
    return ok;
}

static lz_err *print_number(lz_arena *a, lz_str s, lz_text *out, bool *is_number)
{
    char *buf;
    double v;
    *is_number = false;
    LZ_TRY(lz_arena_new(a, &buf, s.len + 1));
    if (!join_digits(lz_str_trim(s), buf, &s))
        return NULL;
    *is_number = print_integer(s, out);
    if (!*is_number && lz_double_parse(s, &v)) {
        *is_number = true;
        lz_text_double(out, v);
    }
    return NULL;
}

/* Quick, for most defaults are words: a number begins so. */
static bool maybe_number(lz_str s)
{
    s = lz_str_trim(s);
    return s.len && (is_digit(s.ptr[0]) || strchr("+-.iInN", s.ptr[0]));
}

lz_err *lzg_python_default(lz_arena *a, lz_str deflt, const lzg_type *t, lz_str *out)
{
    bool is_number;
    LZ_TRY(lzg_cpp_default_expr(a, deflt, t, false, out));
    if (lz_str_is(*out, "true") || lz_str_is(*out, "false")) {
        *out = out->len == 4 ? LZ_STR("True") : LZ_STR("False");
        return NULL;
    }
    if (!maybe_number(*out))
        return NULL;
    lz_text text = { 0 };
    lz_err *e = print_number(a, *out, &text, &is_number);
    if (!e && is_number)
        e = lz_text_save(&text, a, out);
    lz_text_deinit(&text);
    return e;
}

/* ---- accessors ---- */

static const struct {
    const char *plain, *with_init; /* NULL: there is none */
} accessors[LZG_TY_COUNT] = {
    [LZG_TY_Tensor] = { "tensor", NULL },
    [LZG_TY_Stream] = { "stream", NULL },
    [LZG_TY_Storage] = { "storage", NULL },
    [LZG_TY_Scalar] = { "scalar", NULL },
    [LZG_TY_ScalarType] = { "scalartype", "scalartypeWithDefault" },
    [LZG_TY_Device] = { "device", "deviceWithDefault" },
    [LZG_TY_DeviceIndex] = { "toInt64", NULL },
    [LZG_TY_int] = { "toInt64", NULL },
    [LZG_TY_SymInt] = { "toSymInt", NULL },
    [LZG_TY_bool] = { "toBool", "toBoolWithDefault" },
    [LZG_TY_float] = { "toDouble", NULL },
    [LZG_TY_str] = { "stringView", NULL },
    [LZG_TY_Layout] = { "layout", "layoutWithDefault" },
    [LZG_TY_MemoryFormat] = { "memoryformat", NULL },
};

static const char *const list_accessors[LZG_TY_COUNT] = {
    [LZG_TY_Tensor] = "tensorlist", [LZG_TY_int] = "intlist",       [LZG_TY_float] = "doublelist",
    [LZG_TY_SymInt] = "symintlist", [LZG_TY_Scalar] = "scalarlist",
};

static lz_err *unpack_list(const lzg_type *t, lz_text *out)
{
    bool plain = t->elem->kind == LZG_TYPE_BASE && list_accessors[t->elem->base];
    if (!plain && !is_optional_tensor(t->elem))
        return lzg_refuse_type(t, "the Python parser cannot take this type");
    lz_text_puts(out, plain ? list_accessors[t->elem->base] : "list_of_optional_tensors");
    if (lzg_type_is(t->elem, LZG_TY_Tensor) && t->size >= 0)
        lz_text_printf(out, "_n<%d>", (int)t->size);
    return NULL;
}

static lz_err *unpack_optional(const lzg_type *t, lz_str deflt, bool with_init, lz_text *out)
{
    bool none = !deflt.ptr || lz_str_is(deflt, "None") || lz_str_is(deflt, "::std::nullopt")
                || lz_str_is(deflt, "std::nullopt");
    if (lzg_type_is(t->elem, LZG_TY_Tensor)) {
        lz_text_puts(out, "optionalTensor");
        return NULL;
    }
    if (lzg_type_is(t->elem, LZG_TY_Generator)) {
        lz_text_puts(out, "generator");
        return NULL;
    }
    if (with_init || !none)
        return lzg_python_unpack(t->elem, deflt, with_init, out);
    LZ_TRY(lzg_python_unpack(t->elem, (lz_str){ 0 }, false, out));
    lz_text_puts(out, "Optional");
    return NULL;
}

lz_err *lzg_python_unpack(const lzg_type *t, lz_str deflt, bool with_init, lz_text *out)
{
    if (t->kind == LZG_TYPE_LIST && !with_init)
        return unpack_list(t, out);
    if (t->kind == LZG_TYPE_OPTIONAL)
        return unpack_optional(t, deflt, with_init, out);
    const char *name = NULL;
    if (t->kind == LZG_TYPE_BASE)
        name = with_init ? accessors[t->base].with_init : accessors[t->base].plain;
    if (!name)
        return lzg_refuse_type(t, "the Python parser cannot take this type");
    lz_text_puts(out, name);
    return NULL;
}

/* NOLINTEND(misc-no-recursion) */
