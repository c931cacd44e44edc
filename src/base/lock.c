#include "base/lock.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/thread.h"

/* How long a fork waits for a lock that is not released, for example because its holder waits for the forking
 * thread. */
static const uint64_t patience_ns = 5000000000;
enum { NAP_NS = 50000 };

atomic_uint lz_forks;

/* A raw mutex, since it guards the list of the locks. Its holder waits for nothing else. */
static struct {
    pthread_mutex_t mutex;
    lz_lock *first;
    bool taken; /* by a fork in progress */
} all = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static atomic_int forking; /* threads that are forking */

/* How many locks this thread holds. Its address identifies the thread, in a child too. */
static LZ_THREAD_LOCAL int held;

bool lz_lock_any_here(void)
{
    return held > 0;
}

void lz_lock_init(lz_lock *l)
{
    *l = (lz_lock)LZ_LOCK_INIT;
}

static void list(lz_lock *l)
{
    pthread_mutex_lock(&all.mutex);
    if (!atomic_load_explicit(&l->listed, memory_order_relaxed)) {
        l->prev = NULL;
        l->next = all.first;
        if (all.first)
            all.first->prev = l;
        all.first = l;
        atomic_store_explicit(&l->listed, true, memory_order_release);
    }
    pthread_mutex_unlock(&all.mutex);
}

void lz_lock_deinit(lz_lock *l)
{
    pthread_mutex_lock(&all.mutex);
    if (atomic_load_explicit(&l->listed, memory_order_relaxed)) {
        *(l->prev ? &l->prev->next : &all.first) = l->next;
        if (l->next)
            l->next->prev = l->prev;
    }
    pthread_mutex_unlock(&all.mutex);
    pthread_cond_destroy(&l->change);
    pthread_mutex_destroy(&l->mutex);
}

/* While a fork collects all locks, threads that hold none take none, so that the fork gets them soon. */
static void let_fork_pass(void)
{
    while (held == 0 && atomic_load_explicit(&forking, memory_order_relaxed))
        lz_sleep_ns(NAP_NS);
}

void lz_lock_take(lz_lock *l)
{
    if (atomic_load_explicit(&forking, memory_order_relaxed))
        let_fork_pass();
    if (!atomic_load_explicit(&l->listed, memory_order_acquire))
        list(l);
    pthread_mutex_lock(&l->mutex);
    atomic_store_explicit(&l->owner, &held, memory_order_relaxed);
    held++;
}

void lz_lock_give(lz_lock *l)
{
    held--;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    pthread_mutex_unlock(&l->mutex);
}

void lz_lock_wait(lz_lock *l)
{
    held--;
    atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    pthread_cond_wait(&l->change, &l->mutex);
    atomic_store_explicit(&l->owner, &held, memory_order_relaxed);
    held++;
}

void lz_lock_wake(lz_lock *l)
{
    pthread_cond_broadcast(&l->change);
}

/* ---- forks ---- */

static bool is_mine(const lz_lock *l)
{
    return atomic_load_explicit(&l->owner, memory_order_relaxed) == &held;
}

static void give_all(void)
{
    for (lz_lock *l = all.first; l; l = l->next)
        if (l->forked) {
            l->forked = false;
            pthread_mutex_unlock(&l->mutex);
        }
    if (all.taken)
        pthread_mutex_unlock(&all.mutex);
    all.taken = false;
}

/* Never waits for one lock while it holds another, so the nesting order of other threads does not matter.
 * anyway: skips locks that are not free. */
static bool take_all(bool anyway)
{
    bool got = pthread_mutex_trylock(&all.mutex) == 0, good = true;
    if (!got && !anyway)
        return false;
    all.taken = got;
    for (lz_lock *l = all.first; l && good; l = l->next) {
        l->forked = !is_mine(l) && pthread_mutex_trylock(&l->mutex) == 0;
        good = l->forked || is_mine(l) || anyway;
    }
    good = good && (anyway || lz_foreign_is_empty());
    if (!good)
        give_all();
    return good;
}

static void before_fork(void)
{
    uint64_t end = lz_clock_ns() + patience_ns;
    atomic_fetch_add(&forking, 1);
    lz_foreign_hold();
    while (!take_all(lz_clock_ns() >= end))
        lz_sleep_ns(NAP_NS);
}

static void after_fork(void)
{
    give_all();
    lz_foreign_resume();
    atomic_fetch_sub(&forking, 1);
}

/* The child has no other threads: locks that they held become free, and no thread waits. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&lz_forks, 1);
    for (lz_lock *l = all.first; l; l = l->next) {
        l->forked = false;
        l->change = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        if (is_mine(l))
            continue;
        l->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
    }
    all.taken = false;
    all.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    lz_foreign_after_fork();
    atomic_store(&forking, 0);
}

/* Registered at load time, since a fork may come before any call. If the registration fails for lack of
 * memory, a child may find locks held. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
