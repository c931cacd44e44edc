/* optim.h - optimisers, clipping of gradients, learning rates.
 *
 *     lz_optim *opt = lz_adam(m, .lr = 1e-3, .betas = { 0.9, 0.99 });
 *     lz_scope *s = lz_scope_push(c);
 *     lz_tensor *loss = lz_retain(lz_cross_entropy_loss(c, lz_forward(m, x), y));
 *     lz_backward(c, loss);
 *     lz_clip_grad_norm(m, 1.0);
 *     lz_optim_step(opt);
 *     lz_scope_pop(s);
 *     lz_mark_step(c);
 *
 * An update is recorded like all operators and follows PyTorch's rule. Values that change from step to step
 * are run-time numbers, so every step is the same graph. An optimiser keeps its parameters alive. It must be
 * freed before its context is closed. */
#ifndef LAZULI_OPTIM_H
#define LAZULI_OPTIM_H

#include <lazuli/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_optim lz_optim;
typedef enum lz_optim_kind {
    LZ_SGD,
    LZ_ADAM,
    LZ_ADAMW,
    LZ_RMSPROP,
    LZ_ADAGRAD,
    LZ_ADADELTA,
    LZ_ADAMAX,
    LZ_ASGD,
    LZ_NADAM,
    LZ_RADAM,
    LZ_RPROP,
    LZ_ADAFACTOR,
    LZ_MUON,
    LZ_LBFGS,
    LZ_OPTIM_KINDS
} lz_optim_kind;

/* The options of all kinds. An option that a kind does not use must keep its default. */
typedef struct lz_optim_options {
    double lr, weight_decay;
    double momentum, dampening; /* SGD; RMSprop and Muon: momentum */
    double betas[2];            /* Adam, AdamW, Adamax, NAdam, RAdam */
    double alpha;               /* RMSprop, ASGD */
    double eps;                 /* Adafactor: the first one; 0: the eps of the parameter's dtype */
    double lr_decay, initial_accumulator_value;            /* Adagrad */
    double rho;                                            /* Adadelta */
    double lambd, t0;                                      /* ASGD */
    double momentum_decay;                                 /* NAdam */
    double etas[2], step_sizes[2];                         /* Rprop */
    double beta2_decay, eps2, d;                           /* Adafactor; eps2: its second eps */
    double ns_coefficients[3], ns_steps;                   /* Muon */
    double max_iter, max_eval;                             /* LBFGS; max_eval 0: 1.25 * max_iter */
    double tolerance_grad, tolerance_change, history_size; /* LBFGS */
    bool nesterov;                                         /* SGD, Muon */
    bool amsgrad;                                          /* Adam, AdamW */
    bool centered;                                         /* RMSprop */
    bool maximize;                                         /* all but Muon */
    bool decoupled_weight_decay;                           /* Adam, NAdam, RAdam */
    bool match_rms_adamw, spectral_unclamped;              /* Muon: PyTorch's adjust_lr_fn of this name */
    bool strong_wolfe; /* LBFGS: PyTorch's line_search_fn="strong_wolfe" */
} lz_optim_options;

/* PyTorch's defaults of the later kinds, as members of an lz_optim_options. */
#define LZ_ADADELTA_DEFAULTS_  .lr = 1, .rho = 0.9, .eps = 1e-6
#define LZ_ADAMAX_DEFAULTS_    .lr = 2e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8
#define LZ_ASGD_DEFAULTS_      .lr = 1e-2, .lambd = 1e-4, .alpha = 0.75, .t0 = 1e6
#define LZ_NADAM_DEFAULTS_     .lr = 2e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8, .momentum_decay = 4e-3
#define LZ_RADAM_DEFAULTS_     .lr = 1e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8
#define LZ_RPROP_DEFAULTS_     .lr = 1e-2, .etas = { 0.5, 1.2 }, .step_sizes = { 1e-6, 50 }
#define LZ_ADAFACTOR_DEFAULTS_ .lr = 1e-2, .beta2_decay = -0.8, .eps2 = 1e-3, .d = 1
#define LZ_MUON_DEFAULTS_                                                                                    \
    .lr = 1e-3, .weight_decay = 0.1, .momentum = 0.95, .nesterov = true, .eps = 1e-7, .ns_steps = 5,         \
    .ns_coefficients = { 3.4445, -4.7750, 2.0315 }

#define LZ_LBFGS_DEFAULTS_                                                                                   \
    .lr = 1, .max_iter = 20, .tolerance_grad = 1e-7, .tolerance_change = 1e-9, .history_size = 100

/* An optimiser of the parameters of a module: lz_sgd(m, .lr = 0.1, .momentum = 0.9). Pending parameters and
 * buffers are synced, so that the first step has the graph of all later steps. On failure NULL, with the
 * error in the context; calls on NULL do nothing. */
#define lz_sgd(...)                                                                                          \
    LZ_CALL(lz_optim_of_at(LZ_SGD, LZ_HERE, LZ_LAST(__VA_ARGS__),                                            \
                           &(const lz_optim_options){ .lr = 1e-3, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_adam(...)                                                                                         \
    LZ_CALL(                                                                                                 \
        lz_optim_of_at(LZ_ADAM, LZ_HERE, LZ_LAST(__VA_ARGS__),                                               \
                       &(const lz_optim_options){                                                            \
                           .lr = 1e-3, .betas = { 0.9, 0.999 }, .eps = 1e-8, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_adamw(...)                                                                                        \
    LZ_CALL(lz_optim_of_at(LZ_ADAMW, LZ_HERE, LZ_LAST(__VA_ARGS__),                                          \
                           &(const lz_optim_options){ .lr = 1e-3,                                            \
                                                      .weight_decay = 1e-2,                                  \
                                                      .betas = { 0.9, 0.999 },                               \
                                                      .eps = 1e-8,                                           \
                                                      LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_rmsprop(...)                                                                                      \
    LZ_CALL(lz_optim_of_at(                                                                                  \
        LZ_RMSPROP, LZ_HERE, LZ_LAST(__VA_ARGS__),                                                           \
        &(const lz_optim_options){ .lr = 1e-2, .alpha = 0.99, .eps = 1e-8, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_adagrad(...)                                                                                      \
    LZ_CALL(lz_optim_of_at(LZ_ADAGRAD, LZ_HERE, LZ_LAST(__VA_ARGS__),                                        \
                           &(const lz_optim_options){ .lr = 1e-2, .eps = 1e-10, LZ_KEYWORDS(__VA_ARGS__) }))
#define LZ_OPTIM_OF_(kind, defaults, ...)                                                                    \
    LZ_CALL(lz_optim_of_at((kind), LZ_HERE, LZ_LAST(__VA_ARGS__),                                            \
                           &(const lz_optim_options){ defaults, LZ_KEYWORDS(__VA_ARGS__) }))
#define lz_adadelta(...)  LZ_OPTIM_OF_(LZ_ADADELTA, LZ_ADADELTA_DEFAULTS_, __VA_ARGS__)
#define lz_adamax(...)    LZ_OPTIM_OF_(LZ_ADAMAX, LZ_ADAMAX_DEFAULTS_, __VA_ARGS__)
#define lz_asgd(...)      LZ_OPTIM_OF_(LZ_ASGD, LZ_ASGD_DEFAULTS_, __VA_ARGS__)
#define lz_nadam(...)     LZ_OPTIM_OF_(LZ_NADAM, LZ_NADAM_DEFAULTS_, __VA_ARGS__)
#define lz_radam(...)     LZ_OPTIM_OF_(LZ_RADAM, LZ_RADAM_DEFAULTS_, __VA_ARGS__)
#define lz_rprop(...)     LZ_OPTIM_OF_(LZ_RPROP, LZ_RPROP_DEFAULTS_, __VA_ARGS__)
#define lz_adafactor(...) LZ_OPTIM_OF_(LZ_ADAFACTOR, LZ_ADAFACTOR_DEFAULTS_, __VA_ARGS__)
#define lz_muon(...)      LZ_OPTIM_OF_(LZ_MUON, LZ_MUON_DEFAULTS_, __VA_ARGS__)
#define lz_lbfgs(...)     LZ_OPTIM_OF_(LZ_LBFGS, LZ_LBFGS_DEFAULTS_, __VA_ARGS__)
LZ_API lz_optim *lz_optim_of_at(lz_optim_kind kind, lz_loc at, lz_module *m, const lz_optim_options *options);

/* An optimiser with several groups of parameters, each with its own options.
 *
 *     lz_optim_options o = lz_optim_defaults(LZ_ADAMW);
 *     lz_optim *opt = lz_optim_create(c, LZ_ADAMW);
 *     lz_optim_add_module(opt, body, &o);
 *     o.weight_decay = 0;
 *     lz_optim_add_module(opt, head, &o); */
LZ_API lz_optim *lz_optim_create(lz_ctx *c, lz_optim_kind kind);
LZ_API lz_optim_options lz_optim_defaults(lz_optim_kind kind);
/* Adds the parameters of m under their names from the root. Options NULL: the defaults. */
LZ_API bool lz_optim_add_module(lz_optim *o, lz_module *m, const lz_optim_options *options);
/* Adds any parameters. Tensors and names must be unique within the optimiser. */
LZ_API bool lz_optim_add_group(lz_optim *o, lz_named_tensors params, const lz_optim_options *options);
LZ_API void lz_optim_free(lz_optim *o); /* NULL does nothing */

LZ_API size_t lz_optim_group_count(const lz_optim *o);
LZ_API lz_optim_options *lz_optim_group(lz_optim *o, size_t i); /* to be changed; NULL: no such i */
LZ_API void lz_optim_set_lr(lz_optim *o, double lr);            /* of all groups */
LZ_API double lz_optim_lr(const lz_optim *o);                   /* of the first */

/* Records the update of all parameters that have a gradient, and removes the gradients, because lz_mark_step
 * would compute and keep them. Invalid options are an error, as when a group is added. */
#define lz_optim_step(o) lz_optim_step_at((o), LZ_HERE)
LZ_API bool lz_optim_step_at(lz_optim *o, lz_loc at);
LZ_API void lz_optim_zero_grad(lz_optim *o); /* without an update */

/* Computes the loss, a tensor of the current scope, and leaves its gradients (lz_backward). */
typedef lz_tensor *lz_closure(lz_ctx *c, void *user);
/* A step that computes the loss itself: LBFGS, which calls the closure up to max_eval times and reads losses
 * in between, needs this; other optimisers call it once. Gradients are removed before each call. *loss (may
 * be NULL) gets the loss before the step. */
#define lz_optim_step_with(o, closure, user, loss)                                                           \
    lz_optim_step_with_at((o), LZ_HERE, (closure), (user), (loss))
LZ_API bool lz_optim_step_with_at(lz_optim *o, lz_loc at, lz_closure *closure, void *user, double *loss);

/* ---- gradients ---- */

typedef struct lz_clip_options {
    double norm_type;        /* INFINITY: the largest absolute value */
    bool error_if_nonfinite; /* a norm that is not finite is an error, and gradients do not change; a sync */
} lz_clip_options;

/* Scales all gradients of m by one factor if their common norm exceeds max_norm. Returns the norm before
 * scaling; the tensor belongs to the current scope. To be called before lz_optim_step. */
#define lz_clip_grad_norm(m, ...)                                                                            \
    LZ_CALL(lz_clip_grad_norm_at((m), LZ_HERE, LZ_LAST(__VA_ARGS__),                                         \
                                 &(const lz_clip_options){ .norm_type = 2, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_clip_grad_norm_at(lz_module *m, lz_loc at, double max_norm,
                                       const lz_clip_options *options);
/* Each element is kept between -value and value. */
#define lz_clip_grad_value(m, value) lz_clip_grad_value_at((m), LZ_HERE, (value))
LZ_API bool lz_clip_grad_value_at(lz_module *m, lz_loc at, double value);

/* ---- learning rates: PyTorch's, after t steps, from a base rate ----
 * Invalid arguments (no period, a step after the last of one cycle) give NaN, which lz_optim_step refuses. */

LZ_API double lz_schedule_step(double base, int64_t t, int64_t size, double gamma);
LZ_API double lz_schedule_multistep(double base, int64_t t, lz_ints milestones, double gamma);
LZ_API double lz_schedule_exponential(double base, int64_t t, double gamma);
LZ_API double lz_schedule_cosine(double base, int64_t t, int64_t period, double least);
LZ_API double lz_schedule_cosine_restarts(double base, int64_t t, int64_t period, int64_t grow, double least);
LZ_API double lz_schedule_constant(double base, int64_t t, double factor, int64_t steps);
/* From one factor to another: warm-up. */
LZ_API double lz_schedule_linear(double base, int64_t t, double from, double to, int64_t steps);
LZ_API double lz_schedule_polynomial(double base, int64_t t, int64_t steps, double power);

typedef struct lz_one_cycle {
    double pct_start, div_factor, final_div_factor;
    bool linear, three_phase;
} lz_one_cycle;

/* lz_schedule_one_cycle(max_lr, t, total_steps, .pct_start = 0.1). For a momentum that goes from high to low
 * and back during the cycle: (low, t, total_steps, .div_factor = low / high, .final_div_factor = 1) */
#define lz_schedule_one_cycle(max_lr, t, ...)                                                                \
    LZ_CALL(lz_schedule_one_cycle_of(                                                                        \
        (max_lr), (t), LZ_LAST(__VA_ARGS__),                                                                 \
        &(const lz_one_cycle){                                                                               \
            .pct_start = 0.3, .div_factor = 25, .final_div_factor = 1e4, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API double lz_schedule_one_cycle_of(double max_lr, int64_t t, int64_t steps, const lz_one_cycle *o);

typedef enum lz_cycle_mode { LZ_TRIANGULAR, LZ_TRIANGULAR2, LZ_EXP_RANGE } lz_cycle_mode;

typedef struct lz_cyclic {
    lz_cycle_mode mode; /* the height of a cycle: constant, halved each cycle, scaled by gamma^t */
    int64_t down;       /* steps; 0: as many as up */
    double gamma;
} lz_cyclic;

/* From base to max in `up` steps, and back: lz_schedule_cyclic(base, t, max, up, .mode = LZ_TRIANGULAR2) */
#define lz_schedule_cyclic(base, t, max, ...)                                                                \
    LZ_CALL(lz_schedule_cyclic_of((base), (t), (max), LZ_LAST(__VA_ARGS__),                                  \
                                  &(const lz_cyclic){ .gamma = 1, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API double lz_schedule_cyclic_of(double base, int64_t t, double max, int64_t up, const lz_cyclic *o);

/* Reduces the rate when a metric stops improving: lz_plateau p = LZ_PLATEAU;
 * rate = lz_schedule_plateau(&p, rate, loss) */
typedef struct lz_plateau {
    double factor, threshold, least, eps; /* factor: below 1 */
    int64_t patience, cooldown;
    bool upwards;  /* a greater metric is better */
    bool absolute; /* the threshold is a difference, not a ratio */
    double best;   /* this and the following members are state */
    int64_t seen, bad, cooling;
} lz_plateau;

#define LZ_PLATEAU                                                                                           \
    {                                                                                                        \
        .factor = 0.1, .threshold = 1e-4, .eps = 1e-8, .patience = 10                                        \
    }
LZ_API double lz_schedule_plateau(lz_plateau *p, double rate, double metric);

/* ---- averages of parameters ---- */

/* A second set of parameters that follows those of a module: average += (1 - decay) * (parameter - average),
 * as PyTorch's AveragedModel with an exponential average does. Initially a copy of the parameters. */
typedef struct lz_ema lz_ema;
typedef struct lz_ema_options {
    double decay;
    bool buffers; /* averages floating buffers too, e.g. those of batch norm */
} lz_ema_options;

/* On failure NULL, with the error in the context; calls on NULL do nothing. To be freed before the module. */
#define lz_ema_create(...)                                                                                   \
    LZ_CALL(lz_ema_create_at(LZ_HERE, LZ_LAST(__VA_ARGS__),                                                  \
                             &(const lz_ema_options){ .decay = 0.999, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_ema *lz_ema_create_at(lz_loc at, lz_module *m, const lz_ema_options *options);
LZ_API void lz_ema_free(lz_ema *e);   /* NULL does nothing */
LZ_API bool lz_ema_update(lz_ema *e); /* after lz_optim_step; recorded, as all operators are */
/* Swaps the module's values and the averages: call it before and after an evaluation. */
LZ_API bool lz_ema_swap(lz_ema *e);
LZ_API lz_tensor *lz_ema_get(const lz_ema *e, const char *name); /* the average of "c1.weight"; NULL: none */
LZ_API bool lz_ema_update_at(lz_ema *e, lz_loc at);
LZ_API bool lz_ema_swap_at(lz_ema *e, lz_loc at);
#define lz_ema_update(e) lz_ema_update_at((e), LZ_HERE)
#define lz_ema_swap(e)   lz_ema_swap_at((e), LZ_HERE)
/* Like lz_module_state and lz_module_load_state; `from` must have every average. */
LZ_API bool lz_ema_state(lz_ema *e, const char *prefix, lz_state *out);
LZ_API bool lz_ema_load_state(lz_ema *e, const char *prefix, lz_named_tensors from);

/* ---- state ---- */

/* Adds the state of all parameters and the options of all groups: prefix + "c1.weight.exp_avg". */
LZ_API bool lz_optim_state(lz_optim *o, const char *prefix, lz_state *out);
/* Copies the state to the optimiser; a sync. An error if `from` does not match the optimiser and its
 * parameters, or lacks the learning rate of a group; the optimiser is then unchanged. */
LZ_API bool lz_optim_load_state(lz_optim *o, const char *prefix, lz_named_tensors from);

/* The state from which a run continues bit for bit: model ("model."), optimiser ("optim."; may be NULL) and
 * random generator ("random"). The caller frees it; NULL on failure. */
LZ_API lz_state *lz_training_state(lz_module *m, lz_optim *o);
/* If any part does not match, nothing is changed. */
LZ_API bool lz_training_load_state(lz_module *m, lz_optim *o, lz_named_tensors from);

/* ---- files: safetensors ---- */

/* Parameters and buffers, by their names. */
LZ_API bool lz_save_model(lz_module *m, const char *path);
LZ_API bool lz_save_model_at(lz_module *m, lz_loc at, const char *path);
#define lz_save_model(m, path) lz_save_model_at((m), LZ_HERE, (path))
LZ_API bool lz_load_model(lz_module *m, const char *path);
/* Loads the tensors whose names are in both model and file. left (may be NULL): the names that are only in
 * the model or only in the file, "" if none; to be freed with lz_text_free. Different sizes are an error. */
LZ_API bool lz_load_model_partial(lz_module *m, const char *path, char **left);
/* Model, optimiser (may be NULL), random generator and the number of the step. */
LZ_API bool lz_save_training(lz_module *m, lz_optim *o, const char *path, int64_t step);
LZ_API bool lz_save_training_at(lz_module *m, lz_loc at, lz_optim *o, const char *path, int64_t step);
#define lz_save_training(m, ...) lz_save_training_at((m), LZ_HERE, __VA_ARGS__)
LZ_API bool lz_load_training(lz_module *m, lz_optim *o, const char *path, int64_t *step);

#ifdef __cplusplus
}
#endif
#endif
