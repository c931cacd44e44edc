/* Losses that are no operators: F.cosine_embedding_loss, F.gaussian_nll_loss, F.kl_div's batchmean. */
#include <lazuli/nn.h>
#include <lazuli/ops.h>
#include <math.h>

#undef LZ_HERE
#define LZ_HERE at

/* Operators refuse NULL; this is for what comes before them. */
static lz_ints sizes_of(const lz_tensor *t)
{
    return t ? lz_tensor_sizes(t) : (lz_ints){ NULL, 0 };
}

static lz_tensor *reduce(lz_ctx *c, lz_loc at, lz_tensor *each, lz_loss_reduction how)
{
    if ((unsigned)how > LZ_REDUCTION_SUM)
        return lz_fail(c, at, LZ_ERR_ARG, "there is no such reduction");
    return how == LZ_REDUCTION_NONE ? each : how == LZ_REDUCTION_SUM ? lz_sum(c, each) : lz_mean(c, each);
}

lz_tensor *lz_cosine_embedding_loss_at(lz_ctx *c, lz_loc at, lz_tensor *x1, lz_tensor *x2, lz_tensor *target,
                                       const lz_cosine_embedding_options *o)
{
    const double eps = 1e-12; /* as in PyTorch, and not an option there */
    lz_ints last = LZ_INTS(-1);
    lz_tensor *both = lz_sum_dim_IntList(c, lz_mul_Tensor(c, x1, x2), last);
    lz_tensor *n1 = lz_add_Scalar(c, lz_sum_dim_IntList(c, lz_mul_Tensor(c, x1, x1), last), eps);
    lz_tensor *n2 = lz_add_Scalar(c, lz_sum_dim_IntList(c, lz_mul_Tensor(c, x2, x2), last), eps);
    lz_tensor *cosine = lz_div_Tensor(c, both, lz_sqrt(c, lz_mul_Tensor(c, n1, n2)));
    lz_tensor *alike = lz_rsub_Scalar(c, cosine, 1);
    lz_tensor *apart = lz_clamp_min(c, lz_sub_Scalar(c, cosine, o->margin), 0);
    lz_tensor *zeros = lz_zeros_like(c, cosine);
    lz_tensor *pos = lz_where_self(c, lz_eq_Scalar(c, target, 1), alike, zeros);
    lz_tensor *neg = lz_where_self(c, lz_eq_Scalar(c, target, -1), apart, zeros);
    return reduce(c, at, lz_add_Tensor(c, pos, neg), o->reduction);
}

/* All dimensions of n but the last. */
static bool is_rows_of(lz_ints v, lz_ints n)
{
    bool same = v.n == n.n - 1;
    for (int64_t i = 0; same && i < v.n; i++)
        same = v.v[i] == n.v[i];
    return same;
}

/* One variance for each row gets a last dimension. */
static lz_tensor *of_rows(lz_ctx *c, lz_loc at, lz_tensor *variance, const lz_tensor *input)
{
    bool rows = is_rows_of(sizes_of(variance), sizes_of(input));
    return rows ? lz_unsqueeze(c, variance, -1) : variance;
}

/* The variance is kept above eps, and its gradient does not know of that. */
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
