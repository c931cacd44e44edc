/* More update rules of torch.optim, with its order of operations: Adadelta, Adamax, ASGD, NAdam, RAdam,
 * Rprop, Adafactor, Muon. */
#include "nn/optim_impl.h"
#include <float.h>
#include <math.h>

static bool first(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)o, (void)p;
    return state == 0;
}

static bool first_two(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)o, (void)p;
    return state < 2;
}

/* ---- parts that several rules have ---- */

/* x = part * x + (1 - part) * g * g */
static void average_square(lz_ctx *c, lz_loc at, lz_tensor *x, lz_tensor *g, double part)
{
    lz_addcmul_(c, lz_mul__Scalar(c, x, part), g, g, .value = LZ_S(1 - part));
}

/* Weight decay as a part of the gradient, or of the parameter. */
static lz_tensor *decay(lz_ctx *c, lz_loc at, const lz_optim_options *o, const lz_optim_param *s,
                        lz_tensor *g)
{
    if (!o->decoupled_weight_decay)
        return lz_optim_decayed(c, at, o, s, g);
    if (o->weight_decay != 0)
        lz_mul__Scalar(c, s->p, 1 - o->lr * o->weight_decay);
    return o->maximize ? lz_neg(c, g) : g;
}

/* ---- Adadelta: the mean of squares of gradients and of steps ---- */

static void adadelta_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    g = lz_optim_decayed(c, at, o, s, g);
    average_square(c, at, s->state[0], g, o->rho);
    lz_tensor *below = lz_sqrt(c, lz_add_Scalar(c, s->state[0], o->eps));
    lz_tensor *above = lz_sqrt(c, lz_add_Scalar(c, s->state[1], o->eps));
    lz_tensor *step = lz_mul_Tensor(c, lz_div_Tensor(c, above, below), g);
    average_square(c, at, s->state[1], step, o->rho);
    lz_add__Tensor(c, s->p, step, .alpha = LZ_S(-o->lr));
}

/* ---- Adamax: the mean of gradients and their largest size ---- */

static void adamax_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double rate = o->lr / (1 - pow(o->betas[0], (double)s->steps));
    g = lz_optim_decayed(c, at, o, s, g);
    lz_lerp__Scalar(c, s->state[0], g, 1 - o->betas[0]);
    lz_tensor *size = lz_add_Scalar(c, lz_abs(c, g), o->eps);
    lz_copy_(c, s->state[1], lz_maximum(c, lz_mul_Scalar(c, s->state[1], o->betas[1]), size));
    lz_addcdiv_(c, s->p, s->state[0], s->state[1], .value = LZ_S(-rate));
}

/* ---- ASGD: the rate and the part of the average are those that the step before left ---- */

enum { ETA, MU };

static double asgd_number(const lz_optim_options *o, int k)
{
    return k == ETA ? o->lr : 1;
}

static void asgd_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double t = (double)s->steps, eta = s->number[ETA], mu = s->number[MU];
    g = lz_optim_decayed(c, at, o, s, g);
    lz_mul__Scalar(c, s->p, 1 - o->lambd * eta);
    lz_add__Tensor(c, s->p, g, .alpha = LZ_S(-eta));
    lz_lerp__Scalar(c, s->state[0], s->p, mu);
    s->number[ETA] = o->lr / pow(1 + o->lambd * o->lr * t, o->alpha);
    s->number[MU] = 1 / fmax(1, t - o->t0);
}

/* ---- NAdam: Adam with Nesterov's momentum, which grows from step to step ---- */

static double nadam_number(const lz_optim_options *o, int k)
{
    (void)o, (void)k;
    return 1;
}

static double nadam_momentum(const lz_optim_options *o, double t)
{
    return o->betas[0] * (1 - 0.5 * pow(0.96, t * o->momentum_decay));
}

static void nadam_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double t = (double)s->steps, mu = nadam_momentum(o, t), next = nadam_momentum(o, t + 1);
    double *product = &s->number[0], square = 1 - pow(o->betas[1], t);
    g = decay(c, at, o, s, g);
    *product *= mu;
    lz_lerp__Scalar(c, s->state[0], g, 1 - o->betas[0]);
    average_square(c, at, s->state[1], g, o->betas[1]);
    lz_tensor *below = lz_add_Scalar(c, lz_sqrt(c, lz_div_Scalar(c, s->state[1], square)), o->eps);
    lz_addcdiv_(c, s->p, g, below, .value = LZ_S(-o->lr * (1 - mu) / (1 - *product)));
    lz_addcdiv_(c, s->p, s->state[0], below, .value = LZ_S(-o->lr * next / (1 - *product * next)));
}

/* ---- RAdam: Adam that trusts its squares only after some steps ---- */

/* The factor of an update by squares; 0: too few steps for squares. */
static double radam_factor(const lz_optim_options *o, double t)
{
    double power = pow(o->betas[1], t), end = 2 / (1 - o->betas[1]) - 1,
           now = end - 2 * t * power / (1 - power);
    if (now <= 5)
        return 0;
    return sqrt((now - 4) * (now - 2) * end / ((end - 4) * (end - 2) * now)) * sqrt(1 - power);
}

/* Without squares the divisor is 1; the same operators as with them, so that all steps are one graph. */
static void radam_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double t = (double)s->steps, factor = radam_factor(o, t), rate = o->lr / (1 - pow(o->betas[0], t));
    double squares = factor > 0 ? 1 : 0;
    g = decay(c, at, o, s, g);
    lz_lerp__Scalar(c, s->state[0], g, 1 - o->betas[0]);
    average_square(c, at, s->state[1], g, o->betas[1]);
    lz_tensor *root = lz_add_Scalar(c, lz_sqrt(c, s->state[1]), o->eps);
    lz_tensor *below = lz_add_Scalar(c, lz_mul_Scalar(c, root, squares), 1 - squares);
    lz_addcdiv_(c, s->p, s->state[0], below, .value = LZ_S(-rate * (factor > 0 ? factor : 1)));
}

/* ---- Rprop: only signs of gradients; a step for each element, which grows while the sign stays ---- */

static double rprop_begin(const lz_optim_options *o, int state)
{
    return state == 1 ? o->lr : 0;
}

static void rprop_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    if (o->maximize)
        g = lz_neg(c, g);
    lz_tensor *both = lz_mul_Tensor(c, g, s->state[0]), *turned = lz_lt_Scalar(c, both, 0);
    lz_tensor *grows = lz_masked_fill_Scalar(c, lz_ones_like(c, g), lz_gt_Scalar(c, both, 0), o->etas[1]);
    lz_tensor *factor = lz_masked_fill_Scalar(c, grows, turned, o->etas[0]);
    lz_tensor *step = lz_mul_Tensor(c, s->state[1], factor);
    lz_copy_(c, s->state[1], lz_clamp(c, step, .min = LZ_S(o->step_sizes[0]), .max = LZ_S(o->step_sizes[1])));
    g = lz_masked_fill_Scalar(c, g, turned, 0.0);
    lz_addcmul_(c, s->p, lz_sign(c, g), s->state[1], .value = LZ_S(-1));
    lz_copy_(c, s->state[0], g);
}

/* ---- Adafactor: of a matrix, the mean squares of rows and columns; of anything smaller, of elements ---- */

enum { ROWS, COLUMNS, ELEMENTS };

static bool adafactor_needs(const lz_optim_options *o, const lz_tensor *p, int state)
{
    (void)o;
    return (lz_tensor_sizes(p).n > 1) == (state != ELEMENTS);
}

static int64_t adafactor_sizes(const lz_tensor *p, int state, int64_t *out)
{
    lz_ints sizes = lz_tensor_sizes(p);
    for (int64_t d = 0; d < sizes.n; d++)
        out[d] = sizes.v[d];
    if (state != ELEMENTS)
        out[sizes.n - (state == ROWS ? 1 : 2)] = 1;
    return sizes.n;
}

/* x moves towards the mean square of g along a dimension. */
static lz_tensor *toward_mean(lz_ctx *c, lz_loc at, lz_tensor *x, lz_tensor *g, int64_t dim, double part)
{
    lz_tensor *mean = lz_mean_dim(c, lz_mul_Tensor(c, g, g), LZ_INTS(dim), .keepdim = true);
    return lz_lerp__Scalar(c, x, mean, part);
}

static lz_tensor *root_mean_square(lz_ctx *c, lz_loc at, lz_tensor *x)
{
    return lz_div_Scalar(c, lz_linalg_vector_norm(c, x), sqrt((double)lz_tensor_numel(x)));
}

static double smallest(const lz_optim_options *o, const lz_tensor *p)
{
    lz_dtype d = lz_tensor_dtype(p);
    double own = d == LZ_F64 ? DBL_EPSILON : d == LZ_F16 ? 0x1p-10 : d == LZ_BF16 ? 0x1p-7 : FLT_EPSILON;
    return o->eps > 0 ? o->eps : own;
}

static void adafactor_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    double t = (double)s->steps, part = pow(t, o->beta2_decay), eps = smallest(o, s->p);
    double most = fmin(o->lr, 1 / sqrt(t));
    lz_tensor *size = lz_clamp_min(c, root_mean_square(c, at, s->p), o->eps2), *mean;
    if (o->maximize)
        g = lz_neg(c, g);
    if (o->weight_decay != 0)
        lz_mul__Scalar(c, s->p, 1 - o->lr * o->weight_decay);
    if (s->state[ELEMENTS]) {
        mean = lz_lerp__Scalar(c, s->state[ELEMENTS], lz_mul_Tensor(c, g, g), part);
    } else {
        lz_tensor *rows = toward_mean(c, at, s->state[ROWS], g, -1, part);
        lz_tensor *columns = toward_mean(c, at, s->state[COLUMNS], g, -2, part);
        lz_tensor *all = lz_clamp_min(c, lz_mean_dim(c, rows, LZ_INTS(-2), .keepdim = true), eps);
        mean = lz_div_Tensor(c, lz_mul_Tensor(c, rows, columns), all);
    }
    lz_tensor *step = lz_mul_Tensor(c, lz_rsqrt(c, lz_clamp_min(c, mean, eps * eps)), g);
    lz_tensor *below = lz_clamp_min(c, lz_div_Scalar(c, root_mean_square(c, at, step), o->d), 1.0);
    lz_tensor *rate = lz_div_Tensor(c, lz_mul_Scalar(c, size, most), below);
    lz_sub__Tensor(c, s->p, lz_mul_Tensor(c, step, rate));
}

/* ---- Muon: the momentum of a matrix, made nearly orthogonal ---- */

/* A few steps of an iteration that moves all singular values to about 1, in bfloat16. */
static lz_tensor *orthogonal(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_tensor *g)
{
    bool tall = lz_tensor_sizes(g).v[0] > lz_tensor_sizes(g).v[1];
    const double *k = o->ns_coefficients;
    lz_tensor *x = lz_to_dtype(c, g, LZ_BF16);
    x = tall ? lz_t(c, x) : x;
    x = lz_div_Tensor(c, x, lz_clamp_min(c, lz_linalg_vector_norm(c, x), o->eps));
    for (int i = 0; i < (int)o->ns_steps; i++) {
        lz_tensor *gram = lz_mm(c, x, lz_t(c, x));
        lz_tensor *by = lz_addmm(c, gram, gram, gram, .beta = LZ_S(k[1]), .alpha = LZ_S(k[2]));
        x = lz_addmm(c, x, by, x, .beta = LZ_S(k[0]));
    }
    return tall ? lz_t(c, x) : x;
}

static double muon_rate(const lz_optim_options *o, const lz_tensor *p)
{
    double rows = (double)lz_tensor_sizes(p).v[0], columns = (double)lz_tensor_sizes(p).v[1];
    if (o->match_rms_adamw)
        return o->lr * 0.2 * sqrt(fmax(rows, columns));
    return o->lr * sqrt(o->spectral_unclamped ? rows / columns : fmax(1, rows / columns));
}

static void muon_update(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g)
{
    lz_tensor *m = lz_lerp__Scalar(c, s->state[0], g, 1 - o->momentum);
    lz_tensor *step = orthogonal(c, at, o, o->nesterov ? lz_lerp_Scalar(c, g, m, o->momentum) : m);
    lz_mul__Scalar(c, s->p, 1 - o->lr * o->weight_decay);
    lz_add__Tensor(c, s->p, step, .alpha = LZ_S(-muon_rate(o, s->p)));
}

static const char *muon_refuses(const lz_tensor *p)
{
    return lz_tensor_sizes(p).n == 2 ? NULL : "Muon updates matrices only";
}

/* ---- the rules ---- */

#define COMMON (LZ_HAS(LR) | LZ_HAS(WEIGHT_DECAY) | LZ_HAS(MAXIMIZE))
#define BETAS  (COMMON | LZ_HAS(BETA1) | LZ_HAS(BETA2) | LZ_HAS(EPS))

const lz_optim_rule lz_optim_adadelta = { .name = "Adadelta",
                                          .options = COMMON | LZ_HAS(RHO) | LZ_HAS(EPS),
                                          .defaults = { LZ_ADADELTA_DEFAULTS_ },
                                          .states = { "square_avg", "acc_delta" },
                                          .needs = first_two,
                                          .update = adadelta_update };
const lz_optim_rule lz_optim_adamax = { .name = "Adamax",
                                        .options = BETAS,
                                        .defaults = { LZ_ADAMAX_DEFAULTS_ },
                                        .states = { "exp_avg", "exp_inf" },
                                        .needs = first_two,
                                        .update = adamax_update };
const lz_optim_rule lz_optim_asgd = { .name = "ASGD",
                                      .options = COMMON | LZ_HAS(LAMBD) | LZ_HAS(ALPHA) | LZ_HAS(T0),
                                      .defaults = { LZ_ASGD_DEFAULTS_ },
                                      .states = { "ax" },
                                      .numbers = { "eta", "mu" },
                                      .needs = first,
                                      .number = asgd_number,
                                      .update = asgd_update };
const lz_optim_rule lz_optim_nadam = { .name = "NAdam",
                                       .options = BETAS | LZ_HAS(MOMENTUM_DECAY) | LZ_HAS(DECOUPLED),
                                       .defaults = { LZ_NADAM_DEFAULTS_ },
                                       .states = { "exp_avg", "exp_avg_sq" },
                                       .numbers = { "mu_product" },
                                       .needs = first_two,
                                       .number = nadam_number,
                                       .update = nadam_update };
const lz_optim_rule lz_optim_radam = { .name = "RAdam",
                                       .options = BETAS | LZ_HAS(DECOUPLED),
                                       .defaults = { LZ_RADAM_DEFAULTS_ },
                                       .states = { "exp_avg", "exp_avg_sq" },
                                       .needs = first_two,
                                       .update = radam_update };
const lz_optim_rule lz_optim_rprop = { .name = "Rprop",
                                       .options = LZ_HAS(LR) | LZ_HAS(MAXIMIZE) | LZ_HAS(ETA_MINUS)
                                                  | LZ_HAS(ETA_PLUS) | LZ_HAS(STEP_MIN) | LZ_HAS(STEP_MAX),
                                       .defaults = { LZ_RPROP_DEFAULTS_ },
                                       .states = { "prev", "step_size" },
                                       .needs = first_two,
                                       .begin = rprop_begin,
                                       .update = rprop_update };
const lz_optim_rule lz_optim_adafactor = { .name = "Adafactor",
                                           .options = COMMON | LZ_HAS(BETA2_DECAY) | LZ_HAS(EPS)
                                                      | LZ_HAS(EPS2) | LZ_HAS(D),
                                           .defaults = { LZ_ADAFACTOR_DEFAULTS_ },
                                           .states = { "row_var", "col_var", "variance" },
                                           .needs = adafactor_needs,
                                           .sizes = adafactor_sizes,
                                           .update = adafactor_update };
const lz_optim_rule lz_optim_muon = { .name = "Muon",
                                      .options = LZ_HAS(LR) | LZ_HAS(WEIGHT_DECAY) | LZ_HAS(MOMENTUM)
                                                 | LZ_HAS(NESTEROV) | LZ_HAS(EPS) | LZ_HAS(NS_A)
                                                 | LZ_HAS(NS_B) | LZ_HAS(NS_C) | LZ_HAS(NS_STEPS)
                                                 | LZ_HAS(MATCH_RMS) | LZ_HAS(SPECTRAL),
                                      .defaults = { LZ_MUON_DEFAULTS_ },
                                      .states = { "momentum_buffer" },
                                      .needs = first,
                                      .refuses = muon_refuses,
                                      .update = muon_update };
const lz_optim_rule lz_optim_lbfgs = { .name = "LBFGS",
                                       .options = LZ_HAS(LR) | LZ_HAS(MAX_ITER) | LZ_HAS(MAX_EVAL)
                                                  | LZ_HAS(TOLERANCE_GRAD) | LZ_HAS(TOLERANCE_CHANGE)
                                                  | LZ_HAS(HISTORY_SIZE) | LZ_HAS(STRONG_WOLFE)
                                                  | LZ_HAS(MAXIMIZE),
                                       .defaults = { LZ_LBFGS_DEFAULTS_ },
                                       .by_closure = true };
