#include "lazy/closures.h"
#include "base/foreign.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/queue.h"
#include "base/vec.h"

typedef struct closure {
    lz_closure_fn *fn;
    void *user;
    bool async;
} closure;

typedef LZ_VEC(closure) closures;

struct lz_closures {
    closures next;   /* for the end of this step */
    lz_queue *queue; /* NULL: no asynchronous closure was run yet */
    size_t most;     /* limit of jobs in the queue */
    lz_lock lock;
    lz_err *error; /* the first error of a closure on the thread */
};

typedef struct queued_closure {
    lz_closures *of;
    closure closure;
} queued_closure;

lz_err *lz_closures_create(size_t most, lz_closures **out)
{
    lz_closures *c = lz_mem_zalloc(1, sizeof *c);
    if (!c)
        return lz_err_oom();
    lz_lock_init(&c->lock);
    c->most = most;
    *out = c;
    return NULL;
}

void lz_closures_destroy(lz_closures *c)
{
    if (!c)
        return;
    if (c->queue) {
        lz_queue_wait(c->queue);
        lz_queue_destroy(c->queue);
    }
    lz_err_free(c->error);
    lz_vec_deinit(&c->next);
    lz_lock_deinit(&c->lock);
    lz_mem_free(c);
}

lz_err *lz_closures_add(lz_closures *c, lz_closure_fn *fn, void *user, bool async)
{
    return lz_vec_push(&c->next, (closure){ fn, user, async });
}

static lz_err *take_error(lz_closures *c)
{
    lz_lock_take(&c->lock);
    lz_err *e = c->error;
    c->error = NULL;
    lz_lock_give(&c->lock);
    return e;
}

static bool has_failed(lz_closures *c)
{
    lz_lock_take(&c->lock);
    bool is = c->error != NULL;
    lz_lock_give(&c->lock);
    return is;
}

static void drop_errand(void *user)
{
    lz_mem_free(user);
}

/* Runs the host's function on a thread of the library: not while the host's globals are being destroyed. */
static lz_err *call(const closure *x)
{
    if (!lz_foreign_enter())
        return lz_foreign_ended("a step's closure");
    lz_err *e = x->fn(x->user);
    lz_foreign_leave();
    return e;
}

static void run_errand(void *user)
{
    queued_closure *r = user;
    lz_closures *c = r->of;
    lz_err *e = has_failed(c) ? NULL : call(&r->closure);
    if (e) {
        lz_lock_take(&c->lock);
        c->error = lz_err_first(c->error, e);
        lz_lock_give(&c->lock);
    }
    lz_mem_free(r);
}

static lz_err *hand_over(lz_closures *c, closure x)
{
    if (!c->queue)
        LZ_TRY(lz_queue_create(1, &c->queue));
    queued_closure *r = lz_mem_alloc(sizeof *r);
    if (!r)
        return lz_err_oom();
    *r = (queued_closure){ c, x };
    lz_queue_wait_below(c->queue, c->most);
    lz_err *e = lz_queue_push(c->queue, run_errand, drop_errand, r);
    if (e)
        lz_mem_free(r);
    return e;
}

/* Asynchronous closures start first, so that they do not wait for the others. */
static lz_err *run_list(lz_closures *c, const closure *v, size_t n)
{
    LZ_TRY(take_error(c));
    for (size_t i = 0; i < n; i++)
        if (v[i].async)
            LZ_TRY(hand_over(c, v[i]));
    for (size_t i = 0; i < n; i++)
        if (!v[i].async)
            LZ_TRY(v[i].fn(v[i].user));
    return NULL;
}

/* Closures that a closure adds belong to the next step. */
lz_err *lz_closures_run(lz_closures *c)
{
    closures now = c->next;
    c->next = (closures){ 0 };
    lz_err *e = run_list(c, now.data, now.len);
    lz_vec_deinit(&now);
    return e;
}

lz_err *lz_closures_wait(lz_closures *c)
{
    if (c->queue)
        lz_queue_wait(c->queue);
    return take_error(c);
}
