#include "base/once.h"
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { THREADS = 8 };

typedef struct thing {
    lz_once once;
    int attempts, fail_first; /* the first fail_first attempts fail */
    int value;                /* set by the attempt that succeeds; plain on purpose */
    atomic_int arrived;
    bool crowd; /* let everybody arrive during an attempt */
} thing;

static void nap(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static lz_err *make(void *user)
{
    thing *t = user;
    if (t->crowd) {
        while (atomic_load(&t->arrived) < THREADS)
            nap(1);
        nap(10);
    }
    if (++t->attempts <= t->fail_first)
        return lz_err_at(LZ_ERR_IO, (lz_loc){ .file = "f", .line = 7 }, "attempt %d", t->attempts);
    t->value = 42;
    return NULL;
}

static lz_err *test_retries_until_success_then_never(void)
{
    thing t = { .once = LZ_ONCE_INIT, .fail_first = 2 };
    lz_err *e = lz_check_err(lz_once_run(&t.once, make, &t), LZ_ERR_IO, "attempt 1");
    if (e)
        return e;
    LZ_TRY(lz_check_err(lz_once_run(&t.once, make, &t), LZ_ERR_IO, "attempt 2"));
    for (int i = 0; i < 3; i++)
        LZ_TRY(lz_once_run(&t.once, make, &t));
    assert_int_equal(t.attempts, 3);
    assert_int_equal(t.value, 42);
    return NULL;
}

typedef struct caller {
    pthread_t thread;
    thing *t;
    lz_err *err;
    int seen;
} caller;

static void *call(void *arg)
{
    caller *c = arg;
    atomic_fetch_add(&c->t->arrived, 1);
    while (!c->t->crowd && atomic_load(&c->t->arrived) < THREADS)
        sched_yield();
    c->err = lz_once_run(&c->t->once, make, c->t);
    c->seen = c->err ? 0 : c->t->value;
    return NULL;
}

static void call_together(thing *t, caller *callers)
{
    atomic_store(&t->arrived, 0);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){ .t = t };
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
}

static lz_err *test_success_is_made_once_and_seen_by_all(void)
{
    for (int round = 0; round < 300; round++) {
        thing t = { .once = LZ_ONCE_INIT };
        caller callers[THREADS];
        call_together(&t, callers);
        assert_int_equal(t.attempts, 1);
        for (int i = 0; i < THREADS; i++) {
            assert_null(callers[i].err);
            assert_int_equal(callers[i].seen, 42);
        }
    }
    return NULL;
}

/* A thread that was held up between arriving and asking starts an attempt of its
 * own, so only the sum is certain: no thread gets a success. */
static lz_err *test_failure_reaches_all_who_waited(void)
{
    thing t = { .once = LZ_ONCE_INIT, .crowd = true, .fail_first = THREADS };
    caller callers[THREADS];
    lz_err *oom = NULL;
    call_together(&t, callers);
    for (int i = 0; i < THREADS; i++) {
        lz_err *e = callers[i].err;
        assert_non_null(e);
        if (lz_err_code(e) == LZ_ERR_IO) {
            assert_int_equal(lz_err_loc(e).line, 7);
            assert_string_equal(lz_err_loc(e).file, "f");
        }
        oom = lz_err_first(oom, lz_check_err(e, LZ_ERR_IO, "attempt "));
    }
    assert_in_range(t.attempts, 1, THREADS);
    t.fail_first = 0;
    if (oom)
        return oom;
    call_together(&t, callers);
    for (int i = 0; i < THREADS; i++)
        assert_null(callers[i].err);
    assert_int_equal(t.value, 42);
    return NULL;
}

static lz_once knot = LZ_ONCE_INIT;

static lz_err *tie(void *user)
{
    return lz_err_wrap(lz_once_run(&knot, tie, user), "tying");
}

static lz_err *test_depending_on_itself_is_refused(void)
{
    return lz_check_err(lz_once_run(&knot, tie, NULL), LZ_ERR_BUSY, "tying: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_retries_until_success_then_never),
        LZ_TEST(test_success_is_made_once_and_seen_by_all),
        LZ_TEST(test_failure_reaches_all_who_waited),
        LZ_TEST(test_depending_on_itself_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
