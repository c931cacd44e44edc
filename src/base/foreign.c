#include "base/foreign.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static const uint64_t patience_ns = 5000000000;
static const uint64_t our_patience_ns =
    100000000; /* for threads of the library: the host may be joining them */
enum { NAP_NS = 50000, MOST_GUARDS = 16 };

/* A thread that enters increments `inside` and then reads `closed`; a thread that closes increments `closed`
 * and then reads `inside`. So at least one of the two sees the other. */
static atomic_int inside;  /* threads in foreign code */
static atomic_int closed;  /* number of reasons not to enter: those below */
static atomic_bool ended;  /* the process exits */
static atomic_int held;    /* forks in progress */
static atomic_int leaving; /* threads that end; one may be exiting the process */

static LZ_THREAD_LOCAL int depth;    /* nesting of this thread's calls */
static LZ_THREAD_LOCAL bool watched; /* lz_foreign_watch */
static LZ_THREAD_LOCAL bool is_leaving;

lz_err *lz_foreign_ended(const char *what)
{
    return lz_errf(LZ_ERR_BUSY, "%s is not called any more: the process exits", what);
}

static bool may_enter(void)
{
    return !atomic_load(&ended) && (!atomic_load(&leaving) || is_leaving)
           && (!atomic_load(&held) || lz_lock_any_here());
}

static bool try_enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (!atomic_load(&closed) || may_enter())
        return true;
    atomic_fetch_sub(&inside, 1);
    return false;
}

/* Waits with a limit, because the exiting thread may be waiting for this one. */
static bool wait_and_enter(void)
{
    uint64_t end = lz_clock_ns() + (lz_thread_is_ours() ? our_patience_ns : patience_ns);
    while (!atomic_load(&ended) && (atomic_load(&held) || lz_clock_ns() < end)) {
        if (try_enter())
            return true;
        lz_sleep_ns(NAP_NS);
    }
    return false;
}

bool lz_foreign_has_ended(void)
{
    return atomic_load(&ended);
}

bool lz_foreign_enter(void)
{
    if (depth == 0 && !try_enter() && !wait_and_enter())
        return false;
    depth++;
    return true;
}

void lz_foreign_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&inside, 1);
}

bool lz_foreign_is_empty(void)
{
    return atomic_load(&inside) == (depth > 0);
}

static void wait_until_empty(void)
{
    uint64_t end = lz_clock_ns() + patience_ns;
    while (!lz_foreign_is_empty() && lz_clock_ns() < end)
        lz_sleep_ns(NAP_NS);
}

/* ---- exit ---- */

static void end(void)
{
    if (!atomic_exchange(&ended, true))
        atomic_fetch_add(&closed, 1);
    wait_until_empty();
}

/* atexit handlers run in reverse order: this one runs before the destructors registered so far. */
void lz_foreign_loaded(void)
{
    static atomic_int guards;
    if (atomic_load_explicit(&guards, memory_order_relaxed) < MOST_GUARDS
        && atomic_fetch_add(&guards, 1) < MOST_GUARDS)
        (void)atexit(end);
}

/* exit() first runs the destructors of the calling thread's thread-local variables. A thread that merely ends
 * runs them too, and then the destructors of its pthread keys, which exit() does not run. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
extern int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso) __attribute__((weak));
/* NOLINTNEXTLINE(bugprone-reserved-identifier) */
extern void *__dso_handle __attribute__((visibility("hidden")));

static pthread_key_t after_end;
static bool has_key;

static void thread_is_gone(void *unused)
{
    (void)unused;
    is_leaving = false;
    atomic_fetch_sub(&leaving, 1);
    atomic_fetch_sub(&closed, 1);
}

static void thread_leaves(void *unused)
{
    (void)unused;
    watched = false;
    if (pthread_setspecific(after_end, &after_end))
        return;
    is_leaving = true;
    atomic_fetch_add(&leaving, 1);
    atomic_fetch_add(&closed, 1);
    wait_until_empty();
}

void lz_foreign_watch(void)
{
    if (watched || !has_key || !__cxa_thread_atexit_impl)
        return;
    watched = true;
    (void)__cxa_thread_atexit_impl(thread_leaves, NULL, &__dso_handle);
}

/* The thread that loads the library is usually the main one, which may never call lz_foreign_watch. */
__attribute__((constructor)) static void watch_loader(void)
{
    has_key = pthread_key_create(&after_end, thread_is_gone) == 0;
    lz_foreign_watch();
}

/* ---- fork ---- */

void lz_foreign_hold(void)
{
    atomic_fetch_add(&held, 1);
    atomic_fetch_add(&closed, 1);
}

void lz_foreign_resume(void)
{
    atomic_fetch_sub(&held, 1);
    atomic_fetch_sub(&closed, 1);
}

void lz_foreign_after_fork(void)
{
    atomic_store(&inside, depth > 0);
    atomic_store(&leaving, is_leaving);
    atomic_store(&held, 0);
    atomic_store(&closed, atomic_load(&ended) + is_leaving);
}
