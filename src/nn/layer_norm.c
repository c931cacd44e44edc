/* Batch, layer, group and instance normalisation. */
#include "nn/module.h"

typedef struct norm {
    lz_norm_options o;
    lz_ints shape; /* of the weights */
    int64_t groups;
    lz_batch_norm_options b; /* of batch norm, as the members below */
    int64_t least_dims, most_dims;
    lz_module_slot *weight, *bias, *mean, *var, *seen;
} norm;

static lz_err *check(double eps, lz_ints shape)
{
    if (!(eps >= 0))
        return lz_errf(LZ_ERR_ARG, "eps must not be negative");
    for (int64_t i = 0; i < shape.n; i++)
        if (shape.v[i] < 0)
            return lz_errf(LZ_ERR_ARG, "sizes must not be negative");
    return NULL;
}

static lz_err *build(lz_module *m)
{
    norm *o = m->data;
    LZ_TRY(check(o->o.eps, o->shape));
    LZ_TRY(lz_module_keep_ints(m, &o->shape));
    if (!o->o.affine)
        return NULL;
    LZ_TRY(lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, lz_weight_full(m, o->shape, 1), &o->weight));
    if (!o->o.bias)
        return NULL;
    return lz_module_slot_add(m, "bias", LZ_SLOT_PARAM, lz_weight_full(m, o->shape, 0), &o->bias);
}

/* ---- layer norm ---- */

static lz_tensor *forward_layer(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    return lz_layer_norm(m->ctx, x, o->shape, .weight = lz_module_slot_tensor(o->weight),
                         .bias = lz_module_slot_tensor(o->bias), .eps = o->o.eps);
}

lz_module *lz_nn_layer_norm_at(lz_module *parent, lz_loc at, const char *name, lz_ints shape,
                               const lz_norm_options *options)
{
    static const lz_layer layer = { { "LayerNorm", forward_layer, NULL }, build };
    norm o = { .o = *options, .shape = shape };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- RMS norm ---- */

typedef struct rms {
    lz_rms_norm_options o;
    lz_ints shape;
    lz_module_slot *weight;
} rms;

static lz_err *build_rms(lz_module *m)
{
    rms *o = m->data;
    LZ_TRY(check(o->o.eps.v, o->shape));
    LZ_TRY(lz_module_keep_ints(m, &o->shape));
    if (!o->o.affine)
        return NULL;
    return lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, lz_weight_full(m, o->shape, 1), &o->weight);
}

static lz_tensor *forward_rms(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const rms *o = m->data;
    return lz_rms_norm(m->ctx, x, o->shape, .weight = lz_module_slot_tensor(o->weight), .eps = o->o.eps);
}

lz_module *lz_nn_rms_norm_at(lz_module *parent, lz_loc at, const char *name, lz_ints shape,
                             const lz_rms_norm_options *options)
{
    static const lz_layer layer = { { "RMSNorm", forward_rms, NULL }, build_rms };
    rms o = { .o = *options, .shape = shape };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- group norm ---- */

static lz_err *build_group(lz_module *m)
{
    const norm *o = m->data;
    if (o->groups < 1 || o->shape.v[0] % o->groups)
        return lz_errf(LZ_ERR_ARG, "channels must be divisible by groups");
    return build(m);
}

static lz_tensor *forward_group(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    return lz_group_norm(m->ctx, x, o->groups, .weight = lz_module_slot_tensor(o->weight),
                         .bias = lz_module_slot_tensor(o->bias), .eps = o->o.eps);
}

lz_module *lz_nn_group_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t groups,
                               int64_t channels, const lz_norm_options *options)
{
    static const lz_layer layer = { { "GroupNorm", forward_group, NULL }, build_group };
    norm o = { .o = *options, .shape = { &channels, 1 }, .groups = groups };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- batch norm ---- */

static lz_err *add_statistics(lz_module *m)
{
    const lz_loc at = m->at;
    norm *o = m->data;
    LZ_TRY(lz_module_slot_add(m, "running_mean", LZ_SLOT_BUFFER, lz_weight_full(m, o->shape, 0), &o->mean));
    LZ_TRY(lz_module_slot_add(m, "running_var", LZ_SLOT_BUFFER, lz_weight_full(m, o->shape, 1), &o->var));
    lz_tensor *none = lz_zeros(m->ctx, ((lz_ints){ NULL, 0 }), .dtype = LZ_I64);
    return lz_module_slot_add(m, "num_batches_tracked", LZ_SLOT_BUFFER, none, &o->seen);
}

static lz_err *build_batch(lz_module *m)
{
    norm *o = m->data;
    if (!(o->b.momentum >= 0 && o->b.momentum <= 1))
        return lz_errf(LZ_ERR_ARG, "momentum must be between 0 and 1");
    if (o->b.cumulative && !o->b.track_running_stats)
        return lz_errf(LZ_ERR_ARG, "cumulative needs track_running_stats");
    LZ_TRY(build(m));
    return o->b.track_running_stats ? add_statistics(m) : NULL;
}

/* The weight of a new batch in the mean of all batches. It is computed in the graph, so that all steps have
 * one graph. */
static lz_tensor *share_of_one(lz_module *m)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    lz_tensor *part = lz_reciprocal(m->ctx, lz_to_dtype(m->ctx, o->seen->tensor, LZ_F64));
    return lz_to_dtype(m->ctx, part, lz_tensor_dtype(o->mean->tensor));
}

/* share NULL: the weight is the momentum. */
static void blend(lz_module *m, const lz_module_slot *running, lz_tensor *now, lz_tensor *share)
{
    const lz_loc at = m->at;
    lz_ctx *c = m->ctx;
    double momentum = ((const norm *)m->data)->b.momentum;
    lz_tensor *old = running->tensor;
    lz_tensor *mean =
        share ? lz_add_Tensor(c, old, lz_mul_Tensor(c, lz_sub_Tensor(c, now, old), share))
              : lz_add_Tensor(c, lz_mul_Scalar(c, old, 1 - momentum), now, .alpha = LZ_S(momentum));
    lz_copy_(c, old, mean);
}

/* The running variance is the unbiased one. Mean and variance are recorded as the operator records them, so
 * that they are computed once. */
static void update_stats(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    lz_ctx *c = m->ctx;
    int64_t dims[8], n = 0, ndim = lz_tensor_ndim(x);
    for (int64_t i = 0; i < ndim; i++)
        if (i != 1)
            dims[n++] = i;
    double count = (double)lz_tensor_numel(x) / (double)o->shape.v[0];
    lz_scope *s = lz_scope_push(c);
    LZ_NO_GRAD(c)
    {
        lz_var_mean_correction_result r =
            lz_var_mean_correction(c, x, .dim = { dims, n }, .correction = LZ_S(0));
        lz_add__Scalar(c, o->seen->tensor, 1);
        lz_tensor *share = o->b.cumulative ? share_of_one(m) : NULL;
        blend(m, o->var, lz_mul_Scalar(c, r.out0, count / (count - 1)), share);
        blend(m, o->mean, r.out1, share);
    }
    lz_scope_pop(s);
}

static lz_tensor *refuse(lz_module *m, const char *why)
{
    return lz_fail(m->ctx, m->at, LZ_ERR_ARG, why);
}

static lz_tensor *forward_batch(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    bool batch = m->training || !o->mean;
    if (!x || lz_tensor_is_inert(x))
        return x;
    lz_ints sizes = lz_tensor_sizes(x);
    if (sizes.n < o->least_dims || sizes.n > o->most_dims)
        return lz_refuse(m->ctx, m->at,
                         lz_errf(LZ_ERR_ARG, "batch_norm%dd: expected %s%d dimensions", (int)o->most_dims - 2,
                                 o->least_dims < o->most_dims ? "2 or " : "", (int)o->most_dims));
    if (sizes.v[1] != o->shape.v[0])
        return lz_refuse(m->ctx, m->at,
                         lz_err_because(LZ_REASON_SHAPE,
                                        "batch norm: size mismatch: got %lld channels, expected %lld",
                                        (long long)sizes.v[1], (long long)o->shape.v[0]));
    if (batch && lz_tensor_numel(x) <= sizes.v[1])
        return refuse(m, "batch norm: expected more than 1 value per channel");
    lz_tensor *y = lz_batch_norm(m->ctx, x, lz_module_slot_tensor(o->weight), lz_module_slot_tensor(o->bias),
                                 batch ? NULL : o->mean->tensor, batch ? NULL : o->var->tensor, batch,
                                 o->b.momentum, o->o.eps, false);
    if (m->training && o->mean)
        update_stats(m, x);
    return y;
}

lz_module *lz_nn_batch_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim, int64_t channels,
                               const lz_batch_norm_options *options)
{
    static const lz_layer layer = { { "BatchNorm", forward_batch, NULL }, build_batch };
    norm o = { .o = { options->eps, options->affine, options->bias },
               .b = *options,
               .shape = { &channels, 1 },
               .least_dims = ndim == 1 ? 2 : ndim + 2,
               .most_dims = ndim + 2 };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- instance norm ---- */

static lz_tensor *instances(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    return lz_instance_norm(m->ctx, x, lz_module_slot_tensor(o->weight), lz_module_slot_tensor(o->bias),
                            lz_module_slot_tensor(o->mean), lz_module_slot_tensor(o->var),
                            m->training || !o->mean, o->b.momentum, o->o.eps, false);
}

/* As in PyTorch, the number of channels must fit only where it is used. */
static lz_err *check_instances(const norm *o, lz_ints sizes)
{
    int64_t spatial = 1, channel = sizes.n - o->most_dims + 1;
    if (sizes.n != o->most_dims && sizes.n != o->most_dims - 1)
        return lz_err_because(LZ_REASON_SHAPE, "instance_norm%dd: expected %d or %d dimensions, got %d",
                              (int)o->most_dims - 2, (int)o->most_dims - 1, (int)o->most_dims, (int)sizes.n);
    if ((o->weight || o->mean) && sizes.v[channel] != o->shape.v[0])
        return lz_err_because(LZ_REASON_SHAPE,
                              "instance norm: size mismatch: got %lld channels, expected %lld",
                              (long long)sizes.v[channel], (long long)o->shape.v[0]);
    for (int64_t i = channel + 1; i < sizes.n; i++)
        spatial *= sizes.v[i];
    return spatial != 1
               ? NULL
               : lz_err_because(LZ_REASON_SHAPE, "instance norm: expected more than 1 spatial element");
}

static lz_tensor *forward_instance(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const norm *o = m->data;
    if (!x || lz_tensor_is_inert(x))
        return x;
    lz_ints sizes = lz_tensor_sizes(x);
    lz_err *e = m->training || !o->mean ? check_instances(o, sizes) : NULL;
    if (e)
        return lz_refuse(m->ctx, at, e);
    if (sizes.n == o->most_dims)
        return instances(m, x);
    return lz_squeeze_dim(m->ctx, instances(m, lz_unsqueeze(m->ctx, x, 0)), 0);
}

lz_module *lz_nn_instance_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                  int64_t channels, const lz_instance_norm_options *options)
{
    static const lz_layer layer = { { "InstanceNorm", forward_instance, NULL }, build_batch };
    norm o = { .o = { options->eps, options->affine, options->bias },
               .b = { .momentum = options->momentum, .track_running_stats = options->track_running_stats },
               .shape = { &channels, 1 },
               .most_dims = ndim + 2 };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- local response norm ---- */

typedef struct response {
    int64_t size;
    lz_response_norm_options o;
} response;

static lz_err *build_response(lz_module *m)
{
    return ((const response *)m->data)->size > 0 ? NULL : lz_errf(LZ_ERR_ARG, "size must be greater than 0");
}

/* The mean of squares over neighbouring channels, of [batch, 1, channels, all other dimensions]. */
static lz_tensor *forward_response(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const response *r = m->data;
    lz_ctx *c = m->ctx;
    if (!x || lz_tensor_is_inert(x) || lz_tensor_ndim(x) < 3)
        return lz_refuse(
            c, at, lz_err_because(LZ_REASON_SHAPE, "local_response_norm: expected 3 or more dimensions"));
    lz_ints n = lz_tensor_sizes(x);
    if (lz_tensor_numel(x) == 0)
        return x;
    lz_tensor *squares = lz_reshape(c, lz_mul_Tensor(c, x, x), LZ_INTS(n.v[0], 1, n.v[1], -1));
    squares = lz_constant_pad_nd(c, squares, LZ_INTS(0, 0, r->size / 2, (r->size - 1) / 2));
    lz_tensor *mean = lz_avg_pool2d(c, squares, LZ_INTS(r->size, 1), .stride = LZ_INTS(1, 1));
    lz_tensor *scale = lz_add_Scalar(c, lz_mul_Scalar(c, lz_reshape(c, mean, n), r->o.alpha), r->o.k);
    return lz_div_Tensor(c, x, lz_pow_Tensor_Scalar(c, scale, r->o.beta));
}

lz_module *lz_nn_local_response_norm_at(lz_module *parent, lz_loc at, const char *name, int64_t size,
                                        const lz_response_norm_options *options)
{
    static const lz_layer layer = { { "LocalResponseNorm", forward_response, NULL }, build_response };
    response r = { size, *options };
    return lz_layer_make(parent, at, name, &layer, &r, sizeof r);
}
