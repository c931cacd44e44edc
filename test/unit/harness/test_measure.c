#include "check.h"
#include "harness/measure.h"
#include <sched.h>
#include <time.h>

typedef struct work {
    int calls, fail_at;
    double seconds; /* that a call keeps this thread busy */
} work;

static lz_err *run(void *user)
{
    work *w = user;
    double start = lz_measure_clock(1);
    while (lz_measure_clock(1) - start < w->seconds)
        ;
    return ++w->calls == w->fail_at ? lz_errf(LZ_ERR_IO, "call %d", w->calls) : NULL;
}

/* No call can take less than it is made to; the clock is the thread's, so others do not count. */
static lz_err *test_best_is_of_one_call(void)
{
    work slow = { .seconds = 4e-4 }, fast = { .seconds = 1e-4 };
    lz_measured ways[] = { { .run = run, .user = &slow }, { .best = 7 }, { .run = run, .user = &fast } };
    LZ_TRY(lz_measure(ways, 3, 1, 0.001));
    assert_true(ways[0].best >= slow.seconds);
    assert_true(ways[2].best >= fast.seconds);
    assert_true(ways[2].best < ways[0].best);
    assert_true(ways[1].best == 0);
    return NULL;
}

/* A first call that does not count, one to know how long it takes, and five turns, each of which begins
 * with as many calls that do not count. */
static lz_err *test_turns(void)
{
    work slow = { .seconds = 2e-3 }, fast = { .seconds = 1e-4 };
    lz_measured ways[] = { { .run = run, .user = &slow }, { .run = run, .user = &fast } };
    LZ_TRY(lz_measure(ways, 2, 1, 0));
    assert_int_equal(slow.calls, 2 + 5 * 2);
    assert_true(fast.calls > slow.calls);
    return NULL;
}

static lz_err *test_errors_end_it(void)
{
    work w = { .fail_at = 3 };
    lz_measured ways[] = { { .run = run, .user = &w } };
    lz_err *e = lz_measure(ways, 1, 1, 0);
    assert_int_equal(w.calls, 3);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_int_equal(lz_err_code(e), LZ_ERR_IO);
    lz_err_free(e);
    return NULL;
}

static int allowed(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

static lz_err *test_pin(void)
{
    int before = allowed();
    lz_pin(true);
    assert_int_equal(allowed(), 1);
    lz_pin(false);
    assert_int_equal(allowed(), before);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_best_is_of_one_call), LZ_TEST(test_turns),
                                        LZ_TEST(test_errors_end_it), LZ_TEST(test_pin) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
