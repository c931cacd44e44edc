/* losses.h - losses that are not operators, and losses with weights of their own. Part of nn.h. */
#ifndef LAZULI_LOSSES_H
#define LAZULI_LOSSES_H

#include <lazuli/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the .reduction of operators means: lz_mse_loss(c, y, t, .reduction = LZ_REDUCTION_SUM). Most losses
 * are operators: mse_loss, l1_loss, smooth_l1_loss, huber_loss, cross_entropy_loss, nll_loss,
 * binary_cross_entropy, binary_cross_entropy_with_logits, kl_div, soft_margin_loss, multi_margin_loss,
 * multilabel_margin_loss, margin_ranking_loss, hinge_embedding_loss, cosine_embedding_loss,
 * triplet_margin_loss, poisson_nll_loss; so are the distances cosine_similarity and pairwise_distance. */
typedef enum lz_loss_reduction { LZ_REDUCTION_NONE, LZ_REDUCTION_MEAN, LZ_REDUCTION_SUM } lz_loss_reduction;

typedef struct lz_gaussian_nll_options {
    double eps; /* variances are at least this */
    lz_loss_reduction reduction;
    bool full; /* with the constant */
} lz_gaussian_nll_options;

/* variance: of each element, or of each row: without the last dimension, or 1 there */
#define lz_gaussian_nll_loss(c, input, target, ...)                                                          \
    LZ_CALL(lz_gaussian_nll_loss_at((c), LZ_HERE, (input), (target), LZ_LAST(__VA_ARGS__),                   \
                                    &(const lz_gaussian_nll_options){ .reduction = LZ_REDUCTION_MEAN,        \
                                                                      .eps = 1e-6,                           \
                                                                      LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_gaussian_nll_loss_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                          lz_tensor *variance, const lz_gaussian_nll_options *options);

typedef struct lz_kl_div_batchmean_options {
    bool log_target; /* target is a logarithm as well */
} lz_kl_div_batchmean_options;

/* The sum of kl_div, divided by the number of rows. */
#define lz_kl_div_batchmean(c, input, ...)                                                                   \
    LZ_CALL(lz_kl_div_batchmean_at(                                                                          \
        (c), LZ_HERE, (input), LZ_LAST(__VA_ARGS__),                                                         \
        &(const lz_kl_div_batchmean_options){ .log_target = false, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_kl_div_batchmean_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                         const lz_kl_div_batchmean_options *options);

typedef struct lz_multilabel_soft_margin_options {
    lz_tensor *weight; /* one for each class; NULL: 1 */
    lz_loss_reduction reduction;
} lz_multilabel_soft_margin_options;

/* Binary cross entropy with logits, averaged over the classes, the last dimension. */
#define lz_multilabel_soft_margin_loss(c, input, ...)                                                        \
    LZ_CALL(                                                                                                 \
        lz_multilabel_soft_margin_loss_at((c), LZ_HERE, (input), LZ_LAST(__VA_ARGS__),                       \
                                          &(const lz_multilabel_soft_margin_options){                        \
                                              .reduction = LZ_REDUCTION_MEAN, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_multilabel_soft_margin_loss_at(lz_ctx *c, lz_loc at, lz_tensor *input, lz_tensor *target,
                                                    const lz_multilabel_soft_margin_options *options);

/* A distance of rows, of the scope. */
typedef lz_tensor *lz_distance_fn(lz_ctx *c, lz_loc at, lz_tensor *a, lz_tensor *b, void *user);

typedef struct lz_triplet_distance_options {
    lz_distance_fn *distance; /* NULL: pairwise_distance */
    void *user;               /* of distance */
    double margin;
    bool swap; /* the distance of positive and negative, if it is less than that of anchor and negative */
    lz_loss_reduction reduction;
} lz_triplet_distance_options;

/* The amount by which the distance to the positive plus margin exceeds the distance to the negative. */
#define lz_triplet_margin_with_distance_loss(c, anchor, positive, ...)                                       \
    LZ_CALL(lz_triplet_margin_with_distance_loss_at(                                                         \
        (c), LZ_HERE, (anchor), (positive), LZ_LAST(__VA_ARGS__),                                            \
        &(const lz_triplet_distance_options){                                                                \
            .margin = 1, .reduction = LZ_REDUCTION_MEAN, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_tensor *lz_triplet_margin_with_distance_loss_at(lz_ctx *c, lz_loc at, lz_tensor *anchor,
                                                          lz_tensor *positive, lz_tensor *negative,
                                                          const lz_triplet_distance_options *options);

/* ---- losses with weights ---- */

typedef struct lz_linear_cross_entropy_options {
    lz_ints out_features; /* more dimensions of the logits: [batch, classes, out_features...] */
    bool bias;
    lz_tensor *weight;       /* one for each class, a buffer of the layer; NULL: 1 */
    lz_opt_int ignore_index; /* none: -100; not with targets that are probabilities */
    double label_smoothing;
    lz_loss_reduction reduction;
} lz_linear_cross_entropy_options;

/* Cross entropy of a linear layer's outputs; linear.weight [classes * out_features, in], linear.bias; weight
 */
#define lz_nn_linear_cross_entropy(parent, name, in, ...)                                                    \
    LZ_CALL(lz_nn_linear_cross_entropy_at((parent), LZ_HERE, (name), (in), LZ_LAST(__VA_ARGS__),             \
                                          &(const lz_linear_cross_entropy_options){                          \
                                              .reduction = LZ_REDUCTION_MEAN, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_linear_cross_entropy_at(lz_module *parent, lz_loc at, const char *name, int64_t in,
                                                int64_t classes,
                                                const lz_linear_cross_entropy_options *options);
#define lz_linear_cross_entropy(m, x, target) lz_linear_cross_entropy_at((m), LZ_HERE, (x), (target))
LZ_API lz_tensor *lz_linear_cross_entropy_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *target);

typedef struct lz_adaptive_softmax_options {
    double div_value; /* cluster i has in / div_value^(i + 1) inner features */
    bool head_bias;
} lz_adaptive_softmax_options;

/* A softmax of many classes, the frequent ones first. cutoffs: where clusters of rarer classes begin, e.g.
 * LZ_INTS(100, 1000) of 5000. head.weight; tail.0.0.weight, tail.0.1.weight, tail.1.0.weight, ... lz_forward
 * gives the log probabilities of all classes. */
#define lz_nn_adaptive_log_softmax(parent, name, in, classes, ...)                                           \
    LZ_CALL(lz_nn_adaptive_log_softmax_at(                                                                   \
        (parent), LZ_HERE, (name), (in), (classes), LZ_LAST(__VA_ARGS__),                                    \
        &(const lz_adaptive_softmax_options){ .div_value = 4, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_adaptive_log_softmax_at(lz_module *parent, lz_loc at, const char *name, int64_t in,
                                                int64_t classes, lz_ints cutoffs,
                                                const lz_adaptive_softmax_options *options);
/* The mean of the negated log probabilities of the targets; *output (may be NULL) gets these log
 * probabilities. x [batch, in] and target [batch], or [in] and []. All rows run through all clusters, so that
 * steps with other targets are the same graph; a cluster without targets gets gradients of zeros, where
 * PyTorch leaves none. */
#define lz_adaptive_loss(m, x, target, output) lz_adaptive_loss_at((m), LZ_HERE, (x), (target), (output))
LZ_API lz_tensor *lz_adaptive_loss_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *target,
                                      lz_tensor **output);
/* The most probable class of each row. */
#define lz_adaptive_predict(m, x) lz_adaptive_predict_at((m), LZ_HERE, (x))
LZ_API lz_tensor *lz_adaptive_predict_at(lz_module *m, lz_loc at, lz_tensor *x);

#ifdef __cplusplus
}
#endif
#endif
