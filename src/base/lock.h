/* lock.h - a mutex with one condition, that a fork does not leave locked.
 *
 * All shared state of the library is guarded by these. Before a fork the forking thread takes every lock that
 * is in use, so that nobody is inside a critical section when the process is copied; the child then has all
 * of them free, and no waiters. A lock that the forking thread holds itself stays held in both processes.
 *
 * What else a child lacks are the other threads. Whatever waits for the work of another thread remembers the
 * generation (lz_fork_count) in which the work was begun; in a later one it will never be done.
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
    _Atomic(const void *) owner; /* the thread that holds it; NULL: nobody */
    atomic_bool listed;          /* among those that a fork takes: from its first use on */
    bool forked;                 /* a fork under way holds it */
    pthread_cond_t change;       /* behind what every call touches, which fits into one cache line */
    struct lz_lock *next, *prev;
} lz_lock;

#define LZ_LOCK_INIT                                                                                         \
    {                                                                                                        \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER                               \
    }

void lz_lock_init(lz_lock *l);   /* in the caller's storage; zeros will do as well */
void lz_lock_deinit(lz_lock *l); /* while nobody holds it */

void lz_lock_take(lz_lock *l);
void lz_lock_give(lz_lock *l);
void lz_lock_wait(lz_lock *l); /* gives it up until a wake, or for no reason: look again */
void lz_lock_wake(lz_lock *l); /* all who wait */

bool lz_lock_any_here(void); /* this thread holds one */

/* How often this process has been the child of a fork. */
extern atomic_uint lz_forks;
static inline unsigned lz_fork_count(void)
{
    return atomic_load_explicit(&lz_forks, memory_order_relaxed);
}

#endif
