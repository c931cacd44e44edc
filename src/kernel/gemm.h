/* gemm.h - our own product of matrices.
 *
 * Every element is added up along k from the first to the last, one product after the
 * other, in the computing type, floats by fma: tiles, vectors and threads only decide who
 * does which elements, and no bit depends on them. An operand lies in memory with any
 * strides, or is fetched by panels, so that a convolution is a product too. */
#ifndef LZ_KERNEL_GEMM_H
#define LZ_KERNEL_GEMM_H

#include "kernel/kernels.h"

/* What products are added up in: f32, f64, or integers that wrap around. */
typedef enum lz_gemm_type { LZ_GEMM_F32, LZ_GEMM_F64, LZ_GEMM_I32, LZ_GEMM_I64, LZ_GEMM_TYPES } lz_gemm_type;

lz_gemm_type lz_gemm_type_of(lz_dtype d);
lz_dtype lz_gemm_dtype(lz_gemm_type t); /* f32, f64, i32, i64 */

/* ---- what a machine can do ---- */

/* out[rows][cols] (+)= x[rows][nk] * y[nk][cols]; strides in elements of the computing type.
 * Columns of y and out lie side by side. */
typedef struct lz_gemm_block {
    int64_t nk;
    const void *x;
    int64_t xi, xk;
    const void *y;
    int64_t yk;
    void *out;
    int64_t oi;
    bool add;
    int lanes; /* of the last vector, where a function is for parts of one */
} lz_gemm_block;

typedef void lz_gemm_micro(const lz_gemm_block *b);

/* How many vectors a block is wide; PART: one, of which `lanes` are used. */
typedef enum lz_gemm_wide {
    LZ_GEMM_ONE,
    LZ_GEMM_TWO,
    LZ_GEMM_FOUR,
    LZ_GEMM_PART,
    LZ_GEMM_WIDES
} lz_gemm_wide;

enum { LZ_GEMM_HEIGHTS = 5, LZ_GEMM_WIDTHS = 3, LZ_GEMM_COLS = 32 };

typedef struct lz_gemm_width {
    int bytes;                    /* of a vector */
    int heights[LZ_GEMM_HEIGHTS]; /* rows of a block, the most first; 0 behind the last */
    lz_gemm_micro *micro[LZ_GEMM_TYPES][LZ_GEMM_HEIGHTS][LZ_GEMM_WIDES]; /* NULL: not that wide */
    /* A square of 4-byte elements as large as a vector: to[j][i] = from[i][j], rows `from_row` and
     * `to_row` elements apart; may be NULL. */
    void (*transpose)(const void *from, int64_t from_row, void *to, int64_t to_row);
} lz_gemm_width;

extern const lz_gemm_width lz_gemm_base, lz_gemm_avx2, lz_gemm_avx512;

/* Those that this machine can, the widest last; how many. */
int lz_gemm_widths(const lz_gemm_width *out[LZ_GEMM_WIDTHS]);

/* ---- products ---- */

/* Fills a panel with elements of the computing type: those of n rows of x (columns of y)
 * from `at` and nk from k0 on, element (i, k) at [k][i], each k `wide` elements. What it leaves
 * out is zero. wide is at most LZ_GEMM_COLS. */
typedef void lz_gemm_fetch(void *user, int64_t b, int64_t at, int64_t n, int64_t k0, int64_t nk, int64_t wide,
                           void *panel);

/* Strides in elements: from one matrix to the next, along the rows (columns) of the result, along k. */
typedef struct lz_gemm_side {
    const void *data;
    lz_dtype dtype;
    int64_t batch, along, k;
    lz_gemm_fetch *fetch; /* instead of all that */
} lz_gemm_side;

typedef struct lz_gemm {
    lz_gemm_type type;
    int64_t batch, m, n, k;
    lz_gemm_side x, y;
    void *user; /* of the fetchers */
    /* columns lie side by side */
    void *out;
    lz_dtype out_dtype;
    int64_t out_batch, out_row;
    lz_kafter_fn *after; /* may be NULL */
    void *after_user;
    char *scratch; /* of lz_gemm_scratch bytes, aligned to 64; NULL: it takes them itself */
} lz_gemm;

size_t lz_gemm_scratch(const lz_gemm *g, int threads);

LZ_MUST_USE lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool);
/* The same with a width of the caller's choice: the result is the same, too. */
LZ_MUST_USE lz_err *lz_gemm_run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool);

#endif
