/* Values that are computed again on the way back. */
#include "check.h"
#include <lazuli/lazuli.h>

enum { LAYERS = 8, ROWS = 512, WIDE = 8 };

typedef struct net {
    lz_ctx *c;
    lz_tensor *w[LAYERS], *x;
    bool redo, sync; /* with checkpoints; with a sync between the two passes */
    int nested;
    int64_t planned; /* bytes */
    float grads[LAYERS][WIDE * WIDE];
} net;

static void make(net *n)
{
    float w[WIDE * WIDE], x[ROWS * WIDE];
    for (int i = 0; i < ROWS * WIDE; i++)
        x[i] = (float)(i % 13) / 13 - 0.5f;
    for (int k = 0; k < LAYERS; k++) {
        for (int i = 0; i < WIDE * WIDE; i++)
            w[i] = (float)((i * 7 + k * 3) % 11) / 11 - 0.45f;
        n->w[k] = lz_from_memory(n->c, LZ_F32, LZ_DIMS(WIDE, WIDE), w);
        lz_set_requires_grad(n->w[k], true);
    }
    n->x = lz_from_memory(n->c, LZ_F32, LZ_DIMS(ROWS, WIDE), x);
}

static void begin(const net *n)
{
    for (int i = 0; n->redo && i < n->nested; i++)
        lz_checkpoint_begin(n->c);
}

static void end(const net *n)
{
    for (int i = 0; n->redo && i < n->nested; i++)
        lz_checkpoint_end(n->c);
}

/* A layer has a random operator and a write in it. */
static lz_tensor *layer(const net *n, lz_tensor *h, int k)
{
    lz_ctx *c = n->c;
    lz_scope *s = lz_scope_push(c);
    begin(n);
    lz_tensor *a = lz_dropout(c, lz_gelu(c, lz_mm(c, h, n->w[k])), 0.5, true);
    lz_tensor *b = lz_mul_Scalar(c, a, 1.25);
    lz_tanh_(c, b);
    lz_tensor *out = lz_retain(lz_add_Tensor(c, h, b));
    lz_scope_pop(s);
    end(n);
    return out;
}

static void go(net *n)
{
    lz_ctx *c = n->c;
    lz_scope *s = lz_scope_push(c);
    lz_tensor *h = lz_retain(n->x);
    for (int k = 0; k < LAYERS && !lz_failed(c); k++) {
        lz_tensor *next = layer(n, h, k);
        lz_release(h);
        h = next;
    }
    lz_tensor *l = lz_mean(c, lz_mul_Tensor(c, h, h));
    lz_release(h);
    if (n->sync)
        lz_mark_step(c);
    lz_backward(c, l);
    lz_scope_pop(s);
    lz_mark_step(c);
    lz_counter_value("TsBytesPlanned", &n->planned);
    for (int k = 0; k < LAYERS && !lz_failed(c); k++)
        if (!lz_read(lz_grad_of(n->w[k]), n->grads[k], sizeof n->grads[k]))
            return;
}

static lz_err *run(net *n)
{
    n->c = lz_open(&(lz_options){ .seed = 5 });
    if (!n->c)
        return lz_err_oom();
    make(n);
    if (!lz_failed(n->c))
        go(n);
    lz_err *e = lz_failed(n->c) ? lz_errf(lz_code_of(n->c), "%s", lz_message(n->c)) : NULL;
    lz_close(n->c);
    return e;
}

/* The same bits, also of random numbers, in less memory. */
static lz_err *test_less_memory(void)
{
    static net kept, redone;
    kept = (net){ .redo = false };
    redone = (net){ .redo = true, .nested = 1 };
    LZ_TRY(run(&kept));
    LZ_TRY(run(&redone));
    assert_memory_equal(kept.grads, redone.grads, sizeof kept.grads);
    if (!lz_check_failing())
        assert_true(redone.planned > 0 && redone.planned * 4 < kept.planned * 3);
    return NULL;
}

static lz_err *test_syncs_and_scopes_inside(void)
{
    static net kept, synced, nested;
    kept = (net){ .redo = false };
    synced = (net){ .redo = true, .nested = 1, .sync = true };
    nested = (net){ .redo = true, .nested = 2 };
    LZ_TRY(run(&kept));
    LZ_TRY(run(&synced));
    LZ_TRY(run(&nested));
    assert_memory_equal(kept.grads, synced.grads, sizeof kept.grads);
    assert_memory_equal(kept.grads, nested.grads, sizeof kept.grads);
    return NULL;
}

static void check(lz_ctx *c, lz_tensor *t, double due)
{
    if (!lz_failed(c)) {
        double got = lz_item(t).re;
        assert_true(lz_failed(c) || (got > due - 1e-5 && got < due + 1e-5));
    }
}

/* A third derivative through a scope; a tape that is retained; a tape that was freed; a scope left open. */
static void rules(lz_ctx *c)
{
    const float two = 2;
    lz_tensor *x = lz_from_memory(c, LZ_F32, (lz_ints){ NULL, 0 }, &two), *g = NULL, *gg = NULL;
    lz_set_requires_grad(x, true);
    lz_checkpoint_begin(c);
    lz_tensor *y = lz_mul_Tensor(c, lz_mul_Tensor(c, x, x), lz_mul_Tensor(c, x, x));
    lz_checkpoint_end(c);
    lz_grad(c, LZ_TENSORS(y), LZ_TENSORS(x), &g, .create_graph = true);
    check(c, g, 32);
    if (!lz_failed(c))
        lz_grad(c, LZ_TENSORS(g), LZ_TENSORS(x), &gg, .retain_graph = true);
    check(c, gg, 48);
    lz_backward(c, y);
    check(c, lz_grad_of(x), 32);
    if (lz_failed(c))
        return;
    assert_false(lz_backward(c, y));
    if (lz_code_of(c) != LZ_ERR_MEMORY)
        assert_string_equal(lz_reason_name(lz_reason_of(c)), "autograd-backward");
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    lz_clear(c);
    assert_false(lz_checkpoint_end(c));
    if (lz_code_of(c) == LZ_ERR_MEMORY)
        return;
    lz_clear(c);
    lz_checkpoint_begin(c);
    lz_mul_Tensor(c, x, x);
}

static lz_err *test_rules(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    rules(c);
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

/* Where a scope cannot be closed for want of memory, nodes keep what they have: gradients are right. */
static void end_fails(lz_ctx *c)
{
    const float two = 2;
    lz_tensor *x = lz_from_memory(c, LZ_F32, (lz_ints){ NULL, 0 }, &two);
    lz_set_requires_grad(x, true);
    lz_checkpoint_begin(c);
    lz_tensor *y = lz_mul_Tensor(c, lz_exp(c, x), lz_mul_Tensor(c, x, x));
    if (lz_failed(c))
        return;
    if (!lz_checkpoint_end(c))
        lz_clear(c);
    lz_backward(c, y);
    check(c, lz_grad_of(x), 8 * 7.38905609893065);
}

static lz_err *test_end_fails(void)
{
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    end_fails(c);
    lz_err *e = lz_failed(c) ? lz_errf(lz_code_of(c), "%s", lz_message(c)) : NULL;
    lz_close(c);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_less_memory),
        LZ_TEST(test_syncs_and_scopes_inside),
        LZ_TEST(test_rules),
        LZ_TEST(test_end_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
