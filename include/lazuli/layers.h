/* layers.h - layers without sub-layers: activations, pooling, padding, changes of shape and size.
 *
 *     lz_nn_elu(net, NULL, .alpha = 0.5);
 *     lz_nn_max_pool3d(net, NULL, 2, .padding = 1);
 *     lz_nn_reflection_pad2d(net, NULL, LZ_INTS(1));
 *     lz_nn_upsample(net, NULL, .scale = 2, .mode = "bilinear");
 *
 * Part of nn.h. Options have PyTorch's names and defaults; options that a layer does not have are refused
 * when the layer is made. */
#ifndef LAZULI_LAYERS_H
#define LAZULI_LAYERS_H

#include <lazuli/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations ---- */

/* Any operator of one tensor: lz_nn_op(m, NULL, lz_relu_at), lz_relu6_at, lz_tanh_at, lz_sigmoid_at,
 * lz_log_sigmoid_at, lz_silu_at, lz_mish_at, lz_selu_at, lz_hardsigmoid_at, lz_hardswish_at, ... */
#define lz_nn_op(parent, name, op) lz_nn_op_at((parent), LZ_HERE, (name), (op))
LZ_API lz_module *lz_nn_op_at(lz_module *parent, lz_loc at, const char *name, lz_unary_op *op);

/* Returns its input. */
#define lz_nn_identity(parent, name) lz_nn_identity_at((parent), LZ_HERE, (name))
LZ_API lz_module *lz_nn_identity_at(lz_module *parent, lz_loc at, const char *name);

typedef enum lz_activation_kind {
    LZ_ACTIVATION_ELU,
    LZ_ACTIVATION_CELU,
    LZ_ACTIVATION_LEAKY_RELU,
    LZ_ACTIVATION_HARDTANH,
    LZ_ACTIVATION_HARDSHRINK,
    LZ_ACTIVATION_SOFTSHRINK,
    LZ_ACTIVATION_SOFTPLUS,
    LZ_ACTIVATION_THRESHOLD,
    LZ_ACTIVATION_GLU,
    LZ_ACTIVATION_SOFTMAX,
    LZ_ACTIVATION_SOFTMIN,
    LZ_ACTIVATION_LOG_SOFTMAX,
    LZ_ACTIVATION_SOFTMAX2D,
    LZ_ACTIVATION_SOFTSIGN,
    LZ_ACTIVATION_TANHSHRINK,
    LZ_ACTIVATIONS
} lz_activation_kind;

/* The options of all kinds. An option that a kind does not use must stay 0. */
typedef struct lz_activation_options {
    double alpha;            /* ELU, CELU */
    double negative_slope;   /* leaky ReLU */
    double min_val, max_val; /* hardtanh */
    double lambd;            /* hardshrink, softshrink */
    double beta;             /* softplus */
    double threshold;        /* softplus, threshold */
    double value;            /* threshold */
    int64_t dim;             /* GLU, softmax, softmin, log softmax */
} lz_activation_options;

#define lz_nn_elu(parent, ...)  LZ_NN_ACTIVATION_(LZ_ACTIVATION_ELU, .alpha = 1, parent, __VA_ARGS__)
#define lz_nn_celu(parent, ...) LZ_NN_ACTIVATION_(LZ_ACTIVATION_CELU, .alpha = 1, parent, __VA_ARGS__)
#define lz_nn_leaky_relu(parent, ...)                                                                        \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_LEAKY_RELU, .negative_slope = 0.01, parent, __VA_ARGS__)
#define LZ_HARDTANH_DEFAULTS_ .min_val = -1, .max_val = 1
#define lz_nn_hardtanh(parent, ...)                                                                          \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_HARDTANH, LZ_HARDTANH_DEFAULTS_, parent, __VA_ARGS__)
#define lz_nn_hardshrink(parent, ...)                                                                        \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_HARDSHRINK, .lambd = 0.5, parent, __VA_ARGS__)
#define lz_nn_softshrink(parent, ...)                                                                        \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTSHRINK, .lambd = 0.5, parent, __VA_ARGS__)
#define LZ_SOFTPLUS_DEFAULTS_ .beta = 1, .threshold = 20
#define lz_nn_softplus(parent, ...)                                                                          \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTPLUS, LZ_SOFTPLUS_DEFAULTS_, parent, __VA_ARGS__)
#define lz_nn_glu(parent, ...)      LZ_NN_ACTIVATION_(LZ_ACTIVATION_GLU, .dim = -1, parent, __VA_ARGS__)
#define lz_nn_softsign(parent, ...) LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTSIGN, .dim = 0, parent, __VA_ARGS__)
#define lz_nn_tanhshrink(parent, ...)                                                                        \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_TANHSHRINK, .dim = 0, parent, __VA_ARGS__)
/* Softmax of the channels of [batch, channels, height, width], or without the batch. */
#define lz_nn_softmax2d(parent, ...) LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTMAX2D, .dim = 0, parent, __VA_ARGS__)
#define LZ_NN_ACTIVATION_(kind, defaults, parent, ...)                                                       \
    LZ_CALL(lz_nn_activation_at((parent), LZ_HERE, LZ_LAST(__VA_ARGS__), (kind),                             \
                                &(const lz_activation_options){ defaults, LZ_KEYWORDS(__VA_ARGS__) }))
/* These have no default: lz_nn_softmax(m, NULL, -1); lz_nn_threshold(m, NULL, 0.1, 20) */
#define lz_nn_softmax(parent, name, d) LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTMAX, .dim = (d), parent, name)
#define lz_nn_softmin(parent, name, d) LZ_NN_ACTIVATION_(LZ_ACTIVATION_SOFTMIN, .dim = (d), parent, name)
#define lz_nn_log_softmax(parent, name, d)                                                                   \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_LOG_SOFTMAX, .dim = (d), parent, name)
#define LZ_THRESHOLD_DEFAULTS_(t, v) .threshold = (t), .value = (v)
#define lz_nn_threshold(parent, name, t, v)                                                                  \
    LZ_NN_ACTIVATION_(LZ_ACTIVATION_THRESHOLD, LZ_THRESHOLD_DEFAULTS_(t, v), parent, name)
LZ_API lz_module *lz_nn_activation_at(lz_module *parent, lz_loc at, const char *name, lz_activation_kind kind,
                                      const lz_activation_options *options);

typedef struct lz_gelu_options {
    const char *approximate; /* "none", "tanh" */
} lz_gelu_options;

#define lz_nn_gelu(parent, ...)                                                                              \
    LZ_CALL(lz_nn_gelu_at((parent), LZ_HERE, LZ_LAST(__VA_ARGS__),                                           \
                          &(const lz_gelu_options){ .approximate = "none", LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_gelu_at(lz_module *parent, lz_loc at, const char *name,
                                const lz_gelu_options *options);

typedef struct lz_prelu_options {
    int64_t num_parameters; /* 1, or one for each channel */
    double init;
} lz_prelu_options;

/* weight [num_parameters]: the slopes below 0 */
#define lz_nn_prelu(parent, ...)                                                                             \
    LZ_CALL(lz_nn_prelu_at(                                                                                  \
        (parent), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                             \
        &(const lz_prelu_options){ .num_parameters = 1, .init = 0.25, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_prelu_at(lz_module *parent, lz_loc at, const char *name,
                                 const lz_prelu_options *options);

typedef struct lz_rrelu_options {
    double lower, upper; /* slopes below 0 are drawn between them while training, and are their mean else */
} lz_rrelu_options;

#define lz_nn_rrelu(parent, ...)                                                                             \
    LZ_CALL(lz_nn_rrelu_at(                                                                                  \
        (parent), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                             \
        &(const lz_rrelu_options){ .lower = 1.0 / 8, .upper = 1.0 / 3, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_rrelu_at(lz_module *parent, lz_loc at, const char *name,
                                 const lz_rrelu_options *options);

/* ---- pooling ---- */

typedef struct lz_pool_options {
    int64_t stride, padding, dilation; /* stride 0: the kernel's size; dilation: maximum pooling only */
    lz_ints kernels, strides, paddings, dilations;
    bool ceil_mode, count_include_pad; /* count_include_pad: average pooling only */
    lz_opt_int divisor_override; /* average pooling in 2D and 3D: divides by this, not by the element count */
    double norm_type;            /* power-average pooling only */
} lz_pool_options;

typedef enum lz_pool_kind { LZ_POOL_MAX, LZ_POOL_AVG, LZ_POOL_POWER } lz_pool_kind;

#define lz_nn_max_pool1d(parent, name, ...) LZ_NN_POOL(LZ_POOL_MAX, 1, 0, parent, name, __VA_ARGS__)
#define lz_nn_max_pool2d(parent, name, ...) LZ_NN_POOL(LZ_POOL_MAX, 2, 0, parent, name, __VA_ARGS__)
#define lz_nn_max_pool3d(parent, name, ...) LZ_NN_POOL(LZ_POOL_MAX, 3, 0, parent, name, __VA_ARGS__)
#define lz_nn_avg_pool1d(parent, name, ...) LZ_NN_POOL(LZ_POOL_AVG, 1, 0, parent, name, __VA_ARGS__)
#define lz_nn_avg_pool2d(parent, name, ...) LZ_NN_POOL(LZ_POOL_AVG, 2, 0, parent, name, __VA_ARGS__)
#define lz_nn_avg_pool3d(parent, name, ...) LZ_NN_POOL(LZ_POOL_AVG, 3, 0, parent, name, __VA_ARGS__)
/* The root of the sum of powers, lz_nn_lp_pool2d(m, NULL, 2, 3): norm type 2, kernel 3. No padding. */
#define lz_nn_lp_pool1d(parent, name, norm, ...) LZ_NN_POOL(LZ_POOL_POWER, 1, norm, parent, name, __VA_ARGS__)
#define lz_nn_lp_pool2d(parent, name, norm, ...) LZ_NN_POOL(LZ_POOL_POWER, 2, norm, parent, name, __VA_ARGS__)
#define lz_nn_lp_pool3d(parent, name, norm, ...) LZ_NN_POOL(LZ_POOL_POWER, 3, norm, parent, name, __VA_ARGS__)
#define LZ_NN_POOL(pool, ndim, norm, parent, name, ...)                                                      \
    LZ_CALL(lz_nn_pool_at(                                                                                   \
        (parent), LZ_HERE, (name), (pool), (ndim), LZ_LAST(__VA_ARGS__),                                     \
        &(const lz_pool_options){                                                                            \
            .dilation = 1, .count_include_pad = true, .norm_type = (norm), LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind pool,
                                int64_t ndim, int64_t kernel, const lz_pool_options *options);

/* Pools to the output sizes of one to three dimensions, -1 for the input's:
 * lz_nn_adaptive_pool(m, NULL, LZ_POOL_AVG, LZ_INTS(1, 1)). Maxima and averages only. */
#define lz_nn_adaptive_pool(parent, name, pool, sizes)                                                       \
    lz_nn_adaptive_pool_at((parent), LZ_HERE, (name), (pool), (sizes))
LZ_API lz_module *lz_nn_adaptive_pool_at(lz_module *parent, lz_loc at, const char *name, lz_pool_kind pool,
                                         lz_ints sizes);

typedef struct lz_fractional_pool_options {
    lz_ints kernels;
    lz_ints sizes;    /* of the output; either these or ratios */
    double ratio;     /* of output to input, between 0 and 1 */
    lz_floats ratios; /* one for each dimension */
    lz_tensor
        *random; /* [batch, channels, 2 or 3], between 0 and 1, for all calls; NULL: drawn by each call */
} lz_fractional_pool_options;

/* Maxima of windows at random places: lz_nn_fractional_max_pool2d(m, NULL, 3, .ratio = 0.5) */
#define lz_nn_fractional_max_pool2d(parent, name, ...) LZ_NN_FRACTIONAL_(2, parent, name, __VA_ARGS__)
#define lz_nn_fractional_max_pool3d(parent, name, ...) LZ_NN_FRACTIONAL_(3, parent, name, __VA_ARGS__)
#define LZ_NN_FRACTIONAL_(ndim, parent, name, ...)                                                           \
    LZ_CALL(lz_nn_fractional_max_pool_at(                                                                    \
        (parent), LZ_HERE, (name), (ndim), LZ_LAST(__VA_ARGS__),                                             \
        &(const lz_fractional_pool_options){ .random = NULL, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_fractional_max_pool_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                               int64_t kernel, const lz_fractional_pool_options *options);

/* Applies a maximum pooling (plain, adaptive, fractional). *indices gets the places of the maxima, a tensor
 * of the scope: PyTorch's return_indices=True. */
#define lz_pool_with_indices(m, x, indices) lz_pool_with_indices_at((m), LZ_HERE, (x), (indices))
LZ_API lz_tensor *lz_pool_with_indices_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor **indices);

typedef struct lz_unpool_options {
    int64_t stride, padding; /* stride 0: the kernel's size */
    lz_ints kernels, strides, paddings;
} lz_unpool_options;

#define lz_nn_max_unpool1d(parent, name, ...) LZ_NN_UNPOOL_(1, parent, name, __VA_ARGS__)
#define lz_nn_max_unpool2d(parent, name, ...) LZ_NN_UNPOOL_(2, parent, name, __VA_ARGS__)
#define lz_nn_max_unpool3d(parent, name, ...) LZ_NN_UNPOOL_(3, parent, name, __VA_ARGS__)
#define LZ_NN_UNPOOL_(ndim, parent, name, ...)                                                               \
    LZ_CALL(lz_nn_max_unpool_at((parent), LZ_HERE, (name), (ndim), LZ_LAST(__VA_ARGS__),                     \
                                &(const lz_unpool_options){ .stride = 0, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_max_unpool_at(lz_module *parent, lz_loc at, const char *name, int64_t ndim,
                                      int64_t kernel, const lz_unpool_options *options);

/* Puts maxima back to their places, zeros elsewhere. sizes: of the result's spatial dimensions, or of all;
 * none, (lz_ints){ 0 }: the smallest input that pools to x. */
#define lz_unpool(m, x, indices, sizes) lz_unpool_at((m), LZ_HERE, (x), (indices), (sizes))
LZ_API lz_tensor *lz_unpool_at(lz_module *m, lz_loc at, lz_tensor *x, lz_tensor *indices, lz_ints sizes);

/* ---- padding ---- */

typedef enum lz_pad_kind { LZ_PAD_CONSTANT, LZ_PAD_REFLECT, LZ_PAD_REPLICATE, LZ_PAD_CIRCULAR } lz_pad_kind;

/* sizes: one number for all sides, or two for each dimension, before and after, the last dimension first:
 * lz_nn_zero_pad2d(m, NULL, LZ_INTS(left, right, top, bottom)) */
#define lz_nn_constant_pad1d(parent, name, sizes, v) LZ_NN_PAD_(LZ_PAD_CONSTANT, 1, parent, name, sizes, v)
#define lz_nn_constant_pad2d(parent, name, sizes, v) LZ_NN_PAD_(LZ_PAD_CONSTANT, 2, parent, name, sizes, v)
#define lz_nn_constant_pad3d(parent, name, sizes, v) LZ_NN_PAD_(LZ_PAD_CONSTANT, 3, parent, name, sizes, v)
#define lz_nn_zero_pad1d(parent, name, sizes)        LZ_NN_PAD_(LZ_PAD_CONSTANT, 1, parent, name, sizes, 0)
#define lz_nn_zero_pad2d(parent, name, sizes)        LZ_NN_PAD_(LZ_PAD_CONSTANT, 2, parent, name, sizes, 0)
#define lz_nn_zero_pad3d(parent, name, sizes)        LZ_NN_PAD_(LZ_PAD_CONSTANT, 3, parent, name, sizes, 0)
#define lz_nn_reflection_pad1d(parent, name, sizes)  LZ_NN_PAD_(LZ_PAD_REFLECT, 1, parent, name, sizes, 0)
#define lz_nn_reflection_pad2d(parent, name, sizes)  LZ_NN_PAD_(LZ_PAD_REFLECT, 2, parent, name, sizes, 0)
#define lz_nn_reflection_pad3d(parent, name, sizes)  LZ_NN_PAD_(LZ_PAD_REFLECT, 3, parent, name, sizes, 0)
#define lz_nn_replication_pad1d(parent, name, sizes) LZ_NN_PAD_(LZ_PAD_REPLICATE, 1, parent, name, sizes, 0)
#define lz_nn_replication_pad2d(parent, name, sizes) LZ_NN_PAD_(LZ_PAD_REPLICATE, 2, parent, name, sizes, 0)
#define lz_nn_replication_pad3d(parent, name, sizes) LZ_NN_PAD_(LZ_PAD_REPLICATE, 3, parent, name, sizes, 0)
#define lz_nn_circular_pad1d(parent, name, sizes)    LZ_NN_PAD_(LZ_PAD_CIRCULAR, 1, parent, name, sizes, 0)
#define lz_nn_circular_pad2d(parent, name, sizes)    LZ_NN_PAD_(LZ_PAD_CIRCULAR, 2, parent, name, sizes, 0)
#define lz_nn_circular_pad3d(parent, name, sizes)    LZ_NN_PAD_(LZ_PAD_CIRCULAR, 3, parent, name, sizes, 0)
#define LZ_NN_PAD_(kind, ndim, parent, name, sizes, v)                                                       \
    lz_nn_pad_at((parent), LZ_HERE, (name), (kind), (ndim), (sizes), (v))
LZ_API lz_module *lz_nn_pad_at(lz_module *parent, lz_loc at, const char *name, lz_pad_kind kind, int64_t ndim,
                               lz_ints sizes, double value);

/* ---- sizes and shapes ---- */

typedef struct lz_flatten_options {
    int64_t start_dim, end_dim; /* inclusive */
} lz_flatten_options;

#define lz_nn_flatten(parent, ...)                                                                           \
    LZ_CALL(lz_nn_flatten_at(                                                                                \
        (parent), LZ_HERE, LZ_LAST(__VA_ARGS__),                                                             \
        &(const lz_flatten_options){ .start_dim = 1, .end_dim = -1, LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_flatten_at(lz_module *parent, lz_loc at, const char *name,
                                   const lz_flatten_options *options);

/* Replaces dimension dim by several: lz_nn_unflatten(m, NULL, 1, LZ_INTS(2, -1)) */
#define lz_nn_unflatten(parent, name, dim, sizes)                                                            \
    lz_nn_unflatten_at((parent), LZ_HERE, (name), (dim), (sizes))
LZ_API lz_module *lz_nn_unflatten_at(lz_module *parent, lz_loc at, const char *name, int64_t dim,
                                     lz_ints sizes);

/* [.., channels * r * r, h, w] to [.., channels, h * r, w * r], and back; groups of channels are interleaved.
 */
typedef enum lz_shuffle_kind { LZ_PIXEL_SHUFFLE, LZ_PIXEL_UNSHUFFLE, LZ_CHANNEL_SHUFFLE } lz_shuffle_kind;
#define lz_nn_pixel_shuffle(parent, name, factor)                                                            \
    lz_nn_shuffle_at((parent), LZ_HERE, (name), LZ_PIXEL_SHUFFLE, (factor))
#define lz_nn_pixel_unshuffle(parent, name, factor)                                                          \
    lz_nn_shuffle_at((parent), LZ_HERE, (name), LZ_PIXEL_UNSHUFFLE, (factor))
#define lz_nn_channel_shuffle(parent, name, groups)                                                          \
    lz_nn_shuffle_at((parent), LZ_HERE, (name), LZ_CHANNEL_SHUFFLE, (groups))
LZ_API lz_module *lz_nn_shuffle_at(lz_module *parent, lz_loc at, const char *name, lz_shuffle_kind kind,
                                   int64_t count);

typedef struct lz_upsample_options {
    lz_ints sizes;    /* of the spatial dimensions, or one for all; either these or scales */
    double scale;     /* for all dimensions */
    lz_floats scales; /* one for each */
    const char *mode; /* "nearest", "nearest-exact", "area", "linear", "bilinear", "bicubic", "trilinear" */
    lz_opt_bool align_corners;   /* the last four only */
    bool recompute_scale_factor; /* the scale is that of the rounded sizes */
} lz_upsample_options;

/* x has one to three spatial dimensions: linear 1, bilinear and bicubic 2, trilinear 3. */
#define lz_nn_upsample(parent, ...)                                                                          \
    LZ_CALL(lz_nn_upsample_at((parent), LZ_HERE, LZ_LAST(__VA_ARGS__),                                       \
                              &(const lz_upsample_options){ .mode = "nearest", LZ_KEYWORDS(__VA_ARGS__) }))
LZ_API lz_module *lz_nn_upsample_at(lz_module *parent, lz_loc at, const char *name,
                                    const lz_upsample_options *options);

/* One number for both dimensions, or, in the plural, one for each. */
typedef struct lz_fold_options {
    int64_t dilation, padding, stride;
    lz_ints kernels, dilations, paddings, strides;
} lz_fold_options;

/* Windows of [batch, channels, height, width] as columns, [batch, channels * kernel, windows]; and their sum:
 * lz_nn_fold(m, NULL, LZ_INTS(8, 8), 3, .padding = 1) */
#define lz_nn_unfold(parent, name, ...)      LZ_NN_FOLD_(parent, name, ((lz_ints){ NULL, 0 }), __VA_ARGS__)
#define lz_nn_fold(parent, name, sizes, ...) LZ_NN_FOLD_(parent, name, sizes, __VA_ARGS__)
#define LZ_NN_FOLD_(parent, name, sizes, ...)                                                                \
    LZ_CALL(lz_nn_fold_at((parent), LZ_HERE, (name), (sizes), LZ_LAST(__VA_ARGS__),                          \
                          &(const lz_fold_options){ .dilation = 1, .stride = 1, LZ_KEYWORDS(__VA_ARGS__) }))
/* sizes: of the result of folding, one or two; none: unfolds */
LZ_API lz_module *lz_nn_fold_at(lz_module *parent, lz_loc at, const char *name, lz_ints sizes, int64_t kernel,
                                const lz_fold_options *options);

#ifdef __cplusplus
}
#endif
#endif
