/* gemm.h - the product of two matrices whose elements are fetched by the caller.
 *
 * The result is cut into tiles of a fixed size. Each is added up along k from the first
 * to the last, one product after the other, in the computing type; threads only decide
 * who does which tile. Fetching goes by panels, so that a convolution is a product too
 * and nothing has to be laid out in memory first. */
#ifndef LZ_KERNEL_GEMM_H
#define LZ_KERNEL_GEMM_H

#include "base/pool.h"
#include <lazuli/value.h>

/* What products are added up in: f32, f64, or integers that wrap around. */
typedef enum lz_gemm_type { LZ_GEMM_F32, LZ_GEMM_F64, LZ_GEMM_I32, LZ_GEMM_I64, LZ_GEMM_TYPES } lz_gemm_type;

lz_gemm_type lz_gemm_type_of(lz_dtype d);
lz_dtype lz_gemm_dtype(lz_gemm_type t); /* f32, f64, i32, i64 */

enum { LZ_GEMM_MR = 4, LZ_GEMM_NR = 16 };

/* Panels hold elements of the computing type. A panel of x has LZ_GEMM_MR rows: element
 * (i, k) lies at [k][i]; of y LZ_GEMM_NR columns: (k, j) at [k][j]. The fetchers fill rows
 * i0.. (columns j0..) from k0, nk of them; what is beyond the matrix is zero already. */
typedef struct lz_gemm {
    lz_gemm_type type;
    int64_t batch, m, n, k;
    void *user;
    void (*fetch_x)(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, void *panel);
    void (*fetch_y)(void *user, int64_t b, int64_t k0, int64_t nk, int64_t j0, int64_t nj, void *panel);
    /* n elements of row i from column j0, in the computing type */
    void (*store)(void *user, int64_t b, int64_t i, int64_t j0, int64_t n, const void *row);
} lz_gemm;

LZ_MUST_USE lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool);

#endif
