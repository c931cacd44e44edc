/* Layers against what PyTorch's gave: outputs, gradients and buffers (test/torch/nn_facts.py). */
#include "check.h"
#include <lazuli/lazuli.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 2048 };

typedef struct facts {
    lz_ctx *c;
    lz_archive *file;
    const char *name;
    lz_module *root;
    double worst;
} facts;

static lz_tensor *find(const facts *f, const char *part, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s/%s%s", f->name, part, name);
    if (lz_archive_find(f->file, full) == SIZE_MAX)
        return NULL;
    return lz_archive_tensor(f->c, f->file, full);
}

static void read_all(lz_ctx *c, lz_tensor *t, double *out)
{
    assert_non_null(t);
    assert_true(lz_tensor_numel(t) <= MOST);
    bool ok = lz_read(lz_to_dtype(c, t, LZ_F64), out, MOST * sizeof *out);
    if (!ok)
        print_message("%s\n", lz_message(c));
    assert_true(ok);
}

static void expect_close(facts *f, lz_tensor *got, lz_tensor *want, const char *what, const char *name)
{
    static double a[MOST], b[MOST];
    if (lz_failed(f->c))
        print_message("%s %s%s: %s\n", f->name, what, name, lz_message(f->c));
    assert_non_null(got);
    assert_non_null(want);
    assert_int_equal(lz_tensor_numel(got), lz_tensor_numel(want));
    assert_int_equal(lz_tensor_ndim(got), lz_tensor_ndim(want));
    read_all(f->c, got, a);
    read_all(f->c, want, b);
    for (int64_t i = 0; i < lz_tensor_numel(got); i++) {
        double off = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        if (!(off < 1e-11))
            print_message("%s %s%s [%d]: %.17g, not %.17g\n", f->name, what, name, (int)i, a[i], b[i]);
        assert_true(off < 1e-11);
        f->worst = fmax(f->worst, off);
    }
}

/* ---- cases ---- */

typedef lz_module *build_fn(lz_module *root);
typedef lz_tensor *call_fn(const facts *f, lz_module *m, lz_tensor *const *x);

static lz_module *linear(lz_module *m)
{
    return lz_nn_linear(m, "l", 5, 3);
}

static lz_module *linear_plain(lz_module *m)
{
    return lz_nn_linear(m, "l", 5, 3, .bias = false);
}

static lz_module *conv1d(lz_module *m)
{
    return lz_nn_conv1d(m, "l", 4, 6, 3, .stride = 2, .padding = 1, .groups = 2);
}

static lz_module *conv2d(lz_module *m)
{
    return lz_nn_conv2d(m, "l", 2, 4, 3, .padding = 1);
}

static lz_module *conv2d_each(lz_module *m)
{
    return lz_nn_conv2d(m, "l", 2, 3, 0, .kernels = LZ_INTS(3, 2), .strides = LZ_INTS(2, 1),
                        .paddings = LZ_INTS(1, 0), .dilations = LZ_INTS(1, 2), .bias = false);
}

static lz_module *conv2d_same(lz_module *m)
{
    return lz_nn_conv2d(m, "l", 2, 3, 4, .same = true, .dilation = 2);
}

static lz_module *conv_transpose1d(lz_module *m)
{
    return lz_nn_conv_transpose1d(m, "l", 3, 4, 3, .stride = 2, .padding = 1, .output_padding = 1);
}

static lz_module *conv_transpose2d(lz_module *m)
{
    return lz_nn_conv_transpose2d(m, "l", 4, 6, 3, .stride = 2, .groups = 2);
}

static lz_module *batch_norm1d(lz_module *m)
{
    return lz_nn_batch_norm1d(m, "l", 3);
}

static lz_module *batch_norm1d_long(lz_module *m)
{
    return lz_nn_batch_norm1d(m, "l", 3, .momentum = 0.3, .eps = 1e-3);
}

static lz_module *batch_norm2d(lz_module *m)
{
    return lz_nn_batch_norm2d(m, "l", 3);
}

static lz_module *batch_norm2d_plain(lz_module *m)
{
    return lz_nn_batch_norm2d(m, "l", 3, .affine = false, .track_running_stats = false);
}

static lz_module *layer_norm(lz_module *m)
{
    return lz_nn_layer_norm(m, "l", LZ_INTS(3, 4));
}

static lz_module *layer_norm_plain(lz_module *m)
{
    return lz_nn_layer_norm(m, "l", LZ_INTS(4), .bias = false);
}

static lz_module *group_norm(lz_module *m)
{
    return lz_nn_group_norm(m, "l", 2, 6);
}

static lz_module *embedding(lz_module *m)
{
    return lz_nn_embedding(m, "l", 7, 3);
}

static lz_module *embedding_pad(lz_module *m)
{
    return lz_nn_embedding(m, "l", 7, 3, .padding_idx = LZ_SOME(2));
}

static lz_module *max_pool1d(lz_module *m)
{
    return lz_nn_max_pool1d(m, "l", 3, .stride = 2, .padding = 1);
}

static lz_module *max_pool2d(lz_module *m)
{
    return lz_nn_max_pool2d(m, "l", 2);
}

static lz_module *avg_pool1d(lz_module *m)
{
    return lz_nn_avg_pool1d(m, "l", 3, .padding = 1);
}

static lz_module *avg_pool2d(lz_module *m)
{
    return lz_nn_avg_pool2d(m, "l", 0, .kernels = LZ_INTS(3, 2), .strides = LZ_INTS(2, 1), .padding = 1,
                            .count_include_pad = false);
}

static lz_module *adaptive_avg(lz_module *m)
{
    return lz_nn_adaptive_pool(m, "l", LZ_POOL_AVG, LZ_INTS(2, 3));
}

static lz_module *adaptive_max(lz_module *m)
{
    return lz_nn_adaptive_pool(m, "l", LZ_POOL_MAX, LZ_INTS(2, 3));
}

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

static lz_module *attention(lz_module *m)
{
    return lz_nn_multihead_attention(m, "l", 8, 2);
}

static lz_module *attention_causal(lz_module *m)
{
    return lz_nn_multihead_attention(m, "l", 8, 4, .batch_first = true);
}

static lz_tensor *call_causal(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)f;
    return lz_attend(m, x[0], x[0], x[0], .is_causal = true);
}

static lz_module *attention_masks(lz_module *m)
{
    return lz_nn_multihead_attention(m, "l", 8, 2, .bias = false);
}

static lz_tensor *call_masks(const facts *f, lz_module *m, lz_tensor *const *x)
{
    return lz_attend(m, x[0], x[0], x[0], .attn_mask = find(f, "mask", ""),
                     .key_padding_mask = find(f, "pad", ""));
}

static lz_module *attention_other(lz_module *m)
{
    return lz_nn_multihead_attention(m, "l", 8, 2, .kdim = 6, .vdim = 7);
}

static lz_tensor *call_other(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)f;
    return lz_attend(m, x[0], x[1], x[2]);
}

static lz_tensor *call_single(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)f;
    return lz_attend(m, x[0], x[1], x[1]);
}

static lz_tensor *call_weights(const facts *f, lz_module *m, lz_tensor *const *x)
{
    lz_tensor *mean = NULL, *each = NULL;
    facts checks = *f;
    lz_tensor *y = lz_attend(m, x[0], x[0], x[0], .weights = &mean);
    expect_close(&checks, mean, find(f, "mean", ""), "weights", "");
    lz_attend(m, x[0], x[0], x[0], .weights = &each, .each_head = true);
    expect_close(&checks, each, find(f, "each", ""), "weights", "");
    return y;
}

static lz_module *nothing(lz_module *m)
{
    return lz_nn_module(m, "l");
}

static lz_tensor *call_cosine_none(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)m;
    return lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1, .reduction = LZ_REDUCTION_NONE);
}

static lz_tensor *call_cosine_mean(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)m;
    return lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1);
}

static lz_tensor *call_cosine_sum(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)m;
    return lz_cosine_embedding_loss(f->c, x[0], x[1], x[2], .margin = 0.1, .reduction = LZ_REDUCTION_SUM);
}

static lz_tensor *call_gaussian(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)m;
    return lz_gaussian_nll_loss(f->c, x[0], x[1], x[2], .full = true, .eps = 0.3);
}

static lz_tensor *call_kl(const facts *f, lz_module *m, lz_tensor *const *x)
{
    (void)m;
    return lz_kl_div_batchmean(f->c, lz_log_softmax_int(f->c, x[0], 1), x[1]);
}

static const struct {
    const char *name;
    build_fn *build;
    call_fn *call; /* NULL: lz_forward of the only input */
} cases[] = {
    { "linear", linear, NULL },
    { "linear_plain", linear_plain, NULL },
    { "conv1d", conv1d, NULL },
    { "conv2d", conv2d, NULL },
    { "conv2d_each", conv2d_each, NULL },
    { "conv2d_same", conv2d_same, NULL },
    { "conv_transpose1d", conv_transpose1d, NULL },
    { "conv_transpose2d", conv_transpose2d, NULL },
    { "batch_norm1d", batch_norm1d, NULL },
    { "batch_norm1d_long", batch_norm1d_long, NULL },
    { "batch_norm2d", batch_norm2d, NULL },
    { "batch_norm2d_plain", batch_norm2d_plain, NULL },
    { "layer_norm", layer_norm, NULL },
    { "layer_norm_plain", layer_norm_plain, NULL },
    { "group_norm", group_norm, NULL },
    { "embedding", embedding, NULL },
    { "embedding_pad", embedding_pad, NULL },
    { "max_pool1d", max_pool1d, NULL },
    { "max_pool2d", max_pool2d, NULL },
    { "avg_pool1d", avg_pool1d, NULL },
    { "avg_pool2d", avg_pool2d, NULL },
    { "adaptive_avg", adaptive_avg, NULL },
    { "adaptive_max", adaptive_max, NULL },
    { "sequential", sequential, NULL },
    { "attention", attention, NULL },
    { "attention_causal", attention_causal, call_causal },
    { "attention_masks", attention_masks, call_masks },
    { "attention_other", attention_other, call_other },
    { "attention_single", attention, call_single },
    { "attention_weights", attention, call_weights },
    { "cosine_embedding_none", nothing, call_cosine_none },
    { "cosine_embedding_mean", nothing, call_cosine_mean },
    { "cosine_embedding_sum", nothing, call_cosine_sum },
    { "gaussian_nll", nothing, call_gaussian },
    { "kl_batchmean", nothing, call_kl },
};

/* ---- one case ---- */

/* What of the file is a state of this case. */
static void load(facts *f, lz_module *m)
{
    char prefix[64];
    lz_state *s = lz_state_create(f->c);
    assert_non_null(s);
    int n = snprintf(prefix, sizeof prefix, "%s/p/", f->name);
    for (size_t i = 0; i < lz_archive_count(f->file); i++) {
        const char *name = lz_archive_name(f->file, i);
        if (!strncmp(name, prefix, (size_t)n))
            assert_true(lz_state_add(s, name, lz_archive_tensor(f->c, f->file, name)));
    }
    if (!lz_module_load_state(m, prefix, lz_state_list(s), false))
        print_message("%s: %s\n", f->name, lz_message(f->c));
    assert_false(lz_failed(f->c));
    lz_state_free(s);
}

static void check_gradients(facts *f, lz_module *m)
{
    lz_named_tensors params = lz_module_params(m), buffers = lz_module_buffers(m);
    for (size_t i = 0; i < params.n; i++)
        expect_close(f, lz_grad_of(params.v[i].tensor), find(f, "g/", params.v[i].name), "gradient of ",
                     params.v[i].name);
    for (size_t i = 0; i < buffers.n; i++)
        expect_close(f, buffers.v[i].tensor, find(f, "b/", buffers.v[i].name), "buffer ", buffers.v[i].name);
}

static void run_case(facts *f, build_fn *build, call_fn *call)
{
    static const char *const names[] = { "", "1", "2" };
    lz_tensor *x[3], *want;
    f->root = lz_module_create(f->c);
    lz_module_set_dtype(f->root, LZ_F64);
    lz_module *m = build(f->root);
    load(f, m);
    for (int i = 0; i < 3; i++) {
        x[i] = find(f, "x", names[i]);
        if (x[i] && lz_tensor_dtype(x[i]) == LZ_F64)
            assert_true(lz_set_requires_grad(x[i], true));
    }
    lz_tensor *y = call ? call(f, m, x) : lz_forward(m, x[0]);
    expect_close(f, y, find(f, "y", ""), "output", "");
    if (!lz_backward(f->c, lz_sum(f->c, lz_mul_Tensor(f->c, y, find(f, "w", "")))))
        print_message("%s: %s\n", f->name, lz_message(f->c));
    assert_false(lz_failed(f->c));
    for (int i = 0; i < 3; i++)
        if (x[i] && (want = find(f, "gx", names[i])) && lz_grad_of(x[i]))
            expect_close(f, lz_grad_of(x[i]), want, "gradient of input", names[i]);
    assert_true(!x[0] || lz_tensor_dtype(x[0]) != LZ_F64 || lz_grad_of(x[0]));
    check_gradients(f, m);
    lz_train(m, false);
    if (find(f, "eval", ""))
        expect_close(f, lz_forward(m, x[0]), find(f, "eval", ""), "evaluation", "");
    assert_false(lz_failed(f->c));
    lz_module_free(f->root);
}

static void test_recorded(void **state)
{
    (void)state;
    facts f = { .c = lz_open(NULL) };
    f.file = lz_archive_open(f.c, LZ_SOURCE_DIR "/test/data/nn/layers.npz");
    assert_non_null(f.file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lz_scope *s = lz_scope_push(f.c);
        f.name = cases[i].name;
        run_case(&f, cases[i].build, cases[i].call);
        lz_scope_pop(s);
    }
    print_message("%d layers and losses, largest difference %.2g\n", (int)(sizeof cases / sizeof *cases),
                  f.worst);
    lz_archive_close(f.file);
    lz_close(f.c);
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded), cmocka_unit_test(test_dropout),
                                        cmocka_unit_test(test_attention_dropout) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
