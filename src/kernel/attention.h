/* attention.h - shared by the two passes of attention: softmax(q k' scale + mask) v, and its gradients.
 *
 * Scores are computed tile by tile and never stored as a whole. A tile is at most LZ_ATTENTION_ROWS queries
 * by LZ_ATTENTION_COLS keys. Its products use the microkernels of gemm.h; what happens to single scores is in
 * attention_impl.h, compiled for each vector width with the same bits. Tiles, ranges and the order of
 * additions depend on the sizes alone. */
#ifndef LZ_KERNEL_ATTENTION_H
#define LZ_KERNEL_ATTENTION_H

#include "kernel/gemm.h"
#include <math.h>

enum { LZ_ATTENTION_ROWS = 96, LZ_ATTENTION_COLS = 128, LZ_ATTENTION_PANEL = 128 /* bytes */ };

/* ---- rows of a tile ---- */

/* Numbers are of the computing type, which f64 represents. */
typedef struct lz_attention_row {
    void *s;          /* products of the query with the keys; becomes weights */
    void *slope;      /* backward: gradients of the weights; becomes gradients of the products */
    const void *bias; /* added to the scores; may be NULL */
    bool choose;      /* bias is 0 or -inf, and -inf replaces the score */
    int64_t valid;    /* the first keys, which the query may see */
    int64_t n;        /* keys of the tile; s, slope and bias have room for whole vectors of 64 bytes */
    double scale;
    double max, sum, shrink; /* forward: of the row so far, updated; the factor for results so far */
    double lse, delta;       /* backward: logarithm of the sum; sum of gradient times result */
} lz_attention_row;

typedef struct lz_attention_math {
    void (*forward[2])(lz_attention_row *r); /* f32, f64: weights are exp(score - max) */
    void (*backward[2])(const lz_attention_row *r);
    void (*multiply[2])(void *x, int64_t n, double by);
    void (*write[2])(const void *from, int64_t n, double by, void *to); /* to = from * by */
} lz_attention_math;

extern const lz_attention_math lz_attention_base, lz_attention_avx2, lz_attention_avx512;

/* ---- a call ---- */

typedef struct lz_attention {
    const lz_kernel_call *c;
    const lz_gemm_width *w;
    const lz_attention_math *math;
    lz_dtype dtype;
    int is_f64;
    int64_t size;                              /* bytes of an element */
    int64_t batch, heads, groups, l, s, e, ev; /* groups: heads of key and value */
    const lz_strided *q, *k, *v, *mask;        /* mask may be NULL */
    bool causal;
    double scale; /* 0 until data is there */
    char *scratch;
    size_t room; /* bytes of a worker's scratch */
} lz_attention;

/* The sides of a tile. */
typedef struct lz_attention_tile {
    int64_t b, head, i, m, j, n; /* queries i..i+m-1, keys j..j+n-1 */
} lz_attention_tile;

/* q: the index of the query among the inputs; key and value follow. scale: that of the scale; the mask may
 * follow. */
void lz_attention_init(lz_attention *a, const lz_kernel_call *c, int q, int scale, int inputs);

/* Bytes of n elements, rounded up so that the next part is aligned and vectors fit. */
size_t lz_attention_bytes(const lz_attention *a, int64_t n);
/* Bytes of k x n elements in panels. */
size_t lz_attention_panels(const lz_attention *a, int64_t k, int64_t n);

/* Element (b, head, row, 0) of [batch, heads, rows, columns]. */
const char *lz_attention_at(const lz_attention *a, const lz_strided *x, int64_t b, int64_t head, int64_t row);
/* Packs rows at..at+n-1 of x as an operand [k][n] of a product: `turned` with k along the columns of x,
 * otherwise with k along the rows and all columns as n. */
void lz_attention_pack(const lz_attention *a, const lz_strided *x, int64_t b, int64_t head, int64_t at,
                       int64_t rows, bool turned, char *panels);

/* out[m][n] (+)= x[m][k] * y[k][n], y in panels; strides in elements. */
typedef struct lz_attention_product {
    int64_t m, n, k;
    const char *x;
    int64_t xi, xk;
    const char *y;
    char *out;
    int64_t oi;
    bool add;
} lz_attention_product;

void lz_attention_multiply(const lz_attention *a, const lz_attention_product *p);

/* What is added to the scores of row i of the tile, in `room` or left there by an earlier row; NULL: nothing.
 */
const void *lz_attention_bias(const lz_attention *a, const lz_attention_tile *t, int64_t i, char *room);
/* How many of the tile's keys query t->i + i may see. */
int64_t lz_attention_valid(const lz_attention *a, const lz_attention_tile *t, int64_t i);

LZ_MUST_USE lz_err *lz_attention_run(lz_attention *a, int64_t tasks, lz_range_fn *fn, void *user);

static inline int64_t lz_attention_least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

#endif
