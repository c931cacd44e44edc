/* kernels.h - primitives that do not fuse: plain loops over strided memory.
 *
 * Each gives the same bits on any number of threads: what a chunk of work is, and the
 * order in which things are added up, depend on the sizes alone. Results are dense and
 * row-major, and share no memory with what is read. */
#ifndef LZ_KERNEL_KERNELS_H
#define LZ_KERNEL_KERNELS_H

#include "base/pool.h"
#include <lazuli/value.h>
#include <stdbool.h>

/* Numbers are in elements. */
typedef struct lz_strided {
    void *data;
    lz_dtype dtype;
    int64_t ndim;
    const int64_t *sizes, *strides;
} lz_strided;

enum { LZ_CALL_INPUTS = 4 };

/* Called when rows [begin, end) of a product are there, by the thread that was the last at them;
 * rows of all matrices count on. */
typedef lz_err *lz_kafter_fn(void *user, int64_t begin, int64_t end);

typedef struct lz_kcall {
    lz_strided in[LZ_CALL_INPUTS];
    lz_strided out;
    const int64_t *params;
    lz_pool *pool;       /* may be NULL */
    int way;             /* how, as a prepare function found; 0: not asked yet */
    char *scratch;       /* for each thread as much as the scratch function says; NULL: it takes its own */
    lz_kafter_fn *after; /* may be NULL; lz_matmul alone */
    void *after_user;
    const char **by; /* gets the name of the library that computed it, a static text; may be NULL */
} lz_kcall;

typedef lz_err *lz_kcall_fn(const lz_kcall *c);
/* Decides what can be decided without data. */
typedef lz_err *lz_kcall_prepare_fn(lz_kcall *c);
/* Bytes for each thread; with them, a call that is prepared cannot fail. */
typedef size_t lz_kcall_scratch_fn(const lz_kcall *c);

/* out[b, i, j] = sum over k of x[b, i, k] * y[b, k, j]. f16 and bf16 are added up in f32,
 * narrow integers wrap around. */
LZ_MUST_USE lz_err *lz_matmul(const lz_kcall *c);
LZ_MUST_USE lz_err *lz_matmul_prepare(lz_kcall *c); /* finds the library; data need not be there */
size_t lz_matmul_scratch(const lz_kcall *c);
bool lz_matmul_is_own(const lz_kcall *c);     /* once it is prepared: by no library */
const char *lz_matmul_way(const lz_kcall *c); /* "own", "onednn", ... once it is prepared; or NULL */

/* Convolution over 1 to 3 dimensions. params: d, stride[d], padding[d], dilation[d], groups. */
LZ_MUST_USE lz_err *lz_conv(const lz_kcall *c);        /* in: x [n, c, ...], w [o, c / groups, ...] */
LZ_MUST_USE lz_err *lz_conv_input(const lz_kcall *c);  /* in: gy, w; out like x */
LZ_MUST_USE lz_err *lz_conv_weight(const lz_kcall *c); /* in: gy, x; out like w */

/* Windows in the last two dimensions of x, f32 or f64, each with some element inside: their greatest
 * elements, and the numbers of those in their plane, i64. The first of equal ones; the first NaN wins.
 * params: kernel[2], stride[2], padding[2], dilation[2]. */
LZ_MUST_USE lz_err *lz_pool_greatest(const lz_kcall *c);
LZ_MUST_USE lz_err *lz_pool_places(const lz_kcall *c);

/* i64 indices along the last dimension: of all elements in order (params: descending), or
 * of the first k (out's last size; params: largest, sorted). Stable; NaN counts as greater
 * than any number. */
LZ_MUST_USE lz_err *lz_sort_indices(const lz_kcall *c);
LZ_MUST_USE lz_err *lz_topk_indices(const lz_kcall *c);
/* The index of the element that has a rank in that order, out [..., 1]. params: rank, from 0. */
LZ_MUST_USE lz_err *lz_rank_index(const lz_kcall *c);

/* For each value the place where it would be put into the sorted sequence: before equal
 * ones, or behind them (params: right). in: sequence [..., n] or [n], values [..., m]. */
LZ_MUST_USE lz_err *lz_search_sorted(const lz_kcall *c);

/* bool, for each element of in[0]: whether some element of in[1], of the same dtype, is equal. */
LZ_MUST_USE lz_err *lz_contains(const lz_kcall *c);

/* i64 [bins]: how often each number occurs in in[0], i64 [n], numbers from 0 to bins - 1. params: whether
 * that is to be checked, and which dimension a message names. */
LZ_MUST_USE lz_err *lz_count_numbers(const lz_kcall *c);

/* in: base, index (i64), source; params: mode (lz_lscatter), dim; 1 if the index is to be checked, the
 * dimension that a message then names, 1 if negative ones count from the end. An index out of bounds is
 * LZ_ERR_ARG, found before anything is written. */
LZ_MUST_USE lz_err *lz_scatter_into(const lz_kcall *c);

#endif
