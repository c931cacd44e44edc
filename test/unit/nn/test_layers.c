/* Layers against what PyTorch's gave: outputs, gradients and buffers (test/torch/nn_facts.py). */
#include "check.h"
#include "layer_facts.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>

/* ---- cases ---- */

LAYER(linear, lz_nn_linear(m, "l", 5, 3))
LAYER(linear_plain, lz_nn_linear(m, "l", 5, 3, .bias = false))
LAYER(conv1d, lz_nn_conv1d(m, "l", 4, 6, 3, .stride = 2, .padding = 1, .groups = 2))
LAYER(conv2d, lz_nn_conv2d(m, "l", 2, 4, 3, .padding = 1))
LAYER(conv2d_each, lz_nn_conv2d(m, "l", 2, 3, 0, .kernels = LZ_INTS(3, 2), .strides = LZ_INTS(2, 1),
                                .paddings = LZ_INTS(1, 0), .dilations = LZ_INTS(1, 2), .bias = false))
LAYER(conv2d_same, lz_nn_conv2d(m, "l", 2, 3, 4, .same = true, .dilation = 2))
LAYER(conv_transpose1d,
      lz_nn_conv_transpose1d(m, "l", 3, 4, 3, .stride = 2, .padding = 1, .output_padding = 1))
LAYER(conv_transpose2d, lz_nn_conv_transpose2d(m, "l", 4, 6, 3, .stride = 2, .groups = 2))
LAYER(batch_norm1d, lz_nn_batch_norm1d(m, "l", 3))
LAYER(batch_norm1d_long, lz_nn_batch_norm1d(m, "l", 3, .momentum = 0.3, .eps = 1e-3))
LAYER(batch_norm2d, lz_nn_batch_norm2d(m, "l", 3))
LAYER(batch_norm2d_plain, lz_nn_batch_norm2d(m, "l", 3, .affine = false, .track_running_stats = false))
LAYER(layer_norm, lz_nn_layer_norm(m, "l", LZ_INTS(3, 4)))
LAYER(layer_norm_plain, lz_nn_layer_norm(m, "l", LZ_INTS(4), .bias = false))
LAYER(group_norm, lz_nn_group_norm(m, "l", 2, 6))
LAYER(embedding, lz_nn_embedding(m, "l", 7, 3))
LAYER(embedding_pad, lz_nn_embedding(m, "l", 7, 3, .padding_idx = LZ_SOME(2)))
LAYER(max_pool1d, lz_nn_max_pool1d(m, "l", 3, .stride = 2, .padding = 1))
LAYER(max_pool2d, lz_nn_max_pool2d(m, "l", 2))
LAYER(avg_pool1d, lz_nn_avg_pool1d(m, "l", 3, .padding = 1))
LAYER(avg_pool2d, lz_nn_avg_pool2d(m, "l", 0, .kernels = LZ_INTS(3, 2), .strides = LZ_INTS(2, 1),
                                   .padding = 1, .count_include_pad = false))
LAYER(batch_norm1d_cumulative, lz_nn_batch_norm1d(m, "l", 3, .cumulative = true))
LAYER(rms_norm, lz_nn_rms_norm(m, "l", LZ_INTS(3, 4)))
LAYER(rms_norm_plain, lz_nn_rms_norm(m, "l", LZ_INTS(4), .eps = { true, 0.1 }, .affine = false))
LAYER(group_norm_plain, lz_nn_group_norm(m, "l", 3, 6, .eps = 0.1, .affine = false))
LAYER(conv1d_circular, lz_nn_conv1d(m, "l", 2, 3, 3, .stride = 2, .padding = 2, .padding_mode = "circular"))
LAYER(conv2d_reflect, lz_nn_conv2d(m, "l", 2, 3, 3, .paddings = LZ_INTS(1, 2), .padding_mode = "reflect"))
LAYER(conv2d_replicate_same,
      lz_nn_conv2d(m, "l", 2, 3, 0, .kernels = LZ_INTS(4, 3), .same = true, .dilations = LZ_INTS(1, 2),
                   .padding_mode = "replicate", .bias = false))
LAYER(conv3d, lz_nn_conv3d(m, "l", 2, 2, 2, .padding = 1, .padding_mode = "circular"))
LAYER(conv_transpose3d, lz_nn_conv_transpose3d(m, "l", 2, 2, 2, .stride = 2))
LAYER(embedding_freq, lz_nn_embedding(m, "l", 7, 3, .scale_grad_by_freq = true))
LAYER(embedding_max_norm, lz_nn_embedding(m, "l", 7, 3, .max_norm = { true, 1.3 }))
LAYER(embedding_max_norm1, lz_nn_embedding(m, "l", 7, 3, .max_norm = { true, 1.3 }, .norm_type = 1))
LAYER(max_pool1d_ceil, lz_nn_max_pool1d(m, "l", 3, .stride = 2, .dilation = 2, .ceil_mode = true))
LAYER(max_pool2d_all,
      lz_nn_max_pool2d(m, "l", 0, .kernels = LZ_INTS(3, 2), .strides = LZ_INTS(2, 3),
                       .paddings = LZ_INTS(1, 0), .dilations = LZ_INTS(1, 2), .ceil_mode = true))
LAYER(avg_pool1d_ceil,
      lz_nn_avg_pool1d(m, "l", 3, .stride = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false))
LAYER(avg_pool2d_divisor, lz_nn_avg_pool2d(m, "l", 3, .stride = 2, .padding = 1, .ceil_mode = true,
                                           .divisor_override = LZ_SOME(5)))
LAYER(flatten_some, lz_nn_flatten(m, "l", .start_dim = 0, .end_dim = 1))
LAYER(gelu_tanh, lz_nn_gelu(m, "l", .approximate = "tanh"))
LAYER(adaptive_avg, lz_nn_adaptive_pool(m, "l", LZ_POOL_AVG, LZ_INTS(2, 3)))
LAYER(adaptive_own, lz_nn_adaptive_pool(m, "l", LZ_POOL_AVG, LZ_INTS(-1, 3)))
LAYER(adaptive_own_max, lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(2, -1)))
LAYER(adaptive_max, lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(2, 3)))

static lz_module *sequential(lz_module *m)
{
    lz_module *s = lz_nn_sequential(m, "l");
    lz_nn_linear(s, NULL, 4, 5);
    lz_nn_op(s, NULL, lz_tanh_at);
    lz_nn_layer_norm(s, NULL, LZ_INTS(5));
    lz_nn_gelu(s, NULL);
    lz_nn_linear(s, NULL, 5, 2);
    return s;
}

LAYER(attention, lz_nn_multihead_attention(m, "l", 8, 2))
LAYER(attention_causal, lz_nn_multihead_attention(m, "l", 8, 4, .batch_first = true))
CALL(causal, lz_attend(m, x[0], x[0], x[0], .is_causal = true))
LAYER(attention_masks, lz_nn_multihead_attention(m, "l", 8, 2, .bias = false))
CALL(masks, lz_attend(m, x[0], x[0], x[0], .attn_mask = find_fact(f, "mask", ""),
                      .key_padding_mask = find_fact(f, "pad", "")))
LAYER(attention_other, lz_nn_multihead_attention(m, "l", 8, 2, .kdim = 6, .vdim = 7))
LAYER(attention_bias_kv, lz_nn_multihead_attention(m, "l", 8, 2, .add_bias_kv = true))
LAYER(attention_zero_attn, lz_nn_multihead_attention(m, "l", 8, 2, .add_zero_attn = true, .bias = false))
LAYER(attention_pad_single, lz_nn_multihead_attention(m, "l", 8, 2, .add_zero_attn = true))
LAYER(attention_more, lz_nn_multihead_attention(m, "l", 8, 2, .add_bias_kv = true, .add_zero_attn = true,
                                                .batch_first = true, .kdim = 6, .vdim = 7))
LAYER(attention_more_causal,
      lz_nn_multihead_attention(m, "l", 8, 2, .add_bias_kv = true, .add_zero_attn = true))
LAYER(attention_weights_single, lz_nn_multihead_attention(m, "l", 8, 2, .batch_first = true))
CALL(other, lz_attend(m, x[0], x[1], x[2]))
CALL(single, lz_attend(m, x[0], x[1], x[1]))

static lz_tensor *call_weights(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *mean = NULL, *each = NULL;
    layer_facts checks = *f;
    lz_tensor *y = lz_attend(m, x[0], x[0], x[0], .weights = &mean);
    expect_close(&checks, mean, find_fact(f, "mean", ""), "weights", "");
    lz_attend(m, x[0], x[0], x[0], .weights = &each, .each_head = true);
    expect_close(&checks, each, find_fact(f, "each", ""), "weights", "");
    return y;
}

/* Also with weights: by another way. */
static lz_tensor *call_masked(const layer_facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *mean = NULL;
    layer_facts checks = *f;
    lz_tensor *y = lz_attend(m, x[0], x[0], x[0], .attn_mask = find_fact(f, "mask", ""),
                             .key_padding_mask = find_fact(f, "pad", ""), .weights = &mean);
    expect_close(&checks, mean, find_fact(f, "mean", ""), "weights", "");
    expect_close(&checks, y, find_fact(f, "y", ""), "output with weights", "");
    return call_masks(f, m, x);
}

/* Outputs and last states, one behind the other. */
static lz_tensor *flat(const layer_facts *f, lz_module *m, lz_tensor *x, lz_tensor *h, lz_tensor *c, bool two)
{
    lz_tensor *all[3] = { NULL };
    all[0] = two ? lz_run_rnn(m, x, .h = h, .c = c, .h_n = &all[1], .c_n = &all[2])
                 : lz_run_rnn(m, x, .h = h, .h_n = &all[1]);
    for (int i = 0; i < (two ? 3 : 2); i++)
        all[i] = lz_reshape(f->c, all[i], LZ_INTS(-1));
    return lz_cat(f->c, ((lz_tensors){ all, two ? 3 : 2 }));
}

LAYER(lstm, lz_nn_lstm(m, "l", 3, 4))
LAYER(lstm_deep, lz_nn_lstm(m, "l", 3, 2, .layers = 2, .batch_first = true, .bidirectional = true))
LAYER(gru, lz_nn_gru(m, "l", 3, 4, .bias = false))
LAYER(gru_single, lz_nn_gru(m, "l", 3, 2, .bidirectional = true))
LAYER(rnn, lz_nn_rnn(m, "l", 2, 3, .layers = 2))
LAYER(rnn_relu, lz_nn_recurrent(m, "l", LZ_RNN_RELU, 2, 3))
CALL(flat, flat(f, m, x[0], NULL, NULL, false))
CALL(flat_lstm, flat(f, m, x[0], NULL, NULL, true))
CALL(flat_state, flat(f, m, x[0], x[1], NULL, false))
CALL(flat_states, flat(f, m, x[0], x[1], x[2], true))

LAYER(nothing, lz_nn_module(m, "l"))
CALL(cosine_none,
     lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1, .reduction = LZ_REDUCTION_NONE))
CALL(cosine_mean, lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1))
CALL(cosine_sum,
     lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1, .reduction = LZ_REDUCTION_SUM))
CALL(gaussian, lz_gaussian_nll_loss(f->c, x[0], x[1], x[2], .full = true, .eps = 0.3))
CALL(kl, lz_kl_div_batchmean(f->c, lz_log_softmax_int(f->c, x[0], 1), x[1]))
CALL(gaussian_rows, lz_gaussian_nll_loss(f->c, x[0], x[1], x[2], .reduction = LZ_REDUCTION_NONE))
CALL(kl_log, lz_kl_div_batchmean(f->c, lz_log_softmax_int(f->c, x[0], 1), x[1], .log_target = true))

static lz_tensor *cross_entropy(const layer_facts *f, lz_tensor *x, lz_loss_reduction how)
{
    const layer_facts shared = { .c = f->c, .file = f->file, .name = "cross_entropy" };
    return lz_cross_entropy_loss(f->c, x, find_fact(&shared, "t", ""),
                                 .weight = find_fact(&shared, "weight", ""), .ignore_index = 1,
                                 .label_smoothing = 0.2, .reduction = how);
}

CALL(cross_none, cross_entropy(f, x[0], LZ_REDUCTION_NONE))
CALL(cross_mean, cross_entropy(f, x[0], LZ_REDUCTION_MEAN))
CALL(cross_sum, cross_entropy(f, x[0], LZ_REDUCTION_SUM))

static const layer_case cases[] = {
    PLAIN(linear),
    PLAIN(linear_plain),
    PLAIN(conv1d),
    PLAIN(conv2d),
    PLAIN(conv2d_each),
    PLAIN(conv2d_same),
    PLAIN(conv_transpose1d),
    PLAIN(conv_transpose2d),
    PLAIN(batch_norm1d),
    PLAIN(batch_norm1d_long),
    PLAIN(batch_norm2d),
    PLAIN(batch_norm2d_plain),
    PLAIN(layer_norm),
    PLAIN(layer_norm_plain),
    PLAIN(group_norm),
    PLAIN(embedding),
    PLAIN(embedding_pad),
    PLAIN(max_pool1d),
    PLAIN(max_pool2d),
    PLAIN(avg_pool1d),
    PLAIN(avg_pool2d),
    PLAIN(adaptive_avg),
    PLAIN(adaptive_max),
    PLAIN(sequential),
    PLAIN(attention),
    { "attention_causal", attention_causal, call_causal },
    { "attention_masks", attention_masks, call_masks },
    { "attention_other", attention_other, call_other },
    { "attention_single", attention, call_single },
    { "attention_weights", attention, call_weights },
    { "lstm", lstm, call_flat_lstm },
    { "lstm_deep", lstm_deep, call_flat_states },
    { "gru", gru, call_flat_state },
    { "gru_single", gru_single, call_flat_state },
    { "rnn", rnn, call_flat },
    { "rnn_relu", rnn_relu, call_flat },
    { "cosine_embedding_none", nothing, call_cosine_none },
    { "cosine_embedding_mean", nothing, call_cosine_mean },
    { "cosine_embedding_sum", nothing, call_cosine_sum },
    { "gaussian_nll", nothing, call_gaussian },
    { "kl_batchmean", nothing, call_kl },
    PLAIN(batch_norm1d_cumulative),
    PLAIN(rms_norm),
    PLAIN(rms_norm_plain),
    PLAIN(group_norm_plain),
    PLAIN(conv1d_circular),
    PLAIN(conv2d_reflect),
    PLAIN(conv2d_replicate_same),
    PLAIN(conv3d),
    PLAIN(conv_transpose3d),
    PLAIN(embedding_freq),
    PLAIN(embedding_max_norm),
    PLAIN(embedding_max_norm1),
    PLAIN(max_pool1d_ceil),
    PLAIN(max_pool2d_all),
    PLAIN(avg_pool1d_ceil),
    PLAIN(avg_pool2d_divisor),
    PLAIN(flatten_some),
    PLAIN(gelu_tanh),
    PLAIN(adaptive_own),
    PLAIN(adaptive_own_max),
    { "attention_bools", attention, call_masked },
    { "attention_floats", attention_causal, call_masked },
    { "attention_bias_kv", attention_bias_kv, call_masked },
    { "attention_zero_attn", attention_zero_attn, call_masked },
    { "attention_pad_single", attention_pad_single, call_masked },
    { "attention_more", attention_more, call_other },
    { "attention_more_causal", attention_more_causal, call_causal },
    { "attention_weights_single", attention_weights_single, call_weights },
    { "gaussian_nll_rows", nothing, call_gaussian_rows },
    { "kl_batchmean_log", nothing, call_kl_log },
    { "cross_entropy_none", nothing, call_cross_none },
    { "cross_entropy_mean", nothing, call_cross_mean },
    { "cross_entropy_sum", nothing, call_cross_sum },
};

static void test_recorded(void **state)
{
    (void)state;
    run_layer_cases("layers.npz", cases, sizeof cases / sizeof *cases);
}

static int64_t compiled(void)
{
    int64_t n = 0;
    lz_counter_value("UncachedCompile", &n);
    return n;
}

/* Running numbers are those of all batches, whatever their number, and it is no part of the graph. */
static void test_cumulative(void **state)
{
    enum { N = 5, C = 2, BATCHES = 7 };
    double x[N][C], mean[C] = { 0 }, var[C] = { 0 }, got[C];
    int64_t before = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module_set_dtype(m, LZ_F64);
    lz_module *norm = lz_nn_batch_norm1d(m, "n", C, .cumulative = true);
    for (int t = 0; t < BATCHES; t++) {
        double sum[C] = { 0 }, squares[C] = { 0 };
        for (int i = 0; i < N * C; i++) {
            x[i / C][i % C] = (i * 7 + t * t * 5) % 11 * 0.3 - t;
            sum[i % C] += x[i / C][i % C];
            squares[i % C] += x[i / C][i % C] * x[i / C][i % C];
        }
        for (int k = 0; k < C; k++) {
            mean[k] += sum[k] / N / BATCHES;
            var[k] += (squares[k] - sum[k] * sum[k] / N) / (N - 1) / BATCHES;
        }
        lz_scope *s = lz_scope_push(c);
        lz_forward(norm, lz_from_memory(c, LZ_F64, LZ_DIMS(N, C), x));
        lz_scope_pop(s);
        assert_true(lz_mark_step(c));
        before = t == 1 ? compiled() : before;
    }
    assert_true(before > 0);
    assert_int_equal(compiled(), before);
    assert_int_equal(lz_item(lz_module_get(norm, "num_batches_tracked")).i, BATCHES);
    assert_true(lz_read(lz_module_get(norm, "running_mean"), got, sizeof got));
    for (int k = 0; k < C; k++)
        assert_true(fabs(got[k] - mean[k]) < 1e-13);
    assert_true(lz_read(lz_module_get(norm, "running_var"), got, sizeof got));
    for (int k = 0; k < C; k++)
        assert_true(fabs(got[k] - var[k]) < 1e-12);
    lz_module_free(m);
    lz_close(c);
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

/* Invalid options of a layer are an error when the layer is made. */
static void test_refused_options(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    refused(lz_nn_conv1d(m, "l", 2, 2, 3, .same = true, .stride = 2), "needs stride 1 and no other padding");
    refused(lz_nn_conv2d(m, "l", 2, 2, 3, .same = true, .padding = 1), "needs stride 1 and no other padding");
    refused(lz_nn_conv_transpose2d(m, "l", 2, 2, 3, .same = true), "do not support padding 'same'");
    refused(lz_nn_conv2d(m, "l", 2, 2, 3, .output_padding = 1), "output_padding is for transposed");
    refused(lz_nn_conv2d(m, "l", 2, 2, 3, .padding_mode = "mirror"), "unknown padding_mode \"mirror\"");
    refused(lz_nn_conv_transpose1d(m, "l", 2, 2, 3, .padding_mode = "reflect"), "support padding_mode");
    refused(lz_nn_conv1d(m, "l", 2, 2, 3, .dilation = 0), "dilation must be at least 1");
    refused(lz_nn_max_pool1d(m, "l", 0), "kernel must be at least 1");
    refused(lz_nn_max_pool2d(m, "l", 2, .stride = -1), "stride must be at least 1");
    refused(lz_nn_max_pool2d(m, "l", 2, .padding = 2), "at most half of the kernel");
    refused(lz_nn_max_pool2d(m, "l", 2, .strides = LZ_INTS(1)), "stride: got 1 numbers for 2 dimensions");
    refused(lz_nn_max_pool1d(m, "l", 2, .count_include_pad = false), "count_include_pad is for average");
    refused(lz_nn_max_pool2d(m, "l", 2, .divisor_override = LZ_SOME(3)), "divisor_override");
    refused(lz_nn_avg_pool1d(m, "l", 2, .divisor_override = LZ_SOME(3)), "divisor_override");
    refused(lz_nn_avg_pool2d(m, "l", 2, .divisor_override = LZ_SOME(0)), "divisor_override");
    refused(lz_nn_avg_pool2d(m, "l", 2, .dilation = 2), "dilation is for max pooling only");
    refused(lz_nn_adaptive_pool(m, "l", LZ_POOL_AVG, LZ_INTS(0, 1)), "sizes must be at least 1");
    refused(lz_nn_conv_transpose1d(m, "l", 2, 2, 3, .stride = 2, .output_padding = 2), "below stride");
    refused(lz_nn_batch_norm1d(m, "l", 2, .eps = -1), "eps must not be negative");
    refused(lz_nn_batch_norm1d(m, "l", 2, .momentum = NAN), "momentum must be between 0 and 1");
    refused(lz_nn_batch_norm1d(m, "l", 2, .cumulative = true, .track_running_stats = false), "cumulative");
    refused(lz_nn_layer_norm(m, "l", LZ_INTS(2), .eps = NAN), "eps must not be negative");
    refused(lz_nn_rms_norm(m, "l", LZ_INTS(2), .eps = { true, -1 }), "eps must not be negative");
    refused(lz_nn_group_norm(m, "l", 2, 5), "divisible by groups");
    refused(lz_nn_embedding(m, "l", 3, 2, .padding_idx = LZ_SOME(3)), "padding_idx is out of range");
    refused(lz_nn_embedding(m, "l", 3, 2, .max_norm = { true, -1 }), "max_norm");
    refused(lz_nn_embedding(m, "l", 3, 2, .norm_type = 0), "norm_type");
    refused(lz_nn_dropout(m, "l", 1.5), "between 0 and 1");
    refused(lz_nn_gelu(m, "l", .approximate = "erf"), "approximate is");
    refused(lz_nn_lstm(m, "l", 0, 3), "greater than zero");
    refused(lz_nn_gru(m, "l", 2, 3, .layers = 0), "greater than zero");
    refused(lz_nn_rnn(m, "l", 2, 3, .dropout = 1.5), "between 0 and 1");
    refused(lz_nn_multihead_attention(m, "l", 8, 3), "divisible by num_heads");
    refused(lz_nn_multihead_attention(m, "l", 8, 2, .dropout = -1), "between 0 and 1");
    assert_int_equal(lz_module_params(m).n, 0);
    lz_module_free(m);
    lz_close(c);
}

/* The first values of parameters have the line of the call that makes the layer. */
static void test_parameters_have_lines(void **state)
{
    (void)state;
    char *text, line[64];
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    snprintf(line, sizeof line, "test_layers.c:%d", __LINE__ + 1);
    lz_module *l = lz_nn_linear(m, "l", 2, 3);
    lz_tensor *w = lz_module_get(l, "weight");
    assert_null(lz_dump(c, &w, 1, LZ_DUMP_TEXT, &text));
    assert_non_null(strstr(text, line));
    lz_text_free(text);
    lz_module_free(m);
    lz_close(c);
}

static void test_refused_calls(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c);
    lz_module *a = lz_nn_multihead_attention(m, "a", 8, 2), *n = lz_nn_batch_norm1d(m, "n", 2);
    lz_module *bare = lz_nn_batch_norm1d(m, "b", 2, .track_running_stats = false);
    lz_tensor *x = lz_ones(c, LZ_DIMS(5, 2, 8)), *k = lz_ones(c, LZ_DIMS(4, 2, 8)), *w = x;
    lz_attend(a, x, k, x, .weights = &w);
    expect_message(c, "one value for each key");
    assert_null(w);
    lz_attend(a, x, lz_ones(c, LZ_DIMS(5, 1, 8)), x);
    expect_message(c, "one batch size");
    lz_attend(a, x, k, k, .attn_mask = lz_ones(c, LZ_DIMS(4, 5)));
    expect_message(c, "sizes of attn_mask");
    lz_attend(a, x, k, k, .attn_mask = lz_ones(c, LZ_DIMS(5, 4), .dtype = LZ_I64));
    expect_message(c, "attn_mask is neither bool nor floating");
    lz_attend(a, x, k, k, .key_padding_mask = lz_ones(c, LZ_DIMS(4)));
    expect_message(c, "sizes of key_padding_mask");
    lz_attend(n, x, k, k);
    expect_message(c, "is not an attention layer");
    lz_train(m, false);
    lz_forward(bare, lz_ones(c, LZ_DIMS(1, 2)));
    expect_message(c, "more than 1 value per channel");
    lz_gaussian_nll_loss(c, x, x, x, .reduction = (lz_loss_reduction)3);
    expect_message(c, "expected an lz_loss_reduction");
    lz_forward(lz_nn_adaptive_pool(m, NULL, LZ_POOL_AVG, LZ_INTS(-1)), NULL);
    assert_true(lz_failed(c));
    lz_clear(c);
    lz_gaussian_nll_loss(c, NULL, x, NULL);
    assert_true(lz_failed(c));
    lz_clear(c);
    lz_gaussian_nll_loss(c, x, x, x, .eps = -1);
    expect_message(c, "gaussian_nll_loss: eps must not be negative");
    lz_module_free(m);
    lz_close(c);
}

/* Nothing goes, or all; gradients too. */
static void test_dropout_ends(void **state)
{
    (void)state;
    for (int p = 0; p <= 1; p++) {
        float y[8], g[8];
        lz_ctx *c = lz_open(NULL);
        lz_module *m = lz_module_create(c), *d = lz_nn_dropout(m, "d", p);
        lz_tensor *x = lz_full(c, LZ_DIMS(8), INFINITY);
        assert_true(lz_read(lz_forward(d, x), y, sizeof y));
        x = lz_ones(c, LZ_DIMS(8));
        assert_true(lz_set_requires_grad(x, true));
        assert_true(lz_backward(c, lz_sum(c, lz_forward(d, x))));
        assert_true(lz_read(lz_grad_of(x), g, sizeof g));
        for (int i = 0; i < 8; i++)
            assert_true(p ? g[i] == 0 : isinf(y[i]) && g[i] == 1);
        assert_true(lz_read(lz_forward(d, x), y, sizeof y));
        for (int i = 0; i < 8; i++)
            assert_true(y[i] == (float)(1 - p));
        lz_module_free(m);
        lz_close(c);
    }
}

/* A quarter of the elements go, the others grow by a third; in evaluation nothing happens. */
static void test_dropout(void **state)
{
    enum { N = 2000 };
    static float v[N];
    int zeros = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *d = lz_nn_dropout(m, "d", 0.25);
    assert_true(lz_read(lz_forward(d, lz_ones(c, LZ_DIMS(N))), v, sizeof v));
    for (int i = 0; i < N; i++) {
        assert_true(v[i] == 0 || fabsf(v[i] - 4.0f / 3) < 1e-6f);
        zeros += v[i] == 0;
    }
    assert_true(zeros > N / 4 - 100 && zeros < N / 4 + 100); /* five deviations */
    lz_train(m, false);
    assert_true(lz_read(lz_forward(d, lz_ones(c, LZ_DIMS(N))), v, sizeof v));
    for (int i = 0; i < N; i++)
        assert_true(v[i] == 1);
    lz_module_free(m);
    lz_close(c);
}

/* Weights that are dropped are so while training only, and the others still sum to about 1. */
static void test_attention_dropout(void **state)
{
    enum { L = 64, W = 8 };
    static float a[L * W], b[L * W], w[L * L];
    lz_tensor *weights = NULL;
    double sum = 0;
    (void)state;
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c), *att = lz_nn_multihead_attention(m, "a", W, 1, .dropout = 0.5);
    lz_tensor *x = lz_randn(c, LZ_DIMS(L, 1, W));
    assert_true(lz_read(lz_attend(att, x, x, x, .weights = &weights), a, sizeof a));
    assert_true(lz_read(weights, w, sizeof w));
    for (int i = 0; i < L * L; i++)
        sum += (double)w[i];
    assert_true(fabs(sum / L - 1) < 0.2);
    assert_true(lz_read(lz_forward(att, x), b, sizeof b));
    assert_memory_not_equal(a, b, sizeof a);
    lz_train(m, false);
    assert_true(lz_read(lz_attend(att, x, x, x, .weights = &weights), a, sizeof a));
    assert_true(lz_read(lz_forward(att, x), b, sizeof b));
    for (int i = 0; i < L * W; i++)
        assert_true(fabsf(a[i] - b[i]) < 1e-5f);
    lz_module_free(m);
    lz_close(c);
}

/* Packed sequences give what each one gives alone. */
static void test_packed(void **state)
{
    (void)state;
    const int64_t lengths[] = { 4, 2 };
    double packed[6 * 6], one[4 * 6], last[4 * 3], alone[2 * 3];
    lz_ctx *c = lz_open(NULL);
    lz_module *m = lz_module_create(c),
              *g = (lz_module_set_dtype(m, LZ_F64), lz_nn_gru(m, "g", 2, 3, .bidirectional = true));
    lz_tensor *x = lz_randn(c, LZ_INTS(4, 2, 2), .dtype = LZ_F64), *h = NULL;
    lz__pack_padded_sequence_result p =
        lz__pack_padded_sequence(c, x, lz_from_memory(c, LZ_I64, LZ_INTS(2), lengths), false);
    lz_tensor *y = lz_run_rnn(g, p.out0, .batch_sizes = p.out1, .batch = 2, .h_n = &h);
    assert_true(lz_read(y, packed, sizeof packed) && lz_read(h, last, sizeof last));
    for (int b = 0; b < 2; b++) {
        y = lz_run_rnn(g, lz_narrow(c, lz_select_int(c, x, 1, b), 0, 0, lengths[b]), .h_n = &h);
        assert_true(lz_read(y, one, sizeof one) && lz_read(h, alone, sizeof alone));
        for (int t = 0; t < lengths[b]; t++) /* rows of time 0: 0, 1; of time 1: 2, 3; then one each */
            for (int i = 0; i < 6; i++)
                assert_true(fabs(one[t * 6 + i] - packed[(t < 2 ? 2 * t + b : t + 2) * 6 + i]) < 1e-14);
        for (int i = 0; i < 6; i++)
            assert_true(fabs(alone[i] - last[(i / 3 * 2 + b) * 3 + i % 3]) < 1e-14);
    }
    lz_run_rnn(g, x, .c = x);
    expect_message(c, "only an LSTM has a second state");
    lz_run_rnn(g, lz_ones(c, LZ_INTS(2)));
    expect_message(c, "Expected input to be 2D or 3D");
    lz_run_rnn(lz_nn_linear(m, "l", 2, 2), x);
    expect_message(c, "is not a recurrent layer");
    lz_module_free(m);
    lz_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_packed),
                                        cmocka_unit_test(test_recorded),
                                        cmocka_unit_test(test_cumulative),
                                        cmocka_unit_test(test_refused_options),
                                        cmocka_unit_test(test_parameters_have_lines),
                                        cmocka_unit_test(test_refused_calls),
                                        cmocka_unit_test(test_dropout),
                                        cmocka_unit_test(test_dropout_ends),
                                        cmocka_unit_test(test_attention_dropout) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
