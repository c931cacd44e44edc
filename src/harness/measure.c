#include "harness/measure.h"
#include <assert.h>
#include <sched.h>
#include <time.h>

/* A turn has as many calls as fit into this time, so that the clock's resolution and cache contents of the
 * other functions matter little. */
static const double turn_seconds = 1e-3;

double lz_measure_clock(int threads)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Threads of some libraries wait busily after a call (OpenBLAS: 26 ms) and would slow down the next
 * function: waits until they stop. Without waiting threads there is no pause, because a CPU that slept is
 * slower for a while. */
static void rest(const lz_measured *ways, int n, int threads)
{
    bool spins = false;
    for (int i = 0; i < n; i++)
        spins = spins || (ways[i].run && ways[i].spins);
    if (spins && threads > 1)
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
}

/* Untimed calls before a turn: the caches hold the data of other functions, and threads sleep. A long call
 * of one thread needs none. */
static lz_err *warm_up(lz_measured *w, int threads, int calls)
{
    enum { WARM = 4 };
    static const double long_call = 10e-3;
    int enough = threads > 1 && calls < WARM ? WARM : threads == 1 && w->best > long_call ? 0 : calls;
    for (int i = 0; i < enough; i++)
        LZ_TRY(w->run(w->user));
    return NULL;
}

static lz_err *turn(lz_measured *w, int threads, int calls)
{
    LZ_TRY(warm_up(w, threads, calls));
    double start = lz_measure_clock(threads);
    for (int i = 0; i < calls; i++)
        LZ_TRY(w->run(w->user));
    double took = (lz_measure_clock(threads) - start) / calls;
    w->best = took < w->best ? took : w->best;
    return NULL;
}

static lz_err *first(lz_measured *ways, int n, int threads)
{
    for (int i = 0; i < n; i++) {
        ways[i].best = 0;
        if (ways[i].run)
            LZ_TRY(ways[i].run(ways[i].user));
    }
    for (int i = 0; i < n; i++)
        if (ways[i].run) {
            ways[i].best = 1e9;
            rest(ways, n, threads);
            LZ_TRY(turn(&ways[i], threads, 1));
        }
    return NULL;
}

lz_err *lz_measure(lz_measured *ways, int n, int threads, double seconds)
{
    assert(n > 0 && threads > 0);
    double start = lz_measure_clock(threads);
    LZ_TRY(first(ways, n, threads));
    for (int round = 0; round < 5 || lz_measure_clock(threads) - start < seconds; round++)
        for (int i = 0; i < n; i++)
            if (ways[i].run) {
                rest(ways, n, threads);
                LZ_TRY(turn(&ways[i], threads, (int)(turn_seconds * threads / (ways[i].best + 1e-8)) + 1));
            }
    return NULL;
}

void lz_pin(bool on)
{
    static cpu_set_t all;
    static bool known;
    if (!known)
        known = sched_getaffinity(0, sizeof all, &all) == 0;
    size_t last = CPU_SETSIZE - 1;
    while (last > 0 && !CPU_ISSET(last, &all))
        last--;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    if (known)
        sched_setaffinity(0, sizeof one, on ? &one : &all);
}
