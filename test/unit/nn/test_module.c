/* Trees of modules: names, lists, sharing, modules of one's own, states; and every failing allocation. */
#include "check.h"
#include <lazuli/lazuli.h>
#include <stdio.h>
#include <stdlib.h>

/* The context's error, if it has one, as the test's. */
static lz_err *finish(lz_ctx *c)
{
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

/* What was refused, and that nothing else was. Under a failing allocation anything may have been. */
static void expect_refused(lz_ctx *c, const char *part)
{
    if (lz_check_failing()) {
        if (lz_code_of(c) != LZ_ERR_MEMORY)
            lz_clear(c);
        return;
    }
    assert_true(lz_failed(c));
    if (!strstr(lz_message(c), part))
        print_message("'%s' is not in: %s\n", part, lz_message(c));
    assert_non_null(strstr(lz_message(c), part));
    lz_clear(c);
}

/* ---- trees ---- */

static lz_module *make_net(lz_ctx *c)
{
    lz_module *m = lz_module_create(c);
    lz_nn_conv2d(m, "c1", 1, 2, 3);
    lz_module *blocks = lz_nn_module(m, "blocks");
    for (int i = 0; i < 2; i++) {
        lz_module *b = lz_nn_module(blocks, NULL);
        lz_nn_batch_norm1d(b, "norm", 3);
        lz_nn_linear(b, "fc", 3, 2, .bias = false);
    }
    return m;
}

static lz_err *test_names(void)
{
    static const char *const params[] = { "c1.weight",
                                          "c1.bias",
                                          "blocks.0.norm.weight",
                                          "blocks.0.norm.bias",
                                          "blocks.0.fc.weight",
                                          "blocks.1.norm.weight",
                                          "blocks.1.norm.bias",
                                          "blocks.1.fc.weight" };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = make_net(c);
    lz_named_tensors list = lz_module_params(m);
    if (!lz_failed(c)) {
        assert_int_equal(list.n, sizeof params / sizeof *params);
        for (size_t i = 0; i < list.n; i++)
            assert_string_equal(list.v[i].name, params[i]);
        assert_int_equal(lz_module_buffers(m).n, 6);
        assert_string_equal(lz_module_buffers(m).v[2].name, "blocks.0.norm.num_batches_tracked");
        lz_module *b = lz_module_find(m, "blocks.1");
        const char *name = NULL;
        assert_non_null(b);
        assert_string_equal(lz_module_path(b), "blocks.1");
        assert_ptr_equal(lz_module_param(b, 2, &name), list.v[7].tensor);
        assert_string_equal(name, "fc.weight");
        assert_null(lz_module_param(b, 3, NULL));
        assert_null(lz_module_find(m, "blocks.2"));
        assert_ptr_equal(lz_module_get(m, "blocks.1.fc.weight"), list.v[7].tensor);
        assert_int_equal(lz_module_numel(m), 2 * 9 + 2 + 2 * (3 + 3 + 6));
        assert_true(lz_requires_grad(list.v[0].tensor) && lz_is_leaf(list.v[0].tensor));
        lz_train(b, false);
        assert_true(lz_is_training(m) && !lz_is_training(lz_module_find(b, "norm")));
    }
    lz_module_free(m);
    return finish(c);
}

/* A layer that is refused leaves nothing behind, and gives inert tensors. */
static lz_err *test_refusals(void)
{
    lz_ctx *c = lz_open(NULL), *foreign = lz_open(NULL);
    if (!c || !foreign) {
        lz_close(c);
        lz_close(foreign);
        return lz_err_oom();
    }
    lz_module *m = lz_module_create(c);
    lz_nn_linear(m, "fc", 3, 2);
    lz_module *twice = lz_nn_linear(m, "fc", 3, 2);
    expect_refused(c, "'fc' exists already");
    assert_true(lz_check_failing() || lz_module_is_inert(twice));
    lz_tensor *x = lz_ones(c, LZ_DIMS(2, 3));
    assert_true(lz_check_failing() || lz_tensor_is_inert(lz_forward(twice, x)));
    expect_refused(c, "the module is inert");
    assert_true(lz_check_failing() || lz_module_is_inert(lz_nn_linear(twice, "below", 1, 1)));
    lz_forward(lz_module_find(m, "fc"), lz_ones(foreign, LZ_DIMS(2, 3)));
    if (lz_module_find(m, "fc"))
        expect_refused(c, "belongs to another context");
    lz_nn_linear(m, "a.b", 1, 1);
    expect_refused(c, "must not have dots");
    lz_nn_linear(m, "bad", -1, 1);
    expect_refused(c, "Linear 'bad': sizes must not be negative");
    lz_nn_conv2d(m, "bad", 3, 4, 3, .groups = 2);
    expect_refused(c, "divisible by groups");
    lz_nn_conv2d(m, "bad", 2, 4, 3, .strides = LZ_INTS(1, 2, 3));
    expect_refused(c, "stride: got 3 numbers for 2 dimensions");
    lz_nn_multihead_attention(m, "bad", 6, 4);
    expect_refused(c, "divisible by num_heads");
    lz_nn_dropout(m, "bad", 1.5);
    expect_refused(c, "between 0 and 1");
    lz_nn_embedding(m, "bad", 3, 4, .padding_idx = LZ_SOME(3));
    expect_refused(c, "out of range");
    lz_module_add_param(m, "p", lz_ones(foreign, LZ_DIMS(2)));
    expect_refused(c, "belongs to another context");
    lz_module_add_param(m, "p", lz_ones(c, LZ_DIMS(2), .dtype = LZ_I64));
    expect_refused(c, "");
    lz_forward(m, x);
    expect_refused(c, "only holds other modules");
    lz_module_free(lz_module_find(m, "fc"));
    if (lz_module_find(m, "fc"))
        expect_refused(c, "expected the root of a tree");
    if (!lz_check_failing())
        assert_int_equal(lz_module_params(m).n, 2);
    lz_module *norm = lz_nn_batch_norm2d(m, "norm", 3);
    lz_forward(norm, lz_ones(c, LZ_DIMS(2, 3)));
    expect_refused(c, "expected 4 dimensions");
    lz_forward(norm, lz_ones(c, LZ_DIMS(2, 4, 2, 2)));
    expect_refused(c, "size mismatch");
    lz_forward(norm, lz_ones(c, LZ_DIMS(1, 3, 1, 1)));
    expect_refused(c, "more than 1 value per channel");
    lz_module_free(m);
    lz_close(foreign);
    return finish(c);
}

/* ---- sharing ---- */

static lz_err *test_sharing(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c);
    lz_module *in = lz_nn_embedding(m, "in", 5, 3), *out = lz_nn_linear(m, "out", 3, 5, .bias = false);
    lz_tensor *w = lz_module_get(in, "weight");
    lz_state *s = lz_state_create(c);
    if (!lz_failed(c) && lz_module_set(out, "weight", w) && lz_module_state(m, "", s)) {
        assert_ptr_equal(lz_module_get(m, "out.weight"), w);
        assert_int_equal(lz_module_params(m).n, 1); /* it is one tensor */
        assert_int_equal(lz_state_list(s).n, 2);    /* with two names */
    }
    if (!lz_failed(c)) {
        lz_module_set(out, "weight", lz_ones(c, LZ_DIMS(3, 5)));
        expect_refused(c, "size mismatch");
        lz_module_set(out, "bias", w);
        expect_refused(c, "there is no parameter or buffer 'bias'");
    }
    lz_state_free(s);
    lz_module_free(m);
    return finish(c);
}

/* What takes several operators; recorded, not run. */
static lz_err *test_rare_options(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c);
    lz_module *att = lz_nn_multihead_attention(m, "a", 4, 2, .add_bias_kv = true, .add_zero_attn = true);
    lz_module *conv = lz_nn_conv1d(m, "c", 1, 1, 2, .same = true, .padding_mode = "circular");
    lz_module *emb = lz_nn_embedding(m, "e", 3, 2, .max_norm = { true, 1 });
    lz_module *norm = lz_nn_batch_norm1d(m, "n", 2, .cumulative = true);
    lz_tensor *x = lz_ones(c, LZ_DIMS(3, 4)), *w = NULL;
    lz_tensor *y = lz_attend(att, x, x, x, .is_causal = true, .weights = &w);
    lz_tensor *z = lz_forward(conv, lz_ones(c, LZ_DIMS(1, 1, 5)));
    lz_forward(norm, lz_forward(emb, lz_zeros(c, LZ_DIMS(3), .dtype = LZ_I64)));
    lz_clip_grad_norm(m, 1.0);
    if (!lz_failed(c)) {
        assert_int_equal(lz_module_params(m).n, 4 + 2 + 2 + 1 + 2);
        assert_int_equal(lz_tensor_numel(lz_module_get(att, "bias_k")), 4);
        assert_int_equal(lz_tensor_numel(y), 12);
        assert_int_equal(lz_tensor_ndim(w), 2);
        assert_int_equal(lz_tensor_numel(w), 3 * (3 + 2));
        assert_int_equal(lz_tensor_numel(z), 5);
    }
    lz_module_free(m);
    return finish(c);
}

/* ---- a module of one's own ---- */

typedef struct scale {
    lz_tensor *by;
    int *dropped;
} scale;

static lz_tensor *scale_forward(lz_module *m, lz_tensor *x)
{
    const scale *s = lz_module_data(m);
    return lz_mul_Tensor(lz_module_ctx(m), x, s->by);
}

static void scale_drop(void *data)
{
    scale *s = data;
    (*s->dropped)++;
}

static lz_err *test_own_module(void)
{
    static const lz_module_class cls = { "Scale", scale_forward, scale_drop };
    const float v[] = { 2, 3 };
    float got[2];
    int dropped = 0;
    scale data = { NULL, &dropped };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *root = lz_module_create(c), *seq = lz_nn_sequential(root, "seq");
    if (!root)
        return finish(c);
    lz_module *m = lz_nn_custom(seq, NULL, &cls, &data);
    data.by = lz_module_add_param(m, "by", lz_from_memory(c, LZ_F32, LZ_DIMS(2), v));
    lz_module_add_buffer(m, "seen", lz_zeros(c, LZ_DIMS(1)), true);
    lz_module_add_buffer(m, "scratch", lz_zeros(c, LZ_DIMS(1)), false);
    lz_tensor *y = lz_forward(seq, lz_from_memory(c, LZ_F32, LZ_DIMS(2), v));
    if (!lz_failed(c) && lz_read(y, got, sizeof got)) {
        assert_true(got[0] == 4 && got[1] == 9);
        lz_state *s = lz_state_create(c);
        if (lz_module_state(root, "m.", s)) {
            assert_int_equal(lz_state_list(s).n, 2);
            assert_string_equal(lz_state_list(s).v[0].name, "m.seq.0.by");
        }
        lz_state_free(s);
    }
    lz_module_free(root);
    assert_int_equal(dropped, 1);
    return finish(c);
}

/* ---- states ---- */

static bool is_equal(lz_ctx *c, lz_tensor *a, lz_tensor *b)
{
    return lz_item(lz_all(c, lz_eq_Tensor(c, a, b))).i != 0;
}

static lz_err *test_state(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *a = make_net(c), *b = make_net(c);
    lz_state *s = lz_state_create(c);
    if (!lz_failed(c) && lz_module_state(a, "net.", s)) {
        lz_named_tensors list = lz_state_list(s);
        assert_int_equal(list.n, 14);
        assert_string_equal(list.v[4].name, "net.blocks.0.norm.running_mean");
        assert_ptr_equal(lz_find_tensor(list, "net.c1.bias"), lz_module_get(a, "c1.bias"));
        if (lz_module_load_state(b, "net.", list, false) && !lz_check_failing())
            for (size_t i = 0; i < 8; i++)
                assert_true(is_equal(c, lz_module_params(a).v[i].tensor, lz_module_params(b).v[i].tensor));
    }
    lz_state_free(s);
    lz_module_free(a);
    lz_module_free(b);
    return finish(c);
}

static lz_err *test_state_refusals(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c);
    lz_nn_linear(m, "a", 2, 3);
    lz_tensor *w = lz_ones(c, LZ_DIMS(3, 2));
    lz_named_tensor wrong[] = { { "a.weight", w }, { "b.weight", w } };
    assert_false(lz_module_load_state(m, "", (lz_named_tensors){ wrong, 2 }, false));
    expect_refused(c, "missing 'a.bias'; unexpected 'b.weight'");
    if (!lz_check_failing())
        assert_false(is_equal(c, lz_module_get(m, "a.weight"), w));
    bool ok = lz_module_load_state(m, "", (lz_named_tensors){ wrong, 2 }, true);
    if (!lz_check_failing())
        assert_true(ok && is_equal(c, lz_module_get(m, "a.weight"), w));
    lz_named_tensor shape[] = { { "a.weight", lz_ones(c, LZ_DIMS(2, 3)) }, { "a.bias", w } };
    lz_module_load_state(m, "", (lz_named_tensors){ shape, 2 }, false);
    expect_refused(c, "size mismatch for 'a.weight': [2, 3] is given, expected [3, 2]");
    lz_state *s = lz_state_create(c);
    lz_state_add(s, "x", w);
    if (s && !lz_failed(c)) {
        lz_state_add(s, "x", w);
        expect_refused(c, "'x' is in the state already");
    }
    lz_state_free(s);
    lz_module_free(m);
    return finish(c);
}

/* ---- optimisers: what they refuse, and their state ---- */

static lz_err *test_optim_refusals(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c);
    lz_nn_linear(m, "a", 2, 3);
    lz_optim *o = lz_sgd(m, .lr = 0.1, .eps = 1e-3);
    assert_null(o);
    expect_refused(c, "SGD has no eps");
    assert_null(lz_adam(m, .lr = -1));
    expect_refused(c, "Adam: invalid lr");
    assert_null(lz_sgd(m, .lr = 0.1, .nesterov = true));
    expect_refused(c, "Nesterov");
    o = lz_adam(m);
    if (o) {
        lz_optim_add_group(o, lz_module_params(m), NULL);
        expect_refused(c, "'a.weight' is in a group already");
        assert_true(lz_check_failing() || (lz_optim_group_count(o) == 1 && !lz_optim_group(o, 1)));
        lz_named_tensor other[] = { { "group.0.lr", lz_ones(c, LZ_DIMS(1)) },
                                    { "a.weight.sum", lz_ones(c, LZ_DIMS(3, 2)) } };
        lz_optim_load_state(o, "", (lz_named_tensors){ other, 2 });
        expect_refused(c, "the state does not fit Adam: unexpected 'a.weight.sum'");
    }
    lz_module_free(m); /* the optimiser keeps its parameters */
    if (!lz_check_failing())
        assert_true(lz_optim_step(o));
    lz_optim_free(o);
    return finish(c);
}

/* Two groups with a rate each; layers of one name in two places. */
static lz_err *test_groups(void)
{
    const float one = 1;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c), *a = lz_nn_module(m, "a"), *b = lz_nn_module(m, "b");
    lz_tensor *p = lz_module_add_param(a, "p", lz_zeros(c, LZ_DIMS(1)));
    lz_tensor *q = lz_module_add_param(b, "p", lz_zeros(c, LZ_DIMS(1)));
    lz_optim_options options = lz_optim_defaults(LZ_SGD);
    lz_optim *o = lz_optim_create(c, LZ_SGD);
    options.lr = 0.5;
    bool ok = lz_optim_add_module(o, a, &options);
    options.lr = 0.25;
    ok = ok && lz_optim_add_module(o, b, &options) && !lz_failed(c);
    lz_tensor *g = lz_from_memory(c, LZ_F32, LZ_DIMS(1), &one);
    if (ok && lz_set_grad(p, g) && lz_set_grad(q, g) && lz_optim_step(o) && !lz_check_failing())
        assert_true(lz_item(p).re == -0.5 && lz_item(q).re == -0.25);
    lz_optim_free(o);
    lz_module_free(m);
    return finish(c);
}

static lz_err *test_optim_state(void)
{
    const float v[] = { 1, 2 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_module *m = lz_module_create(c);
    lz_tensor *p = lz_module_add_param(m, "p", lz_from_memory(c, LZ_F32, LZ_DIMS(2), v));
    lz_optim *o = lz_adam(m, .lr = 0.25), *later = lz_adam(m);
    lz_state *s = lz_state_create(c);
    if (!lz_failed(c) && lz_set_grad(p, lz_from_memory(c, LZ_F32, LZ_DIMS(2), v)) && lz_optim_step(o)
        && lz_optim_state(o, "opt.", s)) {
        lz_named_tensors list = lz_state_list(s);
        assert_non_null(lz_find_tensor(list, "opt.p.exp_avg"));
        assert_non_null(lz_find_tensor(list, "opt.p.exp_avg_sq"));
        assert_null(lz_find_tensor(list, "opt.p.max_exp_avg_sq"));
        if (lz_optim_load_state(later, "opt.", list))
            assert_true(lz_optim_lr(later) == 0.25);
        if (!lz_check_failing()) {
            assert_int_equal(lz_item(lz_find_tensor(list, "opt.p.step")).i, 1);
            assert_true(lz_item(lz_find_tensor(list, "opt.group.0.betas[1]")).re == 0.999);
        }
    }
    lz_state_free(s);
    lz_optim_free(o);
    lz_optim_free(later);
    lz_module_free(m);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_names),          LZ_TEST(test_refusals),       LZ_TEST(test_sharing),
        LZ_TEST(test_rare_options),   LZ_TEST(test_own_module),     LZ_TEST(test_state),
        LZ_TEST(test_state_refusals), LZ_TEST(test_optim_refusals), LZ_TEST(test_optim_state),
        LZ_TEST(test_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
