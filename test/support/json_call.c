#include "json_call.h"
#include "core/dtype.h"
#include <lazuli/lazuli.h>
#include <math.h>

double lz_json_number(const lz_json *v)
{
    if (v->kind == LZ_JSON_STRING)
        return lz_str_is(v->str, "nan")    ? (double)NAN
               : lz_str_is(v->str, "-inf") ? -(double)INFINITY
                                           : (double)INFINITY;
    return v->kind == LZ_JSON_DOUBLE ? v->d : (double)v->i;
}

lz_err *lz_json_ints(lz_arena *a, const lz_json *v, lz_ints *out)
{
    int64_t *to;
    LZ_TRY(lz_arena_new(a, &to, v->len + 1));
    for (uint32_t i = 0; i < v->len; i++)
        to[i] = v->items[i].i;
    *out = (lz_ints){ to, v->len };
    return NULL;
}

static lz_scalar scalar_of(const lz_json *v)
{
    return v->kind == LZ_JSON_INT    ? lz_scalar_int(v->i)
           : v->kind == LZ_JSON_BOOL ? lz_scalar_bool(v->b)
                                     : lz_scalar_float(lz_json_number(v));
}

static lz_err *list_of(lz_arena *a, lz_tensor *const *tensors, lz_kind kind, const lz_json *v, lz_value *out)
{
    union {
        int64_t *i;
        double *f;
        bool *b;
        lz_scalar *s;
        lz_tensor **t;
    } to;
    LZ_TRY(lz_arena_new(a, &to.s, v->len + 1));
    for (uint32_t i = 0; i < v->len; i++) {
        const lz_json *x = &v->items[i];
        const lz_json *n = x->kind == LZ_JSON_OBJECT ? &x->members[0].value : x;
        if (kind == LZ_KIND_TENSORS)
            to.t[i] = x->kind == LZ_JSON_NULL ? NULL : tensors[x->i];
        else if (kind == LZ_KIND_BOOLS)
            to.b[i] = n->b;
        else if (kind == LZ_KIND_FLOATS)
            to.f[i] = lz_json_number(n);
        else if (kind == LZ_KIND_SCALARS)
            to.s[i] = scalar_of(n);
        else
            to.i[i] = n->i;
    }
    int64_t len = v->len;
    *out = kind == LZ_KIND_TENSORS   ? lz_value_tensors((lz_tensors){ to.t, len })
           : kind == LZ_KIND_BOOLS   ? lz_value_bools((lz_bools){ to.b, len })
           : kind == LZ_KIND_FLOATS  ? lz_value_floats((lz_floats){ to.f, len })
           : kind == LZ_KIND_SCALARS ? lz_value_scalars((lz_scalars){ to.s, len })
                                     : lz_value_ints((lz_ints){ to.i, len });
    return NULL;
}

static lz_memory_format format_of(lz_str name)
{
    return lz_str_is(name, "preserve_format")    ? LZ_PRESERVE
           : lz_str_is(name, "channels_last")    ? LZ_CHANNELS_LAST
           : lz_str_is(name, "channels_last_3d") ? LZ_CHANNELS_LAST_3D
                                                 : LZ_CONTIGUOUS;
}

lz_err *lz_json_value(lz_arena *a, lz_tensor *const *tensors, lz_kind kind, const lz_json *v, lz_value *out)
{
    *out = lz_value_none();
    if (v->kind != LZ_JSON_OBJECT)
        return NULL;
    lz_str key = v->members[0].key;
    const lz_json *x = &v->members[0].value;
    if (lz_str_is(key, "l") || lz_str_is(key, "TL"))
        return list_of(a, tensors, kind, x, out);
    *out = lz_str_is(key, "T")                            ? lz_value_tensor(tensors[x->i])
           : lz_str_is(key, "i") && kind == LZ_KIND_DTYPE ? lz_value_dtype((lz_dtype)x->i)
           : kind == LZ_KIND_SCALAR                       ? lz_value_scalar(scalar_of(x))
           : lz_str_is(key, "i")                          ? lz_value_integer(x->i)
           : lz_str_is(key, "f")                          ? lz_value_real(lz_json_number(x))
           : lz_str_is(key, "b")                          ? lz_value_truth(x->b)
           : lz_str_is(key, "s")                          ? lz_value_str(x->str.ptr)
           : lz_str_is(key, "dt")                         ? lz_value_dtype(lz_dtype_by_abbr(x->str))
           : lz_str_is(key, "dev")                        ? lz_value_device((lz_device){ 0, 0 })
           : lz_str_is(key, "lay")                        ? lz_value_layout(LZ_STRIDED)
           : lz_str_is(key, "mf")                         ? lz_value_memory_format(format_of(x->str))
                                                          : lz_value_none();
    return NULL;
}

lz_tensor *lz_json_tensor(lz_value v)
{
    return v.kind == LZ_KIND_TENSOR ? v.tensor : NULL;
}

static lz_err *collect(lz_arena *a, const lz_op_row *op, const lz_value *values, lz_json_results *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < op->nreturns; i++)
        n += values[i].kind == LZ_KIND_TENSORS ? (size_t)values[i].tensors.n : 1;
    LZ_TRY(lz_arena_new(a, &out->v, n + 1));
    for (uint32_t i = 0; i < op->nreturns; i++) {
        bool is_list = values[i].kind == LZ_KIND_TENSORS;
        for (int64_t k = 0; is_list && k < values[i].tensors.n; k++)
            out->v[out->n++] = lz_value_tensor(values[i].tensors.v[k]);
        if (!is_list)
            out->v[out->n++] = values[i];
    }
    return NULL;
}

lz_err *lz_json_call(lz_ctx *c, lz_arena *a, const lz_op_row *op, lz_tensor *const *tensors,
                     const lz_json *args, lz_json_results *out)
{
    lz_loc at = { "json", 1, 1 };
    lz_value in[LZ_ARGS_MAX], values[LZ_ARGS_MAX];
    *out = (lz_json_results){ 0 };
    for (uint32_t i = 0; i < args->len; i++)
        LZ_TRY(lz_json_value(a, tensors, (lz_kind)op->args[i].type->kind, &args->items[i], &in[i]));
    lz_call_at(c, at, op->name, in, args->len, values, LZ_ARGS_MAX);
    return lz_failed(c) ? NULL : collect(a, op, values, out);
}
