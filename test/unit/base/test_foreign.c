/* Who exits or forks waits for those who are in code that is not ours. */
#include "base/foreign.h"
#include "base/lock.h"
#include "base/thread.h"
#include "check.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 20, STAY_NS = 30000000 };

static atomic_bool is_in, is_out;

static void *visit(void *unused)
{
    (void)unused;
    if (!lz_foreign_enter())
        return NULL;
    atomic_store(&is_in, true);
    lz_sleep_ns(STAY_NS);
    atomic_store(&is_out, true);
    lz_foreign_leave();
    return NULL;
}

/* Comes back when the visit has begun. */
static pthread_t begin_visit(void)
{
    pthread_t t;
    atomic_store(&is_in, false);
    atomic_store(&is_out, false);
    assert_int_equal(pthread_create(&t, NULL, visit, NULL), 0);
    while (!atomic_load(&is_in))
        lz_sleep_ns(100000);
    return t;
}

static int status_of(pid_t p)
{
    int status = 0;
    assert_true(p > 0 && waitpid(p, &status, 0) == p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static lz_err *test_nests(void)
{
    assert_true(lz_foreign_enter());
    assert_true(lz_foreign_enter());
    lz_foreign_leave();
    assert_true(lz_foreign_is_empty()); /* of others */
    lz_foreign_leave();
    assert_true(lz_foreign_is_empty());
    return NULL;
}

static lz_err *test_fork_waits(void)
{
    pthread_t t = begin_visit();
    assert_false(lz_foreign_is_empty());
    pid_t p = fork();
    if (p == 0)
        _exit(atomic_load(&is_out) && lz_foreign_is_empty() && lz_foreign_enter() ? 0 : 1);
    assert_int_equal(status_of(p), 0);
    pthread_join(t, NULL);
    return NULL;
}

/* ---- exit; each in a process of its own ---- */

static void *enter_late(void *unused)
{
    (void)unused;
    return lz_foreign_enter() ? &is_in : NULL;
}

/* A handler that was registered before: it runs last. Nobody is in, and nobody comes in any more. */
static void check_at_exit(void)
{
    pthread_t t;
    void *in = &is_in;
    bool empty = atomic_load(&is_out) && lz_foreign_is_empty();
    if (pthread_create(&t, NULL, enter_late, NULL) == 0)
        pthread_join(t, &in);
    _exit(empty && !in ? 0 : 1);
}

static void *call_exit(void *how)
{
    if (how)
        lz_foreign_watch();
    exit(3);
}

/* how 0: the thread that loaded us; 1: one that is watched; 2: any other, after something was loaded. */
static _Noreturn void exit_beside_visit(int how)
{
    pthread_t t;
    alarm(LIMIT_S);
    atexit(check_at_exit);
    lz_foreign_loaded();
    begin_visit();
    if (how == 0)
        exit(3);
    pthread_create(&t, NULL, call_exit, how == 1 ? &t : NULL);
    for (;;)
        pause();
}

static lz_err *test_exit_waits(void)
{
    for (int how = 0; how < 3; how++) {
        pid_t p = fork();
        if (p == 0)
            exit_beside_visit(how);
        assert_int_equal(status_of(p), 0);
    }
    return NULL;
}

static void *only_end(void *unused)
{
    lz_foreign_watch();
    return unused;
}

/* The end of a thread looks like an exit at first. */
static lz_err *test_threads_end(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, only_end, NULL), 0);
        pthread_join(t, NULL);
        assert_true(lz_foreign_enter());
        lz_foreign_leave();
    }
    return NULL;
}

static void *exit_inside(void *unused)
{
    (void)unused;
    if (!lz_foreign_enter())
        return NULL;
    atomic_store(&is_out, true); /* nobody else is in */
    exit(3);
}

/* A callback that exits is inside itself. */
static lz_err *test_exit_from_inside(void)
{
    pid_t p = fork();
    if (p == 0) {
        pthread_t t;
        alarm(LIMIT_S);
        lz_foreign_loaded();
        atomic_store(&is_out, false);
        pthread_create(&t, NULL, exit_inside, NULL);
        for (;;)
            pause();
    }
    assert_int_equal(status_of(p), 3);
    return NULL;
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    puts("skipped: TSan does not follow threads into a child");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_nests),       LZ_TEST(test_fork_waits),       LZ_TEST(test_exit_waits),
        LZ_TEST(test_threads_end), LZ_TEST(test_exit_from_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
