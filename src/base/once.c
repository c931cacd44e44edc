#include "base/once.h"
#include <stdbool.h>

/* Lives on the stack of the thread that makes it, until every waiter has read it. */
struct lz_attempt {
    pthread_t owner;
    bool over;
    lz_err *err;
    int waiters;
};

static lz_err *copy(const lz_err *e)
{
    return e ? lz_err_at(lz_err_code(e), lz_err_loc(e), "%s", lz_err_text(e)) : NULL;
}

static lz_err *attempt(lz_once *o, lz_once_fn *init, void *user)
{
    lz_attempt a = { .owner = pthread_self() };
    o->now = &a;
    pthread_mutex_unlock(&o->lock);
    lz_err *e = init(user);
    pthread_mutex_lock(&o->lock);
    a.err = e;
    a.over = true;
    o->now = NULL;
    atomic_store_explicit(&o->done, !e, memory_order_release);
    pthread_cond_broadcast(&o->change);
    while (a.waiters)
        pthread_cond_wait(&o->change, &o->lock);
    return e;
}

static lz_err *share(lz_once *o, lz_attempt *a)
{
    if (pthread_equal(a->owner, pthread_self()))
        return lz_errf(LZ_ERR_BUSY, "an initialisation depends on itself");
    a->waiters++;
    while (!a->over)
        pthread_cond_wait(&o->change, &o->lock);
    lz_err *e = copy(a->err);
    if (--a->waiters == 0)
        pthread_cond_broadcast(&o->change);
    return e;
}

lz_err *lz_once_run(lz_once *o, lz_once_fn *init, void *user)
{
    if (atomic_load_explicit(&o->done, memory_order_acquire))
        return NULL;
    lz_err *e = NULL;
    pthread_mutex_lock(&o->lock);
    if (o->now)
        e = share(o, o->now);
    else if (!atomic_load_explicit(&o->done, memory_order_relaxed))
        e = attempt(o, init, user);
    pthread_mutex_unlock(&o->lock);
    return e;
}
