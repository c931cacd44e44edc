/* kernels.h - primitives that do not fuse: plain loops over strided memory.
 *
 * Each gives the same bits on any number of threads: what a chunk of work is, and the
 * order in which things are added up, depend on the sizes alone. Results are dense and
 * row-major, and share no memory with what is read. */
#ifndef LZ_KERNEL_KERNELS_H
#define LZ_KERNEL_KERNELS_H

#include "base/pool.h"
#include <lazuli/value.h>

/* Numbers are in elements. */
typedef struct lz_strided {
    void *data;
    lz_dtype dtype;
    int64_t ndim;
    const int64_t *sizes, *strides;
} lz_strided;

enum { LZ_CALL_INPUTS = 4 };

typedef struct lz_kcall {
    lz_strided in[LZ_CALL_INPUTS];
    lz_strided out;
    const int64_t *params;
    lz_pool *pool; /* may be NULL */
} lz_kcall;

typedef lz_err *lz_kcall_fn(const lz_kcall *c);

/* out[b, i, j] = sum over k of x[b, i, k] * y[b, k, j]. f16 and bf16 are added up in f32,
 * narrow integers wrap around. */
LZ_MUST_USE lz_err *lz_matmul(const lz_kcall *c);

/* Convolution over 1 to 3 dimensions. params: d, stride[d], padding[d], dilation[d], groups. */
LZ_MUST_USE lz_err *lz_conv(const lz_kcall *c);        /* in: x [n, c, ...], w [o, c / groups, ...] */
LZ_MUST_USE lz_err *lz_conv_input(const lz_kcall *c);  /* in: gy, w; out like x */
LZ_MUST_USE lz_err *lz_conv_weight(const lz_kcall *c); /* in: gy, x; out like w */

/* i64 indices along the last dimension: of all elements in order (params: descending), or
 * of the first k (out's last size; params: largest, sorted). Stable; NaN counts as greater
 * than any number. */
LZ_MUST_USE lz_err *lz_sort_indices(const lz_kcall *c);
LZ_MUST_USE lz_err *lz_topk_indices(const lz_kcall *c);

/* For each value the place where it would be put into the sorted sequence: before equal
 * ones, or behind them (params: right). in: sequence [..., n] or [n], values [..., m]. */
LZ_MUST_USE lz_err *lz_search_sorted(const lz_kcall *c);

/* in: base, index (i64, within bounds), source; params: mode (lz_lscatter), dim. */
LZ_MUST_USE lz_err *lz_scatter_into(const lz_kcall *c);

/* i64 [n, ndim]: where x is not zero, in row-major order; dst has room for them all. */
int64_t lz_count_nonzero(const lz_strided *x);
void lz_list_nonzero(const lz_strided *x, int64_t *dst);

#endif
