/* bench_impl.h - shared by the suites of bench.h.
 *
 * A suite uses the public interface, as a user's program would. It gets a context with the requested
 * number of threads. Everything that it creates belongs to the context. */
#ifndef LZ_HARNESS_BENCH_IMPL_H
#define LZ_HARNESS_BENCH_IMPL_H

#include "base/dl.h"
#include "base/pool.h"
#include "core/buffer.h"
#include "harness/bench.h"
#include "harness/measure.h"
#include "jit/codes.h"
#include <lazuli/lazuli.h>

typedef struct lz_bench {
    lz_bench_options o; /* with defaults filled in */
    const char *suite;
    lz_bench_fn *report;
    void *user;
    lz_ctx *c;
    lz_pool *pool; /* for comparisons */
    lz_dl *loops;  /* loaded until the end */
} lz_bench;

typedef lz_err *lz_bench_suite_fn(lz_bench *b);
lz_bench_suite_fn lz_bench_record, lz_bench_sync, lz_bench_fused, lz_bench_softmax, lz_bench_layernorm,
    lz_bench_sum0, lz_bench_sum1, lz_bench_matmul, lz_bench_start, lz_bench_shapes, lz_bench_compile,
    lz_bench_mlp, lz_bench_lenet, lz_bench_gpt, lz_bench_gpt_long, lz_bench_lstm, lz_bench_gru, lz_bench_ops,
    lz_bench_plan, lz_bench_million, lz_bench_linalg, lz_bench_varying, lz_bench_adam, lz_bench_calls;

/* Adds the suite's name and the number of threads, and reports the figure. system NULL: this library. */
void lz_bench_report(const lz_bench *b, lz_bench_figure f);

/* Reports the times (in seconds) of two functions. The second is reported as system `against`, unless it
 * was not measured. scale: units per second. */
void lz_bench_report_times(const lz_bench *b, const char *name, const lz_measured *ways, const char *against,
                           double scale, const char *unit);

/* The context's first error, as an error. */
LZ_MUST_USE lz_err *lz_bench_check(const lz_bench *b);

/* Computes y and waits for it. */
LZ_MUST_USE lz_err *lz_bench_finish(const lz_bench *b, lz_tensor *y);
/* Compiles the kernels of the first function, then calls lz_measure. */
LZ_MUST_USE lz_err *lz_bench_measure(const lz_bench *b, lz_measured *ways, int n);

/* Numbers and times of compiled plans and kernels since `before`. */
typedef struct lz_bench_counts {
    int64_t plans;
    lz_native_codes_counts codes;
} lz_bench_counts;

lz_bench_counts lz_bench_count(void);
void lz_bench_report_counts(const lz_bench *b, const char *name, const lz_bench_counts *before);

/* An f32 tensor with elements in [-2, 2), the same in every run. *data (may be NULL): its elements, which
 * may be changed before the first use. */
LZ_MUST_USE lz_err *lz_bench_input(const lz_bench *b, lz_ints sizes, lz_tensor **out, float **data);

/* ---- the loops of bench/loops.h, where they are built ---- */

typedef struct lz_bench_loops {
    void (*gelu)(const float *const in[4], float *y, int64_t n);
    void (*sum_rows)(const float *x, float *y, int64_t rows, int64_t cols);
    void (*sum_columns)(const float *x, float *y, int64_t rows, int64_t cols, int64_t pitch);
    const char *(*compiler)(void);
} lz_bench_loops;

/* The functions are NULL if o.loops is NULL. */
LZ_MUST_USE lz_err *lz_bench_find_loops(lz_bench *b, lz_bench_loops *out);

#endif
