/* tile.h - functions on tiles: one operation on n contiguous elements.
 *
 * One source, tile_impl.h, is compiled once per vector extension into a table; lz_tile returns the best table
 * for this CPU. All give the same bits. The output may be exactly one of the inputs; otherwise output and
 * inputs must not overlap. n may be 0. */
#ifndef LZ_JIT_TILE_H
#define LZ_JIT_TILE_H

#include "jit/kernel_ir.h"

enum { LZ_DTYPE_SLOTS = 16 }; /* above every lz_dtype */

/* o[i] = op(x[i], y[i], z[i], w[i]); bool is one byte, 0 or 1 */
typedef void lz_tile_fn(void *o, const void *x, const void *y, const void *z, const void *w, int64_t n);

/* Fused instructions: see fused_instr.h. */
typedef enum lz_fused_instrs {
    LZ_FUSED_GELU, /* the tanh approximation */
    LZ_FUSED_GELU_TANH,
    LZ_FUSED_GELU_TANH_CUBE,
    LZ_FUSED_GELU_ERF,
    LZ_FUSED_SILU,
    LZ_FUSED_LOGISTIC, /* sigmoid written out */
    LZ_FUSED_SILU_MUL,
    LZ_FUSED_INSTRS
} lz_fused_instrs;

/* x + y, x - y, y - x, x * y */
typedef enum lz_tile_wide { LZ_WIDE_ADD, LZ_WIDE_SUB, LZ_WIDE_BUS, LZ_WIDE_MUL, LZ_WIDES } lz_tile_wide;

/* Conversions between memory of some dtype and its computing type; strides in elements. */
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
/* reduce.h: folds 64 lanes into the 16 sums of a block; block: then these into the total. */
typedef void lz_tile_fold(void *lane, void *sum, void *total, bool block);
/* For each i: compares x[i], whose index is first + i * step, with the best value so far and its index. */
typedef void lz_tile_best(void *best, int64_t *at, const void *x, int64_t first, int64_t step, int64_t n);
/* Along a row: compares x[i] with the best of lane i % 64; first is the index of x[0]. */
typedef void lz_tile_best_lanes(void *best, int64_t *at, const void *x, int64_t first, int64_t n);
typedef void lz_tile_merge(void *best, int64_t *at, const void *x, const int64_t *index, int64_t n);
/* Along the row; *state is the value so far. */
typedef void lz_tile_scan(void *o, void *state, const void *x, int64_t n);
typedef void lz_tile_scan_best(int64_t *o, void *best, int64_t *at, const void *x, int64_t first, int64_t n);

typedef struct lz_tile_table {
    const char *name;
    lz_tile_fn *op[LZ_KERNEL_OP_COUNT][LZ_KERNEL_TYPES]; /* by the type of the last operand */
    lz_tile_fn *cast[LZ_KERNEL_TYPES][LZ_KERNEL_TYPES];  /* from, to */
    lz_tile_fn *narrow[LZ_DTYPE_SLOTS];                  /* rounds or wraps the value to the dtype */
    lz_tile_load *load[LZ_DTYPE_SLOTS];
    lz_tile_load_if *load_if[LZ_DTYPE_SLOTS];
    lz_tile_gather *gather[LZ_DTYPE_SLOTS];
    lz_tile_gather_if *gather_if[LZ_DTYPE_SLOTS];
    lz_tile_store *store[LZ_DTYPE_SLOTS];
    lz_tile_fn *splat[LZ_KERNEL_TYPES];    /* x[0] to all elements of o */
    lz_tile_fn *fused[LZ_FUSED_INSTRS][2]; /* f32, f64 */
    lz_tile_fn *choose[4][2];              /* x EQ, NE, LT or LE y ? z : w; f32, f64 */
    lz_tile_fn *pair[5][10];    /* f32: ADD SUB MUL MAX MIN of x and y; then with z: ADD, SUB, z - it,
                                 * MUL, DIV, z / it, MAX, MIN; or alone: ABS, NEG */
    lz_tile_fn *wide[LZ_WIDES]; /* f64 from x of f32 and y of f64 */
    lz_tile_lanes *lanes[LZ_KERNEL_REDUCES][LZ_KERNEL_TYPES];
    lz_tile_lanes
        *widen[LZ_KERNEL_REDUCES][LZ_KERNEL_TYPES]; /* x has the narrower type: i32 for i64, f32 for f64 */
    lz_tile_lanes
        *widen_dtype[LZ_DTYPE_SLOTS]; /* sums of i64: x is memory of u8, i8 or i16; at most a tile */
    lz_tile_products *products[LZ_KERNEL_TYPES];
    lz_tile_fold *fold[LZ_KERNEL_REDUCES][LZ_KERNEL_TYPES];
    lz_tile_best_lanes *best_lanes[2][LZ_KERNEL_TYPES]; /* as best */
    lz_tile_best *best[2][LZ_KERNEL_TYPES];             /* greatest, least; of equals the first */
    lz_tile_merge *merge[2][LZ_KERNEL_TYPES];           /* of equals the lower index */
    lz_tile_scan *scan[LZ_KERNEL_REDUCES][LZ_KERNEL_TYPES];
    lz_tile_best *last_best[2][LZ_KERNEL_TYPES]; /* of equals the last */
    lz_tile_scan_best *scan_best[2][LZ_KERNEL_TYPES];
    lz_tile_fn *philox[4]; /* seed, stream, index */
    lz_tile_fn *within;    /* i64: y <= x < z */
    void (*affine)(int64_t *o, int64_t first, int64_t stride, int64_t n);
    /* o[i] = index[i], plus size[i] if it is negative and wrap is set. Returns n if all are within bounds,
     * else the first i that is not. */
    int64_t (*check)(int64_t *o, const int64_t *index, const int64_t *size, bool wrap, int64_t n);
    /* Writes bytes past the caches; other threads see them after `streamed`. */
    void (*stream)(char *to, const char *from, int64_t bytes);
    void (*streamed)(void);
    bool (*is_uniform)(const int64_t *x, int64_t n);                 /* are all equal? */
    int64_t (*find_zero[LZ_KERNEL_TYPES])(const void *x, int64_t n); /* index; n if there is none */
} lz_tile_table;

extern const lz_tile_table lz_tile_base, lz_tile_avx2, lz_tile_avx512;

/* The best table for this CPU. */
const lz_tile_table *lz_tile(void);

/* The function that computes a node whose last operand has type `last`; NULL: no tile function does. */
lz_tile_fn *lz_tile_of(const lz_tile_table *t, const lz_kernel_node *n, int last);

/* All tables that run here, least capable first; returns how many. */
int lz_tile_all(const lz_tile_table *out[3]);

#endif
