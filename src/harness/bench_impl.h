/* bench_impl.h - what the suites of lazuli/bench.h share.
 *
 * A suite is written with the public interface, as a user would write it. It gets a context
 * with the threads that were asked for; whatever it makes there goes with the context. */
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
    lz_bench_options o; /* threads and seconds are set */
    const char *suite;
    lz_bench_fn *tell;
    void *user;
    lz_ctx *c;
    lz_pool *pool; /* for what is measured beside it */
    lz_dl *loops;  /* loaded until the end */
} lz_bench;

typedef lz_err *lz_bench_suite_fn(lz_bench *b);
lz_bench_suite_fn lz_bench_record, lz_bench_sync, lz_bench_fused, lz_bench_softmax, lz_bench_layernorm,
    lz_bench_sum0, lz_bench_sum1, lz_bench_matmul, lz_bench_start, lz_bench_shapes, lz_bench_compile,
    lz_bench_mlp, lz_bench_lenet, lz_bench_gpt, lz_bench_ops, lz_bench_plan, lz_bench_million;

/* Suite and threads are added. system NULL: ours. */
void lz_bench_tell(const lz_bench *b, lz_bench_figure f);

/* The same time (in seconds) of two ways; the second has `against` as its system, and is left
 * out where it was not measured. scale: units in a second. */
void lz_bench_tell_times(const lz_bench *b, const char *name, const lz_way *ways, const char *against,
                         double scale, const char *unit);

/* The context's first error, as an error. */
LZ_MUST_USE lz_err *lz_bench_check(const lz_bench *b);

/* Runs what y needs, and waits for it. */
LZ_MUST_USE lz_err *lz_bench_finish(const lz_bench *b, lz_tensor *y);
/* lz_measure, with the first way's kernels compiled before. */
LZ_MUST_USE lz_err *lz_bench_measure(const lz_bench *b, lz_way *ways, int n);

/* How many plans and kernels were compiled, and how long that took, since `before`. */
typedef struct lz_bench_counts {
    int64_t plans;
    lz_codes_counts codes;
} lz_bench_counts;

lz_bench_counts lz_bench_count(void);
void lz_bench_tell_counts(const lz_bench *b, const char *name, const lz_bench_counts *before);

/* A tensor of f32 in [-2, 2), always the same; *data sees its elements (NULL: not wanted), and
 * may be changed before the first use. */
LZ_MUST_USE lz_err *lz_bench_input(const lz_bench *b, lz_ints sizes, lz_tensor **out, float **data);

/* ---- the loops of bench/loops.h, where they are to be had ---- */

typedef struct lz_bench_loops {
    void (*gelu)(const float *const in[4], float *y, int64_t n);
    void (*sum_rows)(const float *x, float *y, int64_t rows, int64_t cols);
    void (*sum_columns)(const float *x, float *y, int64_t rows, int64_t cols, int64_t pitch);
    const char *(*compiler)(void);
} lz_bench_loops;

/* All NULL where o.loops is. */
LZ_MUST_USE lz_err *lz_bench_find_loops(lz_bench *b, lz_bench_loops *out);

#endif
