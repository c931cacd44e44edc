/* blas.h - optional matrix libraries: OpenBLAS and oneDNN, beside our own product.
 *
 * A library is loaded at its first use and stays loaded. Each call runs on the calling thread alone.
 * LAZULI_BLAS names the library to use. */
#ifndef LZ_KERNEL_BLAS_H
#define LZ_KERNEL_BLAS_H

#include "base/text.h"
#include <stdbool.h>

typedef enum lz_blas { LZ_BLAS_OWN, LZ_BLAS_OPENBLAS, LZ_BLAS_ONEDNN, LZ_BLASES } lz_blas;

const char *lz_blas_name(lz_blas b); /* the value of LAZULI_BLAS; "auto" for LZ_BLASES */

/* The library that LAZULI_BLAS names; LZ_BLASES: choose by shape. */
LZ_MUST_USE lz_err *lz_blas_wanted(lz_blas *out);

/* Loads the library unless that was tried before. LZ_ERR_NOT_FOUND says why it cannot be used. */
LZ_MUST_USE lz_err *lz_blas_load(lz_blas b);
/* Loads the library; true if it can be used. */
bool lz_blas_has(lz_blas b);

/* OpenBLAS is loaded; false: its calls need more memory than the limit of the process leaves. */
bool lz_blas_openblas_has_room(void);

/* For users: version and file, or the reason why the library cannot be used. */
void lz_blas_describe(lz_blas b, lz_text *out);

/* Row-major, rows ld elements apart. xt, yt: the memory holds the transposed matrix. */
typedef struct lz_blas_product {
    bool f64, xt, yt;
    int64_t m, n, k;
    const void *x, *y;
    void *out;
    int64_t ldx, ldy, ldo;
} lz_blas_product;

bool lz_blas_can(lz_blas b, const lz_blas_product *p);
/* Requires lz_blas_load and lz_blas_can. False: it failed, which happens only if memory is out. */
bool lz_blas_multiply(lz_blas b, const lz_blas_product *p);

#endif
