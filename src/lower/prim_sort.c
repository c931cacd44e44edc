/* Sorting: kernels give positions along the last dimension, elements are gathered. */
#include "lower/prim_impl.h"

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

/* A dimension of one element less. */
static lz_err *drop_dim(lz_lower *b, int64_t dim, lz_lv *v)
{
    lz_shape sizes = { .n = 0 };
    const lz_ln *n;
    for (int64_t d = 0; d < v->node->ndim; d++)
        if (d != dim)
            sizes.v[sizes.n++] = v->node->sizes[d];
    LZ_TRY(lz_low_reshape(b, v->node, lz_shape_ints(&sizes), &n));
    *v = lz_prim_tensor(v->dtype, n);
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
    if (self->dtype == LZ_BOOL)
        return lz_errf(LZ_ERR_ARG, "topk does not support bool");
    LZ_TRY(lz_lv_get_int(&args[1], &k));
    LZ_TRY(lz_prim_dim(&args[2], lz_lv_ndim(self), &dim));
    LZ_TRY(lz_lv_get_bool(&args[3], &largest));
    LZ_TRY(lz_lv_get_bool(&args[4], &sorted));
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    if (k < 0 || k > x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "selected index k out of range");
    if (!lz_lv_ndim(self)) /* the result has no dimensions either, so it has an element */
        k = 1;
    LZ_TRY(swap_last(b, x, dim, &x));
    lz_shape sizes = lz_prim_resized(x, x->ndim - 1, k);
    int64_t params[3] = { k, largest, sorted };
    LZ_TRY(lz_low_kernel(b, LZ_CALL_TOPK, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 3, &at));
    return finish(b, self, x, at, dim, results);
}

lz_err *lz_lower_kthvalue(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_lv *self = &args[0];
    const lz_ln *x, *at;
    int64_t dim, k;
    bool keep;
    if (self->dtype == LZ_BOOL)
        return lz_errf(LZ_ERR_ARG, "kthvalue is not defined for bool");
    LZ_TRY(lz_lv_get_int(&args[1], &k));
    LZ_TRY(lz_prim_dim(&args[2], lz_lv_ndim(self), &dim));
    LZ_TRY(lz_lv_get_bool(&args[3], &keep));
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    if (k < 1 || k > x->sizes[dim])
        return lz_errf(LZ_ERR_ARG, "kthvalue(): selected number k out of range for dimension %lld",
                       (long long)dim);
    LZ_TRY(swap_last(b, x, dim, &x));
    lz_shape sizes = lz_prim_resized(x, x->ndim - 1, 1);
    int64_t params[1] = { k - 1 };
    LZ_TRY(lz_low_kernel(b, LZ_CALL_RANK, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 1, &at));
    LZ_TRY(finish(b, self, x, at, dim, results));
    if (keep || !lz_lv_ndim(self))
        return NULL;
    for (int i = 0; i < 2; i++)
        LZ_TRY(drop_dim(b, dim, &results[i]));
    return NULL;
}

/* ---- sets ---- */

/* elements, test_elements, assume_unique, invert. */
lz_err *lz_lower_isin_Tensor_Tensor(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_ln *in[2], *found;
    lz_dtype common;
    bool invert;
    LZ_TRY(lz_lv_get_bool(&args[3], &invert));
    LZ_TRY(lz_low_result_type(b, args, 2, &common));
    for (int i = 0; i < 2; i++)
        LZ_TRY(lz_prim_cast(b, &args[i], common, &in[i]));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_CONTAINS, in, 2, LZ_BOOL, lz_ln_sizes(in[0]), NULL, 0, &found));
    if (invert)
        LZ_TRY(lz_prim_map1(b, LZ_K_NOT, found, &found));
    results[0] = lz_prim_tensor(LZ_BOOL, found);
    return NULL;
}

/* ---- searching ---- */

/* right, or what side says. */
static lz_err *read_side(const lz_lv *right, const lz_lv *side, bool *out)
{
    LZ_TRY(lz_lv_get_bool(right, out));
    if (side->kind != LZ_LV_STR)
        return NULL;
    bool left = lz_str_is(side->str, "left");
    if (!left && !lz_str_is(side->str, "right"))
        return lz_errf(LZ_ERR_ARG, "torch.searchsorted(): side can only be 'left' or 'right' but got %.*s",
                       LZ_FMT(side->str));
    if (left && *out)
        return lz_errf(LZ_ERR_ARG,
                       "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                       "while right was True");
    *out = !left;
    return NULL;
}

/* The sequence in the order that the sorter says. */
static lz_err *sorted_sequence(lz_lower *b, const lz_ln *seq, const lz_lv *sorter, const lz_ln **out)
{
    const lz_ln *at;
    *out = seq;
    if (!lz_lv_is_tensor(sorter))
        return NULL;
    if (sorter->dtype != LZ_I64 || !lz_shape_eq(lz_ln_sizes(seq), lz_lv_sizes(sorter)))
        return lz_errf(LZ_ERR_ARG,
                       "torch.searchsorted(): boundary and sorter must have the same size, and sorter "
                       "must be a tensor of dtype long");
    if (!seq->numel)
        return NULL;
    LZ_TRY(lz_low_check_index(b, sorter->node, seq->sizes[seq->ndim - 1], seq->ndim - 1, false, &at));
    return lz_low_gather(b, seq, at, seq->ndim - 1, out);
}

static lz_err *check_rows(const lz_ln *seq, const lz_ln *v)
{
    bool fits = seq->ndim == 1 || seq->ndim == v->ndim;
    for (int64_t d = 0; fits && seq->ndim > 1 && d + 1 < seq->ndim; d++)
        fits = seq->sizes[d] == v->sizes[d];
    if (seq->ndim && fits)
        return NULL;
    return lz_errf(LZ_ERR_ARG,
                   "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                   "dimensions of boundaries tensor and input value tensor must match");
}

/* sorted_sequence, self, out_int32, right, side, sorter. */
lz_err *lz_lower_searchsorted_Tensor(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_ln *in[2], *n;
    lz_dtype common;
    bool right, narrow;
    LZ_TRY(lz_lv_get_bool(&args[2], &narrow));
    LZ_TRY(read_side(&args[3], &args[4], &right));
    LZ_TRY(check_rows(args[0].node, args[1].node));
    LZ_TRY(lz_low_result_type(b, args, 2, &common));
    LZ_TRY(lz_prim_cast(b, &args[0], common, &in[0]));
    LZ_TRY(lz_prim_cast(b, &args[1], common, &in[1]));
    LZ_TRY(sorted_sequence(b, in[0], &args[5], &in[0]));
    int64_t params[1] = { right };
    if (in[1]->numel)
        LZ_TRY(lz_low_kernel(b, LZ_CALL_SEARCH, in, 2, LZ_I64, lz_ln_sizes(in[1]), params, 1, &n));
    else
        LZ_TRY(lz_prim_full(b, 0, LZ_I64, lz_ln_sizes(in[1]), &n));
    LZ_TRY(lz_low_cast(b, n, narrow ? LZ_I32 : LZ_I64, &n));
    results[0] = lz_prim_tensor(narrow ? LZ_I32 : LZ_I64, n);
    return NULL;
}
