/* optim.h - the inside of optimisers.
 *
 * A rule says what one parameter's update is, in operators; the numbers in it are Scalars, so they may
 * change without a new graph. State tensors begin as held zeros, not as recorded ones: the first step
 * looks like all others. */
#ifndef LZ_NN_OPTIM_H
#define LZ_NN_OPTIM_H

#include "base/arena.h"
#include "base/err.h"
#include <lazuli/ops.h>
#include <lazuli/optim.h>

#undef LZ_HERE
#define LZ_HERE at

enum { LZ_OPTIM_STATES = 3 };

typedef struct lz_optim_param {
    const char *name;
    lz_tensor *p;                      /* one count each */
    lz_tensor *state[LZ_OPTIM_STATES]; /* NULL: not needed yet */
    int64_t steps;                     /* updates so far */
    bool is_new;                       /* its state was made for this step */
} lz_optim_param;

typedef struct lz_optim_group_data {
    struct lz_optim_group_data *next;
    lz_optim_options o;
    lz_optim_param *params;
    size_t n;
} lz_optim_group_data;

/* Options as bits: which a kind knows. */
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
    X(ACCUMULATOR, initial_accumulator_value)
#define LZ_OPTIM_FLAGS(X)                                                                                    \
    X(NESTEROV, nesterov)                                                                                    \
    X(AMSGRAD, amsgrad)                                                                                      \
    X(CENTERED, centered)                                                                                    \
    X(MAXIMIZE, maximize)

enum {
#define X(bit, field) LZ_OPTION_##bit,
    LZ_OPTIM_NUMBERS(X) LZ_OPTIM_FLAGS(X)
#undef X
        LZ_OPTIONS
};
#define LZ_HAS(bit) (1u << LZ_OPTION_##bit)

const char *lz_option_name(int option);
double lz_option_get(const lz_optim_options *o, int option);
void lz_option_set(lz_optim_options *o, int option, double v);

typedef struct lz_optim_rule {
    const char *name;
    unsigned options; /* LZ_HAS(...) */
    lz_optim_options defaults;
    const char *states[LZ_OPTIM_STATES];
    bool (*needs)(const lz_optim_options *o, int state);
    double (*begin)(const lz_optim_options *o, int state); /* what a state begins with; NULL: 0 */
    /* g: the gradient, of the scope; s->steps counts this one. */
    void (*update)(lz_ctx *c, lz_loc at, const lz_optim_options *o, lz_optim_param *s, lz_tensor *g);
} lz_optim_rule;

extern const lz_optim_rule lz_optim_rules[LZ_OPTIM_KINDS];

struct lz_optim {
    lz_ctx *ctx;
    const lz_optim_rule *rule;
    lz_arena arena;
    lz_optim_group_data *groups, *last;
    size_t ngroups;
};

/* A held tensor like p, in which all elements are v. */
LZ_MUST_USE lz_err *lz_optim_held(lz_ctx *c, lz_loc at, const lz_tensor *p, double v, lz_tensor **out);

#endif
