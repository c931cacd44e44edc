#include "base/queue.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include <assert.h>
#include <stdbool.h>

/* Jobs compile, and compilers recurse deeply; untouched pages cost nothing. */
enum { STACK = 8 << 20, MOST_THREADS = 4096 };

typedef struct job job;
struct job {
    job *next;
    lz_job_fn *run, *drop;
    void *user;
};

struct lz_queue {
    lz_lock lock; /* woken at every change */
    job *first, **end;
    job *lost; /* jobs of the process that this one was forked from */
    size_t waiting, running;
    size_t want_room; /* threads in lz_queue_wait_below */
    bool stop;
    unsigned generation; /* lz_fork_count when the threads were started */
    int wanted, started;
    pthread_t thread[];
};

/* With the lock held. */
static job *take_job(lz_queue *q)
{
    job *j = q->first;
    if (!j)
        return NULL;
    q->first = j->next;
    q->end = q->first ? q->end : &q->first;
    q->waiting--;
    q->running++;
    return j;
}

/* With the lock held; releases it meanwhile. */
static void run_job(lz_queue *q, job *j)
{
    lz_lock_give(&q->lock);
    j->run(j->user);
    lz_mem_free(j);
    lz_lock_take(&q->lock);
    if ((--q->running == 0 && !q->first) || q->want_room)
        lz_lock_wake(&q->lock);
}

static void *serve(void *arg)
{
    lz_queue *q = arg;
    lz_thread_begin();
    lz_lock_take(&q->lock);
    while (!q->stop) {
        job *j = take_job(q);
        if (j)
            run_job(q, j);
        else
            lz_lock_wait(&q->lock);
    }
    lz_lock_give(&q->lock);
    return NULL;
}

/* With the lock held. Accepts fewer threads than wanted, even none. */
static void start_threads(lz_queue *q)
{
    lz_err *e = NULL;
    while (!e && q->started < q->wanted) {
        e = lz_thread_start("lz-queue", STACK, serve, q, &q->thread[q->started]);
        q->started += !e;
    }
    lz_err_drop(e);
}

/* With the lock held. A forked child has no threads, and unfinished jobs belong to the parent. */
static void look_for_fork(lz_queue *q)
{
    if (q->generation == lz_fork_count())
        return;
    q->generation = lz_fork_count();
    q->lost = q->first;
    q->first = NULL;
    q->end = &q->first;
    q->waiting = q->running = q->want_room = 0;
    q->started = 0;
    start_threads(q);
}

static void take_lock(lz_queue *q)
{
    lz_lock_take(&q->lock);
    look_for_fork(q);
}

lz_err *lz_queue_create(int threads, lz_queue **out)
{
    if (threads < 1 || threads > MOST_THREADS)
        return lz_errf(LZ_ERR_ARG, "a queue has 1 to %d threads, not %d", MOST_THREADS, threads);
    lz_queue *q = lz_mem_zalloc(1, sizeof *q + (size_t)threads * sizeof *q->thread);
    if (!q)
        return lz_err_oom();
    lz_lock_init(&q->lock);
    q->end = &q->first;
    q->wanted = threads;
    q->generation = lz_fork_count();
    lz_lock_take(&q->lock);
    start_threads(q);
    lz_lock_give(&q->lock);
    *out = q;
    return NULL;
}

void lz_queue_destroy(lz_queue *q)
{
    if (!q)
        return;
    lz_lock_take(&q->lock);
    bool here = q->generation == lz_fork_count();
    q->stop = true;
    lz_lock_wake(&q->lock);
    lz_lock_give(&q->lock);
    for (int i = 0; here && i < q->started; i++)
        pthread_join(q->thread[i], NULL);
    while (here && q->first) /* a drop function may push, too */
        lz_queue_cancel(q);
    lz_lock_deinit(&q->lock);
    lz_mem_free(q);
}

/* With the lock held. If there is no thread, the pushing thread runs the jobs, one thread at a time. */
static void run_here(lz_queue *q)
{
    for (job *j; !q->started && !q->running && (j = take_job(q));)
        run_job(q, j);
}

lz_err *lz_queue_push(lz_queue *q, lz_job_fn *run, lz_job_fn *drop, void *user)
{
    job *j = lz_mem_alloc(sizeof *j);
    if (!j)
        return lz_err_oom();
    *j = (job){ .run = run, .drop = drop, .user = user };
    take_lock(q);
    *q->end = j;
    q->end = &j->next;
    q->waiting++;
    lz_lock_wake(&q->lock);
    run_here(q);
    lz_lock_give(&q->lock);
    return NULL;
}

void lz_queue_wait(lz_queue *q)
{
    take_lock(q);
    while (q->first || q->running)
        lz_lock_wait(&q->lock);
    lz_lock_give(&q->lock);
}

void lz_queue_wait_below(lz_queue *q, size_t most)
{
    assert(most > 0);
    take_lock(q);
    q->want_room++;
    while (q->waiting + q->running >= most)
        lz_lock_wait(&q->lock);
    q->want_room--;
    lz_lock_give(&q->lock);
}

void lz_queue_cancel(lz_queue *q)
{
    take_lock(q);
    job *j = q->first;
    q->first = NULL;
    q->end = &q->first;
    q->waiting = 0;
    if (!q->running || q->want_room)
        lz_lock_wake(&q->lock);
    lz_lock_give(&q->lock);
    while (j) {
        job *next = j->next;
        if (j->drop)
            j->drop(j->user);
        lz_mem_free(j);
        j = next;
    }
}
