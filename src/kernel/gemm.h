/* gemm.h - our own matrix product.
 *
 * Every element is added up along k from the first to the last, one product after the other, in the computing
 * type, floats by fma. Tiles, vectors and threads only decide who computes which elements; no bit depends on
 * them. An operand is in memory with any strides, or is fetched panel by panel, so that a convolution is a
 * product too. */
#ifndef LZ_KERNEL_GEMM_H
#define LZ_KERNEL_GEMM_H

#include "kernel/kernels.h"

/* The type in which products are added up: f32, f64, or integers that wrap around. The last two have elements
 * of 4 bytes that are two or four numbers, neighbours along k: bf16 added up in f32; bytes added up in i32,
 * unsigned in x and signed in y. */
typedef enum lz_gemm_type {
    LZ_GEMM_F32,
    LZ_GEMM_F64,
    LZ_GEMM_I32,
    LZ_GEMM_I64,
    LZ_GEMM_BF16_PAIRS,
    LZ_GEMM_I8_QUADS,
    LZ_GEMM_TYPES
} lz_gemm_type;

lz_gemm_type lz_gemm_type_of(lz_dtype d);
lz_dtype lz_gemm_dtype(lz_gemm_type t); /* of the sums: f32, f64, i32, i64 */

/* ---- microkernels ---- */

/* out[rows][cols] (+)= x[rows][nk] * y[nk][cols]; strides in elements of the computing type. Columns of y and
 * out are contiguous. */
typedef struct lz_gemm_block {
    int64_t nk;
    const void *x;
    int64_t xi, xk;
    const void *y;
    int64_t yk;
    void *out;
    int64_t oi;
    bool add;
    int lanes; /* used lanes of the vector, for LZ_GEMM_PART */
} lz_gemm_block;

typedef void lz_gemm_micro(const lz_gemm_block *b);

/* Width of a block in vectors; PART: one vector, of which `lanes` are used. */
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
    int heights[LZ_GEMM_HEIGHTS]; /* rows of a block, largest first; 0 after the last */
    lz_gemm_micro *micro[LZ_GEMM_TYPES][LZ_GEMM_HEIGHTS][LZ_GEMM_WIDES]; /* NULL: unavailable */
    /* Transposes a square of 4-byte elements with the edge of one vector: to[j][i] = from[i][j], rows
     * `from_row` and `to_row` elements apart; may be NULL. */
    void (*transpose)(const void *from, int64_t from_row, void *to, int64_t to_row);
} lz_gemm_width;

extern const lz_gemm_width lz_gemm_base, lz_gemm_avx2, lz_gemm_avx512, lz_gemm_bf16, lz_gemm_vnni;

/* The microkernels for pairs of this type; NULL: this machine has no such instruction. */
const lz_gemm_width *lz_gemm_pairs(lz_gemm_type t);

/* The widths that this machine supports, the widest last; returns how many. */
int lz_gemm_widths(const lz_gemm_width *out[LZ_GEMM_WIDTHS]);

/* ---- products ---- */

/* Fills a panel with elements of the computing type: rows at..at+n-1 of x (columns of y) and indices
 * k0..k0+nk-1 along k. Element (i, k) goes to [k][i], with `wide` elements for each k. The panel is zero
 * before the call. wide is at most LZ_GEMM_COLS. */
typedef void lz_gemm_fetch(void *user, int64_t b, int64_t at, int64_t n, int64_t k0, int64_t nk, int64_t wide,
                           void *panel);

/* Strides in elements: from one matrix to the next, along the rows (columns) of the result, along k. */
typedef struct lz_gemm_side {
    const void *data;
    lz_dtype dtype;
    int64_t batch, along, k;
    lz_gemm_fetch *fetch; /* if set, replaces all other fields */
} lz_gemm_side;

/* Packs rows at..at+n-1 of matrix b and indices k0..k0+nk-1 along k to [k][wide] in the computing type. The
 * side has no fetch function. Lanes from n on are left as they are. */
void lz_gemm_pack(const lz_gemm_width *w, lz_dtype compute, const lz_gemm_side *s, int64_t b, int64_t at,
                  int64_t n, int64_t k0, int64_t nk, int64_t wide, char *panel);

typedef struct lz_gemm {
    lz_gemm_type type;
    bool shifted; /* I8_QUADS: x is packed as numbers that are 128 too large; the result is without these */
    int64_t batch, m, n, k;
    lz_gemm_side x, y;
    void *user; /* for the fetch functions */
    /* columns are contiguous */
    void *out;
    lz_dtype out_dtype;
    int64_t out_batch, out_row;
    lz_kernel_after_fn *after; /* may be NULL */
    void *after_user;
    char *scratch; /* lz_gemm_scratch bytes, aligned to 64; NULL: lz_gemm_run allocates them */
} lz_gemm;

size_t lz_gemm_scratch(const lz_gemm *g, int threads);

/* How the work of a product is cut for a number of threads. No bit of the result depends on it. */
typedef struct lz_gemm_tiles {
    int64_t m, n; /* most rows and columns of a tile */
    int64_t count;
} lz_gemm_tiles;

void lz_gemm_cut(const lz_gemm *g, int threads, lz_gemm_tiles *out);

LZ_MUST_USE lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool);
/* With a width of the caller's choice; the width does not change a bit of the result. */
LZ_MUST_USE lz_err *lz_gemm_run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool);

#endif
