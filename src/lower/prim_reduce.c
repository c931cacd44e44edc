/* Reductions and scans. */
#include "lower/prim_impl.h"

/* The greatest of bools, like their sum, is whether any holds. */
static lz_kreduce for_dtype(lz_kreduce op, const lz_ln *x)
{
    if (x->dtype != LZ_BOOL)
        return op;
    return op == LZ_K_RMAX || op == LZ_K_RSUM    ? LZ_K_ROR
           : op == LZ_K_RMIN || op == LZ_K_RPROD ? LZ_K_RAND
                                                 : op;
}

static lz_err *reduce(lz_lower *b, lz_kreduce op, const lz_ln *x, uint64_t dims, const lz_lv *keepdim,
                      const lz_ln **out)
{
    bool keep;
    LZ_TRY(lz_lv_get_bool(keepdim, &keep));
    return lz_low_reduce(b, for_dtype(op, x), x, dims, keep, out);
}

/* ---- sums and products ---- */

static lz_err *fold(lz_lower *b, lz_kreduce op, const lz_lv *self, uint64_t dims, const lz_lv *keepdim,
                    const lz_lv *dtype, lz_lv *out)
{
    lz_dtype d = lz_prim_sum_dtype(dtype, self->dtype);
    const lz_ln *n;
    LZ_TRY(lz_prim_cast(b, self, d, &n));
    LZ_TRY(reduce(b, op, n, dims, keepdim, &n));
    *out = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_sum_dim_IntList(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    uint64_t dims;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_lv_ndim(&args[0]), true, &dims));
    return fold(b, LZ_K_RSUM, &args[0], dims, &args[2], &args[3], results);
}

lz_err *lz_lower_prod_dim_int(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    uint64_t dims;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_lv_ndim(&args[0]), true, &dims));
    return fold(b, LZ_K_RPROD, &args[0], dims, &args[2], &args[3], results);
}

lz_err *lz_lower_prod(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_lv keep = lz_lv_bool(false);
    return fold(b, LZ_K_RPROD, &args[0], lz_prim_all_dims(lz_lv_ndim(&args[0])), &keep, &args[1], results);
}

/* ---- extremes ---- */

static lz_err *extreme(lz_lower *b, lz_kreduce op, const char *name, const lz_lv *args, lz_lv *results)
{
    const lz_lv *self = &args[0];
    uint64_t dims;
    const lz_ln *n;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_lv_ndim(self), true, &dims));
    if (lz_lv_numel(self) == 0 && args[1].list.n == 0)
        return lz_errf(LZ_ERR_ARG,
                       "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                       "reduction dim with the 'dim' argument.",
                       name);
    for (int64_t d = 0; d < lz_lv_ndim(self); d++)
        if ((dims >> d & 1) && !self->node->sizes[d])
            return lz_errf(LZ_ERR_ARG, "%s(): Expected reduction dim %lld to have non-zero size.", name,
                           (long long)d);
    LZ_TRY(reduce(b, op, self->node, dims, &args[2], &n));
    results[0] = lz_prim_tensor(self->dtype, n);
    return NULL;
}

lz_err *lz_lower_amax(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return extreme(b, LZ_K_RMAX, "amax", args, results);
}

lz_err *lz_lower_amin(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return extreme(b, LZ_K_RMIN, "amin", args, results);
}

/* Positions are found among integers, also those of bools. */
static lz_err *find(lz_lower *b, lz_kreduce op, const lz_ln *x, int64_t dim, bool keep, const lz_ln **out)
{
    LZ_TRY(lz_prim_some_dim(b, x, &x));
    if (x->dtype == LZ_BOOL)
        LZ_TRY(lz_low_cast(b, x, LZ_I32, &x));
    return lz_low_reduce(b, op, x, UINT64_C(1) << dim, keep, out);
}

static lz_err *position(lz_lower *b, lz_kreduce op, const char *name, const lz_lv *args, lz_lv *results)
{
    const lz_ln *x = args[0].node, *n;
    lz_shape ones = { .n = x->ndim };
    int64_t dim = 0;
    bool keep, all = lz_lv_is_none(&args[1]);
    LZ_TRY(lz_lv_get_bool(&args[2], &keep));
    if (!all)
        LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    if (x->dtype == LZ_BOOL)
        return lz_errf(LZ_ERR_ARG, "%s(): does not support bool input", name);
    if (x->numel == 0 && all)
        return lz_errf(LZ_ERR_ARG,
                       "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                       "reduction dim with the 'dim' argument.",
                       name);
    if (!all && x->ndim && !x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "%s(): Expected reduction dim %lld to have non-zero size.", name,
                       (long long)dim);
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

lz_err *lz_lower_argmax(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return position(b, LZ_K_RARGMAX, "argmax", args, results);
}

lz_err *lz_lower_argmin(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return position(b, LZ_K_RARGMIN, "argmin", args, results);
}

static lz_err *pair(lz_lower *b, lz_kreduce value, lz_kreduce index, const lz_lv *args, lz_lv *results)
{
    const lz_ln *x = args[0].node, *v, *i;
    int64_t dim;
    bool keep;
    LZ_TRY(lz_prim_dim(&args[1], x->ndim, &dim));
    LZ_TRY(lz_lv_get_bool(&args[2], &keep));
    if (x->ndim && !x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "%s(): Expected reduction dim %lld to have non-zero size.",
                       value == LZ_K_RMAX ? "max" : "min", (long long)dim);
    LZ_TRY(lz_low_reduce(b, for_dtype(value, x), x, x->ndim ? UINT64_C(1) << dim : 0, keep, &v));
    LZ_TRY(find(b, index, x, dim, keep && x->ndim, &i));
    results[0] = lz_prim_tensor(args[0].dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, i);
    return NULL;
}

lz_err *lz_lower_max_dim(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return pair(b, LZ_K_RMAX, LZ_K_RARGMAX, args, results);
}

lz_err *lz_lower_min_dim(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return pair(b, LZ_K_RMIN, LZ_K_RARGMIN, args, results);
}

/* ---- any and all ---- */

static lz_err *logic(lz_lower *b, lz_kreduce op, const lz_lv *args, lz_lv *results)
{
    const lz_lv *self = &args[0];
    lz_dtype d = self->dtype == LZ_U8 ? LZ_U8 : LZ_BOOL;
    uint64_t dims;
    const lz_ln *n;
    LZ_TRY(lz_prim_dims(b, &args[1], lz_lv_ndim(self), false, &dims));
    LZ_TRY(lz_low_cast(b, self->node, LZ_BOOL, &n));
    LZ_TRY(reduce(b, op, n, dims, &args[2], &n));
    LZ_TRY(lz_low_cast(b, n, d, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_any_dims(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return logic(b, LZ_K_ROR, args, results);
}

lz_err *lz_lower_all_dims(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return logic(b, LZ_K_RAND, args, results);
}

/* ---- scans ---- */

static lz_err *scan(lz_lower *b, lz_kreduce op, const lz_ln *x, int64_t dim, const lz_ln **out)
{
    lz_ints sizes = lz_ln_sizes(x);
    LZ_TRY(lz_prim_some_dim(b, x, &x));
    LZ_TRY(lz_low_scan(b, op, x, dim, out));
    return lz_low_reshape(b, *out, sizes, out);
}

static lz_err *running(lz_lower *b, lz_kreduce op, const lz_lv *args, lz_lv *results)
{
    lz_dtype d = lz_prim_sum_dtype(&args[2], args[0].dtype);
    int64_t dim;
    const lz_ln *n;
    LZ_TRY(lz_prim_dim(&args[1], lz_lv_ndim(&args[0]), &dim));
    LZ_TRY(lz_prim_cast(b, &args[0], d, &n));
    LZ_TRY(scan(b, op, n, dim, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

lz_err *lz_lower_cumsum(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return running(b, LZ_K_RSUM, args, results);
}

lz_err *lz_lower_cumprod(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return running(b, LZ_K_RPROD, args, results);
}

static lz_err *running_pair(lz_lower *b, lz_kreduce value, lz_kreduce index, const lz_lv *args,
                            lz_lv *results)
{
    const lz_ln *x = args[0].node, *v, *at;
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

lz_err *lz_lower_cummax(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return running_pair(b, LZ_K_RMAX, LZ_K_RARGMAX, args, results);
}

lz_err *lz_lower_cummin(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return running_pair(b, LZ_K_RMIN, LZ_K_RARGMIN, args, results);
}
