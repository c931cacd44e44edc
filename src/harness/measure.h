/* measure.h - timing several ways of doing the same thing against each other.
 *
 * They take turns, and of each the fastest turn counts, so that what disturbs the machine
 * disturbs all alike: only ratios within one call mean something. On one thread the time
 * is that of the thread, on more that of the clock on the wall. */
#ifndef LZ_HARNESS_MEASURE_H
#define LZ_HARNESS_MEASURE_H

#include "base/err.h"
#include <stdbool.h>

typedef struct lz_way {
    lz_err *(*run)(void *user); /* NULL: there is none, and best is 0 */
    void *user;
    double best; /* seconds of one call */
    bool spins;  /* its threads wait busily after a call, for milliseconds */
} lz_way;

/* Calls each way once, which is not counted, and then in turns: five at least, and for about
 * that long altogether. */
LZ_MUST_USE lz_err *lz_measure(lz_way *ways, int n, int threads, double seconds);

/* Seconds on the clock that is used with so many threads. */
double lz_measure_clock(int threads);

/* Keeps this thread, and those that it starts from now on, on the last of the CPUs that it
 * may use; or lets it go again. */
void lz_pin(bool on);

#endif
