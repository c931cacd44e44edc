/* Locks, and what a child of fork finds of them. */
#include "base/lock.h"
#include "check.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, FORKS = 50, LIMIT_S = 20 };

static lz_lock outer = LZ_LOCK_INIT, inner = LZ_LOCK_INIT;
static int64_t first, second; /* equal whenever nobody holds `outer` */
static atomic_bool stop;

static void *change(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        lz_lock_take(&outer);
        first++;
        lz_lock_take(&inner);
        second++;
        lz_lock_give(&inner);
        lz_lock_give(&outer);
    }
    return NULL;
}

static int status_of(pid_t p)
{
    int status = 0;
    assert_true(p > 0 && waitpid(p, &status, 0) == p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* In the child: every lock can be taken, and nothing is half done. */
static _Noreturn void check_child(unsigned forks)
{
    alarm(LIMIT_S);
    lz_lock_take(&outer);
    lz_lock_take(&inner);
    bool good = first == second && lz_fork_count() == forks + 1;
    lz_lock_give(&inner);
    lz_lock_give(&outer);
    _exit(good && !lz_lock_any_here() ? 0 : 1);
}

static lz_err *test_child_finds_all_free(void)
{
    pthread_t t[THREADS];
    atomic_store(&stop, false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, change, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        unsigned before = lz_fork_count();
        pid_t p = fork();
        if (p == 0)
            check_child(before);
        assert_int_equal(status_of(p), 0);
        assert_int_equal(lz_fork_count(), before);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(first, second);
    return NULL;
}

static lz_err *test_own_lock_stays_held(void)
{
    lz_lock_take(&outer);
    unsigned before = lz_fork_count();
    pid_t p = fork();
    bool here = lz_lock_any_here();
    lz_lock_give(&outer);
    if (p == 0 && !here)
        _exit(2);
    if (p == 0)
        check_child(before);
    assert_true(here);
    assert_int_equal(status_of(p), 0);
    return NULL;
}

static bool ready;

static void *wait_for_it(void *unused)
{
    (void)unused;
    lz_lock_take(&inner);
    while (!ready)
        lz_lock_wait(&inner);
    lz_lock_give(&inner);
    return NULL;
}

/* Those who wait are in the parent: a wake in the child finds nobody, again and again. */
static lz_err *test_child_has_no_waiters(void)
{
    pthread_t t[THREADS];
    ready = false;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, wait_for_it, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t p = fork();
        if (p == 0) {
            alarm(LIMIT_S);
            for (int k = 0; k < 10; k++) {
                lz_lock_take(&inner);
                lz_lock_wake(&inner);
                lz_lock_give(&inner);
            }
            _exit(0);
        }
        assert_int_equal(status_of(p), 0);
    }
    lz_lock_take(&inner);
    ready = true;
    lz_lock_wake(&inner);
    lz_lock_give(&inner);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return NULL;
}

/* A lock that is gone is not taken at the next fork. */
static lz_err *test_locks_come_and_go(void)
{
    for (int i = 0; i < FORKS; i++) {
        lz_lock l;
        lz_lock_init(&l);
        lz_lock_take(&l);
        lz_lock_give(&l);
        lz_lock_deinit(&l);
    }
    pid_t p = fork();
    if (p == 0)
        check_child(lz_fork_count() - 1);
    assert_int_equal(status_of(p), 0);
    return NULL;
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    puts("skipped: TSan does not follow locks into a child");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_child_finds_all_free),
        LZ_TEST(test_own_lock_stays_held),
        LZ_TEST(test_child_has_no_waiters),
        LZ_TEST(test_locks_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
