/* Values compared, and what can be asked of the tensors among them. */
#include "base/hash.h"
#include "graph/gvalue.h"

/* ---- equality ---- */

static bool is_number(lz_gv v)
{
    return v.kind == LZ_GV_BOOL || v.kind == LZ_GV_INT || v.kind == LZ_GV_FLOAT;
}

static double as_double(lz_gv v)
{
    return v.kind == LZ_GV_FLOAT ? v.f : v.kind == LZ_GV_INT ? (double)v.i : (double)v.b;
}

static bool numbers_equal(lz_gv a, lz_gv b)
{
    if (a.kind == LZ_GV_FLOAT || b.kind == LZ_GV_FLOAT)
        return as_double(a) == as_double(b);
    return (a.kind == LZ_GV_INT ? a.i : a.b) == (b.kind == LZ_GV_INT ? b.i : b.b);
}

static lz_err *equal(lz_gv a, lz_gv b, int depth, bool *out);

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *lists_equal(lz_gv a, lz_gv b, int depth, bool *out)
{
    *out = a.list->len == b.list->len;
    for (size_t i = 0; *out && i < a.list->len && i < b.list->len; i++)
        LZ_TRY(equal(a.list->data[i], b.list->data[i], depth, out));
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *dicts_equal(lz_gv a, lz_gv b, int depth, bool *out)
{
    const lz_map *m = &a.dict->map;
    *out = lz_gv_dict_count(a) == lz_gv_dict_count(b);
    for (lz_map_entry *e = lz_map_next(m, NULL); *out && e; e = lz_map_next(m, e)) {
        const lz_gv_pair *p = e->value;
        lz_gv *other = NULL;
        LZ_TRY(lz_gv_dict_get(b, p->key, &other));
        *out = other != NULL;
        if (other)
            LZ_TRY(equal(p->value, *other, depth, out));
    }
    return NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static lz_err *equal(lz_gv a, lz_gv b, int depth, bool *out)
{
    *out = is_number(a) && is_number(b) && numbers_equal(a, b);
    if (a.kind != b.kind || is_number(a))
        return NULL;
    if (depth == LZ_GV_DEPTH)
        return lz_errf(LZ_ERR_LIMIT, "a value is nested more than %d deep", LZ_GV_DEPTH);
    if (a.kind == LZ_GV_LIST || a.kind == LZ_GV_TUPLE)
        return lists_equal(a, b, depth + 1, out);
    if (a.kind == LZ_GV_DICT)
        return dicts_equal(a, b, depth + 1, out);
    if (a.kind == LZ_GV_STR || a.kind == LZ_GV_DEVICE)
        *out = lz_str_eq(lz_gv_text(a), lz_gv_text(b));
    else
        *out = a.kind == LZ_GV_NONE || a.box == b.box;
    return NULL;
}

lz_err *lz_gv_equal(lz_gv a, lz_gv b, bool *out)
{
    return equal(a, b, 0, out);
}

static bool identical(lz_gv a, lz_gv b, int depth);

static bool arrays_identical(const lz_array *a, const lz_array *b)
{
    bool same =
        a->dtype == b->dtype && a->buffer && b->buffer && lz_shape_eq(lz_array_sizes(a), lz_array_sizes(b));
    for (int64_t i = 0; same && i < a->numel; i++)
        same = !memcmp(lz_array_at_flat(a, i), lz_array_at_flat(b, i), lz_dtype_size(a->dtype));
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static bool lists_identical(const lz_gv_list *a, const lz_gv_list *b, int depth)
{
    bool same = a->len == b->len;
    for (size_t i = 0; same && i < a->len; i++)
        same = identical(a->data[i], b->data[i], depth);
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static bool dicts_identical(const lz_map *a, const lz_map *b, int depth)
{
    bool same = lz_map_count(a) == lz_map_count(b);
    lz_map_entry *i = lz_map_next(a, NULL), *j = lz_map_next(b, NULL);
    for (; same && i && j; i = lz_map_next(a, i), j = lz_map_next(b, j)) {
        const lz_gv_pair *p = i->value, *q = j->value;
        same = identical(p->key, q->key, depth) && identical(p->value, q->value, depth);
    }
    return same;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_GV_DEPTH deep at most */
static bool identical(lz_gv a, lz_gv b, int depth)
{
    if (a.kind != b.kind || depth == LZ_GV_DEPTH)
        return false;
    switch (a.kind) {
    case LZ_GV_NONE:
        return true;
    case LZ_GV_BOOL:
        return a.b == b.b;
    case LZ_GV_INT:
    case LZ_GV_FLOAT:
        return a.i == b.i; /* of floats the bits */
    case LZ_GV_STR:
    case LZ_GV_DEVICE:
        return lz_str_eq(lz_gv_text(a), lz_gv_text(b));
    case LZ_GV_LIST:
    case LZ_GV_TUPLE:
        return lists_identical(a.list, b.list, depth + 1);
    case LZ_GV_DICT:
        return dicts_identical(&a.dict->map, &b.dict->map, depth + 1);
    case LZ_GV_ARRAY:
        return a.box == b.box || arrays_identical(&a.array->array, &b.array->array);
    default:
        return a.box == b.box;
    }
}

bool lz_gv_identical(lz_gv a, lz_gv b)
{
    return identical(a, b, 0);
}

/* Equal for identical ones; of collections only the length counts. */
uint64_t lz_gv_hash(lz_gv v)
{
    uint64_t seed[2] = { v.kind, 0 };
    lz_str s;
    switch (v.kind) {
    case LZ_GV_BOOL:
        seed[1] = v.b;
        break;
    case LZ_GV_INT:
    case LZ_GV_FLOAT:
        memcpy(&seed[1], &v.i, sizeof v.i);
        break;
    case LZ_GV_STR:
    case LZ_GV_DEVICE:
        s = lz_gv_text(v);
        seed[1] = lz_hash64(s.ptr, s.len);
        break;
    case LZ_GV_LIST:
    case LZ_GV_TUPLE:
        seed[1] = v.list->len;
        break;
    case LZ_GV_DICT:
        seed[1] = lz_gv_dict_count(v);
        break;
    case LZ_GV_ARRAY:
        seed[1] = (uint64_t)v.array->array.numel;
        break;
    default:
        break;
    }
    return lz_hash64(seed, sizeof seed);
}

/* ---- tensors ---- */

bool lz_gv_is_tensor(lz_gv v)
{
    return v.kind == LZ_GV_ARRAY || v.kind == LZ_GV_TENSOR;
}

lz_ints lz_gv_sizes(lz_gv v)
{
    return v.kind == LZ_GV_ARRAY ? lz_array_sizes(&v.array->array) : v.tensor->cls->sizes(v.tensor);
}

lz_ints lz_gv_strides(lz_gv v)
{
    return v.kind == LZ_GV_ARRAY ? lz_array_strides(&v.array->array) : v.tensor->cls->strides(v.tensor);
}

lz_dtype lz_gv_dtype(lz_gv v)
{
    return v.kind == LZ_GV_ARRAY ? v.array->array.dtype : v.tensor->cls->dtype(v.tensor);
}

lz_str lz_gv_device_of(lz_gv v)
{
    return v.kind == LZ_GV_ARRAY ? LZ_STR("cpu") : v.tensor->cls->device(v.tensor);
}

bool lz_gv_requires_grad(lz_gv v)
{
    return v.kind == LZ_GV_TENSOR && v.tensor->cls->requires_grad(v.tensor);
}

static lz_err *array_item(const lz_array *a, lz_scalar *out)
{
    if (!a->buffer)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the elements of this constant are not in the graph's text");
    *out = lz_array_get(a, 0);
    return NULL;
}

lz_err *lz_gv_item(lz_gv v, lz_scalar *out)
{
    int64_t n;
    LZ_TRY(lz_shape_numel(lz_gv_sizes(v), &n));
    if (n != 1)
        return lz_errf(LZ_ERR_ARG, "a Tensor with %lld elements cannot be converted to Scalar", (long long)n);
    return v.kind == LZ_GV_ARRAY ? array_item(&v.array->array, out) : v.tensor->cls->item(v.tensor, out);
}

lz_err *lz_gv_read(lz_gv v, lz_array *out)
{
    if (v.kind == LZ_GV_TENSOR)
        return v.tensor->cls->read(v.tensor, out);
    const lz_array *a = &v.array->array;
    if (!a->buffer)
        return lz_errf(LZ_ERR_UNSUPPORTED, "the elements of this constant are not in the graph's text");
    return lz_array_init_view(out, a->buffer, a->dtype, lz_array_sizes(a), lz_array_strides(a), a->offset);
}
