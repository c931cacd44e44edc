#include "graph/script_value_type.h"

/* ---- fits ---- */

static const lz_script_value_kind plain_kind[LZ_GRAPH_TYPE_COUNT] = {
    [LZ_GRAPH_TYPE_INT] = LZ_SCRIPT_VALUE_INT,
    [LZ_GRAPH_TYPE_FLOAT] = LZ_SCRIPT_VALUE_FLOAT,
    [LZ_GRAPH_TYPE_BOOL] = LZ_SCRIPT_VALUE_BOOL,
    [LZ_GRAPH_TYPE_STR] = LZ_SCRIPT_VALUE_STR,
    [LZ_GRAPH_TYPE_DEVICE] = LZ_SCRIPT_VALUE_DEVICE,
    [LZ_GRAPH_TYPE_GENERATOR] = LZ_SCRIPT_VALUE_OBJECT,
    [LZ_GRAPH_TYPE_STREAM] = LZ_SCRIPT_VALUE_OBJECT,
    [LZ_GRAPH_TYPE_STORAGE] = LZ_SCRIPT_VALUE_OBJECT,
    [LZ_GRAPH_TYPE_FUTURE] = LZ_SCRIPT_VALUE_OBJECT,
    [LZ_GRAPH_TYPE_CLASS] = LZ_SCRIPT_VALUE_OBJECT,
    [LZ_GRAPH_TYPE_LIST] = LZ_SCRIPT_VALUE_LIST,
    [LZ_GRAPH_TYPE_TUPLE] = LZ_SCRIPT_VALUE_TUPLE,
    [LZ_GRAPH_TYPE_DICT] = LZ_SCRIPT_VALUE_DICT,
    [LZ_GRAPH_TYPE_COMPLEX] = LZ_SCRIPT_VALUE_KINDS, /* no value is one */
};

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool list_fits(const lz_script_value_list *l, const lz_type *elem)
{
    bool ok = true;
    for (size_t i = 0; ok && i < l->len; i++)
        ok = lz_script_value_fits(l->data[i], elem);
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool tuple_fits(const lz_script_value_list *l, const lz_type *t)
{
    bool ok = l->len == t->n;
    for (size_t i = 0; ok && i < t->n; i++)
        ok = lz_script_value_fits(l->data[i], t->elem[i]);
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool dict_fits(const lz_map *m, const lz_type *t)
{
    bool ok = true;
    for (lz_map_entry *e = lz_map_next(m, NULL); ok && e; e = lz_map_next(m, e)) {
        const lz_script_value_pair *p = e->value;
        ok = lz_script_value_fits(p->key, t->elem[0]) && lz_script_value_fits(p->value, t->elem[1]);
    }
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
bool lz_script_value_fits(lz_script_value v, const lz_type *t)
{
    bool ok = false;
    switch (t->kind) {
    case LZ_GRAPH_TYPE_ANY:
        return true;
    case LZ_GRAPH_TYPE_TENSOR:
        return lz_script_value_is_tensor(v);
    case LZ_GRAPH_TYPE_SCALAR:
        return v.kind == LZ_SCRIPT_VALUE_INT || v.kind == LZ_SCRIPT_VALUE_FLOAT;
    case LZ_GRAPH_TYPE_OPTIONAL:
        return v.kind == LZ_SCRIPT_VALUE_NONE || lz_script_value_fits(v, t->elem[0]);
    case LZ_GRAPH_TYPE_UNION:
        for (size_t i = 0; !ok && i < t->n; i++)
            ok = lz_script_value_fits(v, t->elem[i]);
        return ok;
    case LZ_GRAPH_TYPE_LIST:
        return v.kind == LZ_SCRIPT_VALUE_LIST && list_fits(v.list, t->elem[0]);
    case LZ_GRAPH_TYPE_TUPLE:
        return v.kind == LZ_SCRIPT_VALUE_TUPLE && tuple_fits(v.list, t);
    case LZ_GRAPH_TYPE_DICT:
        return v.kind == LZ_SCRIPT_VALUE_DICT && dict_fits(&v.dict->map, t);
    default:
        return v.kind == plain_kind[t->kind];
    }
}

/* ---- coerce ---- */

static const char *const kind_names[LZ_SCRIPT_VALUE_KINDS] = {
    [LZ_SCRIPT_VALUE_NONE] = "None",     [LZ_SCRIPT_VALUE_BOOL] = "bool",
    [LZ_SCRIPT_VALUE_INT] = "int",       [LZ_SCRIPT_VALUE_FLOAT] = "float",
    [LZ_SCRIPT_VALUE_STR] = "str",       [LZ_SCRIPT_VALUE_DEVICE] = "Device",
    [LZ_SCRIPT_VALUE_LIST] = "list",     [LZ_SCRIPT_VALUE_TUPLE] = "tuple",
    [LZ_SCRIPT_VALUE_DICT] = "dict",     [LZ_SCRIPT_VALUE_ARRAY] = "Tensor",
    [LZ_SCRIPT_VALUE_TENSOR] = "Tensor", [LZ_SCRIPT_VALUE_OBJECT] = "object",
};

static lz_err *mismatch(const lz_type *type, lz_script_value_kind found)
{
    lz_text t = { 0 };
    lz_type_print(type, &t);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_errf(LZ_ERR_MODEL, "expected %.*s, found %s", LZ_FMT(lz_text_view(&t)), kind_names[found]);
    lz_text_deinit(&t);
    return e;
}

/* A braced literal was parsed as an array of float64, or of int64 if all its elements were ints; the type
 * decides the dtype. */
static lz_err *retype_array(lz_script_value v, const lz_type *type, lz_script_value *out)
{
    const lz_array *from = &v.array->array;
    const lz_tensor_facts *f = type->tensor;
    lz_dtype d = f && f->dtype != LZ_DTYPE_NONE ? f->dtype : from->dtype == LZ_F64 ? LZ_F32 : LZ_I64;
    bool known = f && f->rank >= 0;
    for (int i = 0; known && i < f->rank; i++)
        known = f->sizes[i] != LZ_TYPE_UNKNOWN;
    lz_ints sizes = known ? (lz_ints){ f->sizes, f->rank } : (lz_ints){ &from->numel, from->numel != 1 };
    int64_t n;
    LZ_TRY(lz_shape_numel(sizes, &n));
    if (from->buffer && n != from->numel)
        return lz_errf(LZ_ERR_MODEL, "expected a constant of %lld elements, found %lld", (long long)n,
                       (long long)from->numel);
    if (!from->buffer && !known)
        return lz_errf(LZ_ERR_MODEL, "a constant without elements needs a type with sizes");
    LZ_TRY(lz_script_value_array_make(d, sizes, !from->buffer, out));
    for (int64_t i = 0; from->buffer && i < n; i++)
        lz_array_set(&out->array->array, i, lz_array_get(from, i));
    return NULL;
}

static lz_err *coerce(lz_script_value v, const lz_type *type, lz_script_value *out);

static lz_err *finish(lz_err *e, lz_script_value *out)
{
    if (e)
        lz_script_value_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_list(const lz_script_value_list *from, const lz_type *type, lz_script_value *out)
{
    bool tuple = type->kind == LZ_GRAPH_TYPE_TUPLE;
    lz_err *e = tuple && from->len != type->n ? mismatch(type, LZ_SCRIPT_VALUE_TUPLE) : NULL;
    LZ_TRY(e);
    LZ_TRY(lz_script_value_list_make(from->len, out));
    for (size_t i = 0; !e && i < from->len; i++) {
        lz_script_value item = lz_script_value_none();
        e = coerce(from->data[i], type->elem[tuple ? i : 0], &item);
        e = e ? e : lz_script_value_push(*out, item);
    }
    if (!e && tuple)
        out->list->box.kind = out->kind = LZ_SCRIPT_VALUE_TUPLE;
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_dict(const lz_map *from, const lz_type *type, lz_script_value *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_dict_make(out));
    for (lz_map_entry *i = lz_map_next(from, NULL); !e && i; i = lz_map_next(from, i)) {
        const lz_script_value_pair *p = i->value;
        lz_script_value key = lz_script_value_none(), value = key;
        LZ_TRY(finish(coerce(p->key, type->elem[0], &key), out));
        e = coerce(p->value, type->elem[1], &value);
        if (e)
            lz_script_value_release(key);
        else
            e = lz_script_value_dict_put(*out, key, value);
    }
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_one_of(lz_script_value v, const lz_type *type, lz_script_value *out)
{
    for (size_t i = 0; i < type->n; i++) {
        lz_err *e = coerce(v, type->elem[i], out);
        if (lz_err_code(e) != LZ_ERR_MODEL)
            return e;
        lz_err_free(e);
    }
    return mismatch(type, v.kind);
}

static bool is_zero_or_one(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_INT && (v.i == 0 || v.i == 1);
}

/* Borrows v. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce(lz_script_value v, const lz_type *type, lz_script_value *out)
{
    lz_type_kind k = type->kind;
    if (k == LZ_GRAPH_TYPE_OPTIONAL)
        return v.kind == LZ_SCRIPT_VALUE_NONE ? (*out = v, NULL) : coerce(v, type->elem[0], out);
    if (k == LZ_GRAPH_TYPE_UNION)
        return coerce_one_of(v, type, out);
    if (k == LZ_GRAPH_TYPE_BOOL && is_zero_or_one(v))
        return *out = lz_script_value_bool(v.i != 0), NULL;
    if (k == LZ_GRAPH_TYPE_FLOAT && v.kind == LZ_SCRIPT_VALUE_INT)
        return *out = lz_script_value_float((double)v.i), NULL;
    if (k == LZ_GRAPH_TYPE_DEVICE && v.kind == LZ_SCRIPT_VALUE_STR)
        return lz_script_value_device(lz_script_value_text(v), out);
    if (k == LZ_GRAPH_TYPE_TENSOR && v.kind == LZ_SCRIPT_VALUE_ARRAY)
        return retype_array(v, type, out);
    if ((k == LZ_GRAPH_TYPE_LIST && v.kind == LZ_SCRIPT_VALUE_LIST)
        || (k == LZ_GRAPH_TYPE_TUPLE && v.kind == LZ_SCRIPT_VALUE_TUPLE))
        return coerce_list(v.list, type, out);
    if (k == LZ_GRAPH_TYPE_DICT && v.kind == LZ_SCRIPT_VALUE_DICT)
        return coerce_dict(&v.dict->map, type, out);
    if (!lz_script_value_fits(v, type))
        return mismatch(type, v.kind);
    *out = lz_script_value_retain(v);
    return NULL;
}

lz_err *lz_script_value_coerce(lz_script_value v, const lz_type *type, lz_script_value *out)
{
    lz_script_value made;
    lz_err *e = coerce(v, type, &made);
    lz_script_value_release(v);
    if (!e)
        *out = made;
    return e;
}

/* ---- default ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *default_tuple(const lz_type *type, lz_script_value *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_script_value_list_make(type->n, out));
    for (size_t i = 0; !e && i < type->n; i++) {
        lz_script_value item;
        e = lz_script_value_default(type->elem[i], &item);
        e = e ? e : lz_script_value_push(*out, item);
    }
    out->list->box.kind = out->kind = LZ_SCRIPT_VALUE_TUPLE;
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
lz_err *lz_script_value_default(const lz_type *type, lz_script_value *out)
{
    *out = lz_script_value_none();
    switch (type->kind) {
    case LZ_GRAPH_TYPE_BOOL:
        *out = lz_script_value_bool(false);
        return NULL;
    case LZ_GRAPH_TYPE_INT:
    case LZ_GRAPH_TYPE_SCALAR:
        *out = lz_script_value_int(0);
        return NULL;
    case LZ_GRAPH_TYPE_FLOAT:
        *out = lz_script_value_float(0);
        return NULL;
    case LZ_GRAPH_TYPE_STR:
        return lz_script_value_str(LZ_STR(""), out);
    case LZ_GRAPH_TYPE_DEVICE:
        return lz_script_value_device(LZ_STR("cpu"), out);
    case LZ_GRAPH_TYPE_LIST:
        return lz_script_value_list_make(0, out);
    case LZ_GRAPH_TYPE_DICT:
        return lz_script_value_dict_make(out);
    case LZ_GRAPH_TYPE_TUPLE:
        return default_tuple(type, out);
    default:
        return NULL;
    }
}
