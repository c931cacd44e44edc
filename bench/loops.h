/* loops.h - expressions and sums as plain loops, compiled with all optimisations (see CMakeLists.txt): the
 * yardstick for our kernels. `lazuli bench` finds the functions by name in loops.so. */
#ifndef LZ_BENCH_LOOPS_H
#define LZ_BENCH_LOOPS_H

#include <stdint.h>

/* y[i] = some expression of in[0][i] .. in[3][i] */
typedef void loop_fn(const float *const in[4], float *y, int64_t n);

loop_fn loop_gelu, loop_gauss, loop_norm, loop_soft, loop_chain;

/* Sums of a dense rows x cols matrix */
void loop_sum_rows(const float *x, float *y, int64_t rows, int64_t cols);
/* pitch: elements from a row to the next */
void loop_sum_columns(const float *x, float *y, int64_t rows, int64_t cols, int64_t pitch);

const char *loop_compiler(void); /* "gcc -Ofast" */

#endif
