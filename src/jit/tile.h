/* tile.h - functions on tiles: one operation on n elements side by side.
 *
 * The same source, tile_impl.h, is compiled once per vector extension; a table of
 * each is kept, and lz_tile gives the best one for this CPU. All give the same bits.
 * The output may be one of the inputs (then element by element the same place), else
 * they must not overlap. n may be 0. */
#ifndef LZ_JIT_TILE_H
#define LZ_JIT_TILE_H

#include "jit/kernel_ir.h"

enum { LZ_DTYPE_SLOTS = 16 }; /* every lz_dtype is below */

/* o[i] = op(x[i], y[i], z[i], w[i]); bool is one byte, 0 or 1 */
typedef void lz_tile_fn(void *o, const void *x, const void *y, const void *z, const void *w, int64_t n);

/* Super-operations: see super.h. */
typedef enum lz_supers {
    LZ_S_GELU, /* of the tanh kind */
    LZ_S_GELU_TANH,
    LZ_S_GELU_TANH_CUBE,
    LZ_S_GELU_ERF,
    LZ_S_SILU,
    LZ_S_LOGISTIC, /* sigmoid written out */
    LZ_S_SILU_MUL,
    LZ_SUPERS
} lz_supers;

/* Between memory of some dtype and the type it is computed in; strides in elements. */
typedef void lz_tile_load(void *o, const void *p, int64_t stride, int64_t n);
typedef void lz_tile_load_if(void *o, const void *p, int64_t stride, const uint8_t *mask, const void *fill,
                             int64_t n);
typedef void lz_tile_gather(void *o, const void *p, int64_t stride, const int64_t *index, int64_t n);
typedef void lz_tile_gather_if(void *o, const void *p, int64_t stride, const int64_t *index,
                               const uint8_t *mask, const void *fill, int64_t n);
typedef void lz_tile_store(void *p, const void *x, int64_t stride, int64_t n);

/* lane[i % 64] = lane[i % 64] op x[i] */
typedef void lz_tile_lanes(void *lane, const void *x, int64_t n);
/* lane[i % 64] += x[i] * y[i], both steps rounded */
typedef void lz_tile_products(void *lane, const void *x, const void *y, int64_t n);
/* reduce.h: 64 lanes into the 16 sums of a block; `block`: those into the total. */
typedef void lz_tile_fold(void *lane, void *sum, void *total, bool block);
/* Best so far and its index, for each i: x[i] with index first + i * step against them. */
typedef void lz_tile_best(void *best, int64_t *at, const void *x, int64_t first, int64_t step, int64_t n);
/* The same along a row: x[i] against those of lane i % 64; first is the index of x[0]. */
typedef void lz_tile_best_lanes(void *best, int64_t *at, const void *x, int64_t first, int64_t n);
typedef void lz_tile_merge(void *best, int64_t *at, const void *x, const int64_t *index, int64_t n);
/* Along the row: state is the value so far. */
typedef void lz_tile_scan(void *o, void *state, const void *x, int64_t n);
typedef void lz_tile_scan_best(int64_t *o, void *best, int64_t *at, const void *x, int64_t first, int64_t n);

typedef struct lz_tile_table {
    const char *name;
    lz_tile_fn *op[LZ_KOP_COUNT][LZ_KTYPES]; /* by the type of the last operand */
    lz_tile_fn *cast[LZ_KTYPES][LZ_KTYPES];  /* from, to */
    lz_tile_fn *narrow[LZ_DTYPE_SLOTS];      /* the value as that dtype has it */
    lz_tile_load *load[LZ_DTYPE_SLOTS];
    lz_tile_load_if *load_if[LZ_DTYPE_SLOTS];
    lz_tile_gather *gather[LZ_DTYPE_SLOTS];
    lz_tile_gather_if *gather_if[LZ_DTYPE_SLOTS];
    lz_tile_store *store[LZ_DTYPE_SLOTS];
    lz_tile_fn *splat[LZ_KTYPES];    /* x[0] into all of o */
    lz_tile_fn *super[LZ_SUPERS][2]; /* of f32, of f64 */
    lz_tile_fn *choose[4][2];        /* x EQ, NE, LT or LE y ? z : w, of f32, of f64 */
    lz_tile_fn *pair[5][10];         /* of f32: ADD SUB MUL MAX MIN of x and y; then of that and z: ADD, SUB,
                                        SUB turned round, MUL, DIV, DIV turned round, MAX, MIN, and alone: ABS,
                                        NEG */
    lz_tile_lanes *lanes[LZ_K_REDUCES][LZ_KTYPES];
    lz_tile_lanes *widen[LZ_K_REDUCES][LZ_KTYPES]; /* of x in the narrower type: i32 as i64, f32 as f64 */
    lz_tile_products *products[LZ_KTYPES];
    lz_tile_fold *fold[LZ_K_REDUCES][LZ_KTYPES];
    lz_tile_best_lanes *best_lanes[2][LZ_KTYPES]; /* as best */
    lz_tile_best *best[2][LZ_KTYPES];             /* greatest, least; the first of equals */
    lz_tile_merge *merge[2][LZ_KTYPES];           /* the lower index of equals */
    lz_tile_scan *scan[LZ_K_REDUCES][LZ_KTYPES];
    lz_tile_best *last_best[2][LZ_KTYPES]; /* the last of equals */
    lz_tile_scan_best *scan_best[2][LZ_KTYPES];
    lz_tile_fn *philox[4]; /* seed, stream, index */
    lz_tile_fn *within;    /* of i64: y <= x < z */
    void (*affine)(int64_t *o, int64_t first, int64_t stride, int64_t n);
    /* o[i] = index[i], or index[i] + size[i] if it is negative and wrap says so; n if all are within
       bounds, else the first that is not */
    int64_t (*check)(int64_t *o, const int64_t *index, const int64_t *size, bool wrap, int64_t n);
    /* Bytes that go past the caches; others see them after `streamed`. */
    void (*stream)(char *to, const char *from, int64_t bytes);
    void (*streamed)(void);
    bool (*is_uniform)(const int64_t *x, int64_t n);           /* all are equal */
    int64_t (*find_zero[LZ_KTYPES])(const void *x, int64_t n); /* n if there is none */
} lz_tile_table;

extern const lz_tile_table lz_tile_base, lz_tile_avx2, lz_tile_avx512;

/* The best that runs here. */
const lz_tile_table *lz_tile(void);

/* What computes a node whose last operand is of that type; NULL: no function of one element does. */
lz_tile_fn *lz_tile_of(const lz_tile_table *t, const lz_knode *n, int last);

/* All that run here, worst first; returns how many. */
int lz_tile_all(const lz_tile_table *out[3]);

#endif
