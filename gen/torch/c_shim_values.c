#include "gen/torch/c_shim_values.h"
#include "gen/api/types.h"
#include "gen/emit/c_text.h"

/* ATen's type, and what makes it from the C value: a function, or nothing. Device has no row. */
static const struct {
    const char *aten, *convert;
} values[LZG_TY_COUNT] = {
    [LZG_TY_Tensor] = { "at::Tensor", "resolve_tensor_dispatch_flags" },
    [LZG_TY_bool] = { "bool", NULL },
    [LZG_TY_int] = { "int64_t", NULL },
    [LZG_TY_SymInt] = { "c10::SymInt", NULL },
    [LZG_TY_Scalar] = { "c10::Scalar", NULL },
    [LZG_TY_float] = { "double", NULL },
    [LZG_TY_str] = { "::std::string_view", NULL },
    [LZG_TY_DeviceIndex] = { "c10::DeviceIndex", "static_cast<c10::DeviceIndex>" },
    [LZG_TY_Layout] = { "c10::Layout", "static_cast<c10::Layout>" },
    [LZG_TY_MemoryFormat] = { "c10::MemoryFormat", "static_cast<c10::MemoryFormat>" },
    [LZG_TY_ScalarType] = { "c10::ScalarType", "static_cast<c10::ScalarType>" },
    [LZG_TY_Generator] = { "at::Generator", "*generator_handle_to_generator_pointer" },
};

typedef struct value {
    lz_str aten;       /* its type */
    lz_str list_of;    /* of a list: the elements' type; else empty */
    lz_str expression; /* that makes it */
} value;

static lz_err *convert_base(lz_arena *a, const lzg_type *t, lz_str name, bool write, value *out)
{
    if (t->base == LZG_TY_Device) {
        out->aten = LZ_STR("c10::Device");
        return lz_arena_printf(a, &out->expression,
                               "c10::Device(static_cast<c10::DeviceType>(%.*s), "
                               "static_cast<c10::DeviceIndex>(%.*s_index_))",
                               LZ_FMT(name), LZ_FMT(name));
    }
    if (!values[t->base].aten)
        return lzg_refuse_type(t, "there is no C type for this type");
    out->aten = lz_str_of(values[t->base].aten);
    out->expression = name;
    if (t->base == LZG_TY_Tensor && write) /* what is written to must be no temporary */
        return lz_arena_printf(a, &out->expression, "*tensor_handle_to_tensor_pointer(%.*s)", LZ_FMT(name));
    if (!values[t->base].convert)
        return NULL;
    return lz_arena_printf(a, &out->expression, "%s(%.*s)", values[t->base].convert, LZ_FMT(name));
}

static lz_err *convert(lz_arena *a, const lzg_type *t, lz_str name, bool write, value *out);

/* NOLINTBEGIN(misc-no-recursion): a type is not nested deeper than its parser allows */
static lz_err *convert_optional(lz_arena *a, const lzg_type *t, lz_str name, value *out)
{
    value elem = { 0 };
    LZ_TRY(convert(a, t->elem, name, false, &elem));
    LZ_TRY(lz_arena_printf(a, &out->aten, "::std::optional<%.*s>", LZ_FMT(elem.aten)));
    if (elem.list_of.len)
        return lz_arena_printf(a, &out->expression, "pointer_to_optional_list<%.*s>(%.*s, %.*s_len_)",
                               LZ_FMT(elem.list_of), LZ_FMT(name), LZ_FMT(name));
    if (lzg_type_is(t->elem, LZG_TY_Device))
        return lz_arena_printf(a, &out->expression, "pointer_to_optional_device(%.*s, %.*s_index_)",
                               LZ_FMT(name), LZ_FMT(name));
    if (lzg_type_is(t->elem, LZG_TY_Tensor))
        return lz_arena_printf(a, &out->expression, "resolve_tensor_dispatch_flags(%.*s)", LZ_FMT(name));
    return lz_arena_printf(a, &out->expression, "pointer_to_optional<%.*s>(%.*s)", LZ_FMT(elem.aten),
                           LZ_FMT(name));
}

static bool is_optional_tensor(const lzg_type *t)
{
    return t->kind == LZG_TYPE_OPTIONAL && lzg_type_is(t->elem, LZG_TY_Tensor);
}

static lz_err *convert_list(lz_arena *a, const lzg_type *t, lz_str name, bool write, value *out)
{
    value elem = { 0 };
    LZ_TRY(convert(a, t->elem, name, false, &elem));
    LZ_TRY(lz_arena_printf(a, &out->aten, "c10::ArrayRef<%.*s>", LZ_FMT(elem.aten)));
    out->list_of = elem.aten;
    if (lzg_type_is(t->elem, LZG_TY_bool)) /* there is no list of bools, only an array */
        return lz_arena_printf(a, &out->expression, "pointer_to_list<%d>(%.*s)", (int)t->size, LZ_FMT(name));
    if (lzg_type_is(t->elem, LZG_TY_Tensor) && !write)
        return lz_arena_printf(a, &out->expression, "resolve_tensor_list_dispatch_flags(%.*s, %.*s_len_)",
                               LZ_FMT(name), LZ_FMT(name));
    if (is_optional_tensor(t->elem))
        return lz_arena_printf(a, &out->expression,
                               "c10::List<%.*s>(c10::ArrayRef<%.*s>(resolve_tensor_list_dispatch_flags(%.*s, "
                               "%.*s_len_)))",
                               LZ_FMT(elem.aten), LZ_FMT(elem.aten), LZ_FMT(name), LZ_FMT(name));
    return lz_arena_printf(a, &out->expression, "pointer_to_list<%.*s>(%.*s, %.*s_len_)", LZ_FMT(elem.aten),
                           LZ_FMT(name), LZ_FMT(name));
}

static lz_err *convert(lz_arena *a, const lzg_type *t, lz_str name, bool write, value *out)
{
    if (t->kind == LZG_TYPE_BASE)
        return convert_base(a, t, name, write, out);
    if (t->kind == LZG_TYPE_OPTIONAL)
        return convert_optional(a, t, name, out);
    if (t->kind == LZG_TYPE_LIST)
        return convert_list(a, t, name, write, out);
    return lzg_refuse_type(t, "there is no C type for this type");
}
/* NOLINTEND(misc-no-recursion) */

lz_err *lzg_put_c_shim_argument(lz_arena *a, const lzg_argument *arg, lz_text *out)
{
    value v = { 0 };
    LZ_TRY(convert(a, arg->type, arg->name, lzg_argument_writes(arg), &v));
    lz_text_add(out, v.expression);
    return lz_text_check(out);
}

/* ---- results ---- */

static bool may_be_null(const lzg_lists *lists, const lzg_schema *s)
{
    const lz_json *names = lzg_lists_get(lists, "gen_aoti_c_shim.null_returns");
    for (size_t i = 0; names && i < names->len; i++)
        if (lz_str_find(s->name.unambiguous, names->items[i].str) != SIZE_MAX)
            return true;
    return false;
}

static void put_value(const lzg_schema *s, size_t i, lz_text *out)
{
    lzg_base_ty base = s->returns[i].type->base;
    lz_text_puts(out, base == LZG_TY_Tensor ? "new_tensor_handle(std::move(" : "");
    if (s->nreturns == 1)
        lz_text_puts(out, "tmp_result");
    else
        lz_text_printf(out, "std::get<%zu>(tmp_result)", i);
    lz_text_puts(out, base == LZG_TY_Tensor   ? "))"
                      : base == LZG_TY_SymInt ? ".expect_int()"
                      : base == LZG_TY_Scalar ? ".toDouble()"
                                              : "");
}

lz_err *lzg_put_c_shim_results(const lzg_lists *lists, const lzg_schema *s, lz_text *out)
{
    bool null = may_be_null(lists, s);
    for (size_t i = 0; i < s->nreturns; i++) {
        lz_text_puts(out, i ? "\n\t\t" : "\t\t");
        if (null)
            lz_text_printf(out, "if (ret%zu) { ", i);
        lz_text_printf(out, "*ret%zu = ", i);
        put_value(s, i, out);
        lz_text_puts(out, null ? "; }" : ";");
    }
    return lz_text_check(out);
}
