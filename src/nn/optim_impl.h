/* optim_impl.h - the inside of optimisers.
 *
 * A rule records the update of one parameter with operators; its numbers are Scalars, so they may
 * change without a new graph. State tensors begin as held zeros, not as recorded ones, so the first step
 * has the same graph as all others. */
#ifndef LZ_NN_OPTIM_IMPL_H
#define LZ_NN_OPTIM_IMPL_H

#include "base/arena.h"
#include "base/err.h"
#include "nn/call_line.h"
#include <lazuli/optim.h>

enum { LZ_OPTIM_STATES = 3, LZ_OPTIM_STATE_NUMBERS = 2 };

typedef struct lz_optim_param {
    const char *name;
    lz_tensor *p;                          /* one count each */
    lz_tensor *state[LZ_OPTIM_STATES];     /* NULL: not needed yet */
    double number[LZ_OPTIM_STATE_NUMBERS]; /* state that is a number; set before the first update */
    int64_t steps;                         /* updates so far */
    bool is_new;                           /* the state was made for this step */
} lz_optim_param;

typedef struct lz_optim_group_data {
    struct lz_optim_group_data *next;
    lz_optim_options o;
    lz_optim_param *params;
    size_t n;
} lz_optim_group_data;

/* Options as bits: those that a kind uses. */
#define LZ_OPTIM_NUMBERS(X)                                                                                  \
    X(LR, lr)                                                                                                \
    X(WEIGHT_DECAY, weight_decay)                                                                            \
    X(MOMENTUM, momentum)                                                                                    \
    X(DAMPENING, dampening)                                                                                  \
    X(BETA1, betas[0])                                                                                       \
    X(BETA2, betas[1])                                                                                       \
    X(ALPHA, alpha)                                                                                          \
    X(EPS, eps)                                                                                              \
    X(LR_DECAY, lr_decay)                                                                                    \
    X(ACCUMULATOR, initial_accumulator_value)                                                                \
    X(RHO, rho)                                                                                              \
    X(LAMBD, lambd)                                                                                          \
    X(T0, t0)                                                                                                \
    X(MOMENTUM_DECAY, momentum_decay)                                                                        \
    X(ETA_MINUS, etas[0])                                                                                    \
    X(ETA_PLUS, etas[1])                                                                                     \
    X(STEP_MIN, step_sizes[0])                                                                               \
    X(STEP_MAX, step_sizes[1])                                                                               \
    X(BETA2_DECAY, beta2_decay)                                                                              \
    X(EPS2, eps2)                                                                                            \
    X(D, d)                                                                                                  \
    X(NS_A, ns_coefficients[0])                                                                              \
    X(NS_B, ns_coefficients[1])                                                                              \
    X(NS_C, ns_coefficients[2])                                                                              \
    X(NS_STEPS, ns_steps)                                                                                    \
    X(MAX_ITER, max_iter)                                                                                    \
    X(MAX_EVAL, max_eval)                                                                                    \
    X(TOLERANCE_GRAD, tolerance_grad)                                                                        \
    X(TOLERANCE_CHANGE, tolerance_change)                                                                    \
    X(HISTORY_SIZE, history_size)
#define LZ_OPTIM_FLAGS(X)                                                                                    \
    X(NESTEROV, nesterov)                                                                                    \
    X(AMSGRAD, amsgrad)                                                                                      \
    X(CENTERED, centered)                                                                                    \
    X(MAXIMIZE, maximize)                                                                                    \
    X(DECOUPLED, decoupled_weight_decay)                                                                     \
    X(MATCH_RMS, match_rms_adamw)                                                                            \
    X(SPECTRAL, spectral_unclamped)                                                                          \
    X(STRONG_WOLFE, strong_wolfe)

enum {
#define X(bit, field) LZ_OPTION_##bit,
    LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
        LZ_OPTIONS
};
#define LZ_HAS(bit) (UINT64_C(1) << LZ_OPTION_##bit)

const char *lz_option_name(int option);
double lz_option_get(const lz_optim_options *o, int option);
void lz_option_set(lz_optim_options *o, int option, double v);

typedef struct lz_optim_rule {
    const char *name;
    uint64_t options; /* LZ_HAS(...) */
    lz_optim_options defaults;
    const char *states[LZ_OPTIM_STATES];
    const char *numbers[LZ_OPTIM_STATE_NUMBERS];
    bool (*needs)(const lz_optim_options *o, const lz_tensor *p, int state);
    double (*begin)(const lz_optim_options *o, int state);         /* initial value of a state; NULL: 0 */
    double (*number)(const lz_optim_options *o, int k);            /* initial value of a number */
    int64_t (*sizes)(const lz_tensor *p, int state, int64_t *out); /* of a state; NULL: those of p */
    const char *(*refuses)(const lz_tensor *p); /* why p cannot be updated, or NULL; may be NULL */
    /* g: the gradient, owned by the scope. s->steps counts this update. */
    void (*update)(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g);
    bool by_closure; /* evaluates the loss several times in one step: LBFGS, without `update` */
} lz_optim_rule;

const lz_optim_rule *lz_optim_rule_of(lz_optim_kind kind);
extern const lz_optim_rule lz_optim_adadelta, lz_optim_adamax, lz_optim_asgd, lz_optim_nadam, lz_optim_radam,
    lz_optim_rprop, lz_optim_adafactor, lz_optim_muon, lz_optim_lbfgs;

/* The gradient with sign and weight decay. */
lz_tensor *lz_optim_decayed(lz_ctx *c, lz_loc at, const lz_optim_options *o, const lz_optim_param *s,
                            lz_tensor *g);

struct lz_optim {
    lz_ctx *ctx;
    const lz_optim_rule *rule;
    lz_arena arena;
    lz_optim_group_data *groups, *last;
    size_t ngroups;
    struct lz_lbfgs *lbfgs; /* NULL: another rule */
};

enum { LZ_OPTIM_DIMS = 64 };

/* The sizes of a state of p; the list is in `room`. */
lz_ints lz_optim_state_sizes(const lz_optim_rule *r, const lz_tensor *p, int state, int64_t *room);
/* A held tensor of these sizes with the dtype of p, filled with v. */
LZ_MUST_USE lz_err *lz_optim_held(lz_ctx *c, lz_loc at, const lz_tensor *p, lz_ints sizes, double v,
                                  lz_tensor **out);

#endif
