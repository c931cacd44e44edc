/* Losses with weights of their own. */
#include "nn/module.h"
#include <math.h>

/* ---- linear cross entropy ---- */

typedef struct linear_loss {
    int64_t in, classes;
    lz_linear_cross_entropy_options o;
    lz_module_slot *weight; /* of the classes; NULL: none */
    lz_module *linear;
} linear_loss;

static lz_err *check_linear_loss(const linear_loss *l)
{
    if (!(l->o.label_smoothing >= 0 && l->o.label_smoothing <= 1))
        return lz_errf(LZ_ERR_ARG, "expected label_smoothing to be in range [0, 1]");
    if ((unsigned)l->o.reduction > LZ_REDUCTION_SUM)
        return lz_errf(LZ_ERR_ARG, "expected an lz_loss_reduction");
    if (l->o.weight
        && (lz_tensor_is_inert(l->o.weight) || lz_tensor_ndim(l->o.weight) != 1
            || lz_tensor_numel(l->o.weight) != l->classes))
        return lz_err_because(LZ_REASON_SHAPE, "expected a weight of %lld numbers", (long long)l->classes);
    return NULL;
}

static lz_err *build_linear_loss(lz_module *m)
{
    linear_loss *l = m->data;
    int64_t rows = l->classes;
    LZ_TRY(check_linear_loss(l));
    LZ_TRY(lz_module_keep_ints(m, &l->o.out_features));
    for (int64_t i = 0; i < l->o.out_features.n; i++)
        rows *= l->o.out_features.v[i];
    if (l->o.weight)
        LZ_TRY(lz_module_slot_add(m, "weight", LZ_SLOT_BUFFER, l->o.weight, &l->weight));
    l->o.weight = NULL;
    l->linear = lz_nn_linear_at(m, m->at, "linear", l->in, rows, &(lz_linear_options){ .bias = l->o.bias });
    return lz_module_is_inert(l->linear) ? lz_errf(LZ_ERR_ARG, "linear could not be made") : NULL;
}

static lz_tensor *forward_linear_loss(lz_module *m, lz_tensor *x)
{
    (void)x;
    return lz_refuse(m->ctx, m->at,
                     lz_errf(LZ_ERR_ARG, "'%s' needs a target: call lz_linear_cross_entropy", m->path));
}

/* [batch, classes, out_features...], or [classes] */
static lz_ints logits_sizes(const linear_loss *l, const lz_tensor *x, int64_t *room)
{
    int64_t n = 0;
    if (lz_tensor_ndim(x) == 2)
        room[n++] = lz_tensor_sizes(x).v[0];
    room[n++] = l->classes;
    for (int64_t i = 0; i < l->o.out_features.n; i++)
        room[n++] = l->o.out_features.v[i];
    return (lz_ints){ room, n };
}

enum { MOST_FEATURES = 60 };

static lz_err *check_linear_call(const lz_module *m, const lz_tensor *x, const lz_tensor *target)
{
    const linear_loss *l = m->data;
    if (m->cls->forward != forward_linear_loss)
        return lz_errf(LZ_ERR_ARG, "lz_linear_cross_entropy: '%s' is not such a loss", m->path);
    if (!x || lz_tensor_is_inert(x) || !target || lz_tensor_is_inert(target))
        return lz_errf(LZ_ERR_ARG, "lz_linear_cross_entropy: input and target must not be NULL or inert");
    if (lz_tensor_ndim(x) != 1 && lz_tensor_ndim(x) != 2)
        return lz_err_because(LZ_REASON_SHAPE, "expected input with dimensionality 1 or 2, got %d",
                              (int)lz_tensor_ndim(x));
    if (l->o.out_features.n > (lz_tensor_ndim(x) == 2 ? MOST_FEATURES : 0))
        return lz_err_because(LZ_REASON_SHAPE, "out_features require batched input");
    return NULL;
}

static bool has_sizes(const lz_tensor *t, lz_ints want)
{
    lz_ints n = lz_tensor_sizes(t);
    return n.n == want.n && !memcmp(n.v, want.v, (size_t)n.n * sizeof *n.v);
}

lz_tensor *lz_linear_cross_entropy_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *target)
{
    int64_t room[MOST_FEATURES + 4];
    if (!m)
        return NULL;
    m->at = at;
    lz_err *e = check_linear_call(m, x, target);
    if (e)
        return lz_refuse(m->ctx, at, e);
    const linear_loss *l = m->data;
    lz_ints sizes = logits_sizes(l, x, room);
    if (l->o.ignore_index.has && has_sizes(target, sizes))
        return lz_refuse(
            m->ctx, at,
            lz_errf(LZ_ERR_ARG, "ignore_index cannot be specified when target contains probabilities"));
    lz_tensor *logits = lz_reshape(m->ctx, lz_forward_at(l->linear, at, x), sizes);
    return lz_cross_entropy_loss(m->ctx, logits, target, .weight = lz_module_slot_tensor(l->weight),
                                 .reduction = l->o.reduction,
                                 .ignore_index = l->o.ignore_index.has ? l->o.ignore_index.v : -100,
                                 .label_smoothing = l->o.label_smoothing);
}

lz_module *lz_nn_linear_cross_entropy_at(lz_module *parent, lz_loc at, const char *name, int64_t in,
                                         int64_t classes, const lz_linear_cross_entropy_options *options)
{
    static const lz_layer layer = { { "LinearCrossEntropyLoss", forward_linear_loss, NULL },
                                    build_linear_loss };
    linear_loss l = { .in = in, .classes = classes, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &l, sizeof l);
}

/* ---- adaptive softmax ---- */

typedef struct adaptive_softmax {
    int64_t in, classes;
    lz_ints cutoffs;
    lz_adaptive_softmax_options o;
    lz_module *head, *tail; /* tail: a sequence for each cluster */
} adaptive_softmax;

static lz_err *check_cutoffs(const adaptive_softmax *a)
{
    bool rising = a->cutoffs.n > 0;
    for (int64_t i = 0; i < a->cutoffs.n; i++)
        rising &= a->cutoffs.v[i] > (i ? a->cutoffs.v[i - 1] : 0) && a->cutoffs.v[i] < a->classes;
    return rising
               ? NULL
               : lz_errf(LZ_ERR_ARG, "cutoffs should be unique, positive integers in increasing order, each "
                                     "between 1 and n_classes-1");
}

/* Classes first to last - 1 of cluster i. */
static void cluster_range(const adaptive_softmax *a, int64_t i, int64_t *first, int64_t *last)
{
    *first = a->cutoffs.v[i];
    *last = i + 1 < a->cutoffs.n ? a->cutoffs.v[i + 1] : a->classes;
}

static lz_err *build_adaptive_softmax(lz_module *m)
{
    adaptive_softmax *a = m->data;
    const lz_linear_options plain = { .bias = false }, head = { .bias = a->o.head_bias };
    int64_t first, last;
    LZ_TRY(check_cutoffs(a));
    if (!(a->o.div_value > 0))
        return lz_errf(LZ_ERR_ARG, "div_value must be greater than 0");
    LZ_TRY(lz_module_keep_ints(m, &a->cutoffs));
    a->head = lz_nn_linear_at(m, m->at, "head", a->in, a->cutoffs.v[0] + a->cutoffs.n, &head);
    a->tail = lz_nn_module_at(m, m->at, "tail");
    for (int64_t i = 0; i < a->cutoffs.n; i++) {
        int64_t inner = (int64_t)floor((double)a->in / pow(a->o.div_value, (double)(i + 1)));
        lz_module *s = lz_nn_sequential_at(a->tail, m->at, NULL);
        cluster_range(a, i, &first, &last);
        lz_nn_linear_at(s, m->at, NULL, a->in, inner, &plain);
        if (lz_module_is_inert(lz_nn_linear_at(s, m->at, NULL, inner, last - first, &plain)))
            return lz_errf(LZ_ERR_ARG, "a linear layer of the tail could not be made");
    }
    return lz_module_is_inert(a->head) ? lz_errf(LZ_ERR_ARG, "head could not be made") : NULL;
}

/* Log probabilities of the head, or of the classes of a cluster within it. */
static lz_tensor *log_probabilities(lz_module *m, lz_module *layer, lz_tensor *x)
{
    const lz_loc at = m->at;
    return lz_log_softmax_int(m->ctx, lz_forward_at(layer, at, x), -1);
}

/* The log probability of a cluster, with a last dimension of 1. */
static lz_tensor *of_cluster(lz_module *m, lz_tensor *head, int64_t i)
{
    const lz_loc at = m->at;
    return lz_narrow(m->ctx, head, -1, ((const adaptive_softmax *)m->data)->cutoffs.v[0] + i, 1);
}

static lz_tensor *forward_adaptive_softmax(lz_module *m, lz_tensor *x)
{
    const lz_loc at = m->at;
    const adaptive_softmax *a = m->data;
    lz_tensor *head = log_probabilities(m, a->head, x);
    lz_tensor *all = lz_narrow(m->ctx, head, -1, 0, a->cutoffs.v[0]);
    for (int64_t i = 0; i < a->cutoffs.n; i++) {
        lz_tensor *own = log_probabilities(m, lz_module_child(a->tail, (size_t)i), x);
        lz_tensor *both[] = { all, lz_add_Tensor(m->ctx, own, of_cluster(m, head, i)) };
        all = lz_cat(m->ctx, ((lz_tensors){ both, 2 }), .dim = -1);
    }
    return all;
}

static lz_err *check_adaptive_call(const lz_module *m, const lz_tensor *x, const lz_tensor *target)
{
    if (m->cls->forward != forward_adaptive_softmax)
        return lz_errf(LZ_ERR_ARG, "'%s' is not an adaptive softmax", m->path);
    if (!x || lz_tensor_is_inert(x) || (target && lz_tensor_is_inert(target)))
        return lz_errf(LZ_ERR_ARG, "'%s': input and target must not be NULL or inert", m->path);
    int64_t n = lz_tensor_ndim(x);
    if (!target)
        return NULL;
    if (lz_tensor_ndim(target) > 1)
        return lz_err_because(LZ_REASON_SHAPE, "0D or 1D target tensor expected, multi-target not supported");
    if (n != lz_tensor_ndim(target) + 1)
        return lz_err_because(LZ_REASON_SHAPE, "a %dD target expects %dD input, but the input is %dD",
                              (int)lz_tensor_ndim(target), (int)lz_tensor_ndim(target) + 1, (int)n);
    if (n == 2 && lz_tensor_sizes(x).v[0] != lz_tensor_sizes(target).v[0])
        return lz_err_because(LZ_REASON_SHAPE,
                              "input and target should have the same size in the batch dimension");
    return NULL;
}

/* The log probabilities of targets within their part of the classes; 0 elsewhere. */
static lz_tensor *gathered(lz_module *m, lz_tensor *log_p, lz_tensor *target, int64_t first, int64_t last)
{
    const lz_loc at = m->at;
    lz_ctx *c = m->ctx;
    lz_tensor *own = lz_logical_and(c, lz_ge_Scalar(c, target, first), lz_lt_Scalar(c, target, last));
    lz_tensor *index =
        lz_clamp(c, lz_sub_Scalar(c, target, first), .min = LZ_S(0), .max = LZ_S(last - first - 1));
    lz_tensor *p = lz_squeeze_dim(c, lz_gather(c, log_p, -1, lz_unsqueeze(c, index, -1)), -1);
    return lz_where_self(c, own, p, lz_zeros_like(c, p));
}

/* Each target is a class of the head, or one of a cluster: then the cluster's own log probability is added.
 */
static lz_tensor *target_log_probabilities(lz_module *m, lz_tensor *x, lz_tensor *target)
{
    const lz_loc at = m->at;
    const adaptive_softmax *a = m->data;
    lz_ctx *c = m->ctx;
    int64_t first, last;
    lz_tensor *head = log_probabilities(m, a->head, x);
    lz_tensor *sum = gathered(m, lz_narrow(c, head, -1, 0, a->cutoffs.v[0]), target, 0, a->cutoffs.v[0]);
    for (int64_t i = 0; i < a->cutoffs.n; i++) {
        cluster_range(a, i, &first, &last);
        lz_tensor *own = log_probabilities(m, lz_module_child(a->tail, (size_t)i), x);
        own = lz_add_Tensor(c, own, of_cluster(m, head, i));
        sum = lz_add_Tensor(c, sum, gathered(m, own, target, first, last));
    }
    return sum;
}

/* Targets that are no classes are found when the loss is computed. */
static lz_tensor *checked(lz_module *m, lz_tensor *target)
{
    const lz_loc at = m->at;
    lz_ctx *c = m->ctx;
    int64_t classes = ((const adaptive_softmax *)m->data)->classes;
    lz_tensor *fits = lz_logical_and(c, lz_ge_Scalar(c, target, 0), lz_lt_Scalar(c, target, classes));
    return lz__functional_assert_async_msg(c, fits, "adaptive softmax: a target is not a class", target);
}

lz_tensor *lz_adaptive_loss_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *target, lz_tensor **output)
{
    if (!m)
        return NULL;
    m->at = at;
    if (output)
        *output = NULL;
    lz_err *e = target ? check_adaptive_call(m, x, target)
                       : lz_errf(LZ_ERR_ARG, "lz_adaptive_loss: the target must not be NULL");
    if (e)
        return lz_refuse(m->ctx, at, e);
    lz_tensor *log_p = target_log_probabilities(m, x, checked(m, target));
    if (output)
        *output = log_p;
    return lz_mean(m->ctx, lz_neg(m->ctx, log_p));
}

lz_tensor *lz_adaptive_predict_at(lz_module *m, lz_loc at, lz_tensor *x)
{
    if (!m)
        return NULL;
    m->at = at;
    lz_err *e = check_adaptive_call(m, x, NULL);
    return e ? lz_refuse(m->ctx, at, e)
             : lz_argmax(m->ctx, forward_adaptive_softmax(m, x), .dim = LZ_SOME(-1));
}

lz_module *lz_nn_adaptive_log_softmax_at(lz_module *parent, lz_loc at, const char *name, int64_t in,
                                         int64_t classes, lz_ints cutoffs,
                                         const lz_adaptive_softmax_options *options)
{
    static const lz_layer layer = { { "AdaptiveLogSoftmaxWithLoss", forward_adaptive_softmax, NULL },
                                    build_adaptive_softmax };
    adaptive_softmax a = { .in = in, .classes = classes, .cutoffs = cutoffs, .o = *options };
    return lz_layer_make(parent, at, name, &layer, &a, sizeof a);
}
