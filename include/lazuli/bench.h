/* bench.h - what recording and syncs cost, measured where it runs.
 *
 * Each figure is the least of many runs, which is what a quiet machine would take. Beside
 * them stands a plain C loop that allocates, links and hashes a node: what any recorder
 * must do at least, so that figures of two machines can be compared. */
#ifndef LAZULI_BENCH_H
#define LAZULI_BENCH_H

#include <lazuli/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_bench_figure {
    const char *suite, *system, *name, *metric, *unit;
    double value;
} lz_bench_figure;

typedef void lz_bench_fn(void *user, const lz_bench_figure *figure);

/* "record": chains of operators, with inference and release. "sync": a graph of 1,000 small
 * operators that was compiled before. */
LZ_API LZ_MUST_USE lz_err *lz_bench_run(const char *suite, lz_bench_fn *tell, void *user);

#ifdef __cplusplus
}
#endif
#endif
