/* The layers of layers.h and transformer.h, cells, bags and losses.h against what PyTorch's gave. */
#include "check.h"
#include "layer_facts.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- activations ---- */

LAYER(elu, lz_nn_elu(m, "l"))
LAYER(elu_half, lz_nn_elu(m, "l", .alpha = 0.5))
LAYER(celu, lz_nn_celu(m, "l", .alpha = 1.5))
LAYER(leaky_relu, lz_nn_leaky_relu(m, "l"))
LAYER(leaky_relu_all, lz_nn_leaky_relu(m, "l", .negative_slope = 0.3))
LAYER(hardtanh, lz_nn_hardtanh(m, "l"))
LAYER(hardtanh_all, lz_nn_hardtanh(m, "l", .min_val = -0.3, .max_val = 1.2))
LAYER(hardshrink, lz_nn_hardshrink(m, "l"))
LAYER(softshrink, lz_nn_softshrink(m, "l", .lambd = 0.7))
LAYER(softplus, lz_nn_softplus(m, "l"))
LAYER(softplus_all, lz_nn_softplus(m, "l", .beta = 2, .threshold = 1.5))
LAYER(threshold, lz_nn_threshold(m, "l", 0.1, 20))
LAYER(glu, lz_nn_glu(m, "l"))
LAYER(glu_one, lz_nn_glu(m, "l", .dim = 1))
LAYER(softmax, lz_nn_softmax(m, "l", 1))
LAYER(softmin, lz_nn_softmin(m, "l", -1))
LAYER(log_softmax, lz_nn_log_softmax(m, "l", 2))
LAYER(softmax2d, lz_nn_softmax2d(m, "l"))
LAYER(softsign, lz_nn_softsign(m, "l"))
LAYER(tanhshrink, lz_nn_tanhshrink(m, "l"))
LAYER(relu6, lz_nn_op(m, "l", lz_relu6_at))
LAYER(log_sigmoid, lz_nn_op(m, "l", lz_log_sigmoid_at))
LAYER(mish, lz_nn_op(m, "l", lz_mish_at))
LAYER(selu, lz_nn_op(m, "l", lz_selu_at))
LAYER(hardswish, lz_nn_op(m, "l", lz_hardswish_at))
LAYER(hardsigmoid, lz_nn_op(m, "l", lz_hardsigmoid_at))
LAYER(silu, lz_nn_op(m, "l", lz_silu_at))
LAYER(identity, lz_nn_identity(m, "l"))
LAYER(prelu, lz_nn_prelu(m, "l"))
LAYER(prelu_each, lz_nn_prelu(m, "l", .num_parameters = 4, .init = 0.1))

/* ---- normalisation ---- */

LAYER(batch_norm3d, lz_nn_batch_norm3d(m, "l", 2, .eps = 1e-3, .momentum = 0.2))
LAYER(instance_norm1d, lz_nn_instance_norm1d(m, "l", 3))
LAYER(instance_norm1d_single, lz_nn_instance_norm1d(m, "l", 3, .affine = true))
LAYER(instance_norm2d, lz_nn_instance_norm2d(m, "l", 2, .eps = 1e-2, .momentum = 0.3, .affine = true,
                                             .track_running_stats = true))
LAYER(instance_norm3d, lz_nn_instance_norm3d(m, "l", 2, .affine = true, .bias = false))
LAYER(instance_norm3d_stats, lz_nn_instance_norm3d(m, "l", 2, .track_running_stats = true))
LAYER(response_norm, lz_nn_local_response_norm(m, "l", 2))
LAYER(response_norm_all, lz_nn_local_response_norm(m, "l", 3, .alpha = 0.2, .beta = 1.5, .k = 2))

/* ---- pooling ---- */

LAYER(max_pool3d, lz_nn_max_pool3d(m, "l", 2, .padding = 1))
LAYER(max_pool3d_all,
      lz_nn_max_pool3d(m, "l", 0, .kernels = LZ_INTS(2, 1, 3), .strides = LZ_INTS(2, 1, 2),
                       .paddings = LZ_INTS(1, 0, 1), .dilations = LZ_INTS(1, 2, 1), .ceil_mode = true))
LAYER(avg_pool3d, lz_nn_avg_pool3d(m, "l", 2))
LAYER(avg_pool3d_all, lz_nn_avg_pool3d(m, "l", 0, .kernels = LZ_INTS(3, 2, 2), .strides = LZ_INTS(2, 1, 2),
                                       .paddings = LZ_INTS(1, 0, 1), .ceil_mode = true,
                                       .count_include_pad = false, .divisor_override = LZ_SOME(5)))
LAYER(adaptive_avg3d, lz_nn_adaptive_pool(m, "l", LZ_POOL_AVG, LZ_INTS(2, 3, -1)))
LAYER(adaptive_max1d, lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(3)))
LAYER(adaptive_max3d, lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(2, -1, 1)))
LAYER(lp_pool1d, lz_nn_lp_pool1d(m, "l", 2, 3))
LAYER(lp_pool2d,
      lz_nn_lp_pool2d(m, "l", 3, 0, .kernels = LZ_INTS(2, 3), .strides = LZ_INTS(2, 1), .ceil_mode = true))
LAYER(lp_pool2d_infinite, lz_nn_lp_pool2d(m, "l", INFINITY, 2))
LAYER(lp_pool3d, lz_nn_lp_pool3d(m, "l", 1.5, 2, .stride = 1))

/* The random numbers are a buffer of the layer, named as PyTorch names it. */
LAYER(fractional2d,
      lz_nn_fractional_max_pool2d(m, "l", 0, .kernels = LZ_INTS(2, 3), .sizes = LZ_INTS(3, 2),
                                  .random = lz_zeros(lz_module_ctx(m), LZ_DIMS(2, 2, 2), .dtype = LZ_F64)))
LAYER(fractional3d,
      lz_nn_fractional_max_pool3d(m, "l", 2, .sizes = LZ_INTS(2, 3, 2),
                                  .random = lz_zeros(lz_module_ctx(m), LZ_DIMS(2, 2, 3), .dtype = LZ_F64)))
LAYER(fractional2d_ratio,
      lz_nn_fractional_max_pool2d(m, "l", 2, .ratios = LZ_FLOATS(0.5, 0.7),
                                  .random = lz_zeros(lz_module_ctx(m), LZ_DIMS(1, 2, 2), .dtype = LZ_F64)))

LAYER(nothing, lz_nn_module(m, "l"))
LAYER(adaptive_indices, lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(2, 3)))

static lz_module *pools(lz_module *m)
{
    lz_module *l = lz_nn_module(m, "l");
    lz_nn_max_pool1d(l, "p1", 3, .stride = 2, .padding = 1);
    lz_nn_max_pool2d(l, "p2", 3, .stride = 2, .padding = 1);
    lz_nn_max_pool3d(l, "p3", 3, .stride = 2, .padding = 1);
    lz_nn_max_unpool1d(l, "u1", 3, .stride = 2, .padding = 1);
    lz_nn_max_unpool2d(l, "u2", 3, .stride = 2, .padding = 1);
    lz_nn_max_unpool3d(l, "u3", 3, .stride = 2, .padding = 1);
    return l;
}

static lz_tensor *unpooled(const layer_facts *f, lz_module *m, lz_tensor *x, const char *pool,
                           const char *back)
{
    lz_tensor *indices = NULL;
    layer_facts checks = *f;
    lz_tensor *y = lz_pool_with_indices(lz_module_find(m, pool), x, &indices);
    expect_close(&checks, indices, find_fact(f, "i", ""), "indices", "");
    return lz_unpool(lz_module_find(m, back), y, indices, lz_tensor_sizes(x));
}

/* Without sizes: what the pooling had at least. */
static lz_tensor *unpooled_plain(const layer_facts *f, lz_module *m, lz_tensor *x, int dims)
{
    lz_tensor *indices = NULL;
    layer_facts checks = *f;
    lz_module *p = dims == 1   ? lz_nn_max_pool1d(m, "p", 2)
                   : dims == 2 ? lz_nn_max_pool2d(m, "p", 2)
                               : lz_nn_max_pool3d(m, "p", 2);
    lz_module *u = dims == 1   ? lz_nn_max_unpool1d(m, "u", 2)
                   : dims == 2 ? lz_nn_max_unpool2d(m, "u", 2)
                               : lz_nn_max_unpool3d(m, "u", 2);
    lz_tensor *y = lz_pool_with_indices(p, x, &indices);
    y = lz_unpool(u, y, indices, ((lz_ints){ NULL, 0 }));
    expect_close(&checks, y, find_fact(f, "plain", ""), "without sizes", "");
    return y;
}

CALL(unpool1d, (unpooled_plain(f, m, x[0], 1), unpooled(f, m, x[0], "p1", "u1")))
CALL(unpool2d, (unpooled_plain(f, m, x[0], 2), unpooled(f, m, x[0], "p2", "u2")))
CALL(unpool3d, (unpooled_plain(f, m, x[0], 3), unpooled(f, m, x[0], "p3", "u3")))

static lz_tensor *call_indices(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *indices = NULL;
    layer_facts checks = *f;
    lz_tensor *y = lz_pool_with_indices(m, x[0], &indices);
    expect_close(&checks, indices, find_fact(f, "i", ""), "indices", "");
    return y;
}

/* ---- shapes ---- */

#define PADS(d, ...)                                                                                         \
    LAYER(reflection_pad##d, lz_nn_reflection_pad##d(m, "l", LZ_INTS(__VA_ARGS__)))                          \
    LAYER(replication_pad##d, lz_nn_replication_pad##d(m, "l", LZ_INTS(__VA_ARGS__)))                        \
    LAYER(circular_pad##d, lz_nn_circular_pad##d(m, "l", LZ_INTS(__VA_ARGS__)))                              \
    LAYER(zero_pad##d, lz_nn_zero_pad##d(m, "l", LZ_INTS(__VA_ARGS__)))                                      \
    LAYER(constant_pad##d, lz_nn_constant_pad##d(m, "l", LZ_INTS(1), 3.5))
PADS(1d, 1, 2)
PADS(2d, 1, 2, 0, 1)
PADS(3d, 1, 2, 0, 1, 2, 1)
LAYER(cut_pad1d, lz_nn_constant_pad1d(m, "l", LZ_INTS(-1, 1), 0.5))
LAYER(cut_pad2d, lz_nn_constant_pad2d(m, "l", LZ_INTS(-1, 1, -1, 1), 0.5))
LAYER(cut_pad3d, lz_nn_constant_pad3d(m, "l", LZ_INTS(-1, 1, -1, 1, -1, 1), 0.5))
LAYER(unflatten, lz_nn_unflatten(m, "l", 1, LZ_INTS(2, -1)))
LAYER(pixel_shuffle, lz_nn_pixel_shuffle(m, "l", 2))
LAYER(pixel_unshuffle, lz_nn_pixel_unshuffle(m, "l", 3))
LAYER(channel_shuffle, lz_nn_channel_shuffle(m, "l", 2))
LAYER(unfold, lz_nn_unfold(m, "l", 0, .kernels = LZ_INTS(2, 3), .dilations = LZ_INTS(1, 2), .padding = 1,
                           .strides = LZ_INTS(2, 1)))
LAYER(fold, lz_nn_fold(m, "l", LZ_INTS(4, 5), 2, .padding = 1, .stride = 2))

/* The layer does not depend on the number of dimensions. */
LAYER(nearest_scale, lz_nn_upsample(m, "l", .scale = 1.7))
LAYER(nearest_size, lz_nn_upsample(m, "l", .sizes = LZ_INTS(5)))
LAYER(nearest_exact_scale, lz_nn_upsample(m, "l", .scale = 1.7, .mode = "nearest-exact"))
LAYER(nearest_exact_size, lz_nn_upsample(m, "l", .sizes = LZ_INTS(5), .mode = "nearest-exact"))
LAYER(area_scale, lz_nn_upsample(m, "l", .scale = 1.7, .mode = "area"))
LAYER(area_size, lz_nn_upsample(m, "l", .sizes = LZ_INTS(5), .mode = "area"))
LAYER(linear_scale, lz_nn_upsample(m, "l", .scales = LZ_FLOATS(1.6), .mode = "linear"))
LAYER(linear_align,
      lz_nn_upsample(m, "l", .sizes = LZ_INTS(5), .mode = "linear", .align_corners = LZ_SOME(true)))
LAYER(linear_recompute, lz_nn_upsample(m, "l", .scale = 1.6, .mode = "linear",
                                       .align_corners = LZ_SOME(false), .recompute_scale_factor = true))
#define RESIZED(mode_)                                                                                       \
    LAYER(mode_##_scale, lz_nn_upsample(m, "l", .scales = LZ_FLOATS(1.6, 2), .mode = #mode_))                \
    LAYER(mode_##_align,                                                                                     \
          lz_nn_upsample(m, "l", .sizes = LZ_INTS(5, 6), .mode = #mode_, .align_corners = LZ_SOME(true)))    \
    LAYER(mode_##_recompute,                                                                                 \
          lz_nn_upsample(m, "l", .scale = 1.6, .mode = #mode_, .recompute_scale_factor = true))
RESIZED(bilinear)
RESIZED(bicubic)
LAYER(trilinear_scale, lz_nn_upsample(m, "l", .scales = LZ_FLOATS(1.6, 2, 1.3), .mode = "trilinear"))
LAYER(trilinear_align,
      lz_nn_upsample(m, "l", .sizes = LZ_INTS(5, 6, 4), .mode = "trilinear", .align_corners = LZ_SOME(true)))
LAYER(trilinear_recompute,
      lz_nn_upsample(m, "l", .scale = 1.6, .mode = "trilinear", .recompute_scale_factor = true))

/* ---- two inputs, bags, cells ---- */

LAYER(bilinear_layer, lz_nn_bilinear(m, "l", 3, 4, 2))
LAYER(bilinear_layer_plain, lz_nn_bilinear(m, "l", 3, 2, 4, .bias = false))
CALL(bilinear, lz_run_bilinear(m, x[0], x[1]))
LAYER(bag_mean, lz_nn_embedding_bag(m, "l", 7, 3))
LAYER(bag_sum, lz_nn_embedding_bag(m, "l", 7, 3, .mode = "sum", .padding_idx = LZ_SOME(2)))
LAYER(bag_max, lz_nn_embedding_bag(m, "l", 7, 3, .mode = "max"))
LAYER(bag_last, lz_nn_embedding_bag(m, "l", 7, 3, .include_last_offset = true, .padding_idx = LZ_SOME(-1)))
LAYER(bag_freq, lz_nn_embedding_bag(m, "l", 7, 3, .mode = "sum", .scale_grad_by_freq = true))
LAYER(bag_weights, lz_nn_embedding_bag(m, "l", 7, 3, .mode = "sum"))
LAYER(bag_norm, lz_nn_embedding_bag(m, "l", 7, 3, .max_norm = { true, 1.1 }, .norm_type = 1))
CALL(bag, lz_run_bag(m, x[0], .offsets = x[1], .per_sample_weights = x[2]))
LAYER(rnn_cell, lz_nn_rnn_cell(m, "l", 3, 4))
LAYER(rnn_cell_relu, lz_nn_cell(m, "l", LZ_RNN_RELU, 3, 4))
LAYER(gru_cell, lz_nn_gru_cell(m, "l", 3, 4))
LAYER(gru_cell_plain, lz_nn_gru_cell(m, "l", 3, 4, .bias = false))
LAYER(lstm_cell, lz_nn_lstm_cell(m, "l", 3, 4))
CALL(cell, lz_run_cell(m, x[0], .h = x[1]))

static lz_tensor *call_lstm_cell(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *both[2] = { NULL };
    both[0] = lz_run_cell(m, x[0], .h = x[1], .c = x[2], .c_n = &both[1]);
    return lz_cat(f->c, ((lz_tensors){ both, 2 }), .dim = -1);
}

LAYER(lstm_proj, lz_nn_lstm(m, "l", 3, 5, .proj_size = 2))
LAYER(lstm_proj_deep, lz_nn_lstm(m, "l", 3, 4, .layers = 2, .bias = false, .batch_first = true,
                                 .bidirectional = true, .proj_size = 2))

static lz_tensor *call_lstm(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *all[3] = { NULL };
    all[0] = lz_run_rnn(m, x[0], .h = x[1], .c = x[2], .h_n = &all[1], .c_n = &all[2]);
    for (int i = 0; i < 3; i++)
        all[i] = lz_reshape(f->c, all[i], LZ_INTS(-1));
    return lz_cat(f->c, ((lz_tensors){ all, 3 }));
}

/* ---- transformers ---- */

LAYER(encoder_layer, lz_nn_transformer_encoder_layer(m, "l", 8, 2, .dim_feedforward = 12, .dropout = 0))
LAYER(encoder_layer_first,
      lz_nn_transformer_encoder_layer(m, "l", 8, 2, .dim_feedforward = 6, .dropout = 0, .activation = "gelu",
                                      .norm_first = true, .batch_first = true, .bias = false,
                                      .layer_norm_eps = 1e-3))
LAYER(encoder_layer_own, lz_nn_transformer_encoder_layer(m, "l", 8, 2, .dim_feedforward = 6, .dropout = 0,
                                                         .activation_op = lz_tanh_at))
LAYER(decoder_layer, lz_nn_transformer_decoder_layer(m, "l", 8, 2, .dim_feedforward = 12, .dropout = 0))
LAYER(decoder_layer_first, lz_nn_transformer_decoder_layer(m, "l", 8, 4, .dim_feedforward = 6, .dropout = 0,
                                                           .norm_first = true, .batch_first = true))
LAYER(encoder, lz_nn_transformer_encoder(m, "l", 8, 2, 2, .dim_feedforward = 6, .dropout = 0))
LAYER(decoder, lz_nn_transformer_decoder(m, "l", 8, 2, 2, .dim_feedforward = 6, .dropout = 0, .norm = true))
LAYER(transformer, lz_nn_transformer(m, "l", 8, 2, 1, 2, .dim_feedforward = 6, .dropout = 0))
CALL(encode_padded, lz_encode(m, x[0], .key_padding_mask = find_fact(f, "pad", "")))
CALL(encode_causal, lz_encode(m, x[0], .is_causal = true))
CALL(encode_both, lz_encode(m, x[0], .is_causal = true, .key_padding_mask = find_fact(f, "pad", "")))
CALL(decode, lz_decode(m, x[0], x[1]))
CALL(decode_causal, lz_decode(m, x[0], x[1], .tgt_is_causal = true))
CALL(decode_masked, lz_decode(m, x[0], x[1], .tgt_is_causal = true, .memory_mask = find_fact(f, "mask", "")))
CALL(transformer,
     lz_run_transformer(m, x[0], x[1], .src = { .key_padding_mask = find_fact(f, "pad", "") },
                        .tgt = { .tgt_is_causal = true, .memory_key_padding_mask = find_fact(f, "pad", "") }))

/* ---- losses ---- */

static lz_tensor *multilabel(const layer_facts *f, lz_tensor *x, lz_loss_reduction how)
{
    const layer_facts shared = { .c = f->c, .file = f->file, .name = "multilabel" };
    lz_tensor *weight = how == LZ_REDUCTION_NONE ? find_fact(&shared, "weight", "") : NULL;
    return lz_multilabel_soft_margin_loss(f->c, x, find_fact(&shared, "t", ""), .weight = weight,
                                          .reduction = how);
}

static lz_tensor *largest(lz_ctx *c, lz_loc at, lz_tensor *a, lz_tensor *b, void *user)
{
    (void)at;
    ++*(int *)user;
    return lz_amax(c, lz_abs(c, lz_sub_Tensor(c, a, b)), .dim = LZ_INTS(-1));
}

static int distances;

CALL(multilabel_none, multilabel(f, x[0], LZ_REDUCTION_NONE))
CALL(multilabel_mean, multilabel(f, x[0], LZ_REDUCTION_MEAN))
CALL(multilabel_sum, multilabel(f, x[0], LZ_REDUCTION_SUM))
CALL(triplet_none, lz_triplet_margin_with_distance_loss(f->c, x[0], x[1], x[2], .margin = 0.7,
                                                        .reduction = LZ_REDUCTION_NONE))
CALL(triplet_mean, lz_triplet_margin_with_distance_loss(f->c, x[0], x[1], x[2], .margin = 0.7))
CALL(triplet_sum, lz_triplet_margin_with_distance_loss(f->c, x[0], x[1], x[2], .margin = 0.7, .swap = true,
                                                       .reduction = LZ_REDUCTION_SUM))
CALL(triplet_own,
     lz_triplet_margin_with_distance_loss(f->c, x[0], x[1], x[2], .distance = largest, .user = &distances))

static lz_module *linear_loss(lz_module *m)
{
    const double weight[3] = { 0 };
    return lz_nn_linear_cross_entropy(m, "l", 4, 3, .bias = true, .ignore_index = LZ_SOME(1),
                                      .label_smoothing = 0.2, .reduction = LZ_REDUCTION_SUM,
                                      .weight = lz_from_memory(lz_module_ctx(m), LZ_F64, LZ_DIMS(3), weight));
}

LAYER(linear_loss_more, lz_nn_linear_cross_entropy(m, "l", 4, 3, .out_features = LZ_INTS(2)))
CALL(linear_loss, lz_linear_cross_entropy(m, x[0], find_fact(f, "t", "")))
LAYER(adaptive_softmax,
      lz_nn_adaptive_log_softmax(m, "l", 8, 12, LZ_INTS(3, 7), .div_value = 2, .head_bias = true))
LAYER(adaptive_softmax_single, lz_nn_adaptive_log_softmax(m, "l", 8, 12, LZ_INTS(3, 7)))

static lz_tensor *call_adaptive(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *output = NULL;
    layer_facts checks = *f;
    lz_tensor *loss = lz_adaptive_loss(m, x[0], find_fact(f, "t", ""), &output);
    expect_close(&checks, output, find_fact(f, "output", ""), "log probabilities of targets", "");
    expect_close(&checks, lz_forward(m, x[0]), find_fact(f, "log_prob", ""), "log probabilities", "");
    expect_close(&checks, lz_adaptive_predict(m, x[0]), find_fact(f, "predict", ""), "prediction", "");
    return loss;
}

static lz_tensor *call_adaptive_single(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    const int64_t target = 9;
    return lz_adaptive_loss(m, x[0], lz_from_memory(f->c, LZ_I64, ((lz_ints){ NULL, 0 }), &target), NULL);
}

static const layer_case cases[] = {
    PLAIN(elu),
    PLAIN(elu_half),
    PLAIN(celu),
    PLAIN(leaky_relu),
    PLAIN(leaky_relu_all),
    PLAIN(hardtanh),
    PLAIN(hardtanh_all),
    PLAIN(hardshrink),
    PLAIN(softshrink),
    PLAIN(softplus),
    PLAIN(softplus_all),
    PLAIN(threshold),
    PLAIN(glu),
    PLAIN(glu_one),
    PLAIN(softmax),
    PLAIN(softmin),
    PLAIN(log_softmax),
    PLAIN(softmax2d),
    PLAIN(softsign),
    PLAIN(tanhshrink),
    PLAIN(relu6),
    PLAIN(log_sigmoid),
    PLAIN(mish),
    PLAIN(selu),
    PLAIN(hardswish),
    PLAIN(hardsigmoid),
    PLAIN(silu),
    PLAIN(identity),
    PLAIN(prelu),
    PLAIN(prelu_each),
    PLAIN(batch_norm3d),
    PLAIN(instance_norm1d),
    PLAIN(instance_norm1d_single),
    PLAIN(instance_norm2d),
    PLAIN(instance_norm3d),
    PLAIN(instance_norm3d_stats),
    PLAIN(response_norm),
    PLAIN(response_norm_all),
    PLAIN(max_pool3d),
    PLAIN(max_pool3d_all),
    PLAIN(avg_pool3d),
    PLAIN(avg_pool3d_all),
    PLAIN(adaptive_avg3d),
    PLAIN(adaptive_max1d),
    PLAIN(adaptive_max3d),
    PLAIN(lp_pool1d),
    PLAIN(lp_pool2d),
    PLAIN(lp_pool2d_infinite),
    PLAIN(lp_pool3d),
    PLAIN(fractional2d),
    PLAIN(fractional3d),
    PLAIN(fractional2d_ratio),
    { "unpool1d", pools, call_unpool1d },
    { "unpool2d", pools, call_unpool2d },
    { "unpool3d", pools, call_unpool3d },
    { "adaptive_indices", adaptive_indices, call_indices },
    PLAIN(reflection_pad1d),
    PLAIN(reflection_pad2d),
    PLAIN(reflection_pad3d),
    PLAIN(replication_pad1d),
    PLAIN(replication_pad2d),
    PLAIN(replication_pad3d),
    PLAIN(circular_pad1d),
    PLAIN(circular_pad2d),
    PLAIN(circular_pad3d),
    PLAIN(zero_pad1d),
    PLAIN(zero_pad2d),
    PLAIN(zero_pad3d),
    PLAIN(constant_pad1d),
    PLAIN(constant_pad2d),
    PLAIN(constant_pad3d),
    PLAIN(cut_pad1d),
    PLAIN(cut_pad2d),
    PLAIN(cut_pad3d),
    PLAIN(unflatten),
    PLAIN(pixel_shuffle),
    PLAIN(pixel_unshuffle),
    PLAIN(channel_shuffle),
    PLAIN(unfold),
    PLAIN(fold),
    { "nearest1d_scale", nearest_scale, NULL },
    { "nearest2d_scale", nearest_scale, NULL },
    { "nearest3d_scale", nearest_scale, NULL },
    { "nearest1d_size", nearest_size, NULL },
    { "nearest2d_size", nearest_size, NULL },
    { "nearest3d_size", nearest_size, NULL },
    { "nearest_exact1d_scale", nearest_exact_scale, NULL },
    { "nearest_exact2d_scale", nearest_exact_scale, NULL },
    { "nearest_exact3d_scale", nearest_exact_scale, NULL },
    { "nearest_exact1d_size", nearest_exact_size, NULL },
    { "nearest_exact2d_size", nearest_exact_size, NULL },
    { "nearest_exact3d_size", nearest_exact_size, NULL },
    { "area1d_scale", area_scale, NULL },
    { "area2d_scale", area_scale, NULL },
    { "area3d_scale", area_scale, NULL },
    { "area1d_size", area_size, NULL },
    { "area2d_size", area_size, NULL },
    { "area3d_size", area_size, NULL },
    PLAIN(linear_scale),
    PLAIN(linear_align),
    PLAIN(linear_recompute),
    PLAIN(bilinear_scale),
    PLAIN(bilinear_align),
    PLAIN(bilinear_recompute),
    PLAIN(bicubic_scale),
    PLAIN(bicubic_align),
    PLAIN(bicubic_recompute),
    PLAIN(trilinear_scale),
    PLAIN(trilinear_align),
    PLAIN(trilinear_recompute),
    { "bilinear_layer", bilinear_layer, call_bilinear },
    { "bilinear_layer_plain", bilinear_layer_plain, call_bilinear },
    PLAIN(bag_mean),
    PLAIN(bag_sum),
    { "bag_max", bag_max, call_bag },
    { "bag_last", bag_last, call_bag },
    { "bag_freq", bag_freq, call_bag },
    { "bag_weights", bag_weights, call_bag },
    PLAIN(bag_norm),
    { "rnn_cell", rnn_cell, call_cell },
    PLAIN(rnn_cell_relu),
    { "gru_cell", gru_cell, call_cell },
    { "gru_cell_plain", gru_cell_plain, call_cell },
    { "lstm_cell", lstm_cell, call_lstm_cell },
    { "lstm_cell_single", lstm_cell, call_lstm_cell },
    { "lstm_proj", lstm_proj, call_lstm },
    { "lstm_proj_deep", lstm_proj_deep, call_lstm },
    { "encoder_layer", encoder_layer, call_encode_padded },
    { "encoder_layer_first", encoder_layer_first, call_encode_causal },
    PLAIN(encoder_layer_own),
    { "decoder_layer", decoder_layer, call_decode_masked },
    { "decoder_layer_first", decoder_layer_first, call_decode },
    { "encoder", encoder, call_encode_both },
    { "decoder", decoder, call_decode_causal },
    { "transformer", transformer, call_transformer },
    { "multilabel_soft_margin_none", nothing, call_multilabel_none },
    { "multilabel_soft_margin_mean", nothing, call_multilabel_mean },
    { "multilabel_soft_margin_sum", nothing, call_multilabel_sum },
    { "triplet_none", nothing, call_triplet_none },
    { "triplet_mean", nothing, call_triplet_mean },
    { "triplet_sum", nothing, call_triplet_sum },
    { "triplet_own", nothing, call_triplet_own },
    { "linear_loss", linear_loss, call_linear_loss },
    { "linear_loss_more", linear_loss_more, call_linear_loss },
    { "adaptive_softmax", adaptive_softmax, call_adaptive },
    { "adaptive_softmax_single", adaptive_softmax_single, call_adaptive_single },
};

static void test_recorded(void **state)
{
    (void)state;
    run_layer_cases("layers_more.npz", cases, sizeof cases / sizeof *cases);
    assert_int_equal(distances, 2);
}

static void expect_message(lz_ctx *c, const char *part)
{
    assert_true(lz_failed(c));
    if (!strstr(lz_message(c), part))
        print_message("'%s' is not in: %s\n", part, lz_message(c));
    assert_non_null(strstr(lz_message(c), part));
    lz_clear(c);
}

static void refused(lz_module *layer, const char *part)
{
    assert_true(lz_module_is_inert(layer));
    expect_message(lz_module_ctx(layer), part);
}

/* Invalid options are an error when the layer is made. */
static void test_refused_options(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    refused(lz_nn_elu(m, "l", .lambd = 1), "ELU has no lambd");
    refused(lz_nn_softsign(m, "l", .dim = 1), "Softsign has no dim");
    refused(lz_nn_hardtanh(m, "l", .min_val = 2), "max_val must be greater than min_val");
    refused(lz_nn_celu(m, "l", .alpha = 0), "alpha cannot be 0");
    refused(lz_nn_softshrink(m, "l", .lambd = -1), "lambd must not be negative");
    refused(lz_nn_prelu(m, "l", .num_parameters = -1), "num_parameters must not be negative");
    refused(lz_nn_instance_norm1d(m, "l", 2, .momentum = 2), "momentum must be between 0 and 1");
    refused(lz_nn_local_response_norm(m, "l", 0), "size must be greater than 0");
    refused(lz_nn_max_pool3d(m, "l", 2, .padding = 2), "at most half of the kernel");
    refused(lz_nn_max_pool3d(m, "l", 2, .norm_type = 2), "norm_type is for power-average");
    refused(lz_nn_lp_pool1d(m, "l", 0, 3), "norm_type must be a non-zero value");
    refused(lz_nn_lp_pool2d(m, "l", 2, 3, .padding = 1), "power-average pooling has no padding");
    refused(lz_nn_lp_pool2d(m, "l", 2, 3, .count_include_pad = false), "average pooling only");
    refused(lz_nn_adaptive_pool(m, "l", LZ_POOL_POWER, LZ_INTS(1)), "takes maxima or averages");
    refused(lz_nn_fractional_max_pool2d(m, "l", 2), "either sizes or a ratio");
    refused(lz_nn_fractional_max_pool2d(m, "l", 2, .ratio = 0.5, .sizes = LZ_INTS(2)), "either sizes or");
    refused(lz_nn_fractional_max_pool3d(m, "l", 2, .ratio = 1.5), "output_ratio must be between 0 and 1");
    refused(lz_nn_max_unpool2d(m, "l", 2, .strides = LZ_INTS(1)), "stride: got 1 numbers");
    refused(lz_nn_reflection_pad2d(m, "l", LZ_INTS(1, 2)), "padding: expected 1 or 4 numbers, got 2");
    refused(lz_nn_unflatten(m, "l", 1, ((lz_ints){ NULL, 0 })), "sizes must not be empty");
    refused(lz_nn_pixel_shuffle(m, "l", 0), "must be greater than zero");
    refused(lz_nn_upsample(m, "l"), "one of sizes and scale must be given");
    refused(lz_nn_upsample(m, "l", .scale = 2, .sizes = LZ_INTS(3)), "not both");
    refused(lz_nn_upsample(m, "l", .scale = 2, .mode = "cubic"), "unknown mode \"cubic\"");
    refused(lz_nn_upsample(m, "l", .scale = 2, .align_corners = LZ_SOME(true)),
            "align_corners can only be set");
    refused(lz_nn_upsample(m, "l", .sizes = LZ_INTS(3), .recompute_scale_factor = true), "not meaningful");
    refused(lz_nn_upsample(m, "l", .scale = -1), "greater than 0");
    refused(lz_nn_fold(m, "l", LZ_INTS(3), 0), "kernel must be at least 1");
    refused(lz_nn_bilinear(m, "l", 0, 2, 2), "in1 must be greater than 0");
    refused(lz_nn_embedding_bag(m, "l", 3, 2, .mode = "min"), "mode has to be one of sum, mean or max");
    refused(lz_nn_embedding_bag(m, "l", 3, 2, .mode = "max", .scale_grad_by_freq = true),
            "max mode does not");
    refused(lz_nn_embedding_bag(m, "l", 3, 2, .padding_idx = LZ_SOME(3)), "padding_idx is out of range");
    refused(lz_nn_lstm(m, "l", 2, 3, .proj_size = 3), "smaller than hidden_size");
    refused(lz_nn_gru(m, "l", 2, 3, .proj_size = 2), "only supported for LSTM");
    refused(lz_nn_lstm_cell(m, "l", -1, 3), "sizes must not be negative");
    refused(lz_nn_transformer_encoder_layer(m, "l", 8, 3), "divisible by num_heads");
    refused(lz_nn_transformer_encoder_layer(m, "l", 8, 2, .activation = "tanh"), "should be relu/gelu");
    refused(lz_nn_transformer_decoder_layer(m, "l", 8, 2, .norm = true), "not for their layers");
    refused(lz_nn_transformer_encoder(m, "l", 8, 2, -1), "num_layers must be");
    refused(lz_nn_transformer(m, "l", 8, 2, 1, 1, .dropout = 2), "between 0 and 1");
    refused(lz_nn_adaptive_log_softmax(m, "l", 8, 12, LZ_INTS(7, 3)), "cutoffs should be unique");
    refused(lz_nn_adaptive_log_softmax(m, "l", 8, 12, LZ_INTS(3, 12)), "cutoffs should be unique");
    refused(lz_nn_linear_cross_entropy(m, "l", 8, 3, .label_smoothing = 2), "range [0, 1]");
    refused(lz_nn_linear_cross_entropy(m, "l", 8, 3, .weight = lz_ones(c, LZ_DIMS(2))),
            "a weight of 3 numbers");
    assert_int_equal(lz_module_params(m).n, 0);
    lz_module_free(m);
    lz_close(c);
}

static void test_refused_calls(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_tensor *x = lz_ones(c, LZ_DIMS(2, 4, 8)), *y = x;
    lz_module *pool = lz_nn_max_pool1d(m, "pool", 2), *back = lz_nn_max_unpool1d(m, "back", 2);
    lz_module *encoder = lz_nn_transformer_encoder(m, "e", 8, 2, 1),
              *up = lz_nn_upsample(m, "up", .scale = 2, .mode = "bilinear");
    lz_forward(up, x);
    expect_message(c, "mode \"bilinear\" does not take 3D input");
    lz_forward(lz_nn_batch_norm3d(m, NULL, 4), x);
    expect_message(c, "batch_norm3d: expected 5 dimensions");
    lz_forward(lz_nn_instance_norm1d(m, NULL, 3, .affine = true), x);
    expect_message(c, "got 4 channels, expected 3");
    lz_forward(lz_nn_instance_norm1d(m, NULL, 4), lz_ones(c, LZ_DIMS(2, 4, 1)));
    expect_message(c, "more than 1 spatial element");
    lz_forward(lz_nn_softmax2d(m, NULL), lz_ones(c, LZ_DIMS(2)));
    expect_message(c, "expected input to be 3D or 4D");
    lz_forward(lz_nn_local_response_norm(m, NULL, 2), lz_ones(c, LZ_DIMS(2)));
    expect_message(c, "expected 3 or more dimensions");
    lz_forward(lz_nn_circular_pad2d(m, NULL, LZ_INTS(1)), lz_ones(c, LZ_DIMS(2)));
    expect_message(c, "expected 3D or 4D input (got 1D input)");
    lz_forward(lz_nn_fractional_max_pool2d(m, NULL, 2, .ratio = 0.5), lz_ones(c, LZ_DIMS(2)));
    expect_message(c, "expected 3 or 4 dimensions");
    lz_pool_with_indices(back, x, &y);
    expect_message(c, "is not a max pooling layer");
    assert_null(y);
    lz_tensor *small = lz_pool_with_indices(pool, x, &y);
    lz_unpool(back, small, y, LZ_INTS(20));
    expect_message(c, "must be between 6 and 10");
    lz_unpool(pool, small, y, LZ_INTS(8));
    expect_message(c, "is not a MaxUnpool layer");
    lz_forward(back, small);
    expect_message(c, "call lz_unpool");
    lz_run_bilinear(pool, x, x);
    expect_message(c, "is not a bilinear layer");
    lz_module *bag = lz_nn_embedding_bag(m, "bag", 3, 2);
    lz_tensor *i = lz_zeros(c, LZ_DIMS(2, 2), .dtype = LZ_I64), *flat = lz_reshape(c, i, LZ_INTS(-1));
    lz_run_bag(bag, i, .offsets = flat);
    expect_message(c, "there are no offsets");
    lz_run_bag(bag, flat);
    expect_message(c, "offsets has to be a 1D tensor");
    lz_run_bag(bag, i, .per_sample_weights = x);
    expect_message(c, "only supported for mode \"sum\"");
    lz_module *cell = lz_nn_gru_cell(m, "cell", 2, 3);
    lz_run_cell(cell, lz_ones(c, LZ_DIMS(2, 2)), .c = x);
    expect_message(c, "only an LSTM has a second state");
    lz_run_cell(cell, x);
    expect_message(c, "both 1D or both 2D");
    lz_run_cell(cell, lz_ones(c, LZ_DIMS(2)), .h = lz_ones(c, LZ_DIMS(1, 3)));
    expect_message(c, "both 1D or both 2D");
    lz_decode(encoder, x, x);
    expect_message(c, "is neither a decoder nor a decoder layer");
    lz_encode(pool, x);
    expect_message(c, "is neither an encoder nor an encoder layer");
    lz_module *t = lz_nn_transformer(m, "t", 8, 2, 1, 1);
    lz_run_transformer(t, x, lz_ones(c, LZ_DIMS(2, 3, 8)));
    expect_message(c, "the batch number of src and tgt must be equal");
    lz_run_transformer(t, x, lz_ones(c, LZ_DIMS(2, 4, 7)));
    expect_message(c, "equal to d_model");
    lz_multilabel_soft_margin_loss(c, x, x, .reduction = (lz_loss_reduction)3);
    expect_message(c, "expected an lz_loss_reduction");
    lz_triplet_margin_with_distance_loss(c, x, x, x, .margin = 0);
    expect_message(c, "margin must be greater than 0");
    lz_triplet_margin_with_distance_loss(c, x, x, flat);
    expect_message(c, "the same number of dimensions");
    lz_module *soft = lz_nn_adaptive_log_softmax(m, "soft", 8, 12, LZ_INTS(3));
    lz_adaptive_loss(soft, x, i, NULL);
    expect_message(c, "multi-target not supported");
    lz_tensor *off =
        lz_adaptive_loss(soft, lz_ones(c, LZ_DIMS(2, 8)), lz_full(c, LZ_DIMS(2), 12, .dtype = LZ_I64), NULL);
    assert_false(lz_sync(c, &off, 1));
    expect_message(c, "a target is not a class");
    lz_linear_cross_entropy(pool, x, x);
    expect_message(c, "is not such a loss");
    lz_module_free(m);
    lz_close(c);
}

static bool equal(const float *a, const float *b, int n)
{
    int same = 0;
    for (int i = 0; i < n; i++)
        same += a[i] == b[i];
    return same == n;
}

/* Layers of a stack begin with equal weights; a transformer's matrices differ, as each is drawn again. */
static void test_first_weights(void **state)
{
    static float a[64], b[64];
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module *e = lz_nn_transformer_encoder(m, "e", 4, 2, 2, .dim_feedforward = 5);
    lz_module *t = lz_nn_transformer(m, "t", 4, 2, 2, 0, .dim_feedforward = 5);
    assert_int_equal(lz_module_params(e).n, 2 * 12);
    for (int i = 0; i < 2; i++) {
        lz_module *stack = i ? lz_module_find(t, "encoder") : e;
        lz_module *first = lz_module_child(lz_module_find(stack, "layers"), 0);
        lz_module *second = lz_module_child(lz_module_find(stack, "layers"), 1);
        assert_true(lz_read(lz_module_get(first, "linear1.weight"), a, 20 * sizeof *a));
        assert_true(lz_read(lz_module_get(second, "linear1.weight"), b, 20 * sizeof *b));
        assert_true(equal(a, b, 20) == (i == 0));
        for (int k = 0; i && k < 20; k++)
            assert_true(fabsf(a[k]) <= (float)sqrt(6.0 / 9));
    }
    assert_null(lz_module_child(e, 1));
    lz_module_free(m);
    lz_close(c);
}

/* Each call draws its windows; of an image whose numbers rise, the maxima rise, too. */
static void test_fractional_draws(void **state)
{
    enum { N = 40, M = 16, CALLS = 8 };
    static float x[N * N], y[CALLS][M * M];
    int differing = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *p = lz_nn_fractional_max_pool2d(m, "p", 2, .ratio = 0.4);
    for (int i = 0; i < N * N; i++)
        x[i] = (float)i;
    for (int k = 0; k < CALLS; k++) {
        assert_true(
            lz_read(lz_forward(p, lz_from_memory(c, LZ_F32, LZ_DIMS(1, 1, N, N), x)), y[k], sizeof *y));
        differing += k > 0 && !equal(y[k], y[k - 1], M * M);
        for (int i = 1; i < M * M; i++)
            assert_true(i % M == 0 || y[k][i] > y[k][i - 1]);
    }
    assert_true(differing > CALLS / 2);
    lz_module_free(m);
    lz_close(c);
}

/* Packed sequences with projections give what each one gives alone, in both directions. */
static void test_packed_projections(void **state)
{
    enum { P = 2, W = 4 };
    const int64_t lengths[] = { 4, 2 };
    double packed[6 * 2 * P], one[4 * 2 * P], last[2][2 * 2 * W], alone[2][2 * W];
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module_set_dtype(m, LZ_F64);
    lz_module *l = lz_nn_lstm(m, "l", 3, W, .bidirectional = true, .proj_size = P);
    lz_tensor *x = lz_randn(c, LZ_INTS(4, 2, 3), .dtype = LZ_F64), *h = NULL, *memory = NULL;
    lz_tensor *h0 = lz_randn(c, LZ_INTS(2, 2, P), .dtype = LZ_F64),
              *c0 = lz_randn(c, LZ_INTS(2, 2, W), .dtype = LZ_F64);
    lz__pack_padded_sequence_result p =
        lz__pack_padded_sequence(c, x, lz_from_memory(c, LZ_I64, LZ_INTS(2), lengths), false);
    lz_tensor *y = lz_run_rnn(l, p.out0, .batch_sizes = p.out1, .h = h0, .c = c0, .h_n = &h, .c_n = &memory);
    assert_true(lz_read(y, packed, sizeof packed));
    assert_true(lz_read(h, last[0], 2 * 2 * P * sizeof(double)) && lz_read(memory, last[1], sizeof last[1]));
    for (int b = 0; b < 2; b++) {
        y = lz_run_rnn(l, lz_narrow(c, lz_select_int(c, x, 1, b), 0, 0, lengths[b]),
                       .h = lz_select_int(c, h0, 1, b), .c = lz_select_int(c, c0, 1, b), .h_n = &h,
                       .c_n = &memory);
        assert_true(lz_read(y, one, sizeof one));
        assert_true(lz_read(h, alone[0], 2 * P * sizeof(double))
                    && lz_read(memory, alone[1], sizeof alone[1]));
        for (int t = 0; t < lengths[b]; t++)
            for (int i = 0; i < 2 * P; i++)
                assert_true(fabs(one[t * 2 * P + i] - packed[(t < 2 ? 2 * t + b : t + 2) * 2 * P + i])
                            < 1e-13);
        for (int i = 0; i < 2 * P; i++)
            assert_true(fabs(alone[0][i] - last[0][(i / P * 2 + b) * P + i % P]) < 1e-13);
        for (int i = 0; i < 2 * W; i++)
            assert_true(fabs(alone[1][i] - last[1][(i / W * 2 + b) * W + i % W]) < 1e-13);
    }
    lz_module_free(m);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),         cmocka_unit_test(test_refused_options),
        cmocka_unit_test(test_refused_calls),    cmocka_unit_test(test_first_weights),
        cmocka_unit_test(test_fractional_draws), cmocka_unit_test(test_packed_projections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
