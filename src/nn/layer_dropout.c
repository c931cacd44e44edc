/* Layers that draw while they train: dropout, leaky units with random slopes. */
#include "nn/module.h"

/* ---- dropout ---- */

typedef struct dropping {
    lz_dropout_kind kind;
    double p;
} dropping;

static lz_err *build_dropout(lz_module *m)
{
    double p = ((const dropping *)m->data)->p;
    if ((unsigned)((const dropping *)m->data)->kind > LZ_DROPOUT_FEATURE_ALPHA)
        return lz_errf(LZ_ERR_ARG, "expected an lz_dropout_kind");
    return p >= 0 && p <= 1 ? NULL : lz_errf(LZ_ERR_ARG, "a probability is between 0 and 1");
}

static lz_tensor *elements(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_dropout(m->ctx, x, ((const dropping *)m->data)->p, m->training);
}

static lz_tensor *alpha(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_alpha_dropout(m->ctx, x, ((const dropping *)m->data)->p, m->training);
}

static lz_tensor *feature_alpha(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_feature_alpha_dropout(m->ctx, x, ((const dropping *)m->data)->p, m->training);
}

static lz_tensor *batched(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_feature_dropout(m->ctx, x, ((const dropping *)m->data)->p, m->training);
}

/* One instance, without a batch. */
static lz_tensor *single(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_squeeze_dim(m->ctx, batched(m, lz_unsqueeze(m->ctx, x, 0)), 0);
}

static int64_t dims_of(const lz_tensor *x)
{
    return lz_tensor_is_inert(x) ? 0 : lz_tensor_ndim(x);
}

static lz_tensor *channels1d(lz_module *m, lz_tensor *x)
{
    int64_t n = dims_of(x);
    if (n == 2 || n == 3 || lz_tensor_is_inert(x))
        return n == 2 ? single(m, x) : batched(m, x);
    return lz_fail_with(m->ctx, m->at,
                        lz_err_because(LZ_REASON_SHAPE,
                                       "dropout1d: Expected 2D or 3D input, but received a %dD input",
                                       (int)n));
}

/* The first two dimensions are batch and channels, as in PyTorch also if there are only three. */
static lz_tensor *channels2d(lz_module *m, lz_tensor *x)
{
    return batched(m, x);
}

static lz_tensor *channels3d(lz_module *m, lz_tensor *x)
{
    return dims_of(x) == 5 ? batched(m, x) : single(m, x);
}

static const lz_layer dropouts[] = {
    [LZ_DROPOUT_ELEMENTS] = { { "Dropout", elements, NULL }, build_dropout },
    [LZ_DROPOUT_1D] = { { "Dropout1d", channels1d, NULL }, build_dropout },
    [LZ_DROPOUT_2D] = { { "Dropout2d", channels2d, NULL }, build_dropout },
    [LZ_DROPOUT_3D] = { { "Dropout3d", channels3d, NULL }, build_dropout },
    [LZ_DROPOUT_ALPHA] = { { "AlphaDropout", alpha, NULL }, build_dropout },
    [LZ_DROPOUT_FEATURE_ALPHA] = { { "FeatureAlphaDropout", feature_alpha, NULL }, build_dropout },
};

lz_module *lz_nn_dropout_at(lz_module *parent, lz_loc at, const char *name, lz_dropout_kind kind, double p)
{
    dropping d = { kind, p };
    bool known = (unsigned)kind < sizeof dropouts / sizeof *dropouts;
    return lz_layer_make(parent, at, name, &dropouts[known ? kind : LZ_DROPOUT_ELEMENTS], &d, sizeof d);
}

/* ---- rrelu ---- */

static lz_err *build_rrelu(lz_module *m)
{
    const lz_rrelu_options *o = m->data;
    return o->lower <= o->upper ? NULL : lz_errf(LZ_ERR_ARG, "lower must not be greater than upper");
}

static lz_tensor *forward_rrelu(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const lz_rrelu_options *o = m->data;
    return lz_rrelu(m->ctx, x, .lower = lz_scalar_float(o->lower), .upper = lz_scalar_float(o->upper),
                    .training = m->training);
}

lz_module *lz_nn_rrelu_at(lz_module *parent, lz_loc at, const char *name, const lz_rrelu_options *options)
{
    static const lz_layer layer = { { "RReLU", forward_rrelu, NULL }, build_rrelu };
    return lz_layer_make(parent, at, name, &layer, options, sizeof *options);
}
