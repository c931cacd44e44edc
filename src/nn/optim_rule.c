/* The update rules of torch.optim, with its order of operations. */
#include "nn/optim_impl.h"
#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- SGD ---- */

static bool sgd_needs(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)p;
    return state == 0 && o->momentum != 0;
}

lz_tensor *lz_optim_decayed(lz_ctx *c, lz_loc at, const lz_optim_options *o, const lz_optim_param *s,
                            lz_tensor *g)
{
    if (o->maximize)
        g = lz_neg(c, g);
    return o->weight_decay != 0 ? lz_add_Tensor(c, g, s->p, .alpha = LZ_S(o->weight_decay)) : g;
}

/* The first gradient becomes the momentum undampened: the momentum is zero before. */
static void sgd_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    g = lz_optim_decayed(c, at, o, s, g);
    if (o->momentum != 0) {
        double part = s->is_new ? 1 : 1 - o->dampening;
        lz_mul__Scalar(c, s->state[0], o->momentum);
        lz_add__Tensor(c, s->state[0], g, .alpha = LZ_S(part));
        g = o->nesterov ? lz_add_Tensor(c, g, s->state[0], .alpha = LZ_S(o->momentum)) : s->state[0];
    }
    lz_add__Tensor(c, s->p, g, .alpha = LZ_S(-o->lr));
}

/* ---- Adam ---- */

static bool adam_needs(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)p;
    return state < 2 || o->amsgrad;
}

static void adam(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double t = (double)s->steps, b1 = o->betas[0], b2 = o->betas[1];
    double size = o->lr / (1 - pow(b1, t)), root = sqrt(1 - pow(b2, t));
    lz_tensor *v = s->state[1];
    lz_lerp__Scalar(c, s->state[0], g, 1 - b1);
    lz_addcmul_(c, lz_mul__Scalar(c, v, b2), g, g, .value = LZ_S(1 - b2));
    if (o->amsgrad)
        v = lz_copy_(c, s->state[2], lz_maximum(c, s->state[2], v));
    lz_tensor *below = lz_add_Scalar(c, lz_div_Scalar(c, lz_sqrt(c, v), root), o->eps);
    lz_addcdiv_(c, s->p, s->state[0], below, .value = LZ_S(-size));
}

static void adamw_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    if (o->maximize)
        g = lz_neg(c, g);
    if (o->weight_decay != 0)
        lz_mul__Scalar(c, s->p, 1 - o->lr * o->weight_decay);
    adam(c, at, o, s, g);
}

static void adam_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    if (o->decoupled_weight_decay)
        adamw_update(c, at, o, s, g);
    else
        adam(c, at, o, s, lz_optim_decayed(c, at, o, s, g));
}

/* ---- RMSprop: the mean of squares, of gradients, and the momentum ---- */

static bool rmsprop_needs(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)p;
    return state == 0 || (state == 1 ? o->centered : o->momentum > 0);
}

static void rmsprop_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    lz_tensor *v = s->state[0];
    g = lz_optim_decayed(c, at, o, s, g);
    lz_addcmul_(c, lz_mul__Scalar(c, v, o->alpha), g, g, .value = LZ_S(1 - o->alpha));
    if (o->centered) {
        lz_tensor *mean = lz_lerp__Scalar(c, s->state[1], g, 1 - o->alpha);
        v = lz_addcmul(c, v, mean, mean, .value = LZ_S(-1));
    }
    lz_tensor *below = lz_add_Scalar(c, lz_sqrt(c, v), o->eps);
    if (o->momentum > 0) {
        lz_addcdiv_(c, lz_mul__Scalar(c, s->state[2], o->momentum), g, below);
        lz_add__Tensor(c, s->p, s->state[2], .alpha = LZ_S(-o->lr));
    } else {
        lz_addcdiv_(c, s->p, g, below, .value = LZ_S(-o->lr));
    }
}

/* ---- Adagrad ---- */

static bool adagrad_needs(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)o, (void)p;
    return state == 0;
}

static double adagrad_begin(const lz_optim_options *o, int state)
{
    (void)state;
    return o->initial_accumulator_value;
}

static void adagrad_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double rate = o->lr / (1 + (double)(s->steps - 1) * o->lr_decay);
    g = lz_optim_decayed(c, at, o, s, g);
    lz_addcmul_(c, s->state[0], g, g);
    lz_tensor *below = lz_add_Scalar(c, lz_sqrt(c, s->state[0]), o->eps);
    lz_addcdiv_(c, s->p, g, below, .value = LZ_S(-rate));
}

/* ---- the table ---- */

#define COMMON (LZ_HAS(LR) | LZ_HAS(WEIGHT_DECAY) | LZ_HAS(MAXIMIZE))
#define ADAM   (COMMON | LZ_HAS(BETA1) | LZ_HAS(BETA2) | LZ_HAS(EPS) | LZ_HAS(AMSGRAD))
#define ADAM_NAMES                                                                                           \
    {                                                                                                        \
        "exp_avg", "exp_avg_sq", "max_exp_avg_sq"                                                            \
    }

static const lz_optim_rule sgd = { .name = "SGD",
                                   .options =
                                       COMMON | LZ_HAS(MOMENTUM) | LZ_HAS(DAMPENING) | LZ_HAS(NESTEROV),
                                   .defaults = { .lr = 1e-3 },
                                   .states = { "momentum_buffer" },
                                   .needs = sgd_needs,
                                   .update = sgd_update };
static const lz_optim_rule adam_rule = { .name = "Adam",
                                         .options = ADAM | LZ_HAS(DECOUPLED),
                                         .defaults = { .lr = 1e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8 },
                                         .states = ADAM_NAMES,
                                         .needs = adam_needs,
                                         .update = adam_update };
static const lz_optim_rule adamw = {
    .name = "AdamW",
    .options = ADAM,
    .defaults = { .lr = 1e-3, .weight_decay = 1e-2, .betas = { 0.9, 0.999 }, .eps = 1e-8 },
    .states = ADAM_NAMES,
    .needs = adam_needs,
    .update = adamw_update
};
static const lz_optim_rule rmsprop = { .name = "RMSprop",
                                       .options = COMMON | LZ_HAS(ALPHA) | LZ_HAS(EPS) | LZ_HAS(MOMENTUM)
                                                  | LZ_HAS(CENTERED),
                                       .defaults = { .lr = 1e-2, .alpha = 0.99, .eps = 1e-8 },
                                       .states = { "square_avg", "grad_avg", "momentum_buffer" },
                                       .needs = rmsprop_needs,
                                       .update = rmsprop_update };
static const lz_optim_rule adagrad = { .name = "Adagrad",
                                       .options =
                                           COMMON | LZ_HAS(EPS) | LZ_HAS(LR_DECAY) | LZ_HAS(ACCUMULATOR),
                                       .defaults = { .lr = 1e-2, .eps = 1e-10 },
                                       .states = { "sum" },
                                       .needs = adagrad_needs,
                                       .begin = adagrad_begin,
                                       .update = adagrad_update };

const lz_optim_rule *lz_optim_rule_of(lz_optim_kind kind)
{
    static const lz_optim_rule *const rules[LZ_OPTIM_KINDS] = {
        [LZ_SGD] = &sgd,
        [LZ_ADAM] = &adam_rule,
        [LZ_ADAMW] = &adamw,
        [LZ_RMSPROP] = &rmsprop,
        [LZ_ADAGRAD] = &adagrad,
        [LZ_ADADELTA] = &lz_optim_adadelta,
        [LZ_ADAMAX] = &lz_optim_adamax,
        [LZ_ASGD] = &lz_optim_asgd,
        [LZ_NADAM] = &lz_optim_nadam,
        [LZ_RADAM] = &lz_optim_radam,
        [LZ_RPROP] = &lz_optim_rprop,
        [LZ_ADAFACTOR] = &lz_optim_adafactor,
        [LZ_MUON] = &lz_optim_muon,
        [LZ_LBFGS] = &lz_optim_lbfgs,
    };
    return (unsigned)kind < LZ_OPTIM_KINDS ? rules[kind] : NULL;
}

/* ---- options by number ---- */

const char *lz_option_name(int option)
{
    assert(option >= 0 && option < LZ_OPTIONS);
    static const char *const names[] = {
#define X(bit, field) #field,
        LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
    };
    return names[option];
}

double lz_option_get(const lz_optim_options *o, int option)
{
    assert(option >= 0 && option < LZ_OPTIONS);
    const double values[] = {
#define X(bit, field) (double)o->field,
        LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
    };
    return values[option];
}

void lz_option_set(lz_optim_options *o, int option, double v)
{
    assert(option >= 0 && option < LZ_OPTIONS);
    double values[LZ_OPTIONS];
    for (int i = 0; i < LZ_OPTIONS; i++)
        values[i] = i == option ? v : lz_option_get(o, i);
    const double *next = values;
#define X(bit, field) o->field = _Generic(o->field, bool : *next != 0, default : *next), next++;
    LZ_OPTIM_NUMBERS(X)
#undef X
#define X(bit, field) o->field = *next++ != 0;
    LZ_OPTIM_FLAGS(X)
#undef X
}
