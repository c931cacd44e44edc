/* Activations with options, and PReLU, whose slopes are weights. */
#include "nn/module.h"
#include <assert.h>

typedef struct activation {
    lz_activation_kind kind;
    lz_activation_options o;
} activation;

#define FORWARD(name, ...)                                                                                   \
    static lz_tensor *name(lz_ctx *c, lz_loc at, const lz_activation_options *o, lz_tensor *x)               \
    {                                                                                                        \
        (void)o;                                                                                             \
        return __VA_ARGS__;                                                                                  \
    }

FORWARD(elu, lz_elu(c, x, .alpha = LZ_S(o->alpha)))
FORWARD(celu, lz_celu(c, x, .alpha = LZ_S(o->alpha)))
FORWARD(leaky_relu, lz_leaky_relu(c, x, .negative_slope = LZ_S(o->negative_slope)))
FORWARD(hardtanh, lz_hardtanh(c, x, .min_val = LZ_S(o->min_val), .max_val = LZ_S(o->max_val)))
FORWARD(hardshrink, lz_hardshrink(c, x, .lambd = LZ_S(o->lambd)))
FORWARD(softshrink, lz_softshrink(c, x, .lambd = LZ_S(o->lambd)))
FORWARD(softplus, lz_softplus(c, x, .beta = LZ_S(o->beta), .threshold = LZ_S(o->threshold)))
FORWARD(threshold, lz_threshold(c, x, o->threshold, o->value))
FORWARD(glu, lz_glu(c, x, .dim = o->dim))
FORWARD(softmax, lz_softmax_int(c, x, o->dim))
FORWARD(softmin, lz_softmax_int(c, lz_neg(c, x), o->dim))
FORWARD(log_softmax, lz_log_softmax_int(c, x, o->dim))
FORWARD(softsign, lz_div_Tensor(c, x, lz_add_Scalar(c, lz_abs(c, x), 1)))
FORWARD(tanhshrink, lz_sub_Tensor(c, x, lz_tanh(c, x)))

static lz_tensor *softmax2d(lz_ctx *c, lz_loc at, const lz_activation_options *o, lz_tensor *x)
{
    int64_t n = x && !lz_tensor_is_inert(x) ? lz_tensor_ndim(x) : 3;
    (void)o;
    if (n == 3 || n == 4)
        return lz_softmax_int(c, x, -3);
    return lz_fail_with(
        c, at, lz_err_because(LZ_REASON_SHAPE, "Softmax2d: expected input to be 3D or 4D, got %dD", (int)n));
}

/* Options as bits. */
enum { ALPHA = 1, SLOPE = 2, RANGE = 4, LAMBD = 8, BETA = 16, LIMIT = 32, VALUE = 64, DIM = 128 };

static const struct {
    const char *name;
    unsigned options;
    lz_tensor *(*forward)(lz_ctx *c, lz_loc at, const lz_activation_options *o, lz_tensor *x);
} kinds[LZ_ACTIVATIONS] = {
    [LZ_ACTIVATION_ELU] = { "ELU", ALPHA, elu },
    [LZ_ACTIVATION_CELU] = { "CELU", ALPHA, celu },
    [LZ_ACTIVATION_LEAKY_RELU] = { "LeakyReLU", SLOPE, leaky_relu },
    [LZ_ACTIVATION_HARDTANH] = { "Hardtanh", RANGE, hardtanh },
    [LZ_ACTIVATION_HARDSHRINK] = { "Hardshrink", LAMBD, hardshrink },
    [LZ_ACTIVATION_SOFTSHRINK] = { "Softshrink", LAMBD, softshrink },
    [LZ_ACTIVATION_SOFTPLUS] = { "Softplus", BETA | LIMIT, softplus },
    [LZ_ACTIVATION_THRESHOLD] = { "Threshold", LIMIT | VALUE, threshold },
    [LZ_ACTIVATION_GLU] = { "GLU", DIM, glu },
    [LZ_ACTIVATION_SOFTMAX] = { "Softmax", DIM, softmax },
    [LZ_ACTIVATION_SOFTMIN] = { "Softmin", DIM, softmin },
    [LZ_ACTIVATION_LOG_SOFTMAX] = { "LogSoftmax", DIM, log_softmax },
    [LZ_ACTIVATION_SOFTMAX2D] = { "Softmax2d", 0, softmax2d },
    [LZ_ACTIVATION_SOFTSIGN] = { "Softsign", 0, softsign },
    [LZ_ACTIVATION_TANHSHRINK] = { "Tanhshrink", 0, tanhshrink },
};

static lz_err *check_unused(const activation *a)
{
    const lz_activation_options *o = &a->o;
    const struct {
        unsigned bit;
        const char *name;
        double value;
    } all[] = { { ALPHA, "alpha", o->alpha },         { SLOPE, "negative_slope", o->negative_slope },
                { RANGE, "min_val", o->min_val },     { RANGE, "max_val", o->max_val },
                { LAMBD, "lambd", o->lambd },         { BETA, "beta", o->beta },
                { LIMIT, "threshold", o->threshold }, { VALUE, "value", o->value },
                { DIM, "dim", (double)o->dim } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!(kinds[a->kind].options & all[i].bit) && all[i].value != 0)
            return lz_errf(LZ_ERR_ARG, "%s has no %s", kinds[a->kind].name, all[i].name);
    return NULL;
}

static lz_err *build_activation(lz_module *m)
{
    const activation *a = m->data;
    if ((unsigned)a->kind >= LZ_ACTIVATIONS)
        return lz_errf(LZ_ERR_ARG, "expected an lz_activation_kind");
    LZ_TRY(check_unused(a));
    if (a->kind == LZ_ACTIVATION_HARDTANH && !(a->o.max_val > a->o.min_val))
        return lz_errf(LZ_ERR_ARG, "max_val must be greater than min_val");
    if (a->kind == LZ_ACTIVATION_CELU && a->o.alpha == 0)
        return lz_errf(LZ_ERR_ARG, "alpha cannot be 0");
    if (a->kind == LZ_ACTIVATION_SOFTSHRINK && !(a->o.lambd >= 0))
        return lz_errf(LZ_ERR_ARG, "lambd must not be negative");
    return NULL;
}

static lz_tensor *forward_activation(lz_module *m, lz_tensor *x)
{
    const activation *a = m->data;
    assert((unsigned)a->kind < LZ_ACTIVATIONS);
    return kinds[a->kind].forward(m->ctx, m->at, &a->o, x);
}

lz_module *lz_nn_activation_at(lz_module *parent, lz_loc at, const char *name, lz_activation_kind kind,
                               const lz_activation_options *options)
{
    static const lz_layer layer = { { "Activation", forward_activation, NULL }, build_activation };
    activation a = { kind, *options };
    return lz_layer_make(parent, at, name, &layer, &a, sizeof a);
}

/* ---- gelu ---- */

typedef struct gelu {
    const char *approximate;
} gelu;

static lz_err *build_gelu(lz_module *m)
{
    static const char *const known[] = { "none", "tanh" };
    gelu *o = m->data;
    for (int i = 0; i < 2; i++)
        if (o->approximate && !strcmp(o->approximate, known[i])) {
            o->approximate = known[i];
            return NULL;
        }
    return lz_errf(LZ_ERR_ARG, "approximate is \"none\" or \"tanh\"");
}

static lz_tensor *forward_gelu(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_gelu(m->ctx, x, .approximate = ((const gelu *)m->data)->approximate);
}

lz_module *lz_nn_gelu_at(lz_module *parent, lz_loc at, const char *name, const lz_gelu_options *options)
{
    static const lz_layer layer = { { "GELU", forward_gelu, NULL }, build_gelu };
    gelu o = { options->approximate };
    return lz_layer_make(parent, at, name, &layer, &o, sizeof o);
}

/* ---- prelu ---- */

typedef struct prelu {
    lz_prelu_options o;
    lz_module_slot *weight;
} prelu;

static lz_err *build_prelu(lz_module *m)
{
    prelu *p = m->data;
    if (p->o.num_parameters < 0)
        return lz_errf(LZ_ERR_ARG, "num_parameters must not be negative");
    return lz_module_slot_add(m, "weight", LZ_SLOT_PARAM,
                              lz_weight_full(m, LZ_INTS(p->o.num_parameters), p->o.init), &p->weight);
}

static lz_tensor *forward_prelu(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_prelu(m->ctx, x, ((const prelu *)m->data)->weight->tensor);
}

lz_module *lz_nn_prelu_at(lz_module *parent, lz_loc at, const char *name, const lz_prelu_options *options)
{
    static const lz_layer layer = { { "PReLU", forward_prelu, NULL }, build_prelu };
    prelu p = { .o = *options };
    return lz_layer_make(parent, at, name, &layer, &p, sizeof p);
}
