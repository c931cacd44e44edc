/* Reductions and scans. */
#include "lower/prim_impl.h"

/* For bools, maximum and sum are "any", minimum and product are "all". */
static lz_kernel_reduction for_dtype(lz_kernel_reduction op, const lz_low_node *x)
{
    if (x->dtype != LZ_BOOL)
        return op;
    return op == LZ_KERNEL_RMAX || op == LZ_KERNEL_RSUM    ? LZ_KERNEL_ROR
           : op == LZ_KERNEL_RMIN || op == LZ_KERNEL_RPROD ? LZ_KERNEL_RAND
                                                           : op;
}

static lz_err *reduce(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, uint64_t dims,
                      const lz_low_value *keepdim, const lz_low_node **out)
{
    bool keep;
    LZ_TRY(lz_low_value_get_bool(keepdim, &keep));
    return lz_low_reduce(b, for_dtype(op, x), x, dims, keep, out);
}

/* ---- sums and products ---- */

static lz_err *fold(lz_lower *b, lz_kernel_reduction op, const lz_low_value *self, uint64_t dims,
                    const lz_low_value *keepdim, const lz_low_value *dtype, lz_low_value *out)
{
    lz_dtype d = lz_prim_sum_dtype(dtype, self->dtype);
    const lz_low_node *n;
    LZ_TRY(lz_prim_cast(b, self, d, &n));
    LZ_TRY(reduce(b, op, n, dims, keepdim, &n));
    *out = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_sum_dim_IntList(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    uint64_t dims;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_low_value_ndim(&args[0]), true, &dims));
    return fold(b, LZ_KERNEL_RSUM, &args[0], dims, &args[2], &args[3], results);
}

lz_err *lz_lower_prod_dim_int(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    uint64_t dims;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_low_value_ndim(&args[0]), true, &dims));
    return fold(b, LZ_KERNEL_RPROD, &args[0], dims, &args[2], &args[3], results);
}

lz_err *lz_lower_prod(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value keep = lz_low_value_bool(false);
    return fold(b, LZ_KERNEL_RPROD, &args[0], lz_prim_all_dims(lz_low_value_ndim(&args[0])), &keep, &args[1],
                results);
}

/* ---- extremes ---- */

static lz_err *extreme(lz_lower *b, lz_kernel_reduction op, const char *name, const lz_low_value *args,
                       lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    uint64_t dims;
    const lz_low_node *n;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_low_value_ndim(self), true, &dims));
    if (lz_low_value_numel(self) == 0 && args[1].list.n == 0)
        return lz_errf(LZ_ERR_ARG,
                       "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                       "reduction dim with the 'dim' argument.",
                       name);
    for (int64_t d = 0; d < lz_low_value_ndim(self); d++)
        if ((dims >> d & 1) && !self->node->sizes[d])
            return lz_err_because(LZ_REASON_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.",
                                  name, (long long)d);
    LZ_TRY(reduce(b, op, self->node, dims, &args[2], &n));
    results[0] = lz_prim_tensor(self->dtype, n);
    return NULL;
}

lz_err *lz_lower_amax(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return extreme(b, LZ_KERNEL_RMAX, "amax", args, results);
}

lz_err *lz_lower_amin(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return extreme(b, LZ_KERNEL_RMIN, "amin", args, results);
}

/* Converts bools to integers first, because the kernels find positions among numbers. */
static lz_err *find(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, int64_t dim, bool keep,
                    const lz_low_node **out)
{
    LZ_TRY(lz_prim_some_dim(b, x, &x));
    if (x->dtype == LZ_BOOL)
        LZ_TRY(lz_low_cast(b, x, LZ_I32, &x));
    return lz_low_reduce(b, op, x, UINT64_C(1) << dim, keep, out);
}

static lz_err *position(lz_lower *b, lz_kernel_reduction op, const char *name, const lz_low_value *args,
                        lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *n;
    lz_shape ones = { .n = x->ndim };
    int64_t dim = 0;
    bool keep, all = lz_low_value_is_none(&args[1]);
    LZ_TRY(lz_low_value_get_bool(&args[2], &keep));
    if (!all)
        LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    if (x->dtype == LZ_BOOL)
        return lz_err_because(LZ_REASON_DTYPE, "%s(): does not support bool input", name);
    if (x->numel == 0 && all)
        return lz_errf(LZ_ERR_ARG,
                       "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                       "reduction dim with the 'dim' argument.",
                       name);
    if (!all && x->ndim && !x->sizes[dim])
        return lz_err_because(LZ_REASON_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.",
                              name, (long long)dim);
    if (all)
        LZ_TRY(lz_low_reshape(b, x, LZ_INTS(x->numel), &x));
    LZ_TRY(find(b, op, x, dim, keep && !all && x->ndim, &n));
    for (int64_t d = 0; d < ones.n; d++)
        ones.v[d] = 1;
    if (all && keep)
        LZ_TRY(lz_low_reshape(b, n, lz_shape_ints(&ones), &n));
    results[0] = lz_prim_tensor(LZ_I64, n);
    return NULL;
}

lz_err *lz_lower_argmax(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return position(b, LZ_KERNEL_RARGMAX, "argmax", args, results);
}

lz_err *lz_lower_argmin(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return position(b, LZ_KERNEL_RARGMIN, "argmin", args, results);
}

static lz_err *pair(lz_lower *b, lz_kernel_reduction value, lz_kernel_reduction index,
                    const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *v, *i;
    int64_t dim;
    bool keep;
    LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    LZ_TRY(lz_low_value_get_bool(&args[2], &keep));
    if (x->ndim && !x->sizes[dim])
        return lz_err_because(LZ_REASON_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.",
                              value == LZ_KERNEL_RMAX ? "max" : "min", (long long)dim);
    LZ_TRY(lz_low_reduce(b, for_dtype(value, x), x, x->ndim ? UINT64_C(1) << dim : 0, keep, &v));
    LZ_TRY(find(b, index, x, dim, keep && x->ndim, &i));
    results[0] = lz_prim_tensor(args[0].dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, i);
    return NULL;
}

lz_err *lz_lower_max_dim(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return pair(b, LZ_KERNEL_RMAX, LZ_KERNEL_RARGMAX, args, results);
}

lz_err *lz_lower_min_dim(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return pair(b, LZ_KERNEL_RMIN, LZ_KERNEL_RARGMIN, args, results);
}

/* ---- any and all ---- */

static lz_err *logic(lz_lower *b, lz_kernel_reduction op, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    lz_dtype d = self->dtype == LZ_U8 ? LZ_U8 : LZ_BOOL;
    uint64_t dims;
    const lz_low_node *n;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_low_value_ndim(self), false, &dims));
    LZ_TRY(lz_low_cast(b, self->node, LZ_BOOL, &n));
    LZ_TRY(reduce(b, op, n, dims, &args[2], &n));
    LZ_TRY(lz_low_cast(b, n, d, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_any_dims(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return logic(b, LZ_KERNEL_ROR, args, results);
}

lz_err *lz_lower_all_dims(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return logic(b, LZ_KERNEL_RAND, args, results);
}

/* ---- scans ---- */

static lz_err *scan(lz_lower *b, lz_kernel_reduction op, const lz_low_node *x, int64_t dim,
                    const lz_low_node **out)
{
    lz_ints sizes = lz_low_node_sizes(x);
    LZ_TRY(lz_prim_some_dim(b, x, &x));
    LZ_TRY(lz_low_scan(b, op, x, dim, out));
    return lz_low_reshape(b, *out, sizes, out);
}

static lz_err *running(lz_lower *b, lz_kernel_reduction op, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = lz_prim_sum_dtype(&args[2], args[0].dtype);
    int64_t dim;
    const lz_low_node *n;
    LZ_TRY(lz_prim_dim(&args[1], lz_low_value_ndim(&args[0]), &dim));
    LZ_TRY(lz_prim_cast(b, &args[0], d, &n));
    LZ_TRY(scan(b, op, n, dim, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_cumsum(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return running(b, LZ_KERNEL_RSUM, args, results);
}

lz_err *lz_lower_cumprod(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return running(b, LZ_KERNEL_RPROD, args, results);
}

static lz_err *running_pair(lz_lower *b, lz_kernel_reduction value, lz_kernel_reduction index,
                            const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x = args[0].node, *v, *at;
    int64_t dim;
    LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    if (x->dtype == LZ_BOOL)
        LZ_TRY(lz_low_cast(b, x, LZ_I32, &x));
    LZ_TRY(scan(b, value, x, dim, &v));
    LZ_TRY(scan(b, index, x, dim, &at));
    LZ_TRY(lz_low_cast(b, v, (lz_dtype)args[0].node->dtype, &v));
    results[0] = lz_prim_tensor(args[0].dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, at);
    return NULL;
}

lz_err *lz_lower_cummax(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return running_pair(b, LZ_KERNEL_RMAX, LZ_KERNEL_RARGMAX, args, results);
}

lz_err *lz_lower_cummin(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return running_pair(b, LZ_KERNEL_RMIN, LZ_KERNEL_RARGMIN, args, results);
}
