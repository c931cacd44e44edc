#include "base/mem.h"
#include "base/queue.h"
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { JOBS = 20, THREADS = 8 };

typedef struct record {
    int ran[JOBS], dropped[JOBS]; /* by job, how often */
    int order[JOBS];
    atomic_int runs, drops;
} record;

/* Allocated, so that a job forgotten or done twice is a leak or a double free. */
typedef struct errand {
    record *to;
    int id;
} errand;

static void run(void *user)
{
    errand *r = user;
    r->to->order[atomic_fetch_add(&r->to->runs, 1)] = r->id;
    r->to->ran[r->id]++;
    lz_mem_free(r);
}

static void drop(void *user)
{
    errand *r = user;
    atomic_fetch_add(&r->to->drops, 1);
    r->to->dropped[r->id]++;
    lz_mem_free(r);
}

static lz_err *push(lz_queue *q, record *to, int id)
{
    errand *r = lz_mem_alloc(sizeof *r);
    if (!r)
        return lz_err_oom();
    *r = (errand){ .to = to, .id = id };
    lz_err *e = lz_queue_push(q, run, drop, r);
    if (e)
        lz_mem_free(r);
    return e;
}

static void check_each_once(const record *l, int pushed)
{
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(l->ran[i] + l->dropped[i], i < pushed);
}

static lz_err *test_one_thread_keeps_order(void)
{
    record l = { 0 };
    lz_queue *q;
    int pushed = 0;
    lz_err *e = NULL;
    LZ_TRY(lz_queue_create(1, &q));
    for (; !e && pushed < JOBS; pushed += !e)
        e = push(q, &l, pushed);
    lz_queue_wait(q);
    assert_int_equal(l.runs, pushed);
    for (int i = 0; i < pushed; i++)
        assert_int_equal(l.order[i], i);
    check_each_once(&l, pushed);
    lz_queue_destroy(q);
    return e;
}

static lz_err *test_waiting_for_nothing(void)
{
    lz_queue *q;
    LZ_TRY(lz_queue_create(3, &q));
    lz_queue_wait(q);
    lz_queue_cancel(q);
    lz_queue_wait(q);
    lz_queue_destroy(q);
    lz_queue_destroy(NULL);
    return NULL;
}

typedef struct gate {
    sem_t entered, open;
} gate;

static void slow(void *user)
{
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
    atomic_fetch_add((atomic_int *)user, 1);
}

/* With room for n, the one behind them waits until the first is over. */
static lz_err *test_waiting_for_room(void)
{
    atomic_int done = 0;
    lz_queue *q;
    lz_err *e = NULL;
    LZ_TRY(lz_queue_create(1, &q));
    for (int i = 0; !e && i < 6; i++) {
        lz_queue_wait_below(q, 2);
        assert_true(done >= i - 1);
        e = lz_queue_push(q, slow, NULL, &done);
    }
    lz_queue_wait(q);
    lz_queue_wait_below(q, 1);
    if (!e)
        assert_int_equal(done, 6);
    lz_queue_destroy(q);
    return e;
}

static void hold(void *user)
{
    gate *g = user;
    sem_post(&g->entered);
    sem_wait(&g->open);
}

static lz_err *test_cancel_drops_what_has_not_begun(void)
{
    record l = { 0 };
    lz_queue *q;
    gate g;
    int pushed = 0;
    LZ_TRY(lz_queue_create(1, &q));
    sem_init(&g.entered, 0, 0);
    sem_init(&g.open, 0, 0);
    lz_err *e = lz_queue_push(q, hold, NULL, &g);
    if (!e)
        sem_wait(&g.entered);
    for (; !e && pushed < 10; pushed += !e)
        e = push(q, &l, pushed);
    if (!e) { /* nothing ran: the only thread is held */
        lz_queue_cancel(q);
        assert_int_equal(l.drops, 10);
        e = push(q, &l, pushed);
        pushed += !e;
    }
    sem_post(&g.open);
    lz_queue_wait(q);
    if (!e) {
        assert_int_equal(l.runs, 1);
        assert_int_equal(l.order[0], 10);
    }
    check_each_once(&l, pushed);
    lz_queue_destroy(q);
    sem_destroy(&g.entered);
    sem_destroy(&g.open);
    return e;
}

static void *open_later(void *arg)
{
    nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    sem_post(&((gate *)arg)->open);
    return NULL;
}

static lz_err *test_destroy_finishes_what_has_begun(void)
{
    record l = { 0 };
    lz_queue *q;
    gate g;
    pthread_t opener;
    int pushed = 0;
    LZ_TRY(lz_queue_create(1, &q));
    sem_init(&g.entered, 0, 0);
    sem_init(&g.open, 0, 0);
    lz_err *e = lz_queue_push(q, hold, NULL, &g);
    if (!e)
        sem_wait(&g.entered);
    for (; !e && pushed < JOBS; pushed += !e)
        e = push(q, &l, pushed);
    assert_int_equal(pthread_create(&opener, NULL, open_later, &g), 0);
    lz_queue_destroy(q); /* after `hold` returned; what then begins before the stop is seen runs */
    check_each_once(&l, pushed);
    pthread_join(opener, NULL);
    sem_destroy(&g.entered);
    sem_destroy(&g.open);
    return e;
}

typedef struct chain {
    lz_queue *q;
    int left;
    long nap_ns;
    atomic_int dropped;
    lz_err *err;
} chain;

static void drop_link(void *user)
{
    atomic_fetch_add(&((chain *)user)->dropped, 1);
}

static void add_link(void *user)
{
    chain *c = user;
    nanosleep(&(struct timespec){ .tv_nsec = c->nap_ns }, NULL);
    lz_err *e = c->left-- > 0 ? lz_queue_push(c->q, add_link, drop_link, c) : NULL;
    if (e) /* after a success *c belongs to the next link */
        c->err = e;
}

static lz_err *test_jobs_may_push_jobs(void)
{
    chain c = { .left = 20 };
    LZ_TRY(lz_queue_create(2, &c.q));
    lz_err *e = lz_queue_push(c.q, add_link, drop_link, &c);
    lz_queue_wait(c.q);
    if (!e && !c.err)
        assert_int_equal(c.left, -1);
    lz_queue_destroy(c.q);
    return e ? e : c.err;
}

/* Without an end of its own: whatever is pushed while the queue goes is dropped. */
static lz_err *test_destroy_ends_an_endless_chain(void)
{
    chain c = { .left = 1 << 30, .nap_ns = 100000 };
    LZ_TRY(lz_queue_create(1, &c.q));
    lz_err *e = lz_queue_push(c.q, add_link, drop_link, &c);
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    lz_queue_destroy(c.q);
    if (!e && !c.err)
        assert_int_equal(atomic_load(&c.dropped), 1);
    return e ? e : c.err;
}

typedef struct pusher {
    pthread_t thread;
    lz_queue *q;
    record l;
    int pushed;
    lz_err *err;
} pusher;

static void *push_all(void *arg)
{
    pusher *p = arg;
    for (; !p->err && p->pushed < JOBS; p->pushed += !p->err)
        p->err = push(p->q, &p->l, p->pushed);
    return NULL;
}

static lz_err *hammer(int workers, bool wait)
{
    static pusher all[THREADS];
    lz_queue *q;
    lz_err *e = NULL;
    LZ_TRY(lz_queue_create(workers, &q));
    for (int i = 0; i < THREADS; i++) {
        all[i] = (pusher){ .q = q };
        assert_int_equal(pthread_create(&all[i].thread, NULL, push_all, &all[i]), 0);
    }
    if (!wait)
        lz_queue_cancel(q);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i].thread, NULL);
    if (wait)
        lz_queue_wait(q);
    for (int i = 0; wait && i < THREADS; i++)
        assert_int_equal(all[i].l.runs, all[i].pushed);
    lz_queue_destroy(q);
    for (int i = 0; i < THREADS; i++) {
        check_each_once(&all[i].l, all[i].pushed);
        e = lz_err_first(e, all[i].err);
    }
    return e;
}

static lz_err *test_many_pushers_many_workers(void)
{
    LZ_TRY(hammer(1, true));
    LZ_TRY(hammer(4, true));
    return hammer(8, false);
}

static lz_err *test_thread_numbers_are_checked(void)
{
    lz_queue *q;
    LZ_TRY(lz_check_err(lz_queue_create(0, &q), LZ_ERR_ARG, "threads"));
    return lz_check_err(lz_queue_create(1000000, &q), LZ_ERR_ARG, "1000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_one_thread_keeps_order),
        LZ_TEST(test_waiting_for_nothing),
        LZ_TEST(test_waiting_for_room),
        LZ_TEST(test_cancel_drops_what_has_not_begun),
        LZ_TEST(test_destroy_finishes_what_has_begun),
        LZ_TEST(test_jobs_may_push_jobs),
        LZ_TEST(test_destroy_ends_an_endless_chain),
        LZ_TEST(test_many_pushers_many_workers),
        LZ_TEST(test_thread_numbers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
