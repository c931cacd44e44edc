/* Threads as the library starts them, and what happens when the system refuses
 * one: this program's own pthread_create and pthread_join stand before the system's. */
#include "base/pool.h"
#include "base/queue.h"
#include "base/thread.h"
#include "check.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int join_fn(pthread_t, void **);

/* Ours, the first the linker finds, and those of a sanitizer linked in statically. */
create_fn create_or_refuse __asm__("pthread_create");
join_fn count_and_join __asm__("pthread_join");
extern create_fn sanitized_create __asm__("__interceptor_pthread_create") __attribute__((weak));
extern join_fn sanitized_join __asm__("__interceptor_pthread_join") __attribute__((weak));

static int refuse_at; /* the how many-th call fails; 0: none */
static int unjoined;  /* counted here, as the system lists a joined thread for a moment longer */

int create_or_refuse(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    create_fn *real = sanitized_create;
    if (refuse_at && --refuse_at == 0)
        return EAGAIN;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    int rc = real(out, attr, run, arg);
    unjoined += rc == 0;
    return rc;
}

int count_and_join(pthread_t t, void **result)
{
    join_fn *real = sanitized_join;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_join");
    int rc = real(t, result);
    unjoined -= rc == 0;
    return rc;
}

typedef struct view {
    size_t stack;
    sigset_t blocked;
} view;

static void *look(void *arg)
{
    view *v = arg;
    pthread_attr_t attr;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstacksize(&attr, &v->stack);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, NULL, &v->blocked);
    return arg;
}

static lz_err *test_stack_and_signals(void)
{
    view v = { 0 };
    void *result;
    pthread_t t;
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    LZ_TRY(lz_thread_start("lz-test", 3 << 20, look, &v, &t));
    assert_int_equal(pthread_join(t, &result), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_ptr_equal(result, &v);
    assert_true(v.stack >= 3 << 20);
    assert_true(sigismember(&v.blocked, SIGINT) == 1 && sigismember(&v.blocked, SIGCHLD) == 1);
    assert_true(sigismember(&v.blocked, SIGSEGV) == 0 && sigismember(&v.blocked, SIGPROF) == 0);
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
    return NULL;
}

static lz_err *set(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        ((int *)user)[i]++;
    return NULL;
}

/* A pool of `threads` does every part of a loop once. */
static lz_err *check_pool(lz_pool *p, int threads)
{
    int done[100] = { 0 };
    assert_int_equal(lz_pool_threads(p), threads);
    LZ_TRY(lz_pool_for(p, 100, 1, set, done));
    for (int i = 0; i < 100; i++)
        assert_int_equal(done[i], 1);
    return NULL;
}

static void add(void *user)
{
    ++*(int *)user;
}

/* Any thread of the pool may run a job. */
static lz_err *check_queue(lz_queue *q)
{
    int n = 0;
    lz_err *e = NULL;
    for (int i = 0; !e && i < 10; i++)
        e = lz_queue_push(q, add, NULL, &n);
    lz_queue_wait(q);
    assert_true(e || n == 10);
    return e;
}

static lz_err *test_refused_threads_are_done_without(void)
{
    pthread_t t;
    lz_pool *p;
    lz_queue *q;
    view v;
    refuse_at = 1;
    LZ_TRY(lz_check_err(lz_thread_start("lz-test", 1 << 20, look, &v, &t), LZ_ERR_IO, "lz-test"));
    for (int at = 1; at <= 3; at++) {
        refuse_at = at;
        LZ_TRY(lz_pool_create(4, &p));
        lz_err *e = check_pool(p, at);
        lz_pool_destroy(p);
        LZ_TRY(e);
        assert_int_equal(unjoined, 0);
        refuse_at = at < 2 ? at : 0; /* one thread at most, which add() needs */
        LZ_TRY(lz_queue_create(1, &q));
        e = check_queue(q);
        lz_queue_destroy(q);
        LZ_TRY(e);
        assert_int_equal(unjoined, 0);
    }
    refuse_at = 1;
    LZ_TRY(lz_pool_create(1, &p)); /* starts none */
    assert_int_equal(refuse_at, 1);
    refuse_at = 0;
    lz_pool_destroy(p);
    return NULL;
}

static lz_err *test_impossible_stack_is_an_error(void)
{
    pthread_t t;
    view v;
    LZ_TRY(lz_check_err(lz_thread_start("lz-test", 16, look, &v, &t), LZ_ERR_IO, "start thread"));
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_stack_and_signals),
        LZ_TEST(test_refused_threads_are_done_without),
        LZ_TEST(test_impossible_stack_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
