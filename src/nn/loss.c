/* Losses that are not operators. */
#include "nn/call_line.h"
#include <lazuli/nn.h>
#include <math.h>

/* NULL is allowed: the operator that follows refuses it. */
static lz_ints sizes_of(const lz_tensor *t)
{
    return t ? lz_tensor_sizes(t) : (lz_ints){ NULL, 0 };
}

static lz_tensor *reduce(lz_ctx *c, lz_loc at, lz_tensor *each, lz_loss_reduction how)
{
    if ((unsigned)how > LZ_REDUCTION_SUM)
        return lz_fail(c, at, LZ_ERR_ARG, "expected an lz_loss_reduction");
    return how == LZ_REDUCTION_NONE ? each : how == LZ_REDUCTION_SUM ? lz_sum(c, each) : lz_mean(c, each);
}

/* Whether v is n without the last dimension. */
static bool is_rows_of(lz_ints v, lz_ints n)
{
    bool same = v.n == n.n - 1;
    for (int64_t i = 0; same && i < v.n; i++)
        same = v.v[i] == n.v[i];
    return same;
}

/* Adds a last dimension to a variance that has one number for each row. */
static lz_tensor *of_rows(lz_ctx *c, lz_loc at, lz_tensor *variance, const lz_tensor *input)
{
    bool rows = is_rows_of(sizes_of(variance), sizes_of(input));
    return rows ? lz_unsqueeze(c, variance, -1) : variance;
}

/* The variance is clamped to eps; the gradient ignores the clamp. */
lz_tensor *lz_gaussian_nll_loss_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                   lz_tensor *variance, const lz_gaussian_nll_options *o)
{
    if (!(o->eps >= 0))
        return lz_fail(c, at, LZ_ERR_ARG, "gaussian_nll_loss: eps must not be negative");
    lz_tensor *var = lz_clone(c, of_rows(c, at, variance, input));
    LZ_NO_GRAD(c)
    {
        lz_clamp_min_(c, var, o->eps);
    }
    lz_tensor *off = lz_sub_Tensor(c, input, target);
    lz_tensor *fit = lz_div_Tensor(c, lz_mul_Tensor(c, off, off), var);
    lz_tensor *each = lz_mul_Scalar(c, lz_add_Tensor(c, lz_log(c, var), fit), 0.5);
    if (o->full)
        each = lz_add_Scalar(c, each, 0.5 * log(2 * acos(-1.0)));
    return reduce(c, at, each, o->reduction);
}

lz_tensor *lz_kl_div_batchmean_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                  const lz_kl_div_batchmean_options *o)
{
    lz_tensor *sum = lz_kl_div(c, input, target, .reduction = LZ_REDUCTION_SUM, .log_target = o->log_target);
    lz_ints n = sizes_of(input);
    return lz_div_Scalar(c, sum, n.n > 0 && n.v[0] > 0 ? n.v[0] : 1);
}

/* ---- several labels ---- */

lz_tensor *lz_multilabel_soft_margin_loss_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                             const lz_multilabel_soft_margin_options *o)
{
    lz_tensor *yes = lz_mul_Tensor(c, target, lz_log_sigmoid(c, input));
    lz_tensor *no = lz_mul_Tensor(c, lz_rsub_Scalar(c, target, 1), lz_log_sigmoid(c, lz_neg(c, input)));
    lz_tensor *each = lz_neg(c, lz_add_Tensor(c, yes, no));
    if (o->weight)
        each = lz_mul_Tensor(c, each, o->weight);
    lz_ints n = sizes_of(input);
    each = lz_sum_dim_IntList(c, each, LZ_INTS(-1));
    return reduce(c, at, lz_div_Scalar(c, each, n.n > 0 ? n.v[n.n - 1] : 1), o->reduction);
}

/* ---- triplets ---- */

static lz_tensor *distance_of(lz_ctx *c, lz_loc at, lz_tensor *a, lz_tensor *b,
                              const lz_triplet_distance_options *o)
{
    return o->distance ? o->distance(c, at, a, b, o->user) : lz_pairwise_distance(c, a, b);
}

lz_tensor *lz_triplet_margin_with_distance_loss_at(lz_ctx *c, lz_loc at, lz_tensor *anchor,
                                                   lz_tensor *positive, lz_tensor *negative,
                                                   const lz_triplet_distance_options *o)
{
    int64_t n = sizes_of(anchor).n;
    if (!(o->margin > 0))
        return lz_fail(c, at, LZ_ERR_ARG, "triplet_margin_with_distance_loss: margin must be greater than 0");
    if (sizes_of(positive).n != n || sizes_of(negative).n != n)
        return lz_fail(c, at, LZ_ERR_ARG,
                       "triplet_margin_with_distance_loss: anchor, positive and negative must have the same "
                       "number of dimensions");
    lz_tensor *near = distance_of(c, at, anchor, positive, o), *far = distance_of(c, at, anchor, negative, o);
    if (o->swap)
        far = lz_minimum(c, far, distance_of(c, at, positive, negative, o));
    lz_tensor *off = lz_sub_Tensor(c, lz_add_Scalar(c, near, o->margin), far);
    return reduce(c, at, lz_clamp_min(c, off, 0), o->reduction);
}
