#include "base/once.h"
#include "base/lock.h"
#include <stdbool.h>

/* One lock for all: it is only used until they are done. */
static lz_lock lock = LZ_LOCK_INIT;

/* On the stack of the thread that makes the attempt, until every waiter has read it. */
struct lz_attempt {
    pthread_t owner;
    bool over;
    lz_err *err;
    int waiters;
};

static lz_err *attempt(lz_once *o, lz_once_fn *init, void *user)
{
    lz_attempt a = { .owner = pthread_self() };
    o->now = &a;
    o->generation = lz_fork_count();
    lz_lock_give(&lock);
    lz_err *e = init(user);
    lz_lock_take(&lock);
    a.err = e;
    a.over = true;
    o->now = NULL;
    atomic_store_explicit(&o->done, !e, memory_order_release);
    lz_lock_wake(&lock);
    while (a.waiters)
        lz_lock_wait(&lock);
    return e;
}

static lz_err *share(lz_attempt *a)
{
    if (pthread_equal(a->owner, pthread_self()))
        return lz_errf(LZ_ERR_BUSY, "an initialisation depends on itself");
    a->waiters++;
    while (!a->over)
        lz_lock_wait(&lock);
    lz_err *e = lz_err_copy(a->err);
    if (--a->waiters == 0)
        lz_lock_wake(&lock);
    return e;
}

lz_err *lz_once_run(lz_once *o, lz_once_fn *init, void *user)
{
    if (atomic_load_explicit(&o->done, memory_order_acquire))
        return NULL;
    lz_err *e = NULL;
    lz_lock_take(&lock);
    if (o->now && o->generation == lz_fork_count())
        e = share(o->now);
    else if (!atomic_load_explicit(&o->done, memory_order_relaxed))
        e = attempt(o, init, user);
    lz_lock_give(&lock);
    return e;
}
