#include "lower/arg.h"
#include "core/device.h"
#include "core/value_kind.h"

static lz_err *number_arg(lz_lower *b, lz_script_value v, int64_t slot, lz_low_value *out)
{
    lz_scalar s = v.kind == LZ_SCRIPT_VALUE_FLOAT  ? lz_scalar_float(v.f)
                  : v.kind == LZ_SCRIPT_VALUE_BOOL ? lz_scalar_bool(v.b)
                                                   : lz_scalar_int(v.i);
    lz_dtype d = s.kind == LZ_SCALAR_FLOAT ? LZ_F64 : s.kind == LZ_SCALAR_BOOL ? LZ_BOOL : LZ_I64;
    *out = lz_low_value_number(s);
    return slot < 0 ? NULL : lz_low_scalar(b, slot, d, &out->node);
}

static bool is_number(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_INT || v.kind == LZ_SCRIPT_VALUE_FLOAT || v.kind == LZ_SCRIPT_VALUE_BOOL;
}

static lz_err *tensor_arg(const lz_arg_source *s, lz_script_value v, int64_t slot, lz_low_value *out)
{
    lz_low_value number;
    if (v.kind == LZ_SCRIPT_VALUE_NONE) {
        *out = lz_low_value_none();
        return NULL;
    }
    if (!is_number(v))
        return s->tensor(s->user, v, out);
    LZ_TRY(number_arg(s->b, v, slot, &number));
    return lz_low_wrap(s->b, &number, out);
}

static lz_err *device_arg(lz_script_value v, lz_low_value *out)
{
    lz_device d;
    if (v.kind != LZ_SCRIPT_VALUE_STR && v.kind != LZ_SCRIPT_VALUE_DEVICE)
        return lz_errf(LZ_ERR_ARG, "expected a device");
    LZ_TRY(lz_device_parse(lz_script_value_text(v), &d));
    *out = lz_low_value_device(d);
    return NULL;
}

lz_kind lz_arg_element(lz_kind list)
{
    return lz_kinds[list].element;
}

lz_err *lz_arg_one(const lz_arg_source *s, lz_kind kind, lz_script_value v, int64_t slot, lz_low_value *out)
{
    *out = lz_low_value_none();
    if (kind == LZ_KIND_TENSOR)
        return tensor_arg(s, v, slot, out);
    if (v.kind == LZ_SCRIPT_VALUE_NONE || kind == LZ_KIND_GENERATOR)
        return NULL;
    if (kind == LZ_KIND_DEVICE)
        return device_arg(v, out);
    if (kind == LZ_KIND_STR && v.kind == LZ_SCRIPT_VALUE_STR) {
        *out = lz_low_value_str(lz_script_value_text(v));
        return NULL;
    }
    if (!is_number(v))
        return lz_errf(LZ_ERR_ARG, "expected a number");
    if (kind == LZ_KIND_DTYPE)
        *out = lz_low_value_dtype((lz_dtype)v.i);
    else if (kind == LZ_KIND_LAYOUT)
        *out = lz_low_value_layout((lz_layout)v.i);
    else if (kind == LZ_KIND_MEMORY_FORMAT)
        *out = lz_low_value_memory_format((lz_memory_format)v.i);
    else
        LZ_TRY(number_arg(s->b, v, slot, out));
    return kind == LZ_KIND_FLOAT ? lz_low_convert(s->b, out, LZ_SCALAR_FLOAT, out) : NULL;
}

static lz_err *list_arg(const lz_arg_source *s, const lz_type_row *type, lz_script_value v, lz_low_value *out)
{
    bool one = v.kind != LZ_SCRIPT_VALUE_LIST && v.kind != LZ_SCRIPT_VALUE_TUPLE; /* tuples of any length */
    size_t n = !one ? v.list->len : type->size > 0 ? (size_t)type->size : 1;
    lz_low_value *items;
    if (v.kind == LZ_SCRIPT_VALUE_NONE) {
        *out = lz_low_value_none();
        return NULL;
    }
    LZ_TRY(lz_low_list_new(s->b, n, &items));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_arg_one(s, lz_arg_element((lz_kind)type->kind), one ? v : v.list->data[i], LZ_KNOWN_NOW,
                          &items[i]));
    *out = lz_low_value_list(items, n);
    return NULL;
}

lz_err *lz_arg_of_script_value(const lz_arg_source *s, const lz_type_row *type, lz_script_value v,
                               int64_t slot, lz_low_value *out)
{
    if (lz_arg_element((lz_kind)type->kind))
        return list_arg(s, type, v, out);
    return lz_arg_one(s, (lz_kind)type->kind, v, slot, out);
}

/* ---- arguments of recorded calls ---- */

static lz_low_value of_text(const char *text)
{
    return lz_low_value_str(lz_str_of(text));
}

/* The kinds that are no lists: the member of lz_value, and the function that makes a value of a formula
 * from it. */
#define LZ_SINGLE_KINDS(X)                                                                                   \
    X(INT, integer, lz_low_value_int)                                                                        \
    X(FLOAT, real, lz_low_value_float)                                                                       \
    X(BOOL, truth, lz_low_value_bool)                                                                        \
    X(SCALAR, scalar, lz_low_value_number)                                                                   \
    X(STR, str, of_text)                                                                                     \
    X(DTYPE, dtype, lz_low_value_dtype)                                                                      \
    X(LAYOUT, layout, lz_low_value_layout)                                                                   \
    X(MEMORY_FORMAT, memory_format, lz_low_value_memory_format)                                              \
    X(DEVICE, device, lz_low_value_device)

#define X(kind, member, make)                                                                                \
    static lz_low_value of_##member(const lz_value *v)                                                       \
    {                                                                                                        \
        return make(v->member);                                                                              \
    }
LZ_SINGLE_KINDS(X)
#undef X

static lz_low_value (*const of_kind[LZ_KIND_COUNT])(const lz_value *v) = {
#define X(kind, member, make) [LZ_KIND_##kind] = of_##member,
    LZ_SINGLE_KINDS(X)
#undef X
};

static lz_err *list_value(lz_lower *b, const lz_value *v, lz_low_value *out)
{
    size_t n = (size_t)v->ints.n; /* all lists have this layout */
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(b, n, &items));
    for (size_t i = 0; i < n; i++) {
        lz_value item = lz_value_item(v, (int64_t)i);
        items[i] = of_kind[item.kind](&item);
    }
    *out = lz_low_value_list(items, n);
    return NULL;
}

lz_err *lz_arg_of_value(lz_lower *b, const lz_value *v, lz_low_value *out)
{
    lz_kind element = lz_kinds[v->kind].element;
    *out = lz_low_value_none();
    if (lz_value_is_absent(v))
        return NULL;
    if (of_kind[element])
        return list_value(b, v, out);
    if (of_kind[v->kind])
        *out = of_kind[v->kind](v);
    return NULL;
}
