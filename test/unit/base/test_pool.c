#include "base/cpu.h"
#include "base/pool.h"
#include "base/thread.h"
#include "check.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 1200, THREADS = 8 };

static const int sizes[] = { 1, 2, 3, 8 };

typedef struct cover {
    int64_t n, grain;
    int touched[MOST]; /* plain: two visits at once would be a race */
    int chunks[MOST];  /* by first element */
    atomic_int wrong;
} cover;

/* What the header says, the simple way. */
static bool is_chunk(const cover *c, int64_t begin, int64_t end)
{
    int64_t grain = c->grain < 1 ? 1 : c->grain;
    return begin % grain == 0 && begin < end && (end == c->n || end == begin + grain) && end - begin <= grain;
}

static lz_err *touch(void *user, int64_t begin, int64_t end, int worker)
{
    cover *c = user;
    atomic_fetch_add(&c->wrong, !is_chunk(c, begin, end) || worker < 0);
    c->chunks[begin]++;
    for (int64_t i = begin; i < end; i++)
        c->touched[i]++;
    return NULL;
}

static void check_cover(lz_pool *p, int64_t n, int64_t grain)
{
    cover c = { .n = n, .grain = grain };
    assert_null(lz_pool_for(p, n, grain, touch, &c));
    assert_int_equal(c.wrong, 0);
    for (int i = 0; i < MOST; i++) {
        assert_int_equal(c.touched[i], i < n);
        assert_int_equal(c.chunks[i], i < n && i % (grain < 1 ? 1 : grain) == 0);
    }
}

static lz_err *test_every_element_once_in_fixed_chunks(void)
{
    const int64_t ns[] = { -5, 0, 1, 2, 7, 64, 1000, MOST }, grains[] = { -1, 0, 1, 3, 64, 999, 5000 };
    for (size_t s = 0; s <= sizeof sizes / sizeof *sizes; s++) {
        lz_pool *p = NULL; /* the first time round */
        if (s)
            LZ_TRY(lz_pool_create(sizes[s - 1], &p));
        assert_int_equal(lz_pool_threads(p), s ? sizes[s - 1] : 1);
        for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
            for (size_t j = 0; j < sizeof grains / sizeof *grains; j++)
                check_cover(p, ns[i], grains[j]);
        lz_pool_destroy(p);
    }
    return NULL;
}

static lz_err *add_length(void *user, int64_t begin, int64_t end, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_llong *)user, end - begin);
    return NULL;
}

static lz_err *test_largest_loop(void)
{
    lz_pool *p;
    atomic_llong total = 0;
    LZ_TRY(lz_pool_create(2, &p));
    assert_null(lz_pool_for(p, INT64_MAX, INT64_MAX / 3 * 2, add_length, &total));
    assert_true(total == INT64_MAX);
    total = 0;
    assert_null(lz_pool_for(p, INT64_MAX, INT64_MAX, add_length, &total));
    assert_true(total == INT64_MAX);
    lz_pool_destroy(p);
    return NULL;
}

typedef struct faults {
    int first, step; /* chunks first, first + step, ... fail */
    atomic_int ran;
} faults;

static lz_err *sometimes(void *user, int64_t begin, int64_t end, int worker)
{
    faults *f = user;
    (void)end, (void)worker;
    atomic_fetch_add(&f->ran, 1);
    if (begin < f->first || (begin - f->first) % f->step)
        return NULL;
    return lz_errf(LZ_ERR_MODEL, "chunk <%d>", (int)begin);
}

static lz_err *check_faults(lz_pool *p, int first, int step)
{
    char part[32];
    faults f = { .first = first, .step = step };
    snprintf(part, sizeof part, "<%d>", first);
    lz_err *e = lz_check_err(lz_pool_for(p, 100, 1, sometimes, &f), LZ_ERR_MODEL, part);
    assert_in_range(f.ran, first + 1, lz_pool_threads(p) == 1 ? first + 1 : 100);
    return e;
}

static lz_err *test_the_lowest_error_is_returned(void)
{
    lz_err *e = NULL;
    for (size_t s = 0; !e && s < sizeof sizes / sizeof *sizes; s++) {
        lz_pool *p;
        LZ_TRY(lz_pool_create(sizes[s], &p));
        for (int i = 0; !e && i < 60; i++)
            e = check_faults(p, i % 20 * 5, 1 + i % 7);
        lz_pool_destroy(p);
    }
    return e;
}

typedef struct seats {
    atomic_int taken[THREADS];
    atomic_int wrong, most;
} seats;

static lz_err *sit(void *user, int64_t begin, int64_t end, int worker)
{
    seats *s = user;
    (void)begin, (void)end;
    bool fits = worker >= 0 && worker < s->most;
    atomic_fetch_add(&s->wrong, !fits || atomic_exchange(&s->taken[fits ? worker : 0], 1));
    for (int i = 0; i < 50; i++)
        lz_cpu_relax();
    atomic_store(&s->taken[fits ? worker : 0], 0);
    return NULL;
}

static lz_err *test_workers_have_their_own_numbers(void)
{
    lz_pool *p;
    seats s = { .most = THREADS };
    LZ_TRY(lz_pool_create(THREADS, &p));
    for (int i = 0; i < 30; i++)
        assert_null(lz_pool_for(p, 200, 1, sit, &s));
    assert_int_equal(s.wrong, 0);
    lz_pool_destroy(p);
    return NULL;
}

static void nap(long us)
{
    nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

/* Returns only when as many chunks have begun as there are threads. */
static lz_err *meet(void *user, int64_t begin, int64_t end, int worker)
{
    atomic_int *missing = user;
    (void)begin, (void)end, (void)worker;
    atomic_fetch_sub(missing, 1);
    while (atomic_load(missing) > 0)
        nap(10);
    return NULL;
}

/* With pauses around the time at which an idle worker goes to sleep: a lost wake-up
 * would hang here. */
static lz_err *test_all_threads_come_each_time(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        lz_pool *p;
        LZ_TRY(lz_pool_create(sizes[s], &p));
        for (int i = 0; i < 100; i++) {
            atomic_int missing = sizes[s];
            assert_null(lz_pool_for(p, sizes[s], 1, meet, &missing));
            if (i % 3)
                nap(i);
        }
        lz_pool_destroy(p);
    }
    return NULL;
}

typedef struct begun {
    atomic_int missing;
    int first[THREADS]; /* chunk of each worker, -1: none yet */
} begun;

static lz_err *begin_share(void *user, int64_t begin, int64_t end, int worker)
{
    begun *b = user;
    if (b->first[worker] >= 0)
        return NULL;
    b->first[worker] = (int)begin;
    return meet(&b->missing, begin, end, worker);
}

static lz_err *test_each_worker_begins_with_its_own_share(void)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        lz_pool *p;
        LZ_TRY(lz_pool_create(sizes[s], &p));
        for (int round = 0; round < 20; round++) {
            begun b = { .missing = sizes[s] };
            for (int w = 0; w < sizes[s]; w++)
                b.first[w] = -1;
            assert_null(lz_pool_for(p, 5 * sizes[s], 1, begin_share, &b));
            for (int w = 0; w < sizes[s]; w++)
                assert_int_equal(b.first[w], 5 * w);
        }
        lz_pool_destroy(p);
    }
    return NULL;
}

typedef struct nest {
    lz_pool *pools[2];
    int depth;
    int worker; /* of the chunk around, with `where` */
    pthread_t where;
    atomic_int *leaves, *wrong, *missing;
} nest;

static lz_err *inner(void *user, int64_t begin, int64_t end, int worker)
{
    const nest *n = user;
    (void)begin, (void)end;
    atomic_fetch_add(n->wrong, worker != n->worker || !pthread_equal(n->where, pthread_self()));
    atomic_fetch_add(n->leaves, 1);
    return NULL;
}

static lz_err *outer(void *user, int64_t begin, int64_t end, int worker)
{
    nest mine = *(nest *)user;
    mine.worker = worker;
    mine.where = pthread_self();
    LZ_TRY(meet(mine.missing, begin, end, worker));
    return lz_pool_for(mine.pools[0], 10, 1, inner, &mine);
}

static lz_err *test_nested_loops_run_where_they_are(void)
{
    atomic_int leaves = 0, wrong = 0, missing;
    nest n = { .leaves = &leaves, .wrong = &wrong, .missing = &missing };
    LZ_TRY(lz_pool_create(4, &n.pools[0]));
    for (int i = 0; i < 20; i++) {
        missing = 4; /* so that all four threads nest */
        assert_null(lz_pool_for(n.pools[0], 20, 1, outer, &n));
    }
    assert_int_equal(leaves, 20 * 20 * 10);
    assert_int_equal(wrong, 0);
    lz_pool_destroy(n.pools[0]);
    return NULL;
}

static lz_err *ping_pong(void *user, int64_t begin, int64_t end, int worker)
{
    nest mine = *(nest *)user;
    (void)begin, (void)end;
    lz_pool *p = mine.pools[mine.depth % 2];
    atomic_fetch_add(mine.wrong, worker >= lz_pool_threads(mine.pools[1 - mine.depth % 2]));
    atomic_fetch_add(mine.leaves, mine.depth == 0);
    return mine.depth-- ? lz_pool_for(p, 3, 1, ping_pong, &mine) : NULL;
}

static lz_err *test_pools_may_call_each_other(void)
{
    atomic_int leaves = 0, wrong = 0;
    nest n = { .depth = 5, .leaves = &leaves, .wrong = &wrong };
    LZ_TRY(lz_pool_create(4, &n.pools[0]));
    lz_err *e = lz_pool_create(2, &n.pools[1]);
    if (!e)
        e = lz_pool_for(n.pools[0], 3, 1, ping_pong, &n);
    if (!e)
        assert_int_equal(leaves, 3 * 3 * 3 * 3 * 3 * 3);
    assert_int_equal(wrong, 0);
    lz_pool_destroy(n.pools[0]);
    lz_pool_destroy(n.pools[1]);
    return e;
}

static lz_err *meet_inside(void *user, int64_t begin, int64_t end, int worker)
{
    atomic_int missing = 2;
    (void)begin, (void)end, (void)worker;
    return lz_pool_for(user, 2, 1, meet, &missing);
}

static lz_err *test_one_chunk_leaves_the_pool_to_loops_inside(void)
{
    lz_pool *p;
    LZ_TRY(lz_pool_create(2, &p));
    lz_err *e = lz_pool_for(p, 1, 1, meet_inside, p);
    lz_pool_destroy(p);
    return e;
}

typedef struct client {
    pthread_t thread;
    lz_pool *pool;
    int id;
    int64_t sum;
    lz_err *err;
} client;

typedef struct sums {
    int64_t each[THREADS + 1];
} sums;

static lz_err *add_up(void *user, int64_t begin, int64_t end, int worker)
{
    sums *s = user;
    for (int64_t i = begin; i < end; i++)
        s->each[worker] += i * i;
    return NULL;
}

static void *use_pool(void *arg)
{
    client *c = arg;
    for (int round = 0; !c->err && round < 100; round++) {
        sums s = { { 0 } };
        faults f = { .first = c->id, .step = 1 };
        c->err = lz_pool_for(c->pool, 500 + c->id, 1 + round % 40, add_up, &s);
        c->sum = 0;
        for (int w = 0; w <= THREADS; w++)
            c->sum += s.each[w];
        if (!c->err && round % 10 == 0) {
            lz_err *e = lz_pool_for(c->pool, 20, 1, sometimes, &f);
            c->err = e ? NULL : lz_errf(LZ_ERR_INTERNAL, "the fault was lost");
            lz_err_free(e);
        }
    }
    return NULL;
}

static lz_err *check_client(const client *c)
{
    int64_t want = 0;
    for (int64_t i = 0; i < 500 + c->id; i++)
        want += i * i;
    if (!c->err)
        assert_true(c->sum == want);
    return c->err;
}

static lz_err *test_many_callers_at_once(void)
{
    lz_pool *p;
    client all[THREADS];
    lz_err *e = NULL;
    LZ_TRY(lz_pool_create(4, &p));
    for (int i = 0; i < THREADS; i++) {
        all[i] = (client){ .pool = p, .id = i };
        assert_int_equal(pthread_create(&all[i].thread, NULL, use_pool, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i].thread, NULL);
    for (int i = 0; i < THREADS; i++)
        e = lz_err_first(e, check_client(&all[i]));
    lz_pool_destroy(p);
    return e;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static lz_err *test_idle_workers_sleep(void)
{
    lz_pool *p;
    atomic_llong total = 0;
    LZ_TRY(lz_pool_create(0, &p));
    assert_null(lz_pool_for(p, 100, 1, add_length, &total));
    nap(20000);
    double before = cpu_seconds();
    nap(100000);
    assert_true(cpu_seconds() - before < 0.02);
    lz_pool_destroy(p);
    return NULL;
}

static lz_err *check_default_threads(int want)
{
    lz_pool *p;
    LZ_TRY(lz_pool_create(0, &p));
    assert_int_equal(lz_pool_threads(p), want);
    lz_pool_destroy(p);
    return NULL;
}

static lz_err *test_as_many_threads_as_allowed_cpus(void)
{
    cpu_set_t before, one;
    size_t first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    lz_err *e = check_default_threads(1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    return e ? e : check_default_threads(CPU_COUNT(&before));
}

static lz_err *test_thread_numbers_are_checked(void)
{
    lz_pool *p;
    LZ_TRY(lz_check_err(lz_pool_create(-1, &p), LZ_ERR_ARG, "-1"));
    LZ_TRY(lz_check_err(lz_pool_create(1000000, &p), LZ_ERR_ARG, "1000000"));
    lz_pool_destroy(NULL);
    return NULL;
}

/* More threads than CPUs there are: the last one rests while a CPU is to be spared. */
static lz_err *count_worker(void *user, int64_t begin, int64_t end, int worker)
{
    atomic_int *runs = user;
    (void)begin;
    (void)end;
    atomic_fetch_add(&runs[worker], 1);
    sched_yield();
    return NULL;
}

/* The one that rests says where: once it sleeps, which may take a while. */
static lz_err *test_the_spared_cpu_is_known(void)
{
    lz_pool *p;
    int threads = lz_cpu_count() + 1;
    cpu_set_t mine;
    LZ_TRY(lz_pool_create(threads, &p));
    while (lz_pool_spared_cpu() < 0)
        sched_yield();
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    assert_true(CPU_ISSET((size_t)lz_pool_spared_cpu(), &mine));
    lz_pool_destroy(p);
    return NULL;
}

static lz_err *test_a_cpu_is_spared(void)
{
    enum { LOOPS = 50, CHUNKS = 40 };
    for (int threads = 2; threads <= THREADS; threads += 3) {
        lz_pool *p;
        atomic_int runs[THREADS] = { 0 };
        int all = 0;
        LZ_TRY(lz_pool_create(threads, &p));
        lz_pool_spare(true);
        for (int i = 0; i < LOOPS; i++) {
            check_cover(p, MOST, 7);
            assert_null(lz_pool_for(p, CHUNKS, 1, count_worker, runs));
        }
        lz_pool_spare(false);
        check_cover(p, MOST, 7);
        lz_pool_destroy(p);
        for (int i = 0; i < THREADS; i++)
            all += atomic_load(&runs[i]);
        assert_int_equal(all, LOOPS * CHUNKS);
        assert_true(threads < lz_cpu_count() || atomic_load(&runs[threads - 1]) == 0);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_every_element_once_in_fixed_chunks),
        LZ_TEST(test_largest_loop),
        LZ_TEST(test_the_lowest_error_is_returned),
        LZ_TEST(test_workers_have_their_own_numbers),
        LZ_TEST(test_all_threads_come_each_time),
        LZ_TEST(test_each_worker_begins_with_its_own_share),
        LZ_TEST(test_nested_loops_run_where_they_are),
        LZ_TEST(test_pools_may_call_each_other),
        LZ_TEST(test_one_chunk_leaves_the_pool_to_loops_inside),
        LZ_TEST(test_many_callers_at_once),
        LZ_TEST(test_a_cpu_is_spared),
        LZ_TEST(test_the_spared_cpu_is_known),
        LZ_TEST(test_idle_workers_sleep),
        LZ_TEST(test_as_many_threads_as_allowed_cpus),
        LZ_TEST(test_thread_numbers_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
