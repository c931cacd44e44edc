#include "base/pool.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    LINE = 64,
    STACK = 1 << 20,
    SPIN_NS = 50000, /* waking a sleeping thread takes 20 us or more; most loops follow sooner */
    SPINS_PER_LOOK = 16,
    SHARES = 16,
};

/* A range of chunks for one worker. A loop that is repeated over the same data gives a worker the same
 * chunks, which are then in its caches. A worker that has finished its share takes chunks of the others'. */
typedef struct share {
    _Alignas(LINE) atomic_int_fast64_t next;
    int64_t end;
} share;

/* One lz_pool_for, on its caller's stack. A worker counts as a guest from finding the task in the list to its
 * last access. The caller unlinks the task and waits until it has no guests. */
typedef struct task task;
struct task {
    task *next;
    lz_range_fn *fn;
    void *user;
    int64_t n, grain, chunks;
    lz_err *err;   /* of chunk `least`; this and the next two are guarded by the pool's lock */
    int64_t came;  /* workers that joined, including the caller */
    bool sleeping; /* the caller waits on `done` */
    int n_shares;
    _Alignas(LINE) atomic_int_fast64_t least; /* the lowest failed chunk; higher ones are skipped */
    atomic_bool taken;                        /* all chunks have been taken */
    atomic_uint guests;
    share shares[SHARES];
};

typedef struct worker {
    lz_pool *pool;
    int index;
    pthread_t thread;
} worker;

struct lz_pool {
    int threads, started;   /* started: threads besides the caller */
    atomic_uint generation; /* lz_fork_count when the threads were started */
    uint64_t spin_ns;
    bool fills; /* has more than one thread, and at least one per CPU */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    task *tasks;
    int sleepers;
    bool stop;
    _Alignas(LINE) atomic_uint posted; /* idle workers watch this before they sleep */
    worker workers[];
};

/* The pool whose chunk this thread runs, and its worker number. */
static _Thread_local struct {
    const lz_pool *pool;
    int worker;
} here;

static lz_err *run_chunk(const task *t, int64_t i, int w)
{
    int64_t begin = i * t->grain;
    int64_t end = t->n - begin < t->grain ? t->n : begin + t->grain;
    return t->fn(t->user, begin, end, w);
}

static lz_err *run_inline(const task *t, int w)
{
    lz_err *e = NULL;
    for (int64_t i = 0; !e && i < t->chunks; i++)
        e = run_chunk(t, i, w);
    return e;
}

/* Chunks below a failed one still run: if a lower chunk fails, its error replaces this one. */
static void fail(lz_pool *p, task *t, int64_t i, lz_err *e)
{
    pthread_mutex_lock(&p->lock);
    bool lower = i < atomic_load_explicit(&t->least, memory_order_relaxed);
    lz_err *lost = lower ? t->err : e;
    t->err = lower ? e : t->err;
    if (lower)
        atomic_store_explicit(&t->least, i, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
    lz_err_free(lost);
}

static void run_share(lz_pool *p, task *t, share *s, int w)
{
    if (atomic_load_explicit(&s->next, memory_order_relaxed) >= s->end)
        return;
    for (int64_t i; (i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end;) {
        if (i > atomic_load_explicit(&t->least, memory_order_relaxed))
            return; /* all later chunks of the share are higher, too */
        lz_err *e = run_chunk(t, i, w);
        if (e)
            fail(p, t, i, e);
    }
}

static void run_chunks(lz_pool *p, task *t, int w)
{
    const lz_pool *outer = here.pool;
    int outer_worker = here.worker;
    here.pool = p;
    here.worker = w;
    for (int i = 0; i < t->n_shares; i++)
        run_share(p, t, &t->shares[(w + i) % t->n_shares], w);
    atomic_store_explicit(&t->taken, true, memory_order_relaxed);
    here.pool = outer;
    here.worker = outer_worker;
}

static atomic_bool spared;
static atomic_int spared_cpu = -1;

void lz_pool_spare(bool on)
{
    atomic_store_explicit(&spared, on, memory_order_relaxed);
}

int lz_pool_spared_cpu(void)
{
    return atomic_load_explicit(&spared_cpu, memory_order_relaxed);
}

/* Is it the worker that pauses if lz_pool_spare is on? */
static bool is_last(const lz_pool *p, int index)
{
    return p->fills && index == p->threads - 1;
}

static bool rests(const lz_pool *p, int index)
{
    return is_last(p, index) && atomic_load_explicit(&spared, memory_order_relaxed);
}

/* Returns when (*word == value) == equal, after spin_ns, or when the worker must pause. */
static void spin(const lz_pool *p, int index, const atomic_uint *word, unsigned value, bool equal)
{
    uint64_t end = lz_clock_ns() + p->spin_ns;
    for (unsigned i = 1; (atomic_load_explicit(word, memory_order_acquire) == value) != equal; i++) {
        lz_cpu_relax();
        if (i % SPINS_PER_LOOK)
            continue;
        if (lz_clock_ns() >= end || rests(p, index))
            return;
        /* The thread that this one waits for may need this core. But a thread that lz_pool_spare is on for
         * would keep the core until the next scheduler tick, milliseconds later. */
        if (!atomic_load_explicit(&spared, memory_order_relaxed))
            sched_yield();
    }
}

static task *open_task(const lz_pool *p)
{
    task *t = p->tasks;
    while (t && atomic_load_explicit(&t->taken, memory_order_relaxed))
        t = t->next;
    return t;
}

/* With the lock held; releases it while sleeping. */
static void doze(lz_pool *p, int index)
{
    if (is_last(p, index))
        atomic_store_explicit(&spared_cpu, sched_getcpu(), memory_order_relaxed);
    p->sleepers++;
    pthread_cond_wait(&p->work, &p->lock);
    p->sleepers--;
}

/* With the lock held; releases it meanwhile. */
static void idle(lz_pool *p, int index)
{
    unsigned seen = atomic_load_explicit(&p->posted, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
    spin(p, index, &p->posted, seen, false);
    pthread_mutex_lock(&p->lock);
    if (!p->stop && !open_task(p) && !rests(p, index))
        doze(p, index);
}

/* With the lock held; releases it while sleeping. Passes on a wake-up that was meant for another worker. */
static void rest(lz_pool *p, int index)
{
    doze(p, index);
    if (open_task(p))
        pthread_cond_signal(&p->work);
}

/* NULL when the pool stops. */
static task *next_task(lz_pool *p, int index)
{
    task *t = NULL;
    while (!p->stop && (rests(p, index) || !(t = open_task(p)))) {
        if (rests(p, index))
            rest(p, index);
        else
            idle(p, index);
    }
    return p->stop ? NULL : t;
}

/* Waking costs the waker a microsecond or two, so the work is shared: every worker that joins wakes two more
 * while there may be chunks for them. */
static int64_t to_wake(const lz_pool *p, task *t)
{
    int64_t left = t->chunks - ++t->came;
    int64_t most = p->sleepers < 2 ? p->sleepers : 2;
    return left < most ? left : most;
}

static void wake(lz_pool *p, int64_t n)
{
    for (; n > 0; n--)
        pthread_cond_signal(&p->work);
}

static void *work(void *arg)
{
    const worker *w = arg;
    lz_pool *p = w->pool;
    lz_thread_begin();
    pthread_mutex_lock(&p->lock);
    for (task *t; (t = next_task(p, w->index));) {
        atomic_fetch_add_explicit(&t->guests, 1, memory_order_relaxed);
        int64_t more = to_wake(p, t);
        pthread_mutex_unlock(&p->lock);
        wake(p, more);
        run_chunks(p, t, w->index);
        pthread_mutex_lock(&p->lock);
        bool sleeping = t->sleeping;
        atomic_fetch_sub_explicit(&t->guests, 1, memory_order_release); /* t may be invalid from here on */
        if (sleeping)
            pthread_cond_broadcast(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void post(lz_pool *p, task *t)
{
    pthread_mutex_lock(&p->lock);
    t->next = p->tasks;
    p->tasks = t;
    int64_t more = to_wake(p, t);
    pthread_mutex_unlock(&p->lock);
    /* After the lock is released, so that spinning workers find it free. */
    atomic_fetch_add_explicit(&p->posted, 1, memory_order_release);
    wake(p, more);
}

static void finish(lz_pool *p, task *t)
{
    pthread_mutex_lock(&p->lock);
    task **link = &p->tasks;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    pthread_mutex_unlock(&p->lock);
    spin(p, 0, &t->guests, 0, true);
    if (!atomic_load_explicit(&t->guests, memory_order_acquire))
        return;
    pthread_mutex_lock(&p->lock);
    t->sleeping = true;
    while (atomic_load_explicit(&t->guests, memory_order_relaxed))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void share_out(task *t, int threads)
{
    t->err = NULL;
    t->came = 0;
    t->sleeping = false;
    t->n_shares = threads < SHARES ? threads : SHARES;
    atomic_init(&t->least, t->chunks);
    atomic_init(&t->taken, false);
    atomic_init(&t->guests, 0);
    int64_t each = t->chunks / t->n_shares, more = t->chunks % t->n_shares, at = 0;
    for (int i = 0; i < t->n_shares; i++) {
        atomic_init(&t->shares[i].next, at);
        at += each + (i < more);
        t->shares[i].end = at;
    }
}

/* Threads that cannot be started are done without. */
static void start_workers(lz_pool *p)
{
    lz_err *e = NULL;
    while (!e && p->started < p->threads - 1) {
        worker *w = &p->workers[p->started];
        *w = (worker){ .pool = p, .index = p->started + 1 };
        e = lz_thread_start("lz-pool", STACK, work, w, &w->thread);
        p->started += !e;
    }
    lz_err_drop(e);
}

/* Requires that no other thread uses the pool. */
static void start(lz_pool *p)
{
    p->lock = (pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP; /* never held for long */
    p->work = p->done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    p->tasks = NULL;
    p->started = p->sleepers = 0;
    pthread_mutex_lock(&p->lock); /* holds the workers back until everything is set */
    start_workers(p);
    p->threads = p->started + 1;
    p->fills = p->threads > 1 && p->threads >= lz_cpu_count();
    pthread_mutex_unlock(&p->lock);
    atomic_store_explicit(&p->generation, lz_fork_count(), memory_order_release);
}

/* A forked child does not have the threads; what they held of the pool is lost. */
static void start_again(lz_pool *p)
{
    static lz_lock lock = LZ_LOCK_INIT;
    lz_lock_take(&lock);
    if (atomic_load_explicit(&p->generation, memory_order_relaxed) != lz_fork_count())
        start(p);
    lz_lock_give(&lock);
}

lz_err *lz_pool_for(lz_pool *p, int64_t n, int64_t grain, lz_range_fn *fn, void *user)
{
    if (n <= 0)
        return NULL;
    grain = grain < 1 ? 1 : grain;
    task t;
    t.fn = fn; /* shares are initialised only if they are used */
    t.user = user;
    t.n = n;
    t.grain = grain;
    t.chunks = (n - 1) / grain + 1;
    bool nested = here.pool == p;
    if (p && !nested && atomic_load_explicit(&p->generation, memory_order_acquire) != lz_fork_count())
        start_again(p);
    if (nested || t.chunks == 1 || lz_pool_threads(p) == 1 || (p->threads == 2 && rests(p, 1)))
        return run_inline(&t, nested ? here.worker : 0);
    share_out(&t, p->threads);
    post(p, &t);
    run_chunks(p, &t, 0);
    finish(p, &t);
    return t.err;
}

int lz_pool_threads(const lz_pool *p)
{
    return p ? p->threads : 1;
}

lz_err *lz_pool_create(int threads, lz_pool **out)
{
    if (threads == 0)
        LZ_TRY(lz_cpu_threads(&threads));
    if (threads < 1 || threads > LZ_MOST_THREADS)
        return lz_errf(LZ_ERR_ARG, "a pool has 1 to %d threads, not %d", LZ_MOST_THREADS, threads);
    size_t bytes = sizeof(lz_pool) + (size_t)threads * sizeof(worker);
    lz_pool *p = lz_mem_alloc_aligned(bytes, LINE);
    if (!p)
        return lz_err_oom();
    *p = (lz_pool){ .threads = threads, .spin_ns = threads > lz_cpu_count() ? 0 : SPIN_NS };
    start(p);
    *out = p;
    return NULL;
}

static void stop_workers(lz_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    atomic_fetch_add_explicit(&p->posted, 1, memory_order_release);
    for (int i = 0; i < p->started; i++)
        pthread_join(p->workers[i].thread, NULL);
}

void lz_pool_destroy(lz_pool *p)
{
    if (!p)
        return;
    if (atomic_load_explicit(&p->generation, memory_order_acquire) == lz_fork_count())
        stop_workers(p);
    lz_mem_free(p);
}
