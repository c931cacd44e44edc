/* measure.h - times several functions that do the same work, and compares them.
 *
 * The functions take turns. The fastest turn of each counts, so that other load on the machine affects all
 * functions alike: only ratios within one call are meaningful. With one thread the time is the thread's CPU
 * time, with more threads it is wall-clock time. */
#ifndef LZ_HARNESS_MEASURE_H
#define LZ_HARNESS_MEASURE_H

#include "base/err.h"
#include <stdbool.h>

typedef struct lz_measured {
    lz_err *(*run)(void *user); /* NULL: nothing is measured, and best is 0 */
    void *user;
    double best; /* seconds of one call */
    bool spins;  /* threads of `run` wait busily after a call, for milliseconds */
} lz_measured;

/* Calls each function once untimed. Then the functions take turns: at least five each, for about `seconds`
 * altogether. */
LZ_MUST_USE lz_err *lz_measure(lz_measured *ways, int n, int threads, double seconds);

/* Seconds, read from the clock that lz_measure uses with this number of threads. */
double lz_measure_clock(int threads);

/* on: binds this thread, and every thread that it starts from now on, to the last CPU that it may use.
 * off: undoes that. */
void lz_pin(bool on);

#endif
