/* gemm.h - the product of two matrices whose elements are fetched by the caller.
 *
 * The result is cut into tiles of a fixed size. Each is added up along k from the first
 * to the last, one product after the other, in the computing type, floats by fma; threads
 * only decide who does which tile. Fetching goes by panels, so that a convolution is a
 * product too and nothing has to be laid out in memory first. */
#ifndef LZ_KERNEL_GEMM_H
#define LZ_KERNEL_GEMM_H

#include "base/pool.h"
#include <lazuli/value.h>

/* What products are added up in: f32, f64, or integers that wrap around. */
typedef enum lz_gemm_type { LZ_GEMM_F32, LZ_GEMM_F64, LZ_GEMM_I32, LZ_GEMM_I64, LZ_GEMM_TYPES } lz_gemm_type;

lz_gemm_type lz_gemm_type_of(lz_dtype d);
lz_dtype lz_gemm_dtype(lz_gemm_type t); /* f32, f64, i32, i64 */

/* What a machine can do: rows of a block of x, and the bytes of a vector, two of which are
 * a row of a block. */
typedef void lz_gemm_micro(int64_t nk, const void *x, const void *y, void *acc, int64_t stride);

typedef struct lz_gemm_width {
    int rows, bytes;
    lz_gemm_micro *micro[LZ_GEMM_TYPES];
} lz_gemm_width;

extern const lz_gemm_width lz_gemm_base, lz_gemm_avx2, lz_gemm_avx512;

enum { LZ_GEMM_WIDTHS = 3, LZ_GEMM_COLS = 32 };
/* Those that this machine can, the widest last; how many. */
int lz_gemm_widths(const lz_gemm_width *out[LZ_GEMM_WIDTHS]);

/* Panels hold elements of the computing type. A panel of x has `wide` rows: element (i, k)
 * lies at [k][i]; of y `wide` columns, at most LZ_GEMM_COLS: (k, j) at [k][j]. The fetchers
 * fill ni rows from i0 (nj columns from j0) and nk from k0; the rest is zero already. */
typedef struct lz_gemm {
    lz_gemm_type type;
    int64_t batch, m, n, k;
    void *user;
    void (*fetch_x)(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                    void *panel);
    void (*fetch_y)(void *user, int64_t b, int64_t k0, int64_t nk, int64_t j0, int64_t nj, int64_t wide,
                    void *panel);
    /* n elements of row i from column j0, in the computing type */
    void (*store)(void *user, int64_t b, int64_t i, int64_t j0, int64_t n, const void *row);
} lz_gemm;

LZ_MUST_USE lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool);
/* The same with a width of the caller's choice: the result is the same, too. */
LZ_MUST_USE lz_err *lz_gemm_run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool);

#endif
