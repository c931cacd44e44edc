/* measure.h - timing several ways of doing the same thing against each other.
 *
 * They take turns, and of each the fastest turn counts, so that what disturbs the machine
 * disturbs all alike: only ratios within one call mean something. On one thread the time
 * is that of the thread, on more of the clock on the wall. */
#ifndef LZ_BENCH_MEASURE_H
#define LZ_BENCH_MEASURE_H

#include <stdbool.h>

typedef struct bench_way {
    const char *name;
    void (*run)(void *user); /* NULL: there is none */
    void *user;
    double best; /* seconds, of one call */
} bench_way;

/* Calls each way once, then in turns for about that long altogether. */
void bench_measure(bench_way *ways, int n, int threads, double seconds);

/* Keeps this thread on one CPU, or lets it go again. */
void bench_pin(bool on);

/* One figure: as a line of JSON, or for people. `what` is the case, `system` who did it. */
void bench_json(bool on);
void bench_figure(const char *suite, const char *what, const char *system, const char *metric, double value,
                  const char *unit);

/* Ends the program if there is an error. */
struct lz_err;
void bench_try(struct lz_err *e);

#endif
