#include "graph/gvalue_type.h"

/* ---- fits ---- */

static const lz_gv_kind plain_kind[LZ_TY_COUNT] = {
    [LZ_TY_INT] = LZ_GV_INT,       [LZ_TY_FLOAT] = LZ_GV_FLOAT,    [LZ_TY_BOOL] = LZ_GV_BOOL,
    [LZ_TY_STR] = LZ_GV_STR,       [LZ_TY_DEVICE] = LZ_GV_DEVICE,  [LZ_TY_GENERATOR] = LZ_GV_OBJECT,
    [LZ_TY_STREAM] = LZ_GV_OBJECT, [LZ_TY_STORAGE] = LZ_GV_OBJECT, [LZ_TY_FUTURE] = LZ_GV_OBJECT,
    [LZ_TY_CLASS] = LZ_GV_OBJECT,  [LZ_TY_LIST] = LZ_GV_LIST,      [LZ_TY_TUPLE] = LZ_GV_TUPLE,
    [LZ_TY_DICT] = LZ_GV_DICT,     [LZ_TY_COMPLEX] = LZ_GV_KINDS, /* no value is one */
};

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool list_fits(const lz_gv_list *l, const lz_type *elem)
{
    bool ok = true;
    for (size_t i = 0; ok && i < l->len; i++)
        ok = lz_gv_fits(l->data[i], elem);
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool tuple_fits(const lz_gv_list *l, const lz_type *t)
{
    bool ok = l->len == t->n;
    for (size_t i = 0; ok && i < t->n; i++)
        ok = lz_gv_fits(l->data[i], t->elem[i]);
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static bool dict_fits(const lz_map *m, const lz_type *t)
{
    bool ok = true;
    for (lz_map_entry *e = lz_map_next(m, NULL); ok && e; e = lz_map_next(m, e)) {
        const lz_gv_pair *p = e->value;
        ok = lz_gv_fits(p->key, t->elem[0]) && lz_gv_fits(p->value, t->elem[1]);
    }
    return ok;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
bool lz_gv_fits(lz_gv v, const lz_type *t)
{
    bool ok = false;
    switch (t->kind) {
    case LZ_TY_ANY:
        return true;
    case LZ_TY_TENSOR:
        return lz_gv_is_tensor(v);
    case LZ_TY_SCALAR:
        return v.kind == LZ_GV_INT || v.kind == LZ_GV_FLOAT;
    case LZ_TY_OPTIONAL:
        return v.kind == LZ_GV_NONE || lz_gv_fits(v, t->elem[0]);
    case LZ_TY_UNION:
        for (size_t i = 0; !ok && i < t->n; i++)
            ok = lz_gv_fits(v, t->elem[i]);
        return ok;
    case LZ_TY_LIST:
        return v.kind == LZ_GV_LIST && list_fits(v.list, t->elem[0]);
    case LZ_TY_TUPLE:
        return v.kind == LZ_GV_TUPLE && tuple_fits(v.list, t);
    case LZ_TY_DICT:
        return v.kind == LZ_GV_DICT && dict_fits(&v.dict->map, t);
    default:
        return v.kind == plain_kind[t->kind];
    }
}

/* ---- coerce ---- */

static lz_err *mismatch(const lz_type *type)
{
    lz_text t = { 0 };
    lz_type_print(type, &t);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_errf(LZ_ERR_MODEL, "that is no %.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

/* The elements of a braced literal are an array of float64, or of int64 if all of them
 * were ints; the type tells what they are to be. */
static lz_err *retype_array(lz_gv v, const lz_type *type, lz_gv *out)
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
        return lz_errf(LZ_ERR_MODEL, "a constant of %lld elements has %lld", (long long)n,
                       (long long)from->numel);
    if (!from->buffer && !known)
        return lz_errf(LZ_ERR_MODEL, "a constant without elements needs a type with sizes");
    LZ_TRY(lz_gv_array_make(d, sizes, !from->buffer, out));
    for (int64_t i = 0; from->buffer && i < n; i++)
        lz_array_set(&out->array->array, i, lz_array_get(from, i));
    return NULL;
}

static lz_err *coerce(lz_gv v, const lz_type *type, lz_gv *out);

static lz_err *finish(lz_err *e, lz_gv *out)
{
    if (e)
        lz_gv_release(*out);
    return e;
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_list(const lz_gv_list *from, const lz_type *type, lz_gv *out)
{
    bool tuple = type->kind == LZ_TY_TUPLE;
    lz_err *e = tuple && from->len != type->n ? mismatch(type) : NULL;
    LZ_TRY(e);
    LZ_TRY(lz_gv_list_make(from->len, out));
    for (size_t i = 0; !e && i < from->len; i++) {
        lz_gv item = lz_gv_none();
        e = coerce(from->data[i], type->elem[tuple ? i : 0], &item);
        e = e ? e : lz_gv_push(*out, item);
    }
    if (!e && tuple)
        out->list->box.kind = out->kind = LZ_GV_TUPLE;
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_dict(const lz_map *from, const lz_type *type, lz_gv *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_gv_dict_make(out));
    for (lz_map_entry *i = lz_map_next(from, NULL); !e && i; i = lz_map_next(from, i)) {
        const lz_gv_pair *p = i->value;
        lz_gv key = lz_gv_none(), value = key;
        LZ_TRY(finish(coerce(p->key, type->elem[0], &key), out));
        e = coerce(p->value, type->elem[1], &value);
        if (e)
            lz_gv_release(key);
        else
            e = lz_gv_dict_put(*out, key, value);
    }
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce_one_of(lz_gv v, const lz_type *type, lz_gv *out)
{
    for (size_t i = 0; i < type->n; i++) {
        lz_err *e = coerce(v, type->elem[i], out);
        if (lz_err_code(e) != LZ_ERR_MODEL)
            return e;
        lz_err_free(e);
    }
    return mismatch(type);
}

static bool is_zero_or_one(lz_gv v)
{
    return v.kind == LZ_GV_INT && (v.i == 0 || v.i == 1);
}

/* Borrows v. */
/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *coerce(lz_gv v, const lz_type *type, lz_gv *out)
{
    lz_type_kind k = type->kind;
    if (k == LZ_TY_OPTIONAL)
        return v.kind == LZ_GV_NONE ? (*out = v, NULL) : coerce(v, type->elem[0], out);
    if (k == LZ_TY_UNION)
        return coerce_one_of(v, type, out);
    if (k == LZ_TY_BOOL && is_zero_or_one(v))
        return *out = lz_gv_bool(v.i != 0), NULL;
    if (k == LZ_TY_FLOAT && v.kind == LZ_GV_INT)
        return *out = lz_gv_float((double)v.i), NULL;
    if (k == LZ_TY_DEVICE && v.kind == LZ_GV_STR)
        return lz_gv_device(lz_gv_text(v), out);
    if (k == LZ_TY_TENSOR && v.kind == LZ_GV_ARRAY)
        return retype_array(v, type, out);
    if ((k == LZ_TY_LIST && v.kind == LZ_GV_LIST) || (k == LZ_TY_TUPLE && v.kind == LZ_GV_TUPLE))
        return coerce_list(v.list, type, out);
    if (k == LZ_TY_DICT && v.kind == LZ_GV_DICT)
        return coerce_dict(&v.dict->map, type, out);
    if (!lz_gv_fits(v, type))
        return mismatch(type);
    *out = lz_gv_retain(v);
    return NULL;
}

lz_err *lz_gv_coerce(lz_gv v, const lz_type *type, lz_gv *out)
{
    lz_gv made;
    lz_err *e = coerce(v, type, &made);
    lz_gv_release(v);
    if (!e)
        *out = made;
    return e;
}

/* ---- default ---- */

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
static lz_err *default_tuple(const lz_type *type, lz_gv *out)
{
    lz_err *e = NULL;
    LZ_TRY(lz_gv_list_make(type->n, out));
    for (size_t i = 0; !e && i < type->n; i++) {
        lz_gv item;
        e = lz_gv_default(type->elem[i], &item);
        e = e ? e : lz_gv_push(*out, item);
    }
    out->list->box.kind = out->kind = LZ_GV_TUPLE;
    return finish(e, out);
}

/* NOLINTNEXTLINE(misc-no-recursion): LZ_TYPE_DEPTH deep at most */
lz_err *lz_gv_default(const lz_type *type, lz_gv *out)
{
    *out = lz_gv_none();
    switch (type->kind) {
    case LZ_TY_BOOL:
        *out = lz_gv_bool(false);
        return NULL;
    case LZ_TY_INT:
    case LZ_TY_SCALAR:
        *out = lz_gv_int(0);
        return NULL;
    case LZ_TY_FLOAT:
        *out = lz_gv_float(0);
        return NULL;
    case LZ_TY_STR:
        return lz_gv_str(LZ_STR(""), out);
    case LZ_TY_DEVICE:
        return lz_gv_device(LZ_STR("cpu"), out);
    case LZ_TY_LIST:
        return lz_gv_list_make(0, out);
    case LZ_TY_DICT:
        return lz_gv_dict_make(out);
    case LZ_TY_TUPLE:
        return default_tuple(type, out);
    default:
        return NULL;
    }
}
