#include "measure.h"
#include "base/err.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(int threads)
{
    struct timespec t;
    clock_gettime(threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Short ones are called often enough in a turn for the clock not to count. */
static int repeats(double once)
{
    return once > 2e-4 ? 1 : (int)(2e-4 / (once + 1e-8)) + 1;
}

static void turn(bench_way *w, int threads)
{
    int n = repeats(w->best);
    double start = now(threads);
    for (int i = 0; i < n; i++)
        w->run(w->user);
    double took = (now(threads) - start) / n;
    w->best = took < w->best ? took : w->best;
}

void bench_measure(bench_way *ways, int n, int threads, double seconds)
{
    for (int i = 0; i < n; i++) {
        ways[i].best = ways[i].run ? 1e9 : 0;
        if (ways[i].run)
            turn(&ways[i], threads);
    }
    double start = now(threads);
    for (int round = 0; round < 5 || now(threads) - start < seconds; round++) {
        for (int i = 0; i < n; i++) {
            if (ways[i].run)
                turn(&ways[i], threads);
        }
    }
}

void bench_pin(bool on)
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

static bool json;

void bench_json(bool on)
{
    json = on;
}

void bench_figure(const char *suite, const char *what, const char *system, const char *metric, double value,
                  const char *unit)
{
    if (json)
        printf("{\"suite\":\"%s\",\"system\":\"%s\",\"case\":\"%s\",\"metric\":\"%s\",\"value\":%.4g,"
               "\"unit\":\"%s\"}\n",
               suite, system, what, metric, value, unit);
    else
        printf("  %-34s %-16s %-22s %10.4g %s\n", what, system, metric, value, unit);
    fflush(stdout);
}

void bench_try(lz_err *e)
{
    if (!e)
        return;
    fprintf(stderr, "bench: %s\n", lz_err_text(e));
    exit(EXIT_FAILURE);
}
