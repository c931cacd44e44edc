/* Compares values, and answers questions about tensors. */
#include "base/hash.h"
#include "graph/script_value.h"

/* ---- equality ---- */

static bool is_number(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_BOOL || v.kind == LZ_SCRIPT_VALUE_INT || v.kind == LZ_SCRIPT_VALUE_FLOAT;
}

static double as_double(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_FLOAT ? v.f : v.kind == LZ_SCRIPT_VALUE_INT ? (double)v.i : (double)v.b;
}

static bool numbers_equal(lz_script_value a, lz_script_value b)
{
    if (a.kind == LZ_SCRIPT_VALUE_FLOAT || b.kind == LZ_SCRIPT_VALUE_FLOAT)
        return as_double(a) == as_double(b);
    return (a.kind == LZ_SCRIPT_VALUE_INT ? a.i : a.b) == (b.kind == LZ_SCRIPT_VALUE_INT ? b.i : b.b);
}

static lz_err *equal(lz_script_value a, lz_script_value b, int depth, bool *out);

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *lists_equal(lz_script_value a, lz_script_value b, int depth, bool *out)
{
    *out = a.list->len == b.list->len;
    for (size_t i = 0; *out && i < a.list->len && i < b.list->len; i++)
        LZ_TRY(equal(a.list->data[i], b.list->data[i], depth, out));
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *dicts_equal(lz_script_value a, lz_script_value b, int depth, bool *out)
{
    const lz_map *m = &a.dict->map;
    *out = lz_script_value_dict_count(a) == lz_script_value_dict_count(b);
    for (lz_map_entry *e = lz_map_next(m, NULL); *out && e; e = lz_map_next(m, e)) {
        const lz_script_value_pair *p = e->value;
        lz_script_value *other = NULL;
        LZ_TRY(lz_script_value_dict_get(b, p->key, &other));
        *out = other != NULL;
        if (other)
            LZ_TRY(equal(p->value, *other, depth, out));
    }
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static lz_err *equal(lz_script_value a, lz_script_value b, int depth, bool *out)
{
    *out = is_number(a) && is_number(b) && numbers_equal(a, b);
    if (a.kind != b.kind || is_number(a))
        return NULL;
    if (depth == LZ_SCRIPT_VALUE_DEPTH)
        return lz_errf(LZ_ERR_LIMIT, "a value is nested more than %d deep", LZ_SCRIPT_VALUE_DEPTH);
    if (a.kind == LZ_SCRIPT_VALUE_LIST || a.kind == LZ_SCRIPT_VALUE_TUPLE)
        return lists_equal(a, b, depth + 1, out);
    if (a.kind == LZ_SCRIPT_VALUE_DICT)
        return dicts_equal(a, b, depth + 1, out);
    if (a.kind == LZ_SCRIPT_VALUE_STR || a.kind == LZ_SCRIPT_VALUE_DEVICE)
        *out = lz_str_eq(lz_script_value_text(a), lz_script_value_text(b));
    else
        *out = a.kind == LZ_SCRIPT_VALUE_NONE || a.box == b.box;
    return NULL;
}

lz_err *lz_script_value_equal(lz_script_value a, lz_script_value b, bool *out)
{
    return equal(a, b, 0, out);
}

static bool identical(lz_script_value a, lz_script_value b, int depth);

static bool arrays_identical(const lz_array *a, const lz_array *b)
{
    bool same =
        a->dtype == b->dtype && a->buffer && b->buffer && lz_shape_eq(lz_array_sizes(a), lz_array_sizes(b));
    for (int64_t i = 0; same && i < a->numel; i++)
        same = !memcmp(lz_array_at_flat(a, i), lz_array_at_flat(b, i), lz_dtype_size(a->dtype));
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static bool lists_identical(const lz_script_value_list *a, const lz_script_value_list *b, int depth)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = identical(a->data[i], b->data[i], depth);
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static bool dicts_identical(const lz_map *a, const lz_map *b, int depth)
{
    bool same = lz_map_count(a) == lz_map_count(b);
    lz_map_entry *i = lz_map_next(a, NULL), *j = lz_map_next(b, NULL);
    for (; same && i && j; i = lz_map_next(a, i), j = lz_map_next(b, j)) {
        const lz_script_value_pair *p = i->value, *q = j->value;
        same = identical(p->key, q->key, depth) && identical(p->value, q->value, depth);
    }
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_SCRIPT_VALUE_DEPTH deep at most */
static bool identical(lz_script_value a, lz_script_value b, int depth)
{
    if (a.kind != b.kind || depth == LZ_SCRIPT_VALUE_DEPTH)
        return false;
    switch (a.kind) {
    case LZ_SCRIPT_VALUE_NONE:
        return true;
    case LZ_SCRIPT_VALUE_BOOL:
        return a.b == b.b;
    case LZ_SCRIPT_VALUE_INT:
    case LZ_SCRIPT_VALUE_FLOAT:
        return a.i == b.i; /* for floats their bits */
    case LZ_SCRIPT_VALUE_STR:
    case LZ_SCRIPT_VALUE_DEVICE:
        return lz_str_eq(lz_script_value_text(a), lz_script_value_text(b));
    case LZ_SCRIPT_VALUE_LIST:
    case LZ_SCRIPT_VALUE_TUPLE:
        return lists_identical(a.list, b.list, depth + 1);
    case LZ_SCRIPT_VALUE_DICT:
        return dicts_identical(&a.dict->map, &b.dict->map, depth + 1);
    case LZ_SCRIPT_VALUE_ARRAY:
        return a.box == b.box || arrays_identical(&a.array->array, &b.array->array);
    default:
        return a.box == b.box;
    }
}

bool lz_script_value_identical(lz_script_value a, lz_script_value b)
{
    return identical(a, b, 0);
}

/* Equal for identical values; of collections only the length is hashed. */
uint64_t lz_script_value_hash(lz_script_value v)
{
    uint64_t seed[2] = { v.kind, 0 };
    lz_str s;
    switch (v.kind) {
    case LZ_SCRIPT_VALUE_BOOL:
        seed[1] = v.b;
        break;
    case LZ_SCRIPT_VALUE_INT:
    case LZ_SCRIPT_VALUE_FLOAT:
        memcpy(&seed[1], &v.i, sizeof v.i);
        break;
    case LZ_SCRIPT_VALUE_STR:
    case LZ_SCRIPT_VALUE_DEVICE:
        s = lz_script_value_text(v);
        seed[1] = lz_hash64(s.ptr, s.len);
        break;
    case LZ_SCRIPT_VALUE_LIST:
    case LZ_SCRIPT_VALUE_TUPLE:
        seed[1] = v.list->len;
        break;
    case LZ_SCRIPT_VALUE_DICT:
        seed[1] = lz_script_value_dict_count(v);
        break;
    case LZ_SCRIPT_VALUE_ARRAY:
        seed[1] = (uint64_t)v.array->array.numel;
        break;
    default:
        break;
    }
    return lz_hash64(seed, sizeof seed);
}

/* ---- tensors ---- */

bool lz_script_value_is_tensor(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_ARRAY || v.kind == LZ_SCRIPT_VALUE_TENSOR;
}

lz_ints lz_script_value_sizes(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_ARRAY ? lz_array_sizes(&v.array->array) : v.tensor->cls->sizes(v.tensor);
}

lz_ints lz_script_value_strides(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_ARRAY ? lz_array_strides(&v.array->array)
                                           : v.tensor->cls->strides(v.tensor);
}

lz_dtype lz_script_value_dtype(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_ARRAY ? v.array->array.dtype : v.tensor->cls->dtype(v.tensor);
}

lz_str lz_script_value_device_of(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_ARRAY ? LZ_STR("cpu") : v.tensor->cls->device(v.tensor);
}

bool lz_script_value_requires_grad(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_TENSOR && v.tensor->cls->requires_grad(v.tensor);
}

static lz_err *array_item(const lz_array *a, lz_scalar *out)
{
    if (!a->buffer)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the elements of this constant are not in the graph's text");
    *out = lz_array_get(a, 0);
    return NULL;
}

lz_err *lz_script_value_item(lz_script_value v, lz_scalar *out)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(lz_script_value_sizes(v), &n));
    if (n != 1)
        return lz_errf(LZ_ERR_ARG, "a Tensor with %lld elements cannot be converted to Scalar", (long long)n);
    return v.kind == LZ_SCRIPT_VALUE_ARRAY ? array_item(&v.array->array, out)
                                           : v.tensor->cls->item(v.tensor, out);
}

lz_err *lz_script_value_read(lz_script_value v, lz_array *out)
{
    if (v.kind == LZ_SCRIPT_VALUE_TENSOR)
        return v.tensor->cls->read(v.tensor, out);
    const lz_array *a = &v.array->array;
    if (!a->buffer)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the elements of this constant are not in the graph's text");
    return lz_array_init_view(out, a->buffer, a->dtype, lz_array_sizes(a), lz_array_strides(a), a->offset);
}
