/* Sorting: kernels compute positions along the last dimension, and a gather moves the elements. */
#include "lower/prim_impl.h"

/* Exchanges a dimension with the last one. Applied twice, it changes nothing. */
static lz_err *swap_last(lz_lower *b, const lz_low_node *x, int64_t dim, const lz_low_node **out)
{
    int64_t order[LZ_MAX_DIMS], last = x->ndim - 1;
    for (int64_t d = 0; d <= last; d++)
        order[d] = d == dim ? last : d == last ? dim : d;
    return lz_low_permute(b, x, order, out);
}

/* Makes the results: the positions `at` along the last dimension of x, and the elements there. */
static lz_err *finish(lz_lower *b, const lz_low_value *self, const lz_low_node *x, const lz_low_node *at,
                      int64_t dim, lz_low_value *results)
{
    const lz_low_node *v;
    LZ_TRY(lz_low_gather(b, x, at, x->ndim - 1, &v));
    LZ_TRY(swap_last(b, v, dim, &v));
    LZ_TRY(swap_last(b, at, dim, &at));
    if (!lz_low_value_ndim(self)) {
        LZ_TRY(lz_low_reshape(b, v, lz_low_value_sizes(self), &v));
        LZ_TRY(lz_low_reshape(b, at, lz_low_value_sizes(self), &at));
    }
    results[0] = lz_prim_tensor(self->dtype, v);
    results[1] = lz_prim_tensor(LZ_I64, at);
    return NULL;
}

/* Removes the dimension, which has size 1. */
static lz_err *drop_dim(lz_lower *b, int64_t dim, lz_low_value *v)
{
    lz_shape sizes = { .n = 0 };
    const lz_low_node *n;
    for (int64_t d = 0; d < v->node->ndim; d++)
        if (d != dim)
            sizes.v[sizes.n++] = v->node->sizes[d];
    LZ_TRY(lz_low_reshape(b, v->node, lz_shape_ints(&sizes), &n));
    *v = lz_prim_tensor(v->dtype, n);
    return NULL;
}

lz_err *lz_lower_sort_stable(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_node *x, *at;
    int64_t dim, params[1];
    bool descending;
    LZ_TRY(lz_prim_dim(&args[2], lz_low_value_ndim(self), &dim));
    LZ_TRY(lz_low_value_get_bool(&args[3], &descending));
    params[0] = descending;
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    LZ_TRY(swap_last(b, x, dim, &x));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_SORT, &x, 1, LZ_I64, lz_low_node_sizes(x), params, 1, &at));
    return finish(b, self, x, at, dim, results);
}

lz_err *lz_lower_topk(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_node *x, *at;
    int64_t dim, k;
    bool largest, sorted;
    if (self->dtype == LZ_BOOL)
        return lz_err_because(LZ_REASON_DTYPE, "topk does not support bool");
    LZ_TRY(lz_low_value_get_int(&args[1], &k));
    LZ_TRY(lz_prim_dim(&args[2], lz_low_value_ndim(self), &dim));
    LZ_TRY(lz_low_value_get_bool(&args[3], &largest));
    LZ_TRY(lz_low_value_get_bool(&args[4], &sorted));
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    if (k < 0 || k > x->sizes[dim])
        return lz_err_because(LZ_REASON_INDEX, "selected index k out of range");
    if (!lz_low_value_ndim(self)) /* the result has no dimensions either, so it has an element */
        k = 1;
    LZ_TRY(swap_last(b, x, dim, &x));
    lz_shape sizes = lz_prim_resized(x, x->ndim - 1, k);
    int64_t params[3] = { k, largest, sorted };
    LZ_TRY(lz_low_kernel(b, LZ_CALL_TOPK, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 3, &at));
    return finish(b, self, x, at, dim, results);
}

lz_err *lz_lower_kthvalue(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_value *self = &args[0];
    const lz_low_node *x, *at;
    int64_t dim, k;
    bool keep;
    if (self->dtype == LZ_BOOL)
        return lz_err_because(LZ_REASON_DTYPE, "kthvalue is not defined for bool");
    LZ_TRY(lz_low_value_get_int(&args[1], &k));
    LZ_TRY(lz_prim_dim(&args[2], lz_low_value_ndim(self), &dim));
    LZ_TRY(lz_low_value_get_bool(&args[3], &keep));
    LZ_TRY(lz_prim_some_dim(b, self->node, &x));
    if (k < 1 || k > x->sizes[dim])
        return lz_err_because(
            LZ_REASON_INDEX, "kthvalue(): selected number k out of range for dimension %lld", (long long)dim);
    LZ_TRY(swap_last(b, x, dim, &x));
    lz_shape sizes = lz_prim_resized(x, x->ndim - 1, 1);
    int64_t params[1] = { k - 1 };
    LZ_TRY(lz_low_kernel(b, LZ_CALL_RANK, &x, 1, LZ_I64, lz_shape_ints(&sizes), params, 1, &at));
    LZ_TRY(finish(b, self, x, at, dim, results));
    if (keep || !lz_low_value_ndim(self))
        return NULL;
    for (int i = 0; i < 2; i++)
        LZ_TRY(drop_dim(b, dim, &results[i]));
    return NULL;
}

/* ---- sets ---- */

/* Arguments: elements, test_elements, assume_unique, invert. */
lz_err *lz_lower_isin_Tensor_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[2], *found;
    lz_dtype common;
    bool invert;
    LZ_TRY(lz_low_value_get_bool(&args[3], &invert));
    LZ_TRY(lz_low_result_type(b, args, 2, &common));
    for (int i = 0; i < 2; i++)
        LZ_TRY(lz_prim_cast(b, &args[i], common, &in[i]));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_CONTAINS, in, 2, LZ_BOOL, lz_low_node_sizes(in[0]), NULL, 0, &found));
    if (invert)
        LZ_TRY(lz_prim_map1(b, LZ_KERNEL_NOT, found, &found));
    results[0] = lz_prim_tensor(LZ_BOOL, found);
    return NULL;
}

/* ---- searching ---- */

/* Whether to search from the right: the argument `right`, or `side`. */
static lz_err *read_side(const lz_low_value *right, const lz_low_value *side, bool *out)
{
    LZ_TRY(lz_low_value_get_bool(right, out));
    if (side->kind != LZ_LOW_VALUE_STR)
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

/* The sequence in the order of the sorter. */
static lz_err *sorted_sequence(lz_lower *b, const lz_low_node *seq, const lz_low_value *sorter,
                               const lz_low_node **out)
{
    const lz_low_node *at;
    *out = seq;
    if (!lz_low_value_is_tensor(sorter))
        return NULL;
    if (sorter->dtype != LZ_I64 || !lz_shape_eq(lz_low_node_sizes(seq), lz_low_value_sizes(sorter)))
        return lz_err_because(LZ_REASON_DTYPE,
                              "torch.searchsorted(): boundary and sorter must have the same size, and sorter "
                              "must be a tensor of dtype long");
    if (!seq->numel)
        return NULL;
    LZ_TRY(lz_low_check_index(b, sorter->node, seq->sizes[seq->ndim - 1], seq->ndim - 1, false, &at));
    return lz_low_gather(b, seq, at, seq->ndim - 1, out);
}

static lz_err *check_rows(const lz_low_node *seq, const lz_low_node *v)
{
    bool fits = seq->ndim == 1 || seq->ndim == v->ndim;
    for (int64_t d = 0; fits && seq->ndim > 1 && d + 1 < seq->ndim; d++)
        fits = seq->sizes[d] == v->sizes[d];
    if (seq->ndim && fits)
        return NULL;
    return lz_err_because(LZ_REASON_SHAPE,
                          "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
                          "dimensions of boundaries tensor and input value tensor must match");
}

/* Arguments: sorted_sequence, self, out_int32, right, side, sorter. */
lz_err *lz_lower_searchsorted_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *in[2], *n;
    lz_dtype common;
    bool right, narrow;
    LZ_TRY(lz_low_value_get_bool(&args[2], &narrow));
    LZ_TRY(read_side(&args[3], &args[4], &right));
    LZ_TRY(check_rows(args[0].node, args[1].node));
    LZ_TRY(lz_low_result_type(b, args, 2, &common));
    LZ_TRY(lz_prim_cast(b, &args[0], common, &in[0]));
    LZ_TRY(lz_prim_cast(b, &args[1], common, &in[1]));
    LZ_TRY(sorted_sequence(b, in[0], &args[5], &in[0]));
    int64_t params[1] = { right };
    if (in[1]->numel)
        LZ_TRY(lz_low_kernel(b, LZ_CALL_SEARCH, in, 2, LZ_I64, lz_low_node_sizes(in[1]), params, 1, &n));
    else
        LZ_TRY(lz_prim_full(b, 0, LZ_I64, lz_low_node_sizes(in[1]), &n));
    LZ_TRY(lz_low_cast(b, n, narrow ? LZ_I32 : LZ_I64, &n));
    results[0] = lz_prim_tensor(narrow ? LZ_I32 : LZ_I64, n);
    return NULL;
}
