/* bench.h - what things cost, measured where it runs.
 *
 * A figure is the least of many runs, which is what a quiet machine would take. Where
 * something can be measured beside it, in turns and in the same run, the figure has a
 * ratio to that: ratios can be compared between machines, figures cannot. */
#ifndef LZ_HARNESS_BENCH_H
#define LZ_HARNESS_BENCH_H

#include <lazuli/base.h>
#include <stdbool.h>

typedef struct lz_bench_figure {
    const char *suite, *system, *name, *metric, *unit;
    double value;
    double ratio;        /* value / that of `against`; 0: there is none */
    const char *against; /* a system of this run, or NULL */
    int threads;
} lz_bench_figure;

typedef struct lz_bench_options {
    int64_t n;         /* of the suite's sizes only this one, whatever the suite counts; 0: all of them */
    int threads;       /* 0: one */
    double seconds;    /* for each figure, about; 0: one */
    const char *loops; /* a shared object with loops to measure beside ours (bench/loops.h); NULL: none */
    const char *only;  /* rows whose names contain this text; NULL: all; for suites that choose */
} lz_bench_options;

typedef void lz_bench_fn(void *user, const lz_bench_figure *figure);

typedef struct lz_bench_suite {
    const char *name, *help;
    bool fresh;   /* measures what happens once in a process: wants one of its own */
    bool chooses; /* measures row after row, and those alone that `only` names */
} lz_bench_suite;

/* NULL: there is no i-th. */
const lz_bench_suite *lz_bench_suite_at(size_t i);

/* With one thread, it stays on one CPU until this returns. LZ_ERR_NOT_FOUND lists the names. */
LZ_MUST_USE lz_err *lz_bench_run(const char *suite, const lz_bench_options *o, lz_bench_fn *tell, void *user);

#endif
