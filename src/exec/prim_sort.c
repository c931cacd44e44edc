#include "exec/prim_impl.h"

/* Sorting: kernels give positions along the last dimension, elements are gathered. */

/* Swaps a dimension with the last one; its own inverse. */
static lz_err *swap_last(lz_lower *b, const lz_ln *x, int64_t dim, const lz_ln **out)
{
    int64_t order[LZ_MAX_DIMS], last = x->ndim - 1;
    for (int64_t d = 0; d <= last; d++)
        order[d] = d == dim ? last : d == last ? dim : d;
    return lz_low_permute(b, x, order, out);
}

/* The positions, where they are along the last dimension of x, and the elements there. */
static lz_err *finish(lz_lower *b, const lz_lv *self, const lz_ln *x, const lz_ln *at, int64_t dim,
                      lz_lv *results)
{
    const lz_ln *v;
    LZ_TRY(lz_low_gather(b, x, at, x->ndim - 1, &v));
    LZ_TRY(swap_last(b, v, dim, &v));
    LZ_TRY(swap_last(b, at, dim, &at));
    if (!lz_lv_ndim(self)) {
        LZ_TRY(lz_low_reshape(b, v, lz_lv_sizes(self), &v));
        LZ_TRY(lz_low_reshape(b, at, lz_lv_sizes(self), &at));
    }
    results[0] = lz_prim_tensor(self->dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, at);
    return NULL;
}

lz_err *lz_lower_sort_stable(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_lv *self = &args[0];
    const lz_ln *x, *at;
    int64_t dim, params[1];
    bool descending;
    LZ_TRY(lz_prim_dim(&args[2], lz_lv_ndim(self), &dim));
    LZ_TRY(lz_lv_get_bool(&args[3], &descending));
    params[0] = descending;
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    LZ_TRY(swap_last(b, x, dim, &x));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_SORT, &x, 1, LZ_I64, lz_ln_sizes(x), params, 1, &at));
    return finish(b, self, x, at, dim, results);
}

lz_err *lz_lower_topk(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_lv *self = &args[0];
    const lz_ln *x, *at;
    int64_t dim, k;
    bool largest, sorted;
    LZ_TRY(lz_lv_get_int(&args[1], &k));
    LZ_TRY(lz_prim_dim(&args[2], lz_lv_ndim(self), &dim));
    LZ_TRY(lz_lv_get_bool(&args[3], &largest));
    LZ_TRY(lz_lv_get_bool(&args[4], &sorted));
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    if (k < 0 || k > x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "selected index k out of range");
    LZ_TRY(swap_last(b, x, dim, &x));
    lz_shape sizes = lz_prim_resized(x, x->ndim - 1, k);
    int64_t params[3] = { k, largest, sorted };
    LZ_TRY(lz_low_kernel(b, LZ_CALL_TOPK, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 3, &at));
    return finish(b, self, x, at, dim, results);
}
