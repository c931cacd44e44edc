/* The update rules of torch.optim, in the order of its operations. */
#include "nn/optim.h"
#include <math.h>
#include <string.h>

/* ---- SGD ---- */

static bool sgd_needs(const lz_optim_options *o, int state)
{
    return state == 0 && o->momentum != 0;
}

static lz_tensor *decayed(lz_ctx *c, lz_loc at, const lz_optim_options *o, const lz_optim_param *s,
                          lz_tensor *g)
{
    if (o->maximize)
        g = lz_neg(c, g);
    return o->weight_decay != 0 ? lz_add_Tensor(c, g, s->p, .alpha = LZ_S(o->weight_decay)) : g;
}

/* The first gradient enters the momentum whole: it meets zeros, and is not dampened. */
static void sgd_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    g = decayed(c, at, o, s, g);
    if (o->momentum != 0) {
        double part = s->is_new ? 1 : 1 - o->dampening;
        lz_mul__Scalar(c, s->state[0], o->momentum);
        lz_add__Tensor(c, s->state[0], g, .alpha = LZ_S(part));
        g = o->nesterov ? lz_add_Tensor(c, g, s->state[0], .alpha = LZ_S(o->momentum)) : s->state[0];
    }
    lz_add__Tensor(c, s->p, g, .alpha = LZ_S(-o->lr));
}

/* ---- Adam ---- */

static bool adam_needs(const lz_optim_options *o, int state)
{
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

static void adam_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    adam(c, at, o, s, decayed(c, at, o, s, g));
}

static void adamw_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    if (o->maximize)
        g = lz_neg(c, g);
    if (o->weight_decay != 0)
        lz_mul__Scalar(c, s->p, 1 - o->lr * o->weight_decay);
    adam(c, at, o, s, g);
}

/* ---- RMSprop: the mean of squares, of gradients, and the momentum ---- */

static bool rmsprop_needs(const lz_optim_options *o, int state)
{
    return state == 0 || (state == 1 ? o->centered : o->momentum > 0);
}

static void rmsprop_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    lz_tensor *v = s->state[0];
    g = decayed(c, at, o, s, g);
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

static bool adagrad_needs(const lz_optim_options *o, int state)
{
    (void)o;
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
    g = decayed(c, at, o, s, g);
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

const lz_optim_rule lz_optim_rules[LZ_OPTIM_KINDS] = {
    [LZ_SGD] = { "SGD",
                 COMMON | LZ_HAS(MOMENTUM) | LZ_HAS(DAMPENING) | LZ_HAS(NESTEROV),
                 { .lr = 1e-3 },
                 { "momentum_buffer" },
                 sgd_needs,
                 NULL,
                 sgd_update },
    [LZ_ADAM] = { "Adam",
                  ADAM,
                  { .lr = 1e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8 },
                  ADAM_NAMES,
                  adam_needs,
                  NULL,
                  adam_update },
    [LZ_ADAMW] = { "AdamW",
                   ADAM,
                   { .lr = 1e-3, .weight_decay = 1e-2, .betas = { 0.9, 0.999 }, .eps = 1e-8 },
                   ADAM_NAMES,
                   adam_needs,
                   NULL,
                   adamw_update },
    [LZ_RMSPROP] = { "RMSprop",
                     COMMON | LZ_HAS(ALPHA) | LZ_HAS(EPS) | LZ_HAS(MOMENTUM) | LZ_HAS(CENTERED),
                     { .lr = 1e-2, .alpha = 0.99, .eps = 1e-8 },
                     { "square_avg", "grad_avg", "momentum_buffer" },
                     rmsprop_needs,
                     NULL,
                     rmsprop_update },
    [LZ_ADAGRAD] = { "Adagrad",
                     COMMON | LZ_HAS(EPS) | LZ_HAS(LR_DECAY) | LZ_HAS(ACCUMULATOR),
                     { .lr = 1e-2, .eps = 1e-10 },
                     { "sum" },
                     adagrad_needs,
                     adagrad_begin,
                     adagrad_update },
};

/* ---- options by number ---- */

const char *lz_option_name(int option)
{
    static const char *const names[] = {
#define X(bit, field) #field,
        LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
    };
    return names[option];
}

double lz_option_get(const lz_optim_options *o, int option)
{
    const double values[] = {
#define X(bit, field) (double)o->field,
        LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
    };
    return values[option];
}

void lz_option_set(lz_optim_options *o, int option, double v)
{
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
