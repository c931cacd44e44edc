/* Reads fields of JSON values, with errors that name the location. */
#include "base/json.h"
#include "base/number.h"

const char *lz_json_kind_name(lz_json_kind kind)
{
    static const char *const names[LZ_JSON_KINDS] = { "null",     "a boolean", "an integer", "an integer",
                                                      "a number", "a string",  "an array",   "an object" };
    return names[kind];
}

const lz_json *lz_json_find(const lz_json *v, lz_str key)
{
    if (v->kind != LZ_JSON_OBJECT)
        return NULL;
    for (uint32_t i = 0; !v->order && i < v->len; i++)
        if (lz_str_eq(v->members[i].key, key))
            return &v->members[i].value;
    for (uint32_t low = 0, high = v->order ? v->len : 0; low < high;) {
        uint32_t mid = low + (high - low) / 2;
        const lz_json_member *m = &v->members[v->order[mid]];
        int c = lz_str_cmp(m->key, key);
        if (c == 0)
            return &m->value;
        low = c < 0 ? mid + 1 : low;
        high = c < 0 ? high : mid;
    }
    return NULL;
}

const lz_json *lz_json_get(const lz_json *v, const char *key)
{
    return lz_json_find(v, lz_str_of(key));
}

LZ_MUST_USE
static lz_err *mismatch(const lz_json *v, const char *what, lz_json_kind wanted)
{
    return lz_err_at(LZ_ERR_MODEL, v->loc, "%s: expected %s, found %s", what, lz_json_kind_name(wanted),
                     lz_json_kind_name(v->kind));
}

LZ_MUST_USE
static lz_err *out_of_range(const lz_json *v, const char *what, const char *range)
{
    char buf[LZ_INT_CHARS];
    size_t n = v->kind == LZ_JSON_UINT ? lz_uint64_print(v->u, buf) : lz_int64_print(v->i, buf);
    return lz_err_at(LZ_ERR_LIMIT, v->loc, "%s: %.*s is not in the range of %s", what, (int)n, buf, range);
}

lz_err *lz_json_as_bool(const lz_json *v, const char *what, bool *out)
{
    if (v->kind != LZ_JSON_BOOL)
        return mismatch(v, what, LZ_JSON_BOOL);
    *out = v->b;
    return NULL;
}

lz_err *lz_json_as_int(const lz_json *v, const char *what, int64_t *out)
{
    if (v->kind == LZ_JSON_UINT)
        return out_of_range(v, what, "int64");
    if (v->kind != LZ_JSON_INT)
        return mismatch(v, what, LZ_JSON_INT);
    *out = v->i;
    return NULL;
}

lz_err *lz_json_as_uint(const lz_json *v, const char *what, uint64_t *out)
{
    if (v->kind != LZ_JSON_INT && v->kind != LZ_JSON_UINT)
        return mismatch(v, what, LZ_JSON_UINT);
    if (v->kind == LZ_JSON_INT && v->i < 0)
        return out_of_range(v, what, "uint64");
    *out = v->kind == LZ_JSON_INT ? (uint64_t)v->i : v->u;
    return NULL;
}

lz_err *lz_json_as_double(const lz_json *v, const char *what, double *out)
{
    if (v->kind != LZ_JSON_INT && v->kind != LZ_JSON_UINT && v->kind != LZ_JSON_DOUBLE)
        return mismatch(v, what, LZ_JSON_DOUBLE);
    *out = v->kind == LZ_JSON_INT ? (double)v->i : v->kind == LZ_JSON_UINT ? (double)v->u : v->d;
    return NULL;
}

lz_err *lz_json_as_str(const lz_json *v, const char *what, lz_str *out)
{
    if (v->kind != LZ_JSON_STRING)
        return mismatch(v, what, LZ_JSON_STRING);
    *out = v->str;
    return NULL;
}

LZ_MUST_USE
static lz_err *as_kind(const lz_json *v, const char *what, lz_json_kind kind, const lz_json **out)
{
    if (v->kind != kind)
        return mismatch(v, what, kind);
    *out = v;
    return NULL;
}

lz_err *lz_json_as_array(const lz_json *v, const char *what, const lz_json **out)
{
    return as_kind(v, what, LZ_JSON_ARRAY, out);
}

lz_err *lz_json_as_object(const lz_json *v, const char *what, const lz_json **out)
{
    return as_kind(v, what, LZ_JSON_OBJECT, out);
}

LZ_MUST_USE
static lz_err *missing(const lz_json *v, const char *key)
{
    if (v->kind != LZ_JSON_OBJECT)
        return lz_err_at(LZ_ERR_MODEL, v->loc, "expected an object with the key \"%s\", found %s", key,
                         lz_json_kind_name(v->kind));
    return lz_err_at(LZ_ERR_NOT_FOUND, v->loc, "the key \"%s\" is missing", key);
}

lz_err *lz_json_get_any(const lz_json *v, const char *key, const lz_json **out)
{
    *out = lz_json_get(v, key);
    return *out ? NULL : missing(v, key);
}

lz_err *lz_json_get_int(const lz_json *v, const char *key, int64_t *out)
{
    const lz_json *value = lz_json_get(v, key);
    return value ? lz_json_as_int(value, key, out) : missing(v, key);
}

lz_err *lz_json_get_uint(const lz_json *v, const char *key, uint64_t *out)
{
    const lz_json *value = lz_json_get(v, key);
    return value ? lz_json_as_uint(value, key, out) : missing(v, key);
}

lz_err *lz_json_get_str(const lz_json *v, const char *key, lz_str *out)
{
    const lz_json *value = lz_json_get(v, key);
    return value ? lz_json_as_str(value, key, out) : missing(v, key);
}

lz_err *lz_json_get_array(const lz_json *v, const char *key, const lz_json **out)
{
    const lz_json *value = lz_json_get(v, key);
    return value ? lz_json_as_array(value, key, out) : missing(v, key);
}

lz_err *lz_json_get_object(const lz_json *v, const char *key, const lz_json **out)
{
    const lz_json *value = lz_json_get(v, key);
    return value ? lz_json_as_object(value, key, out) : missing(v, key);
}
