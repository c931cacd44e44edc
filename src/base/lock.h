/* lock.h - a mutex with one condition variable, safe across fork.
 *
 * All shared state of the library is guarded by these locks. Before a fork the forking thread takes every
 * lock in use, so that no thread is inside a critical section when the process is copied. In the child all
 * locks are free, without waiters. A lock that the forking thread holds itself stays held in both processes.
 *
 * A child also lacks the other threads. Code that waits for another thread's work must remember the
 * generation (lz_fork_count) in which the work was started; in a later generation the work will never be
 * done.
 *
 *     static lz_lock lock = LZ_LOCK_INIT;
 *     lz_lock_take(&lock);
 *     while (!ready)
 *         lz_lock_wait(&lock);
 *     lz_lock_give(&lock); */
#ifndef LZ_BASE_LOCK_H
#define LZ_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct lz_lock {
    pthread_mutex_t mutex;
    _Atomic(const void *) owner; /* identifies the holding thread; NULL: none */
    atomic_bool listed;          /* in the list of locks that a fork takes; set at the first use */
    bool forked;                 /* held by a fork in progress */
    pthread_cond_t change;       /* after the fields that every call touches, which fit into one cache line */
    struct lz_lock *next, *prev;
} lz_lock;

#define LZ_LOCK_INIT                                                                                         \
    {                                                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER                               \
    }

void lz_lock_init(lz_lock *l);   /* in the caller's storage; a zeroed lock is valid too */
void lz_lock_deinit(lz_lock *l); /* no thread may hold the lock */

void lz_lock_take(lz_lock *l);
void lz_lock_give(lz_lock *l);
void lz_lock_wait(lz_lock *l); /* releases it until a wake-up, which may be spurious */
void lz_lock_wake(lz_lock *l); /* wakes all waiting threads */

bool lz_lock_any_here(void); /* does this thread hold a lock? */

/* The number of forks between the first process of the library and this one. */
extern atomic_uint lz_forks;
static inline unsigned lz_fork_count(void)
{
    return atomic_load_explicit(&lz_forks, memory_order_relaxed);
}

#endif
