/* blas.h - matrix libraries that may be there: OpenBLAS and oneDNN, beside our own product.
 *
 * They are loaded when first asked for, and stay. Each call runs on the calling thread alone.
 * LAZULI_BLAS names the one to use. */
#ifndef LZ_KERNEL_BLAS_H
#define LZ_KERNEL_BLAS_H

#include "base/text.h"
#include <stdbool.h>

typedef enum lz_blas { LZ_BLAS_OWN, LZ_BLAS_OPENBLAS, LZ_BLAS_ONEDNN, LZ_BLASES } lz_blas;

const char *lz_blas_name(lz_blas b); /* as LAZULI_BLAS has it; of LZ_BLASES "auto" */

/* What LAZULI_BLAS says: one of them, or LZ_BLASES: whichever suits. */
LZ_MUST_USE lz_err *lz_blas_wanted(lz_blas *out);

/* Loads it, unless that was tried before. LZ_ERR_NOT_FOUND says why it cannot be used. */
LZ_MUST_USE lz_err *lz_blas_load(lz_blas b);
/* The same; whether it is there. */
bool lz_blas_has(lz_blas b);

/* For people: version and file, or why there is none. */
void lz_blas_describe(lz_blas b, lz_text *out);

/* Row-major, ld elements from one row to the next; xt, yt: the transposed matrix lies there. */
typedef struct lz_blas_product {
    bool f64, xt, yt;
    int64_t m, n, k;
    const void *x, *y;
    void *out;
    int64_t ldx, ldy, ldo;
} lz_blas_product;

bool lz_blas_can(lz_blas b, const lz_blas_product *p);
/* It is loaded, and can. false: it failed, which only happens without memory. */
bool lz_blas_multiply(lz_blas b, const lz_blas_product *p);

#endif
