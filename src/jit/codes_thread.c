/* The background thread that compiles kernels, and what happens to it in a fork. */
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/profiler.h"
#include "base/thread.h"
#include "jit/codes_impl.h"
#include "jit/perf_map.h"
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 8 << 20, NICE = 5, NAP_NS = 1000000 };

static const uint64_t next_start_ns = 1000000000; /* delay after a failed start of the thread */

/* Held while code is made, so one thread at a time compiles. Taken before the lock of the table. */
static lz_lock making = LZ_LOCK_INIT;

/* ---- metrics of the holders ---- */

typedef struct lz_native_hold {
    struct lz_native_hold *next;
    lz_metrics *metrics;
    lz_series *compile;
    lz_counter *disk_hit, *swap, *refused;
} lz_native_hold;

lz_err *lz_native_codes_metrics_add(lz_metrics *m)
{
    lz_native_hold h = { .metrics = m };
    if (!m)
        return NULL;
    LZ_TRY(lz_metrics_series(m, LZ_STR("KernelCompile"), LZ_UNIT_TIME, &h.compile));
    LZ_TRY(lz_metrics_counter(m, LZ_STR("KernelDiskHit"), &h.disk_hit));
    LZ_TRY(lz_metrics_counter(m, LZ_STR("KernelSwap"), &h.swap));
    LZ_TRY(lz_metrics_counter(m, LZ_STR("KernelRefused"), &h.refused));
    lz_native_hold *own = lz_mem_alloc(sizeof *own);
    if (!own)
        return lz_err_oom();
    *own = h;
    lz_lock_take(&lz_native_codes_all.lock);
    own->next = lz_native_codes_all.holds;
    lz_native_codes_all.holds = own;
    lz_lock_give(&lz_native_codes_all.lock);
    return NULL;
}

void lz_native_codes_metrics_remove(lz_metrics *m)
{
    lz_lock_take(&lz_native_codes_all.lock);
    lz_native_hold **at = &lz_native_codes_all.holds, *found;
    while (*at && (*at)->metrics != m)
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    lz_lock_give(&lz_native_codes_all.lock);
    lz_mem_free(found);
}

static void count_compiled(uint64_t ns)
{
    atomic_fetch_add(&lz_native_codes_all.compiles, 1);
    atomic_fetch_add(&lz_native_codes_all.compile_ns, (int64_t)ns);
    lz_lock_take(&lz_native_codes_all.lock);
    for (lz_native_hold *h = lz_native_codes_all.holds; h; h = h->next)
        lz_series_add(h->compile, (int64_t)ns);
    lz_lock_give(&lz_native_codes_all.lock);
}

static void count_event(atomic_int_fast64_t *count, size_t member)
{
    atomic_fetch_add(count, 1);
    lz_lock_take(&lz_native_codes_all.lock);
    for (lz_native_hold *h = lz_native_codes_all.holds; h; h = h->next)
        lz_counter_add(*(lz_counter **)(void *)((char *)h + member), 1);
    lz_lock_give(&lz_native_codes_all.lock);
}

/* ---- forks ---- */

/* With the lock held and no thread running. Later runs will ask for these entries again. */
static void forget_queue(lz_native_codes *c)
{
    c->queue = NULL;
    c->queue_end = NULL;
    for (lz_native_slot *e = NULL; (e = lz_native_next(e));) {
        if (e->queued)
            atomic_store(&e->asked, LZ_WANT_NOTHING);
        e->queued = false;
    }
}

/* With the lock held. A forked child does not have the thread. */
static void look_for_fork(lz_native_codes *c)
{
    if (c->generation == lz_fork_count())
        return;
    c->generation = lz_fork_count();
    lz_mem_free(c->thread);
    lz_pool_spare(false);
    c->thread = NULL;
    c->paused = 0;
    forget_queue(c);
}

static void take_lock(lz_native_codes *c)
{
    lz_lock_take(&c->lock);
    look_for_fork(c);
}

/* ---- compilation ---- */

/* Out of memory and process exit are not the kernel's fault: a later run asks again. A broken invariant is
 * kept for the runs to report; the interpreter would hide it. */
static void refuse(lz_native_slot *e, lz_err *err)
{
    lz_code code = lz_err_code(err);
    /* Machines without LLVM are common: log quietly. An explicit request that cannot be met is a warning. */
    bool wished = code == LZ_ERR_ARG || (code == LZ_ERR_NOT_FOUND && lz_env_text(LZ_ENV_LLVM));
    lz_level level = code == LZ_ERR_INTERNAL ? LZ_LOG_ERROR : wished ? LZ_LOG_WARN : LZ_LOG_DEBUG;
    lz_logf(level, "a kernel stays interpreted: %s", lz_err_text(err));
    if (code == LZ_ERR_NOT_FOUND) {
        atomic_store(&lz_native_codes_all.none, true);
    } else if (code == LZ_ERR_MEMORY || code == LZ_ERR_BUSY) {
        atomic_store(&e->elements, 0);
        atomic_store(&e->asked, LZ_WANT_NOTHING);
    } else {
        if (code == LZ_ERR_INTERNAL) {
            e->fault = err;
            err = NULL;
        }
        atomic_store_explicit(&e->refused, true, memory_order_release);
        count_event(&lz_native_codes_all.refused, offsetof(lz_native_hold, refused));
    }
    lz_err_free(err);
}

static void make(lz_native_slot *e, int want)
{
    lz_native_source *source = atomic_load(&lz_native_codes_all.source);
    bool made = false;
    uint64_t start = lz_clock_ns();
    lz_span span = lz_span_begin();
    lz_err *err =
        (source ? source : lz_native_get)(e->kernel, &e->variant, want == LZ_WANT_CODE, &e->loaded, &made);
    lz_span_end(&span, &(lz_span_note){ .phase = LZ_PHASE_CODE });
    if (err) {
        refuse(e, err);
        return;
    }
    if (!e->loaded.run)
        return;
    lz_perf_map_add(e->kernel, &e->loaded);
    atomic_store_explicit(&e->code, &e->loaded, memory_order_release);
    uint64_t took = lz_clock_ns() - start;
    if (made) {
        count_compiled(took);
        return;
    }
    atomic_fetch_add(&lz_native_codes_all.disk_ns, (int64_t)took);
    count_event(&lz_native_codes_all.disk_hits, offsetof(lz_native_hold, disk_hit));
}

void lz_native_make(lz_native_slot *e, int want)
{
    lz_lock_take(&making);
    if (!atomic_load_explicit(&e->code, memory_order_acquire) && !atomic_load(&e->refused)
        && !atomic_load(&lz_native_codes_all.none))
        make(e, want);
    lz_lock_give(&making);
}

/* ---- the thread ---- */

typedef struct lz_native_thread {
    pthread_t id;
    bool stop;    /* with the lock held */
    bool has_cpu; /* one thread of each pool pauses in its favour */
} lz_native_thread;

static void move_to(int cpu)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all)
        || !CPU_ISSET((size_t)cpu, &all))
        return;
    CPU_SET((size_t)cpu, &one);
    if (!sched_setaffinity(0, sizeof one, &one))
        (void)sched_setaffinity(0, sizeof all, &all);
}

/* When this thread wakes up, the pool's threads occupy all CPUs. It would get a CPU for a scheduler tick,
 * milliseconds, in the middle of a loop whose other threads then wait. So it sleeps until a thread of the
 * pool pauses, and moves to that thread's CPU: the scheduler does not always look for an idle CPU. */
static void take_cpu(lz_native_thread *t)
{
    lz_pool_spare(true);
    if (!t->has_cpu) {
        lz_sleep_ns(NAP_NS);
        move_to(lz_pool_spared_cpu());
    }
    t->has_cpu = true;
}

static void give_cpu(lz_native_thread *t)
{
    lz_pool_spare(false);
    t->has_cpu = false;
}

/* With the lock held. */
static void enqueue(lz_native_slot *e)
{
    lz_native_codes *c = &lz_native_codes_all;
    if (c->queue_end)
        *c->queue_end = e;
    else
        c->queue = e;
    e->in_queue = NULL;
    e->queued = true;
    c->queue_end = &e->in_queue;
    lz_lock_wake(&c->lock);
}

/* With the lock held; NULL when the thread must stop. */
static lz_native_slot *next_entry(lz_native_thread *t)
{
    lz_native_codes *c = &lz_native_codes_all;
    while (!t->stop && !c->queue) {
        give_cpu(t);
        lz_lock_wait(&c->lock);
    }
    lz_native_slot *e = t->stop ? NULL : c->queue;
    if (e) {
        c->queue = e->in_queue;
        c->queue_end = c->queue ? c->queue_end : NULL;
    }
    return e;
}

void lz_native_codes_pause(void)
{
    take_lock(&lz_native_codes_all);
    lz_native_codes_all.paused++;
    lz_lock_give(&lz_native_codes_all.lock);
}

void lz_native_codes_resume(void)
{
    take_lock(&lz_native_codes_all);
    if (lz_native_codes_all.paused > 0 && --lz_native_codes_all.paused == 0)
        lz_lock_wake(&lz_native_codes_all.lock);
    lz_lock_give(&lz_native_codes_all.lock);
}

static bool is_paused(void)
{
    lz_lock_take(&lz_native_codes_all.lock);
    bool paused = lz_native_codes_all.paused > 0;
    lz_lock_give(&lz_native_codes_all.lock);
    return paused;
}

/* Waits for the end of the pause; false if the thread must stop. */
static bool outlast_pause(lz_native_thread *t)
{
    lz_native_codes *c = &lz_native_codes_all;
    give_cpu(t);
    lz_lock_take(&c->lock);
    while (c->paused > 0 && !t->stop)
        lz_lock_wait(&c->lock);
    bool go = !t->stop;
    lz_lock_give(&c->lock);
    return go;
}

/* True if more was requested meanwhile. */
static bool serve(lz_native_thread *t, lz_native_slot *e)
{
    int want = atomic_load(&e->asked);
    if (want == LZ_WANT_CODE && is_paused()) {
        lz_native_make(e, LZ_WANT_LOOK);
        if (!atomic_load_explicit(&e->code, memory_order_relaxed) && !outlast_pause(t))
            return false;
    }
    if (want == LZ_WANT_CODE)
        take_cpu(t);
    lz_native_make(e, want);
    bool there = atomic_load_explicit(&e->code, memory_order_relaxed);
    if (there)
        count_event(&lz_native_codes_all.swaps, offsetof(lz_native_hold, swap));
    return !there && atomic_load(&e->asked) > want;
}

/* Lowers the priority below that of the starting thread and never pre-empts a running thread. Linux takes a
 * thread id for a process id here; elsewhere the priority is unchanged. */
static void step_back(void)
{
    id_t self = (id_t)syscall(SYS_gettid);
    int nice = getpriority(PRIO_PROCESS, self) + NICE;
    (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
    (void)setpriority(PRIO_PROCESS, self, nice);
}

static void *work(void *arg)
{
    lz_native_thread *t = arg;
    lz_native_codes *c = &lz_native_codes_all;
    lz_thread_begin();
    step_back();
    lz_lock_take(&c->lock);
    for (lz_native_slot *e; (e = next_entry(t));) {
        lz_lock_give(&c->lock);
        bool more = serve(t, e);
        lz_lock_take(&c->lock);
        e->queued = false;
        if (more && !t->stop)
            enqueue(e);
        lz_lock_wake(&c->lock);
    }
    lz_lock_give(&c->lock);
    give_cpu(t);
    return NULL;
}

struct lz_native_thread *lz_native_thread_take(void)
{
    look_for_fork(&lz_native_codes_all);
    lz_native_thread *t = lz_native_codes_all.thread;
    lz_native_codes_all.thread = NULL;
    if (t) {
        t->stop = true;
        lz_lock_wake(&lz_native_codes_all.lock);
    }
    return t;
}

void lz_native_thread_join(struct lz_native_thread *t)
{
    if (t)
        pthread_join(t->id, NULL);
    lz_mem_free(t);
}

void lz_native_thread_end(void)
{
    lz_native_codes *c = &lz_native_codes_all;
    lz_lock_take(&c->lock);
    lz_native_thread *t = lz_native_thread_take();
    lz_lock_give(&c->lock);
    lz_native_thread_join(t);
    lz_lock_take(&c->lock);
    if (!c->thread)
        forget_queue(c);
    lz_lock_give(&c->lock);
}

/* With the lock held. */
static void start_thread(lz_native_codes *c)
{
    uint64_t now = lz_clock_ns();
    lz_native_thread *t = now >= c->no_start_before ? lz_mem_zalloc(1, sizeof *t) : NULL;
    if (!t)
        return;
    lz_err *e = lz_thread_start("lz-compile", STACK, work, t, &t->id);
    if (e) {
        c->no_start_before = now + next_start_ns;
        lz_mem_free(t);
        lz_err_free(e);
    } else {
        c->thread = t;
    }
}

/* If no thread can be started the kernel stays interpreted and a later run tries again. */
void lz_native_request(lz_native_slot *e, int want)
{
    lz_native_codes *c = &lz_native_codes_all;
    take_lock(c);
    if (!c->thread)
        start_thread(c);
    if (c->thread && want > atomic_load(&e->asked)) {
        atomic_store(&e->asked, want);
        if (!e->queued)
            enqueue(e);
    }
    lz_lock_give(&c->lock);
}

void lz_native_codes_wait(void)
{
    lz_native_codes *c = &lz_native_codes_all;
    take_lock(c);
    for (bool busy = true; busy;) {
        busy = c->queue != NULL;
        for (lz_native_slot *e = NULL; !busy && (e = lz_native_next(e));)
            busy = e->queued;
        if (busy && c->thread)
            lz_lock_wait(&c->lock);
        busy = busy && c->thread;
    }
    lz_lock_give(&c->lock);
}
