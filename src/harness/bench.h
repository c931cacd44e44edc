/* bench.h - measures the speed of the library on this machine.
 *
 * A figure is the minimum of many runs, which approximates an idle machine. If another implementation can
 * be measured in turns in the same run, the figure has a ratio to that implementation's figure. Ratios can
 * be compared between machines, figures cannot. */
#ifndef LZ_HARNESS_BENCH_H
#define LZ_HARNESS_BENCH_H

#include <lazuli/base.h>
#include <stdbool.h>

typedef struct lz_bench_figure {
    const char *suite, *system, *name, *metric, *unit;
    double value;
    double ratio;        /* value / value of `against`; 0: none */
    const char *against; /* a system of this run, or NULL */
    int threads;
} lz_bench_figure;

typedef struct lz_bench_options {
    int64_t n;         /* the only size to measure, in the unit of the suite; 0: all sizes */
    int threads;       /* 0: one */
    double seconds;    /* for each figure, approximately; 0: one */
    const char *loops; /* a shared object with comparison loops (bench/loops.h); NULL: none */
    const char *only;  /* only rows whose names contain this text; NULL: all. For suites with `chooses` */
} lz_bench_options;

typedef void lz_bench_fn(void *user, const lz_bench_figure *figure);

typedef struct lz_bench_suite {
    const char *name, *help;
    bool fresh;   /* measures costs that occur once per process: run it in a new process */
    bool chooses; /* measures independent rows, and only those that `only` selects */
} lz_bench_suite;

/* NULL: i is out of range. */
const lz_bench_suite *lz_bench_suite_at(size_t i);

/* With one thread the suite stays on one CPU. LZ_ERR_NOT_FOUND lists the suites' names. */
LZ_MUST_USE lz_err *lz_bench_run(const char *suite, const lz_bench_options *o, lz_bench_fn *report,
                                 void *user);

#endif
