/* Linear and embedding layers. */
#include "nn/module.h"
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

/* ---- embedding ---- */

typedef struct embedding {
    int64_t count, width;
    lz_embedding_options o;
    lz_module_slot *weight;
} embedding;

static lz_err *build_embedding(lz_module *m)
{
    const lz_loc at = m->at;
    embedding *o = m->data;
    int64_t *pad = &o->o.padding_idx.v;
    if (o->count < 0 || o->width < 0)
        return lz_errf(LZ_ERR_ARG, "sizes must not be negative");
    if (o->o.padding_idx.has && (*pad < -o->count || *pad >= o->count))
        return lz_err_because(LZ_REASON_INDEX, "padding_idx is out of range");
    if (!(o->o.max_norm.v >= 0) || !(o->o.norm_type > 0))
        return lz_errf(LZ_ERR_ARG, "max_norm must not be negative, and norm_type must be above 0");
    if (*pad < 0)
        *pad += o->count;
    lz_tensor *w = lz_randn(m->ctx, LZ_INTS(o->count, o->width), .dtype = m->dtype);
    if (o->o.padding_idx.has)
        lz_fill__Scalar(m->ctx, lz_select_int(m->ctx, w, 0, *pad), 0);
    return lz_module_slot_add(m, "weight", LZ_SLOT_PARAM, w, &o->weight);
}

static lz_tensor *forward_embedding(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const embedding *o = m->data;
    if (o->o.max_norm.has)
        LZ_NO_GRAD(m->ctx)
        {
            lz_embedding_renorm_(m->ctx, o->weight->tensor, x, o->o.max_norm.v, o->o.norm_type);
        }
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
