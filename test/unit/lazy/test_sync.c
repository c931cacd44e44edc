#include "lazy/sync.h"
#include "lazy_desk.h"
#include <stdlib.h>

static const lz_options plain = { 0 };

static lz_err *test_values(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_op(b.c, "add.Tensor", x, x, 2, 1);
    lz_tensor *z = bench_op(b.c, "mul.Tensor", y, x, 1, 2);
    assert_false(lz_tensor_is_held(y) && !lz_tensor_is_inert(y));
    bench_expect(y, 3, 3);
    bench_expect(y, 3, 3);
    /* A read is a step: z is there as well, and no step has anything left to do. */
    assert_true(lz_failed(b.c) || (lz_tensor_is_held(y) && lz_tensor_is_held(z)));
    lz_mark_step(b.c);
    lz_mark_step(b.c);
    if (!lz_check_failing()) {
        assert_int_equal(b.fake.runs, 1);
        assert_int_equal(bench_count("MarkStep"), 2);
        assert_int_equal(bench_count("lazy::add"), 1);
        assert_int_equal(bench_count("UncachedCompile"), 1);
        assert_int_equal(bench_count("NoSuchThing"), 0);
    }
    return bench_close(&b);
}

/* A learning rate that changes every step, through 0 and 1, is no reason to compile. */
static lz_err *test_numbers_never_recompile(void)
{
    enum { STEPS = 1000 };
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *w = bench_data(b.c, 4, 1), *g = bench_data(b.c, 4, 2);
    float want = 1;
    int steps = lz_check_failing() ? 3 : STEPS, compiles = 0;
    for (int i = 0; i < steps; i++) {
        double lr = i % 7 == 0 ? 0 : i % 5 == 0 ? 1 : 0.5 / (i + 1);
        lz_tensor *next = bench_op(b.c, "sub.Tensor", w, g, lr, 1);
        lz_release(w);
        w = next;
        want = want - (float)lr * 2;
        lz_mark_step(b.c);
        if (i == 1)
            compiles = b.fake.compiles;
    }
    if (!lz_check_failing()) {
        assert_int_equal(b.fake.compiles, compiles);
        assert_in_range(b.fake.donated, steps - 1, steps);
    }
    float v[4] = { want };
    if (!lz_failed(b.c) && lz_read(w, v, sizeof v))
        assert_true(v[0] == want);
    return bench_close(&b);
}

/* ---- order ---- */

typedef struct maker {
    int tensor, leaf;
    const char *op;
} maker;

/* p_i = relu(x_i), q_i = neg(x_i), s_i = p_i + q_(i+1): all alike, and connected. */
enum { RING = 4, TENSORS = 3 * RING };

static void make_in_order(lz_ctx *c, lz_tensor *const x[RING], const int *turn, lz_tensor *out[TENSORS])
{
    bool made[TENSORS] = { false };
    for (int left = TENSORS; left > 0 && !lz_failed(c);)
        for (int k = 0; k < TENSORS; k++) {
            int t = turn[k], i = t % RING, kind = t / RING, p = i, q = RING + (i + 1) % RING;
            if (made[t] || (kind == 2 && !(made[p] && made[q])))
                continue;
            out[t] = kind == 0   ? bench_op(c, "relu", x[i], NULL, 1, 1)
                     : kind == 1 ? bench_op(c, "neg", x[i], NULL, 1, 2)
                                 : bench_op(c, "add.Tensor", out[p], out[q], 1, 3);
            made[t] = true;
            left--;
        }
}

static void shuffle(int *v, int n, unsigned *state)
{
    for (int i = 0; i < n; i++)
        v[i] = i;
    for (int i = n - 1; i > 0; i--) {
        *state = *state * 1103515245u + 12345u;
        int k = (int)(*state >> 16) % (i + 1), t = v[i];
        v[i] = v[k];
        v[k] = t;
    }
}

static lz_err *test_creation_order_never_matters(void)
{
    bench b;
    unsigned state = 1;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x[RING];
    for (int i = 0; i < RING; i++)
        x[i] = bench_data(b.c, 4, (float)i);
    for (int round = 0; round < (lz_check_failing() ? 2 : 200); round++) {
        int turn[TENSORS];
        lz_tensor *t[TENSORS] = { NULL };
        lz_scope *s = lz_scope_push(b.c);
        shuffle(turn, TENSORS, &state);
        make_in_order(b.c, x, turn, t);
        lz_mark_step(b.c);
        for (int i = 0; i < RING && !lz_failed(b.c); i++) {
            bench_expect(t[i], (float)i, 1);
            bench_expect(t[RING + i], (float)-i, -1);
            bench_expect(t[2 * RING + i], (float)(i - (i + 1) % RING), 0);
        }
        lz_scope_pop(s);
    }
    if (!lz_check_failing())
        assert_int_equal(b.fake.compiles, 1);
    return bench_close(&b);
}

/* A thousand tensors that nobody touches cost a step nothing; two thousand results are one graph. */
static lz_err *test_many_tensors(void)
{
    enum { MANY = 2000 };
    bench b;
    int n = lz_check_failing() ? 5 : MANY;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 1, 1), *last = x;
    for (int i = 0; i < n; i++)
        last = bench_op(b.c, "add.Tensor", x, x, i, i);
    lz_mark_step(b.c);
    if (!lz_check_failing()) {
        assert_int_equal(b.fake.runs, 1);
        assert_int_equal(b.fake.last_results, n);
    }
    bench_expect(last, (float)n, 0);
    for (int i = 0; i < 3; i++)
        lz_mark_step(b.c);
    assert_true(lz_check_failing() || b.fake.runs == 1);
    return bench_close(&b);
}

/* ---- failure ---- */

static lz_err *fails(bool async)
{
    bench b;
    LZ_TRY(bench_open(&b, (lz_options){ .async = async }));
    lz_tensor *x = bench_data(b.c, 4, 1);
    lz_tensor *good = bench_op(b.c, "add.Tensor", x, x, 1, 10), *bad = bench_op(b.c, "relu", x, NULL, 1, 11);
    lz_tensor *worse = bench_op(b.c, "mul.Tensor", bad, good, 1, 12);
    b.fake.fails = "relu";
    lz_mark_step(b.c);
    lz_wait(b.c);
    if (!lz_check_failing()) {
        assert_true(lz_failed(b.c));
        assert_non_null(strstr(lz_message(b.c), "the machine is on fire"));
        assert_int_equal(lz_place(b.c).line, 11);
        lz_clear(b.c);
        lz_mark_step(b.c);
        lz_wait(b.c);
        assert_false(lz_failed(b.c)); /* reported once */
        bench_expect(good, 2, 2);
        bench_expect(x, 1, 1);
        assert_false(lz_failed(b.c));
        float v[4];
        assert_false(lz_read(worse, v, sizeof v)); /* each read reports the failure again */
        assert_non_null(strstr(lz_message(b.c), "aten::relu"));
        assert_int_equal(lz_place(b.c).line, 11);
        lz_clear(b.c);
        /* what is computed from it is lost too, and nothing else */
        lz_tensor *y = bench_op(b.c, "add.Tensor", worse, x, 1, 20),
                  *z = bench_op(b.c, "neg", good, NULL, 1, 21);
        lz_mark_step(b.c);
        lz_wait(b.c);
        assert_false(lz_failed(b.c));
        bench_expect(z, -2, -2);
        assert_false(lz_read(y, v, sizeof v));
        lz_clear(b.c);
    }
    return bench_close(&b);
}

static lz_err *test_failure(void)
{
    return fails(false);
}

static lz_err *test_failure_async(void)
{
    return fails(true);
}

/* A read that meets the failure tells it, and nobody tells it again. */
static lz_err *test_failure_met_by_a_read(void)
{
    bench b;
    LZ_TRY(bench_open(&b, (lz_options){ .async = true }));
    lz_tensor *x = bench_data(b.c, 4, 1), *bad = bench_op(b.c, "relu", x, NULL, 1, 11);
    b.fake.fails = "relu";
    b.fake.delay_us = lz_check_failing() ? 0 : 5000;
    lz_mark_step(b.c);
    if (!lz_check_failing()) {
        float v[4];
        assert_false(lz_failed(b.c));
        assert_false(lz_read(bad, v, sizeof v));
        assert_int_equal(lz_place(b.c).line, 11);
        lz_clear(b.c);
        bench_op(b.c, "neg", x, NULL, 1, 12);
        assert_true(lz_mark_step(b.c));
        assert_true(lz_wait(b.c));
        assert_int_equal(bench_count("FailedSync"), 1);
    }
    return bench_close(&b);
}

/* What cannot be compiled costs what depends on it, too. */
static lz_err *test_failure_to_compile(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1);
    lz_tensor *good = bench_op(b.c, "add.Tensor", x, x, 1, 10);
    bench_op(b.c, "relu", x, NULL, 1, 11);
    b.fake.unknown = "relu";
    lz_mark_step(b.c);
    if (!lz_check_failing()) {
        assert_true(lz_failed(b.c));
        assert_non_null(strstr(lz_message(b.c), "never heard of relu"));
        assert_int_equal(lz_place(b.c).line, 11);
        lz_clear(b.c);
        bench_expect(good, 2, 2);
        assert_false(lz_failed(b.c));
        lz_mark_step(b.c);
        assert_false(lz_failed(b.c));
    }
    return bench_close(&b);
}

/* ---- asynchronous ---- */

static lz_err *test_recording_goes_on(void)
{
    bench b;
    LZ_TRY(bench_open(&b, (lz_options){ .async = true }));
    lz_tensor *x = bench_data(b.c, 4, 1);
    b.fake.delay_us = lz_check_failing() ? 0 : 20000;
    for (int i = 0; i < 5; i++) {
        x = bench_op(b.c, "add.Tensor", x, x, 1, i);
        lz_mark_step(b.c);
        assert_true(lz_failed(b.c) || lz_tensor_is_held(x));
    }
    assert_true(lz_check_failing() || b.fake.runs < 5);
    bench_expect(x, 32, 32);
    lz_wait(b.c);
    assert_true(lz_failed(b.c) || b.fake.runs == 5);
    return bench_close(&b);
}

/* ---- what must not happen ---- */

static lz_err *test_forbid(void)
{
    bench b;
    float v[4];
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *y = bench_op(b.c, "add.Tensor", x, x, 1, 1);
    static const struct {
        unsigned event;
        const char *word;
    } all[] = { { LZ_SYNC, "sync" }, { LZ_COMPILE, "compile" }, { LZ_COPY, "copy" } };
    for (size_t i = 0; i < 3 && !lz_failed(b.c); i++) {
        lz_forbid(b.c, all[i].event);
        assert_false(lz_read(y, v, sizeof v));
        if (!lz_check_failing())
            assert_non_null(strstr(lz_message(b.c), all[i].word));
        if (lz_code_of(b.c) != LZ_ERR_MEMORY)
            lz_clear(b.c);
    }
    lz_forbid(b.c, 0);
    bench_expect(y, 2, 2);
    lz_forbid(b.c, LZ_COMPILE | LZ_SYNC | LZ_FALLBACK);
    bench_expect(y, 2, 2);
    assert_true(lz_check_failing() || !lz_failed(b.c));
    return bench_close(&b);
}

/* ---- why ---- */

static const char *explained(lz_ctx *c)
{
    return lz_failed(c) ? "" : lz_explain(c);
}

static void expect_word(lz_ctx *c, const char *word)
{
    const char *text = explained(c); /* may fail: it is made now */
    if (!lz_failed(c) && !strstr(text, word))
        fail_msg("'%s' is not in '%s'", word, text);
}

static lz_err *test_explain(void)
{
    bench b;
    LZ_TRY(bench_open(&b, plain));
    lz_tensor *x = bench_data(b.c, 4, 1), *big = bench_data(b.c, 8, 1), *y;
    bench_op(b.c, "relu", bench_op(b.c, "add.Tensor", x, x, 1, 10), NULL, 1, 11);
    lz_mark_step(b.c);
    expect_word(b.c, "the first graph");
    bench_op(b.c, "relu", bench_op(b.c, "add.Tensor", big, big, 1, 20), NULL, 1, 21);
    lz_mark_step(b.c);
    expect_word(b.c, "shape is Float[8], was Float[4]");
    y = bench_op(b.c, "relu", bench_op(b.c, "add.Tensor", x, x, 2, 30), NULL, 1, 31);
    bench_op(b.c, "neg", y, NULL, 1, 32);
    lz_mark_step(b.c);
    expect_word(b.c, "aten::neg at model.c:32 is new");
    return bench_close(&b);
}

/* ---- closures ---- */

typedef struct note {
    atomic_int runs;
    const char *fails;
} note;

static lz_err *take_note(void *user)
{
    note *n = user;
    atomic_fetch_add(&n->runs, 1);
    return n->fails ? lz_errf(LZ_ERR_LIMIT, "%s", n->fails) : NULL;
}

static lz_err *test_closures(void)
{
    bench b;
    note sync = { 0 }, async = { 0 }, bad = { .fails = "enough" }, late = { 0 };
    LZ_TRY(bench_open(&b, plain));
    lz_add_step_closure(b.c, take_note, &sync, false);
    lz_add_step_closure(b.c, take_note, &async, true);
    assert_int_equal(sync.runs, 0);
    lz_mark_step(b.c);
    assert_true(lz_failed(b.c) || sync.runs == 1);
    lz_wait(b.c);
    assert_true(lz_failed(b.c) || async.runs == 1);
    lz_mark_step(b.c);
    assert_true(lz_failed(b.c) || sync.runs == 1);
    if (!lz_check_failing()) {
        /* a failure is reported at once, and no later one runs */
        lz_add_step_closure(b.c, take_note, &bad, false);
        lz_add_step_closure(b.c, take_note, &late, false);
        assert_false(lz_mark_step(b.c));
        assert_ptr_equal(strstr(lz_message(b.c), "enough (" __FILE__ ":"), lz_message(b.c));
        lz_clear(b.c);
        assert_int_equal(late.runs, 0);
        /* or, on its thread, at the next step */
        lz_add_step_closure(b.c, take_note, &bad, true);
        lz_add_step_closure(b.c, take_note, &late, true);
        assert_true(lz_mark_step(b.c));
        while (bad.runs < 2)
            lz_mark_step(b.c);
        lz_wait(b.c);
        assert_true(lz_failed(b.c));
        lz_clear(b.c);
        assert_int_equal(late.runs, 0);
    }
    return bench_close(&b);
}

/* ---- limits ---- */

static lz_err *test_trim(void)
{
    bench b;
    int n = lz_check_failing() ? 30 : 1000;
    LZ_TRY(bench_open(&b, (lz_options){ .trim_nodes = 20 }));
    lz_tensor *x = bench_data(b.c, 1, 0), *one = bench_data(b.c, 1, 1);
    for (int i = 0; i < n; i++) {
        lz_tensor *y = bench_op(b.c, "add.Tensor", x, one, 1, i);
        lz_release(x);
        x = y;
    }
    if (!lz_check_failing()) {
        assert_in_range(bench_count("TrimIrGraph"), n / 25, n / 15);
        assert_in_range(lz_nodes_live(b.c->nodes), 0, 30);
    }
    bench_expect(x, (float)n, 0);
    return bench_close(&b);
}

/* Three graphs in turn, twice: they never find a place for two. */
static lz_err *three_in_turn(lz_options o, int kept)
{
    bench b;
    LZ_TRY(bench_open(&b, o));
    lz_tensor *x = bench_data(b.c, 4, 1);
    for (int round = 0; round < 2; round++)
        for (int n = 1; n <= 3; n++) {
            lz_tensor *y = x;
            for (int i = 0; i < n; i++)
                y = bench_op(b.c, "neg", y, NULL, 1, i);
            lz_sync(b.c, &y, 1);
        }
    if (!lz_check_failing()) {
        assert_int_equal(b.fake.compiles, 6);
        assert_int_equal(b.fake.live_computations, kept);
    }
    return bench_close(&b);
}

static lz_err *test_cache_limit(void)
{
    return three_in_turn((lz_options){ .cache_size = 2 }, 2);
}

/* The newest stays, however little room there is. */
static lz_err *test_cache_bytes(void)
{
    return three_in_turn((lz_options){ .cache_bytes = 1 }, 1);
}

static lz_err *test_cache_bytes_by_environment(void)
{
    setenv("LAZULI_GRAPHS_SIZE", "1", 1);
    lz_err *e = three_in_turn((lz_options){ 0 }, 1);
    unsetenv("LAZULI_GRAPHS_SIZE");
    return e;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_values),
        LZ_TEST(test_numbers_never_recompile),
        LZ_TEST(test_creation_order_never_matters),
        LZ_TEST(test_many_tensors),
        LZ_TEST(test_failure),
        LZ_TEST(test_failure_async),
        LZ_TEST(test_failure_met_by_a_read),
        LZ_TEST(test_failure_to_compile),
        LZ_TEST(test_recording_goes_on),
        LZ_TEST(test_forbid),
        LZ_TEST(test_explain),
        LZ_TEST(test_closures),
        LZ_TEST(test_trim),
        LZ_TEST(test_cache_limit),
        LZ_TEST(test_cache_bytes),
        LZ_TEST(test_cache_bytes_by_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
