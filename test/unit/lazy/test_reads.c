#include "open_ctx.h"
#include <math.h>

/* A read is a step: nothing that is still wanted is computed twice, and a program that reads in a loop
 * and never calls lz_mark_step costs the same each time round, with the same graphs. */

enum { TIMES = 60, SETTLED = 8 };

static lz_tensor *row(lz_ctx *c, float first)
{
    float v[4] = { first, first + 1, first + 2, first + 3 };
    return lz_from_memory(c, LZ_F32, LZ_DIMS(4), v);
}

/* ---- loops ---- */

typedef struct loop {
    lz_ctx *c;
    lz_tensor *x, *w;
    double total; /* the same in plain C */
} loop;

/* A tensor that is written in place, of which only a sum is read. */
static double write_and_read(loop *l)
{
    lz_scope *s = lz_scope_push(l->c);
    lz_add__Scalar(l->c, l->x, 1);
    double sum = lz_item(lz_sum(l->c, l->x)).re;
    lz_scope_pop(s);
    l->total += 4;
    return sum - l->total;
}

/* The same, made new each time, in a scope that stays. */
static double replace_and_read(loop *l)
{
    l->x = lz_add_Scalar(l->c, l->x, 1);
    l->total += 4;
    return lz_item(lz_sum(l->c, l->x)).re - l->total;
}

/* The value is asked for by lz_sync; the read finds it there. */
static double sync_and_read(loop *l)
{
    lz_scope *s = lz_scope_push(l->c);
    lz_tensor *sum = lz_sum(l->c, l->x);
    lz_copy_(l->c, l->x, lz_add_Tensor(l->c, l->x, lz_mul_Scalar(l->c, sum, 0)));
    lz_add__Scalar(l->c, l->x, 1);
    lz_sync(l->c, &sum, 1);
    double got = lz_item(sum).re;
    lz_scope_pop(s);
    l->total += 4;
    return got - (l->total - 4);
}

/* Printed before anything else is recorded of the step. */
static double print_and_go_on(loop *l)
{
    lz_scope *s = lz_scope_push(l->c);
    lz_tensor *y = lz_mv(l->c, l->w, l->x);
    double ok = strncmp(lz_print(y), "tensor([", 8) == 0 ? 0 : 1;
    lz_copy_(l->c, l->x, lz_add_Scalar(l->c, y, 1));
    double sum = lz_item(lz_sum(l->c, y)).re;
    lz_scope_pop(s);
    double want = l->total;
    l->total += 4;
    return ok + sum - want;
}

/* Element-wise steps that only the scope keeps, each of which is the next one's argument. */
static double temporaries(loop *l)
{
    lz_scope *s = lz_scope_push(l->c);
    lz_tensor *t = l->x;
    double off = 0;
    for (int i = 1; i < 6; i++) {
        t = lz_add_Scalar(l->c, t, 1);
        off += fabs(lz_item(lz_sum(l->c, t)).re - (l->total + 4 * i));
    }
    lz_scope_pop(s);
    return off;
}

static void run_loop(double (*once)(loop *), bool async)
{
    static const float eye[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
    lz_ctx *c = open_ctx(&(lz_options){ .async = async });
    loop l = { c, row(c, 0), lz_from_memory(c, LZ_F32, LZ_DIMS(4, 4), eye), 6 };
    int64_t compiled = 0, launched = 0, each = 0;
    for (int i = 0; i < TIMES; i++) {
        double off = once(&l);
        if (off != 0)
            fail_msg("time %d: wrong by %g", i, off);
        if (i == SETTLED)
            compiled = count("UncachedCompile");
        if (i >= SETTLED && i % 2 == 0) { /* graphs may come in turns of two */
            int64_t now = count("TsLaunches");
            if (i > SETTLED + 2)
                assert_int_equal(now - launched, each);
            each = now - launched;
            launched = now;
        }
    }
    assert_int_equal(count("UncachedCompile"), compiled);
    close_ctx(c);
}

static void test_loops(void **state)
{
    static double (*const loops[])(loop *) = { write_and_read, replace_and_read, sync_and_read,
                                               print_and_go_on, temporaries };
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        run_loop(loops[i], false);
        run_loop(loops[i], true);
    }
}

/* ---- what a read computes, and what it leaves ---- */

/* One product, two numbers made from it: it is computed by the first read only. */
static void test_shared_work_is_done_once(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *w = lz_ones(c, LZ_DIMS(4, 4));
    lz_mark_step(c);
    for (int i = 0; i < 2; i++) {
        lz_scope *s = lz_scope_push(c);
        lz_tensor *y = lz_mv(c, w, row(c, 0)), *sum = lz_sum(c, y), *most = lz_max(c, y);
        assert_true(lz_item(sum).re == 24);
        assert_true(lz_tensor_is_held(y) && lz_tensor_is_held(most));
        int64_t before = count("TsExecuted");
        assert_true(lz_item(most).re == 6);
        assert_int_equal(count("TsExecuted"), before);
        lz_scope_pop(s);
    }
    close_ctx(c);
}

/* An expression is one kernel with one result, however many temporaries the scope keeps. */
static void test_temporaries_are_not_written(void **state)
{
    float got[4];
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = row(c, 1);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *a = lz_mul_Scalar(c, x, 2), *b = lz_add_Tensor(c, a, x), *y = lz_neg(c, b);
    lz_metrics_clear();
    assert_true(lz_read(y, got, sizeof got) && got[0] == -3 && got[3] == -12);
    assert_int_equal(count("SyncedTensorsWithIR"), 1);
    assert_true(!lz_tensor_is_held(a) && !lz_tensor_is_held(b));
    assert_true(lz_read(b, got, sizeof got) && got[0] == 3 && got[3] == 12); /* computed once again */
    assert_true(lz_tensor_is_held(a) && lz_tensor_is_held(b));               /* and not a third time */
    lz_scope_pop(s);
    close_ctx(c);
}

/* What outlives the scope is computed, though nobody asked. */
static void test_what_stays_is_held(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = row(c, 1);
    lz_scope *s = lz_scope_push(c);
    lz_tensor *kept = lz_retain(lz_mul_Scalar(c, x, 2)), *outside = lz_neg(c, x);
    assert_true(lz_item(lz_sum(c, lz_add_Scalar(c, kept, 1))).re == 24);
    assert_true(lz_tensor_is_held(kept) && lz_tensor_is_held(outside));
    lz_scope_pop(s);
    lz_release(kept);
    close_ctx(c);
}

/* lz_sync leaves alone what has nothing to do with it, and takes along what has. */
static void test_sync(void **state)
{
    (void)state;
    lz_ctx *c = open_ctx(NULL);
    lz_tensor *x = row(c, 1), *a = lz_exp(c, x), *other = lz_neg(c, x), *b = lz_add_Scalar(c, a, 1);
    lz_graph_key k = { 0 };
    assert_true(lz_sync(c, &other, 1));
    assert_true(!lz_tensor_is_held(a) && !lz_tensor_is_held(b));
    assert_true(lz_sync(c, &a, 1));
    assert_true(lz_tensor_is_held(a) && lz_tensor_is_held(b));
    assert_true(lz_sync(c, (lz_tensor *[]){ a, a, b }, 3)); /* nothing to do, twice */
    assert_true(lz_graph_hash(c, &x, 1, &k));
    close_ctx(c);
}

/* ---- failures ---- */

/* Something else that is pending fails: the value is there, the failure is reported once. */
static void test_failure_of_others(void **state)
{
    int64_t far = 9;
    float got[4];
    (void)state;
    for (int async = 0; async < 2; async++) {
        lz_ctx *c = open_ctx(&(lz_options){ .async = async });
        lz_tensor *x = row(c, 1), *y = lz_neg(c, x);
        int line = __LINE__ + 1;
        lz_tensor *bad = lz_index_select(c, x, 0, lz_from_memory(c, LZ_I64, LZ_DIMS(1), &far));
        assert_true(lz_read(y, got, sizeof got) && got[3] == -4);
        assert_true(lz_wait(c) || async);
        assert_true(lz_failed(c));
        assert_int_equal(lz_place(c).line, line);
        lz_clear(c);
        assert_true(lz_mark_step(c) && lz_wait(c));
        assert_false(lz_read(bad, got, sizeof got));
        lz_clear(c);
        close_ctx(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_loops),
                                        cmocka_unit_test(test_shared_work_is_done_once),
                                        cmocka_unit_test(test_temporaries_are_not_written),
                                        cmocka_unit_test(test_what_stays_is_held),
                                        cmocka_unit_test(test_sync),
                                        cmocka_unit_test(test_failure_of_others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
