/* Linear, bilinear and embedding layers. */
#include "nn/module.h"
#include "nn/nn_state.h"
#include <math.h>

/* ---- linear ---- */

typedef struct linear {
    int64_t in, out;
    bool has_bias;
    lz_module_slot *weight, *bias;
} linear;

static double bound_of(int64_t fan_in)
{
    return fan_in > 0 ? 1 / sqrt((double)fan_in) : 0;
}

static lz_err *build_linear(lz_module *m)
{
    linear *o = m->data;
    if (o->in < 0 || o->out < 0)
        return lz_errf(LZ_ERR_ARG, "sizes must not be negative");
    double bound = bound_of(o->in);
    LZ_TRY(lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, lz_weight_uniform(m, LZ_INTS(o->out, o->in), bound),
                              &o->weight));
    if (!o->has_bias)
        return NULL;
    return lz_module_slot_add(m, "bias", LZ_SLOT_PARAM, lz_weight_uniform(m, LZ_INTS(o->out), bound),
                              &o->bias);
}

static lz_tensor *forward_linear(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const linear *o = m->data;
    return lz_linear(m->ctx, x, o->weight->tensor, .bias = lz_module_slot_tensor(o->bias));
}

lz_module *lz_nn_linear_at(lz_module *parent, lz_loc at, const char *name, int64_t in, int64_t out,
                           const lz_linear_options *options)
{
    static const lz_layer layer = { { "Linear", forward_linear, NULL }, build_linear };
    linear o = { .in = in, .out = out, .has_bias = options->bias };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- bilinear ---- */

typedef struct bilinear {
    int64_t in[2], out;
    bool has_bias;
    lz_module_slot *weight, *bias;
} bilinear;

static lz_err *build_bilinear(lz_module *m)
{
    bilinear *o = m->data;
    if (o->in[0] < 1 || o->in[1] < 0 || o->out < 0)
        return lz_errf(LZ_ERR_ARG, "in1 must be greater than 0, and sizes must not be negative");
    double bound = bound_of(o->in[0]);
    LZ_TRY(lz_module_slot_add(m, "weight", LZ_SLOT_PARAM,
                              lz_weight_uniform(m, LZ_INTS(o->out, o->in[0], o->in[1]), bound), &o->weight));
    if (!o->has_bias)
        return NULL;
    return lz_module_slot_add(m, "bias", LZ_SLOT_PARAM, lz_weight_uniform(m, LZ_INTS(o->out), bound),
                              &o->bias);
}

static lz_tensor *forward_bilinear(lz_module *m, lz_tensor *x)
{
    return lz_run_bilinear_at(m, m->at, x, x);
}

lz_tensor *lz_run_bilinear_at(lz_module *m, lz_loc at, lz_tensor *x1, lz_tensor *x2)
{
    if (!m)
        return NULL;
    m->at = at;
    if (m->cls->forward != forward_bilinear)
        return lz_refuse(m->ctx, at,
                         lz_errf(LZ_ERR_ARG, "lz_run_bilinear: '%s' is not a bilinear layer", m->path));
    const bilinear *o = m->data;
    return lz_bilinear(m->ctx, x1, x2, o->weight->tensor, .bias = lz_module_slot_tensor(o->bias));
}

lz_module *lz_nn_bilinear_at(lz_module *parent, lz_loc at, const char *name, int64_t in1, int64_t in2,
                             int64_t out, const lz_linear_options *options)
{
    static const lz_layer layer = { { "Bilinear", forward_bilinear, NULL }, build_bilinear };
    bilinear o = { .in = { in1, in2 }, .out = out, .has_bias = options->bias };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- embedding ---- */

typedef struct embedding {
    int64_t count, width;
    lz_embedding_options o;
    lz_module_slot *weight;
} embedding;

/* Random rows; that of padding_idx, which is made an index from 0, is 0. */
static lz_err *add_rows(lz_module *m, int64_t count, int64_t width, lz_opt_int *padding_idx,
                        lz_module_slot **out)
{
    const lz_loc at = m->at;
    int64_t *pad = &padding_idx->v;
    if (count < 0 || width < 0)
        return lz_errf(LZ_ERR_ARG, "sizes must not be negative");
    if (padding_idx->has && (*pad < -count || *pad >= count))
        return lz_err_because(LZ_REASON_INDEX, "padding_idx is out of range");
    if (*pad < 0)
        *pad += count;
    lz_tensor *w = lz_randn(m->ctx, LZ_INTS(count, width), .dtype = m->dtype);
    if (padding_idx->has)
        lz_fill__Scalar(m->ctx, lz_select_int(m->ctx, w, 0, *pad), 0);
    return lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, w, out);
}

static lz_err *check_norm(lz_opt_float max_norm, double norm_type)
{
    if (!(max_norm.v >= 0) || !(norm_type > 0))
        return lz_errf(LZ_ERR_ARG, "max_norm must not be negative, and norm_type must be above 0");
    return NULL;
}

/* Shortens the rows that are looked up. */
static void renorm(lz_module *m, const lz_module_slot *weight, lz_tensor *x, lz_opt_float max_norm,
                   double norm_type)
{
    const lz_loc at = m->at;
    if (max_norm.has)
        LZ_NO_GRAD(m->ctx)
        {
            lz_embedding_renorm_(m->ctx, weight->tensor, x, max_norm.v, norm_type);
        }
}

static lz_err *build_embedding(lz_module *m)
{
    embedding *o = m->data;
    LZ_TRY(check_norm(o->o.max_norm, o->o.norm_type));
    return add_rows(m, o->count, o->width, &o->o.padding_idx, &o->weight);
}

static lz_tensor *forward_embedding(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const embedding *o = m->data;
    renorm(m, o->weight, x, o->o.max_norm, o->o.norm_type);
    return lz_embedding(m->ctx, o->weight->tensor, x,
                        .padding_idx = o->o.padding_idx.has ? o->o.padding_idx.v : -1,
                        .scale_grad_by_freq = o->o.scale_grad_by_freq);
}

lz_module *lz_nn_embedding_at(lz_module *parent, lz_loc at, const char *name, int64_t count, int64_t width,
                              const lz_embedding_options *options)
{
    static const lz_layer layer = { { "Embedding", forward_embedding, NULL }, build_embedding };
    embedding o = { .count = count, .width = width, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- bags of embeddings ---- */

static const char *const bag_modes[] = { "sum", "mean", "max" }; /* numbered as the operator does */

typedef struct bag {
    int64_t count, width, mode;
    lz_embedding_bag_options o;
    lz_module_slot *weight;
} bag;

static lz_err *build_bag(lz_module *m)
{
    bag *o = m->data;
    o->mode = -1;
    for (int i = 0; i < 3; i++)
        if (o->o.mode && !strcmp(o->o.mode, bag_modes[i]))
            o->mode = i;
    if (o->mode < 0)
        return lz_errf(LZ_ERR_ARG, "mode has to be one of sum, mean or max");
    o->o.mode = bag_modes[o->mode];
    if (o->mode == 2 && o->o.scale_grad_by_freq)
        return lz_errf(LZ_ERR_ARG, "max mode does not support scaling the gradient by the frequency");
    LZ_TRY(check_norm(o->o.max_norm, o->o.norm_type));
    return add_rows(m, o->count, o->width, &o->o.padding_idx, &o->weight);
}

static lz_err *check_bag(const bag *o, const lz_tensor *x, const lz_bag_args *args)
{
    int64_t n = lz_tensor_ndim(x);
    if (n != 1 && n != 2)
        return lz_err_because(LZ_REASON_SHAPE, "embedding_bag: input has to be 1D or 2D, not %dD", (int)n);
    if (n == 2 && args->offsets)
        return lz_errf(LZ_ERR_ARG, "embedding_bag: if input is 2D, then there are no offsets");
    if (n == 1 && (!args->offsets || lz_tensor_is_inert(args->offsets) || lz_tensor_ndim(args->offsets) != 1))
        return lz_errf(LZ_ERR_ARG, "embedding_bag: offsets has to be a 1D tensor");
    if (args->per_sample_weights && o->mode != 0)
        return lz_errf(LZ_ERR_ARG, "embedding_bag: per_sample_weights is only supported for mode \"sum\"");
    if (args->per_sample_weights)
        return lz_check_sizes("per_sample_weights", x, args->per_sample_weights);
    return NULL;
}

static lz_tensor *flat(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return x ? lz_reshape(m->ctx, x, LZ_INTS(-1)) : NULL;
}

static lz_tensor *forward_bag(lz_module *m, lz_tensor *x)
{
    return lz_run_bag_at(m, m->at, x, &(const lz_bag_args){ .offsets = NULL });
}

static lz_tensor *run_bag(lz_module *m, lz_tensor *x, const lz_bag_args *args)
{
    const lz_loc at = m->at;
    const bag *o = m->data;
    bool rows = lz_tensor_ndim(x) == 2;
    int64_t length = lz_tensor_sizes(x).v[rows];
    lz_tensor *offsets = args->offsets;
    if (rows)
        offsets = lz_arange_start_step(m->ctx, 0, lz_tensor_numel(x), .step = LZ_S(length > 0 ? length : 1),
                                       .dtype = lz_tensor_dtype(x));
    renorm(m, o->weight, x, o->o.max_norm, o->o.norm_type);
    return lz_embedding_bag_padding_idx(
               m->ctx, o->weight->tensor, flat(m, x), offsets, o->o.scale_grad_by_freq, o->mode, false,
               flat(m, args->per_sample_weights), o->o.include_last_offset && !rows, o->o.padding_idx)
        .out0;
}

lz_tensor *lz_run_bag_at(lz_module *m, lz_loc at, lz_tensor *x, const lz_bag_args *args)
{
    if (!m)
        return NULL;
    m->at = at;
    lz_err *e = m->cls->forward != forward_bag
                    ? lz_errf(LZ_ERR_ARG, "lz_run_bag: '%s' is not an embedding bag", m->path)
                : !x || lz_tensor_is_inert(x) ? lz_errf(LZ_ERR_ARG, "lz_run_bag: the input is NULL or inert")
                                              : check_bag(m->data, x, args);
    return e ? lz_refuse(m->ctx, at, e) : run_bag(m, x, args);
}

lz_module *lz_nn_embedding_bag_at(lz_module *parent, lz_loc at, const char *name, int64_t count,
                                  int64_t width, const lz_embedding_bag_options *options)
{
    static const lz_layer layer = { { "EmbeddingBag", forward_bag, NULL }, build_bag };
    bag o = { .count = count, .width = width, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}
