#include "base/thread.h"
#include "lazy_calls.h"
#include <pthread.h>

/* ---- scopes and counts ---- */

static lz_err *test_scopes(void)
{
    const float v[] = { 1, 2 };
    float got[2];
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    lz_scope *outer = lz_scope_push(c), *inner = lz_scope_push(c);
    lz_tensor *kept = lz_retain(CALL(c, add_Tensor, T(x), T(x)));
    CALL(c, neg, T(kept));
    size_t made = lz_nodes_live(c->nodes);
    (void)inner;
    lz_scope_pop(outer);
    if (!lz_failed(c)) {
        assert_true(lz_nodes_live(c->nodes) < made);
        if (lz_read(kept, got, sizeof got))
            assert_true(got[1] == 4);
        lz_release(kept);
        assert_int_equal(lz_nodes_live(c->nodes), 1); /* x */
    }
    return finish(c);
}

static lz_err *test_scope_names(void)
{
    const float v[] = { 1, 2 };
    lz_ctx *c = lz_open(&(lz_options){ .scopes_in_graph = true });
    lz_output o;
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    lz_scope *outer = lz_scope_push_as(c, "encoder");
    lz_scope_push_as(c, "block");
    lz_tensor *y = CALL(c, neg, T(x));
    if (!lz_failed(c)) {
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(y, &o));
        assert_string_equal(lz_node_scope(o.node), "encoder.1/block.1");
        assert_int_equal(lz_node_loc(o.node).line > 0, 1);
    }
    lz_scope_pop(outer);
    return finish(c);
}

/* Nodes that are equal are one; run-time numbers keep them apart, and out of the hash. */
static lz_err *test_equal_nodes(void)
{
    const float v[] = { 1, 2 };
    lz_output a, b;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    lz_tensor *p = CALL(c, neg, T(x)), *q = CALL(c, neg, T(x));
    lz_tensor *r = CALL(c, mul_Scalar, T(x), S(2.0)), *s = CALL(c, mul_Scalar, T(x), S(3.0));
    lz_tensor *i = CALL(c, mul_Scalar, T(x), S(3));
    if (!lz_failed(c)) {
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(p, &a));
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(q, &b));
        assert_ptr_equal(a.node, b.node);
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(r, &a));
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(s, &b));
        assert_ptr_not_equal(a.node, b.node);
        assert_true(lz_hash_eq(a.node->hash, b.node->hash));
        lz_ctx_fail(c, LZ_HERE, lz_tensor_value(i, &b));
        assert_false(lz_hash_eq(a.node->hash, b.node->hash));
    }
    return finish(c);
}

/* A call that gives its argument back: two names for one tensor, each released on its own. */
static lz_err *test_same_tensor(void)
{
    const float v[] = { 1, 2 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_scope *s = lz_scope_push(c);
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v), *y = CALL(c, contiguous, T(x));
    if (!lz_failed(c)) {
        assert_ptr_equal(x, y);
        lz_release(x);
        CALL(c, unsqueeze_, T(y), I(0));
    }
    if (!lz_failed(c))
        assert_int_equal(lz_tensor_ndim(y), 2);
    lz_scope_pop(s);
    if (s)
        assert_null(c->live);
    return finish(c);
}

/* A view without elements begins where it was cut off. */
static lz_err *test_empty_view(void)
{
    const float v[] = { 1, 2, 3, 4 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
    lz_tensor *none = CALL(c, slice_Tensor, T(x), I(0), I(3), I(1), I(1));
    lz_tensor *one = CALL(c, as_strided, T(none), L(1), L(1));
    if (!lz_failed(c)) {
        assert_int_equal(lz_tensor_numel(none), 0);
        assert_int_equal(lz_tensor_offset(one), 3);
        lz_scalar got = lz_item(one);
        assert_true(lz_failed(c) || got.re == 4);
    }
    return finish(c);
}

/* ---- contexts apart ---- */

static lz_err *test_other_context(void)
{
    const float v[] = { 1, 2 };
    float got[2];
    lz_ctx *c = lz_open(NULL), *other = lz_open(NULL);
    if (c && other) {
        lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v), *y = CALL(c, neg, T(x));
        if (!lz_failed(c) && !lz_failed(other)) {
            lz_tensor *bad = CALL(other, neg, T(y));
            assert_true(lz_tensor_is_inert(bad));
            if (lz_code_of(other) != LZ_ERR_MEMORY) {
                assert_int_equal(lz_reason_of(other), LZ_REASON_CONTEXT);
                lz_clear(other);
            }
            lz_tensor *z = lz_share(other, y);
            lz_tensor *w = CALL(other, neg, T(z));
            if (!lz_failed(other) && !lz_failed(c) && lz_read(w, got, sizeof got))
                assert_true(got[0] == 1 && got[1] == 2);
            CALL(c, zero_, T(y));
            if (!lz_failed(other) && !lz_failed(c) && lz_read(z, got, sizeof got))
                assert_true(got[1] == -2);
        }
    }
    lz_err *e = c ? finish(c) : lz_err_oom();
    return lz_err_first(e, other ? finish(other) : lz_err_oom());
}

/* ---- random numbers ---- */

static lz_err *test_random(void)
{
    float a[8], b[8], d[8];
    lz_ctx *c = lz_open(&(lz_options){ .seed = 3 });
    if (!c)
        return lz_err_oom();
    lz_tensor *x = CALL(c, rand, L(8)), *y = CALL(c, rand, L(8));
    if (lz_read(y, b, sizeof b) && lz_read(x, a, sizeof a)) {
        assert_memory_not_equal(a, b, sizeof a);
        if (lz_read(x, d, sizeof d))
            assert_memory_equal(a, d, sizeof a);
    }
    lz_manual_seed(c, 3);
    lz_tensor *z = CALL(c, rand, L(8));
    if (!lz_failed(c) && lz_read(z, d, sizeof d))
        assert_memory_equal(a, d, sizeof a);
    return finish(c);
}

/* ---- long and short lives ---- */

enum { LONG_CHAIN = 1000000 };

static void *run_long_chain(void *arg)
{
    const float v[] = { 1, 2 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return NULL;
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    for (int i = 0; i < LONG_CHAIN && !lz_failed(c); i++) {
        lz_tensor *y = CALL(c, add_Tensor, T(x), T(x));
        lz_release(x);
        x = y;
    }
    *(size_t *)arg = lz_nodes_live(c->nodes);
    lz_release(x);
    if (lz_nodes_live(c->nodes) != 0)
        *(size_t *)arg = 0;
    lz_close(c);
    return NULL;
}

static lz_err *test_long_chain(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t live = 0;
    if (lz_check_failing())
        return NULL;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, LZ_SMALL_STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_long_chain, &live), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    assert_int_equal(live, LONG_CHAIN + 1);
    return NULL;
}

static lz_err *test_dropped_temporaries(void)
{
    const float v[] = { 1, 2, 3, 4 };
    size_t most = 0;
    lz_ctx *c = lz_open(NULL);
    if (!c || lz_check_failing()) {
        lz_close(c);
        return NULL;
    }
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
    for (int i = 0; i < 100000; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *y = CALL(c, slice_Tensor, T(x), I(0), I(0), I(1 + i % 4), I(1));
        CALL(c, mul_Scalar, T(CALL(c, add_Tensor, T(y), T(y))), S(i));
        lz_scope_pop(s);
        most = lz_nodes_bytes(c->nodes) > most ? lz_nodes_bytes(c->nodes) : most;
    }
    assert_in_range(most, 0, 4096);
    return finish(c);
}

/* ---- the calls of a repeated step ---- */

static void step(lz_ctx *c, lz_tensor *x, bool other)
{
    lz_scope *s = lz_scope_push(c);
    lz_tensor *y = CALL(c, add_Tensor, T(x), T(x));
    y = other ? CALL(c, exp, T(y)) : CALL(c, neg, T(y));
    CALL(c, relu, T(y));
    lz_infer_restart(c->infer);
    lz_scope_pop(s);
}

static int64_t reused(const lz_ctx *c, lz_op op)
{
    return (int64_t)c->counts[LZ_COUNT_REUSED + op];
}

static lz_err *test_repeated_calls(void)
{
    const float v[] = { 1, 2 };
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_tensor *x = lz_from_memory(c, LZ_F32, LZ_DIMS(2), v);
    if (lz_failed(c))
        return finish(c);
    step(c, x, false);
    int64_t before = reused(c, LZ_OP_relu);
    step(c, x, false);
    if (!lz_failed(c))
        assert_int_equal(reused(c, LZ_OP_relu), before + 1);
    int64_t forks = (int64_t)c->counts[LZ_COUNT_FORKED];
    step(c, x, true);
    if (!lz_failed(c))
        assert_int_equal(c->counts[LZ_COUNT_FORKED], forks + 1);
    before = reused(c, LZ_OP_exp) + reused(c, LZ_OP_neg);
    step(c, x, true);
    step(c, x, false);
    if (!lz_failed(c))
        assert_int_equal(reused(c, LZ_OP_exp) + reused(c, LZ_OP_neg), before + 2);
    return finish(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_scopes),         LZ_TEST(test_scope_names),
                                        LZ_TEST(test_equal_nodes),    LZ_TEST(test_same_tensor),
                                        LZ_TEST(test_empty_view),     LZ_TEST(test_other_context),
                                        LZ_TEST(test_random),         LZ_TEST(test_long_chain),
                                        LZ_TEST(test_repeated_calls), LZ_TEST(test_dropped_temporaries) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
