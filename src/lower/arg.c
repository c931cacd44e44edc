#include "lower/arg.h"
#include "core/device.h"

static lz_err *number_arg(lz_lower *b, lz_gv v, int64_t slot, lz_lv *out)
{
    lz_scalar s = v.kind == LZ_GV_FLOAT  ? lz_scalar_float(v.f)
                  : v.kind == LZ_GV_BOOL ? lz_scalar_bool(v.b)
                                         : lz_scalar_int(v.i);
    lz_dtype d = s.kind == LZ_SCALAR_FLOAT ? LZ_F64 : s.kind == LZ_SCALAR_BOOL ? LZ_BOOL : LZ_I64;
    *out = lz_lv_number(s);
    return slot < 0 ? NULL : lz_low_scalar(b, slot, d, &out->node);
}

static bool is_number(lz_gv v)
{
    return v.kind == LZ_GV_INT || v.kind == LZ_GV_FLOAT || v.kind == LZ_GV_BOOL;
}

static lz_err *tensor_arg(const lz_arg_source *s, lz_gv v, int64_t slot, lz_lv *out)
{
    lz_lv number;
    if (v.kind == LZ_GV_NONE) {
        *out = lz_lv_none();
        return NULL;
    }
    if (!is_number(v))
        return s->tensor(s->user, v, out);
    LZ_TRY(number_arg(s->b, v, slot, &number));
    return lz_low_wrap(s->b, &number, out);
}

static lz_err *device_arg(lz_gv v, lz_lv *out)
{
    lz_device d;
    if (v.kind != LZ_GV_STR && v.kind != LZ_GV_DEVICE)
        return lz_errf(LZ_ERR_ARG, "a device is needed here");
    LZ_TRY(lz_device_parse(lz_gv_text(v), &d));
    *out = lz_lv_device(d);
    return NULL;
}

lz_kind lz_arg_element(lz_kind list)
{
    static const lz_kind elements[LZ_KIND_COUNT] = {
        [LZ_KIND_INTS] = LZ_KIND_INT,   [LZ_KIND_FLOATS] = LZ_KIND_FLOAT,
        [LZ_KIND_BOOLS] = LZ_KIND_BOOL, [LZ_KIND_SCALARS] = LZ_KIND_SCALAR,
        [LZ_KIND_STRS] = LZ_KIND_STR,   [LZ_KIND_TENSORS] = LZ_KIND_TENSOR,
    };
    return elements[list];
}

lz_err *lz_arg_one(const lz_arg_source *s, lz_kind kind, lz_gv v, int64_t slot, lz_lv *out)
{
    *out = lz_lv_none();
    if (kind == LZ_KIND_TENSOR)
        return tensor_arg(s, v, slot, out);
    if (v.kind == LZ_GV_NONE || kind == LZ_KIND_GENERATOR)
        return NULL;
    if (kind == LZ_KIND_DEVICE)
        return device_arg(v, out);
    if (kind == LZ_KIND_STR && v.kind == LZ_GV_STR) {
        *out = lz_lv_str(lz_gv_text(v));
        return NULL;
    }
    if (!is_number(v))
        return lz_errf(LZ_ERR_ARG, "a number is needed here");
    if (kind == LZ_KIND_DTYPE)
        *out = lz_lv_dtype((lz_dtype)v.i);
    else if (kind == LZ_KIND_LAYOUT)
        *out = lz_lv_layout((lz_layout)v.i);
    else if (kind == LZ_KIND_MEMORY_FORMAT)
        *out = lz_lv_memory_format((lz_memory_format)v.i);
    else
        LZ_TRY(number_arg(s->b, v, slot, out));
    return kind == LZ_KIND_FLOAT ? lz_low_convert(s->b, out, LZ_SCALAR_FLOAT, out) : NULL;
}

static lz_err *list_arg(const lz_arg_source *s, const lz_type_row *type, lz_gv v, lz_lv *out)
{
    bool one = v.kind != LZ_GV_LIST && v.kind != LZ_GV_TUPLE; /* for as many as there are */
    size_t n = !one ? v.list->len : type->size > 0 ? (size_t)type->size : 1;
    lz_lv *items;
    if (v.kind == LZ_GV_NONE) {
        *out = lz_lv_none();
        return NULL;
    }
    LZ_TRY(lz_low_list_new(s->b, n, &items));
    for (size_t i = 0; i < n; i++)
        LZ_TRY(lz_arg_one(s, lz_arg_element((lz_kind)type->kind), one ? v : v.list->data[i], LZ_KNOWN_NOW,
                          &items[i]));
    *out = lz_lv_list(items, n);
    return NULL;
}

lz_err *lz_arg_of_gv(const lz_arg_source *s, const lz_type_row *type, lz_gv v, int64_t slot, lz_lv *out)
{
    if (lz_arg_element((lz_kind)type->kind))
        return list_arg(s, type, v, out);
    return lz_arg_one(s, (lz_kind)type->kind, v, slot, out);
}

/* ---- values of calls ---- */

static lz_lv item_of(const lz_value *v, int64_t i)
{
    switch (v->kind) {
    case LZ_KIND_FLOATS:
        return lz_lv_float(v->floats.v[i]);
    case LZ_KIND_BOOLS:
        return lz_lv_bool(v->bools.v[i]);
    case LZ_KIND_SCALARS:
        return lz_lv_number(v->scalars.v[i]);
    case LZ_KIND_STRS:
        return lz_lv_str(lz_str_of(v->strs.v[i]));
    default:
        return lz_lv_int(v->ints.v[i]);
    }
}

static lz_err *list_value(lz_lower *b, const lz_value *v, lz_lv *out)
{
    int64_t n = v->ints.n; /* all lists are alike here */
    lz_lv *items;
    if (n < 0)
        return NULL;
    LZ_TRY(lz_low_list_new(b, (size_t)n, &items));
    for (int64_t i = 0; i < n; i++)
        items[i] = item_of(v, i);
    *out = lz_lv_list(items, (size_t)n);
    return NULL;
}

lz_err *lz_arg_of_value(lz_lower *b, const lz_value *v, lz_lv *out)
{
    *out = lz_lv_none();
    switch (v->kind) {
    case LZ_KIND_INT:
        *out = lz_lv_int(v->integer);
        break;
    case LZ_KIND_FLOAT:
        *out = lz_lv_float(v->real);
        break;
    case LZ_KIND_BOOL:
        *out = lz_lv_bool(v->truth);
        break;
    case LZ_KIND_SCALAR:
        *out = v->scalar.kind ? lz_lv_number(v->scalar) : lz_lv_none();
        break;
    case LZ_KIND_STR:
        *out = v->str ? lz_lv_str(lz_str_of(v->str)) : lz_lv_none();
        break;
    case LZ_KIND_DTYPE:
        *out = lz_lv_dtype(v->dtype);
        break;
    case LZ_KIND_LAYOUT:
        *out = lz_lv_layout(v->layout);
        break;
    case LZ_KIND_MEMORY_FORMAT:
        *out = lz_lv_memory_format(v->memory_format);
        break;
    case LZ_KIND_DEVICE:
        *out = lz_lv_device(v->device);
        break;
    case LZ_KIND_INTS:
    case LZ_KIND_FLOATS:
    case LZ_KIND_BOOLS:
    case LZ_KIND_SCALARS:
    case LZ_KIND_STRS:
        return list_value(b, v, out);
    default:
        break;
    }
    return NULL;
}
