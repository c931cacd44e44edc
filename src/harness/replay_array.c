/* Arrays and numbers of recorded cases, read from JSON. */
#include "core/dtype.h"
#include "harness/replay_impl.h"
#include <math.h>

lz_err *lz_replay_number(const lz_json *v, double *out)
{
    lz_str s;
    if (v->kind != LZ_JSON_STRING)
        return lz_json_as_double(v, "a number", out);
    LZ_TRY(lz_json_as_str(v, "a number", &s));
    *out = lz_str_is(s, "nan") ? (double)NAN : lz_str_is(s, "-inf") ? -(double)INFINITY : (double)INFINITY;
    return NULL;
}

static lz_err *element_of(const lz_json *v, lz_scalar *out)
{
    if (v->kind == LZ_JSON_BOOL)
        *out = lz_scalar_bool(v->b);
    else if (v->kind == LZ_JSON_INT)
        *out = lz_scalar_int(v->i);
    else {
        *out = lz_scalar_float(0);
        return lz_replay_number(v, &out->re);
    }
    return NULL;
}

static lz_err *read_sizes(const lz_json *list, lz_shape *out)
{
    *out = (lz_shape){ .n = list->len };
    if (list->len > LZ_MAX_DIMS)
        return lz_errf(LZ_ERR_LIMIT, "a tensor has at most %d dimensions", LZ_MAX_DIMS);
    for (uint32_t i = 0; i < list->len; i++)
        LZ_TRY(lz_json_as_int(&list->items[i], "a size", &out->v[i]));
    return NULL;
}

static lz_err *read_elements(const lz_json *data, const lz_array *out)
{
    if (data->len != (uint64_t)out->numel)
        return lz_errf(LZ_ERR_MODEL, "expected a tensor of %lld elements, found %u", (long long)out->numel,
                       data->len);
    for (uint32_t i = 0; i < data->len; i++) {
        lz_scalar s;
        LZ_TRY(element_of(&data->items[i], &s));
        lz_array_set(out, i, s);
    }
    return NULL;
}

lz_err *lz_replay_array(const lz_json *v, lz_array *out)
{
    lz_str name;
    lz_shape sizes;
    const lz_json *shape, *data;
    LZ_TRY(lz_json_get_str(v, "dt", &name));
    LZ_TRY(lz_json_get_array(v, "shape", &shape));
    LZ_TRY(lz_json_get_array(v, "data", &data));
    LZ_TRY(read_sizes(shape, &sizes));
    lz_dtype d = lz_dtype_by_abbr(name);
    if (d == LZ_DTYPE_NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "dtype %.*s", LZ_FMT(name));
    LZ_TRY(lz_array_init(out, NULL, d, lz_shape_ints(&sizes)));
    lz_err *e = read_elements(data, out);
    if (e)
        lz_array_deinit(out);
    return e;
}
