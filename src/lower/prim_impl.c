#include "lower/prim_impl.h"

lz_err *lz_prim_dim(const lz_low_value *dim, int64_t ndim, int64_t *out)
{
    LZ_TRY(lz_low_value_get_int(dim, out));
    return lz_wrap_dim(*out, ndim, out);
}

lz_err *lz_prim_dims(lz_lower *b, const lz_low_value *dims, int64_t ndim, bool empty_is_all, uint64_t *out)
{
    lz_ints v;
    *out = lz_prim_all_dims(ndim);
    if (dims->kind == LZ_LOW_VALUE_NUMBER) {
        int64_t d;
        LZ_TRY(lz_prim_dim(dims, ndim, &d));
        *out &= UINT64_C(1) << d;
        return NULL;
    }
    LZ_TRY(lz_low_value_get_ints(b, dims, &v));
    if (v.n < 0 || (v.n == 0 && empty_is_all))
        return NULL;
    LZ_TRY(lz_wrap_dims(v, ndim, out));
    *out &= lz_prim_all_dims(ndim);
    return NULL;
}

lz_err *lz_prim_cast(lz_lower *b, const lz_low_value *x, lz_dtype d, const lz_low_node **out)
{
    lz_low_value v = *x;
    if (x->dtype != d) /* a node that carries f16 or bf16 in f32 is not rounded in between */
        LZ_TRY(lz_low_cast_to(b, x, d, &v));
    *out = v.node;
    return NULL;
}

lz_err *lz_prim_some_dim(lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    *out = x;
    return x->ndim ? NULL : lz_low_reshape(b, x, LZ_INTS(1), out);
}

lz_err *lz_prim_full(lz_lower *b, double v, lz_dtype d, lz_ints sizes, const lz_low_node **out)
{
    LZ_TRY(lz_low_const(b, lz_scalar_float(v), d, out));
    return lz_low_expand(b, *out, sizes, out);
}

lz_shape lz_prim_resized(const lz_low_node *x, int64_t dim, int64_t size)
{
    lz_shape s = { .n = x->ndim };
    for (int64_t d = 0; d < x->ndim; d++)
        s.v[d] = d == dim ? size : x->sizes[d];
    return s;
}

lz_err *lz_prim_map1(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node **out)
{
    return lz_low_map(b, op, &x, out);
}

lz_err *lz_prim_map2(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                     const lz_low_node **out)
{
    const lz_low_node *in[2] = { x, y };
    return lz_low_map(b, op, in, out);
}

lz_err *lz_prim_map3(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                     const lz_low_node *z, const lz_low_node **out)
{
    const lz_low_node *in[3] = { x, y, z };
    return lz_low_map(b, op, in, out);
}

lz_err *lz_prim_map_number(lz_lower *b, lz_kernel_op op, const lz_low_node *x, double v,
                           const lz_low_node **out)
{
    const lz_low_node *number;
    LZ_TRY(lz_prim_full(b, v, (lz_dtype)x->dtype, lz_low_node_sizes(x), &number));
    return lz_prim_map2(b, op, x, number, out);
}

lz_err *lz_prim_spread_ints(lz_lower *b, const lz_low_value *list, int64_t n, const char *what, lz_ints *out)
{
    int64_t *v;
    LZ_TRY(lz_low_value_get_ints(b, list, out));
    if (out->n == n)
        return NULL;
    if (out->n != 1)
        return lz_errf(LZ_ERR_ARG, "%s: expected one number or %lld numbers, found %lld", what, (long long)n,
                       (long long)out->n);
    LZ_TRY(lz_arena_new(b->arena, &v, (size_t)n + 1));
    for (int64_t i = 0; i < n; i++)
        v[i] = out->v[0];
    *out = (lz_ints){ v, n };
    return NULL;
}
