#include "base/queue.h"
#include "base/mem.h"
#include "base/thread.h"
#include <stdbool.h>

/* Jobs compile, and compilers recurse; untouched pages cost nothing. */
enum { STACK = 8 << 20, MOST_THREADS = 4096 };

typedef struct job job;
struct job {
    job *next;
    lz_job_fn *run, *drop;
    void *user;
};

struct lz_queue {
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    job *first, **end;
    size_t running;
    bool stop;
    int started;
    pthread_t thread[];
};

static void *serve(void *arg)
{
    lz_queue *q = arg;
    pthread_mutex_lock(&q->lock);
    while (!q->stop) {
        job *j = q->first;
        if (!j) {
            pthread_cond_wait(&q->work, &q->lock);
            continue;
        }
        q->first = j->next;
        q->end = q->first ? q->end : &q->first;
        q->running++;
        pthread_mutex_unlock(&q->lock);
        j->run(j->user);
        lz_mem_free(j);
        pthread_mutex_lock(&q->lock);
        if (--q->running == 0 && !q->first)
            pthread_cond_broadcast(&q->idle);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

lz_err *lz_queue_create(int threads, lz_queue **out)
{
    if (threads < 1 || threads > MOST_THREADS)
        return lz_errf(LZ_ERR_ARG, "a queue has 1 to %d threads, not %d", MOST_THREADS, threads);
    lz_queue *q = lz_mem_zalloc(1, sizeof *q + (size_t)threads * sizeof *q->thread);
    if (!q)
        return lz_err_oom();
    q->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    q->work = q->idle = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    q->end = &q->first;
    lz_err *e = NULL;
    while (!e && q->started < threads) {
        e = lz_thread_start("lz-queue", STACK, serve, q, &q->thread[q->started]);
        q->started += !e;
    }
    if (e)
        lz_queue_destroy(q);
    else
        *out = q;
    return e;
}

void lz_queue_destroy(lz_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_broadcast(&q->work);
    pthread_mutex_unlock(&q->lock);
    for (int i = 0; i < q->started; i++)
        pthread_join(q->thread[i], NULL);
    while (q->first) /* a drop may push, too */
        lz_queue_cancel(q);
    lz_mem_free(q);
}

lz_err *lz_queue_push(lz_queue *q, lz_job_fn *run, lz_job_fn *drop, void *user)
{
    job *j = lz_mem_alloc(sizeof *j);
    if (!j)
        return lz_err_oom();
    *j = (job){ .run = run, .drop = drop, .user = user };
    pthread_mutex_lock(&q->lock);
    *q->end = j;
    q->end = &j->next;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

void lz_queue_wait(lz_queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (q->first || q->running)
        pthread_cond_wait(&q->idle, &q->lock);
    pthread_mutex_unlock(&q->lock);
}

void lz_queue_cancel(lz_queue *q)
{
    pthread_mutex_lock(&q->lock);
    job *j = q->first;
    q->first = NULL;
    q->end = &q->first;
    if (!q->running)
        pthread_cond_broadcast(&q->idle);
    pthread_mutex_unlock(&q->lock);
    while (j) {
        job *next = j->next;
        if (j->drop)
            j->drop(j->user);
        lz_mem_free(j);
        j = next;
    }
}
