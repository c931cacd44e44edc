#include "harness/measure.h"
#include <sched.h>
#include <time.h>

/* A turn is made of so many calls that the clock does not count, and that what the other ways
 * left in the caches counts little. */
static const double turn_seconds = 1e-3;

double lz_measure_clock(int threads)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Libraries let their threads wait busily for some time, OpenBLAS for 26 ms: on the CPUs of whoever
 * comes next. Where none does, nobody rests: a machine that slept is slower for a while. */
static void rest(const lz_way *ways, int n, int threads)
{
    bool spins = false;
    for (int i = 0; i < n; i++)
        spins = spins || (ways[i].run && ways[i].spins);
    if (spins && threads > 1)
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
}

/* Other ways had the caches, and threads sleep: what is timed are calls that follow others of the same
 * kind. To a long one of one thread that is nothing. */
static lz_err *warm_up(lz_way *w, int threads, int calls)
{
    enum { WARM = 4 };
    static const double long_call = 10e-3;
    int enough = threads > 1 && calls < WARM ? WARM : threads == 1 && w->best > long_call ? 0 : calls;
    for (int i = 0; i < enough; i++)
        LZ_TRY(w->run(w->user));
    return NULL;
}

static lz_err *turn(lz_way *w, int threads, int calls)
{
    LZ_TRY(warm_up(w, threads, calls));
    double start = lz_measure_clock(threads);
    for (int i = 0; i < calls; i++)
        LZ_TRY(w->run(w->user));
    double took = (lz_measure_clock(threads) - start) / calls;
    w->best = took < w->best ? took : w->best;
    return NULL;
}

static lz_err *first(lz_way *ways, int n, int threads)
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

lz_err *lz_measure(lz_way *ways, int n, int threads, double seconds)
{
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
