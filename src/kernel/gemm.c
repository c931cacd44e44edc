#include "kernel/gemm.h"
#include "base/mem.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "kernel/bands.h"
#include <assert.h>
#include <string.h>

/* KC: extent of a panel along k, so that a panel of y two vectors wide and a block's rows of x stay in the L1
 * and L2 caches. MC: rows of x packed at once; a multiple of every block height. A tile has at most TILE_M
 * rows, or AFTER_M if something follows that reads the rows while they are near, and TILE_N columns; y is
 * packed once for it. */
enum { KC = 384, MC = 96, TILE_M = 2048, TILE_N = 1024, AFTER_M = 1024, TILE_LEAST = 64, ALIGN = 64 };

lz_gemm_type lz_gemm_type_of(lz_dtype d)
{
    if (lz_dtype_is_float(d))
        return d == LZ_F64 ? LZ_GEMM_F64 : LZ_GEMM_F32;
    return d == LZ_I64 ? LZ_GEMM_I64 : LZ_GEMM_I32;
}

lz_dtype lz_gemm_dtype(lz_gemm_type t)
{
    static const lz_dtype dtypes[LZ_GEMM_TYPES] = {
        [LZ_GEMM_F32] = LZ_F32, [LZ_GEMM_F64] = LZ_F64,        [LZ_GEMM_I32] = LZ_I32,
        [LZ_GEMM_I64] = LZ_I64, [LZ_GEMM_BF16_PAIRS] = LZ_F32, [LZ_GEMM_I8_QUADS] = LZ_I32
    };
    return dtypes[t];
}

int lz_gemm_widths(const lz_gemm_width *out[LZ_GEMM_WIDTHS])
{
    int n = 0;
    out[n++] = &lz_gemm_base;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        out[n++] = &lz_gemm_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        out[n++] = &lz_gemm_avx512;
#endif
    return n;
}

const lz_gemm_width *lz_gemm_pairs(lz_gemm_type t)
{
#if defined(__x86_64__)
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    bool wide = lz_gemm_widths(widths) == LZ_GEMM_WIDTHS;
    if (wide && t == LZ_GEMM_BF16_PAIRS && __builtin_cpu_supports("avx512bf16"))
        return &lz_gemm_bf16;
    if (wide && t == LZ_GEMM_I8_QUADS && __builtin_cpu_supports("avx512vnni"))
        return &lz_gemm_vnni;
#endif
    (void)t;
    return NULL;
}

static const lz_gemm_width *widest(lz_gemm_type t)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS], *pairs = lz_gemm_pairs(t);
    int n = lz_gemm_widths(widths);
    return pairs ? pairs : widths[n - 1];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- choices ---- */

typedef struct run {
    const lz_gemm *g;
    const lz_gemm_width *w;
    lz_dtype compute;
    int64_t size;                 /* bytes of an element */
    int64_t lanes, rows;          /* lanes of a vector; rows of the highest block */
    bool pack_x, pack_y, convert; /* convert: the result has another type than the computing type */
    int64_t tile_m, tile_n;       /* most rows and columns of a tile */
    int64_t tiles_m, tiles_n, tiles;
    size_t room_x, room_y, room_out, room_sums, room; /* bytes of a worker's scratch */
    char *scratch;
    lz_bands *bands;
} run;

static size_t round_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Small operands are read in place. For that the columns of y must be contiguous. y is packed if it is read
 * often and does not stay in the L1 cache by itself. */
static void choose_packing(run *r)
{
    enum { SMALL_X = 8192, SMALL_Y = 16384, PAGE = 4096 };
    const lz_gemm *g = r->g;
    bool plain_x = !g->x.fetch && g->x.dtype == r->compute;
    bool plain_y = !g->y.fetch && g->y.dtype == r->compute && (g->y.along == 1 || g->n == 1);
    bool in_place = plain_x && g->x.k == 1 && g->x.along * r->size % PAGE != 0;
    r->pack_x = !plain_x || (g->m * g->k > SMALL_X && !in_place);
    r->pack_y = !plain_y || (g->k * g->n > SMALL_Y && g->m > 2 * r->rows);
    r->convert = g->out_dtype != r->compute;
}

static double products(const lz_gemm *g)
{
    return (double)g->batch * (double)g->m * (double)g->n * (double)(g->k + 1);
}

/* Even work: at most this many hundredths of the mean for the thread with the most tiles. */
enum { EVEN = 115, MANY = 8 };

static int64_t parts_of(int64_t n, int64_t most)
{
    return n > most ? (n + most - 1) / most : 1;
}

/* The size of a tile that divides n into this many parts; a multiple of `step`. */
static int64_t tile_of(int64_t n, int64_t parts, int64_t step)
{
    return (n + parts * step - 1) / (parts * step) * step;
}

static bool is_even(int64_t tiles, int64_t threads)
{
    return tiles >= MANY * threads || (tiles + threads - 1) / threads * threads * 100 <= tiles * EVEN;
}

/* One tile is one thread's unit of work: large, so that panels are packed seldom, but several for each
 * thread, as many for each as for the others, unless they become too small. A product that takes microseconds
 * has one for each thread. */
static void choose_tiles(run *r, int threads)
{
    enum { SMALL = 1 << 20, STEP = 32 };
    const lz_gemm *g = r->g;
    int64_t wanted = products(g) < SMALL ? threads : (int64_t)2 * threads;
    int64_t parts_m = parts_of(g->m, g->after ? AFTER_M : TILE_M), parts_n = parts_of(g->n, TILE_N);
    for (;;) {
        r->tile_m = tile_of(g->m, parts_m, g->m > STEP ? STEP / 2 : 1);
        r->tile_n = tile_of(g->n, parts_n, g->n > STEP ? STEP : 1);
        r->tiles_m = r->tile_m ? (g->m + r->tile_m - 1) / r->tile_m : 0;
        r->tiles_n = r->tile_n ? (g->n + r->tile_n - 1) / r->tile_n : 0;
        r->tiles = g->batch * r->tiles_m * r->tiles_n;
        int64_t low = r->tiles < threads ? TILE_LEAST / 2 : TILE_LEAST;
        bool down = r->tile_m >= r->tile_n;
        if (threads == 1 || (r->tiles >= wanted && is_even(r->tiles, threads))
            || (down ? r->tile_m : r->tile_n) <= low)
            return;
        *(down ? &parts_m : &parts_n) *= 2;
    }
}

void lz_gemm_cut(const lz_gemm *g, int threads, lz_gemm_tiles *out)
{
    run r = { .g = g };
    choose_tiles(&r, threads);
    *out = (lz_gemm_tiles){ .m = r.tile_m, .n = r.tile_n, .count = r.tiles };
}

static void set_up(run *r, const lz_gemm *g, const lz_gemm_width *w, int threads)
{
    *r = (run){ .g = g, .w = w, .compute = lz_gemm_dtype(g->type), .rows = w->heights[0] };
    r->size = (int64_t)lz_dtype_size(r->compute);
    r->lanes = w->bytes / r->size;
    choose_packing(r);
    choose_tiles(r, threads);
    int64_t kc = least(KC, g->k), cols = 2 * r->lanes, m = least(r->tile_m, g->m);
    int64_t nj = (least(r->tile_n, g->n) + cols - 1) / cols * cols;
    int64_t mc = (least(MC, m) + r->rows - 1) / r->rows * r->rows;
    r->room_x = r->pack_x ? round_up((size_t)(mc * kc * r->size)) : 0;
    r->room_y = r->pack_y ? round_up((size_t)(nj * kc * r->size)) : 0;
    r->room_out = r->convert ? round_up((size_t)(m * nj * r->size)) : 0;
    r->room_sums = g->shifted ? round_up((size_t)(nj * r->size)) : 0;
    r->room = r->room_x + r->room_y + r->room_out + r->room_sums;
}

/* ---- packing ---- */

/* Address of element (at, k0) of matrix b: `at` counts rows of x (columns of y). */
static const char *source(const lz_gemm_side *s, int64_t b, int64_t at, int64_t k0)
{
    return (const char *)s->data
           + (b * s->batch + at * s->along + k0 * s->k) * (int64_t)lz_dtype_size(s->dtype);
}

#define TRANSPOSE(T)                                                                                         \
    static void transpose_##T(const char *from, int64_t along, int64_t k, int64_t n, int64_t nk,             \
                              int64_t wide, char *panel)                                                     \
    {                                                                                                        \
        enum { STEP = 8 };                                                                                   \
        const T *x = (const void *)from;                                                                     \
        T *p = (void *)panel;                                                                                \
        for (int64_t k0 = 0; k0 < nk; k0 += STEP) {                                                          \
            int64_t end = k0 + STEP < nk ? k0 + STEP : nk;                                                   \
            for (int64_t i = 0; i < n; i++)                                                                  \
                for (int64_t q = k0; q < end; q++)                                                           \
                    p[q * wide + i] = x[i * along + q * k];                                                  \
        }                                                                                                    \
    }
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

/* Transposes with vectors in squares, for operands that are contiguous along k. */
static void turn(const lz_gemm_width *w, const char *from, int64_t along, int64_t n, int64_t nk, int64_t wide,
                 char *panel)
{
    const uint32_t *x = (const void *)from;
    uint32_t *p = (void *)panel;
    int64_t step = w->bytes / 4, i = 0, k = 0;
    for (k = 0; k + step <= nk; k += step) {
        for (i = 0; i + step <= n; i += step)
            w->transpose(x + i * along + k, along, p + k * wide + i, wide);
        transpose_uint32_t((const void *)(x + i * along + k), along, 1, n - i, step, wide,
                           (void *)(p + k * wide + i));
    }
    transpose_uint32_t((const void *)(x + k), along, 1, n, nk - k, wide, (void *)(p + k * wide));
}

void lz_gemm_pack(const lz_gemm_width *w, lz_dtype compute, const lz_gemm_side *s, int64_t b, int64_t at,
                  int64_t n, int64_t k0, int64_t nk, int64_t wide, char *panel)
{
    const char *from = source(s, b, at, k0);
    int64_t size = (int64_t)lz_dtype_size(s->dtype), to = (int64_t)lz_dtype_size(compute);
    assert(panel && !s->fetch);
    if (s->dtype != compute && s->along == 1)
        for (int64_t k = 0; k < nk; k++)
            lz_convert_run(s->dtype, from + k * s->k * size, size, compute, panel + k * wide * to, to, n);
    else if (s->dtype != compute)
        for (int64_t i = 0; i < n; i++)
            lz_convert_run(s->dtype, from + i * s->along * size, s->k * size, compute, panel + i * to,
                           wide * to, nk);
    else if (s->along == 1)
        for (int64_t k = 0; k < nk; k++)
            memcpy(panel + k * wide * size, from + k * s->k * size, (size_t)(n * size));
    else if (s->k == 1 && size == 4 && w->transpose)
        turn(w, from, s->along, n, nk, wide, panel);
    else
        (size == 4 ? transpose_uint32_t : transpose_uint64_t)(from, s->along, s->k, n, nk, wide, panel);
}

static void pack_panel(const run *r, const lz_gemm_side *s, int64_t b, int64_t at, int64_t n, int64_t k0,
                       int64_t nk, int64_t wide, char *panel)
{
    if (!s->fetch) {
        lz_gemm_pack(r->w, r->compute, s, b, at, n, k0, nk, wide, panel);
        return;
    }
    assert(panel);
    memset(panel, 0, (size_t)(nk * wide * r->size));
    s->fetch(r->g->user, b, at, n, k0, nk, wide, panel);
}

/* Packs to [i][kc], for rows that are contiguous. */
static void pack_rows(const run *r, const lz_gemm_side *s, int64_t b, int64_t at, int64_t n, int64_t k0,
                      int64_t nk, int64_t kc, char *to)
{
    assert(to);
    int64_t size = (int64_t)lz_dtype_size(s->dtype);
    for (int64_t i = 0; i < n; i++) {
        const char *from = source(s, b, at + i, k0);
        char *row = to + i * kc * r->size;
        if (s->dtype == r->compute)
            memcpy(row, from, (size_t)(nk * size));
        else
            lz_convert_run(s->dtype, from, size, r->compute, row, r->size, nk);
    }
}

/* ---- blocks ---- */

/* Some rows of x, either all packed or all in place, and all columns of a tile. */
typedef struct strip {
    int64_t m, n, nk;
    const char *x;
    int64_t xi, xk, x_rows; /* x_rows: elements from one block of full height to the next */
    const char *y;
    int64_t yk, y_cols; /* y_cols: elements from one pair of vectors' columns to the next */
    char *out;
    int64_t oi;
    bool add;
} strip;

/* Computes one block and moves to the next. */
static void step(const run *r, lz_gemm_micro *micro, lz_gemm_block *b, int64_t cols, int64_t y_cols)
{
    micro(b);
    b->out = (char *)b->out + cols * r->size;
    b->y = (const char *)b->y + y_cols * r->size;
}

static void across(const run *r, const strip *s, int height, lz_gemm_block b)
{
    lz_gemm_micro *const *micro = r->w->micro[r->g->type][height];
    int64_t two = 2 * r->lanes, left = s->n;
    for (; micro[LZ_GEMM_FOUR] && s->y_cols == two && left >= 2 * two; left -= 2 * two)
        step(r, micro[LZ_GEMM_FOUR], &b, 2 * two, 2 * two);
    for (; left >= two; left -= two)
        step(r, micro[LZ_GEMM_TWO], &b, two, s->y_cols);
    for (; left >= r->lanes; left -= r->lanes)
        step(r, micro[LZ_GEMM_ONE], &b, r->lanes, r->lanes);
    b.lanes = (int)left;
    if (left > 0)
        micro[LZ_GEMM_PART](&b);
}

/* Remaining rows take blocks of smaller height; packed, they are one more panel. */
static void multiply(const run *r, const strip *s)
{
    lz_gemm_block b = { .nk = s->nk, .xi = s->xi, .xk = s->xk, .yk = s->yk, .oi = s->oi, .add = s->add };
    const char *x = s->x;
    char *out = s->out;
    int height = 0;
    for (int64_t left = s->m; left > 0; left -= r->w->heights[height]) {
        while (r->w->heights[height] > left)
            height++;
        b.x = x;
        b.out = out;
        b.y = s->y;
        across(r, s, height, b);
        x += (height ? r->w->heights[height] * s->xi : s->x_rows) * r->size;
        out += r->w->heights[height] * s->oi * r->size;
    }
}

/* ---- tiles ---- */

typedef struct tile {
    int64_t b, i0, mi, j0, nj;
    char *xs, *ys, *sums, *out; /* out: the tile's first element, in the computing type */
    int64_t oi;
} tile;

static void lay_y(const run *r, const tile *t, int64_t k0, strip *s)
{
    const lz_gemm_side *y = &r->g->y;
    int64_t two = 2 * r->lanes;
    if (!r->pack_y) {
        s->y = source(y, t->b, t->j0, k0);
        s->yk = y->k;
        s->y_cols = two;
        return;
    }
    s->y = t->ys;
    s->yk = two;
    s->y_cols = s->nk * two;
    for (int64_t j = 0; j < t->nj; j += two)
        pack_panel(r, y, t->b, t->j0 + j, least(two, t->nj - j), k0, s->nk, two, t->ys + j * s->nk * r->size);
}

static void lay_x(const run *r, const tile *t, int64_t i, int64_t k0, strip *s)
{
    const lz_gemm_side *x = &r->g->x;
    if (!r->pack_x) {
        s->x = source(x, t->b, t->i0 + i, k0);
        s->xi = x->along;
        s->xk = x->k;
        s->x_rows = r->rows * x->along;
        return;
    }
    s->x = t->xs;
    s->x_rows = r->rows * s->nk;
    if (!x->fetch && x->k == 1) {
        s->xi = s->nk;
        s->xk = 1;
        pack_rows(r, x, t->b, t->i0 + i, s->m, k0, s->nk, s->nk, t->xs);
        return;
    }
    s->xi = 1;
    s->xk = r->rows;
    for (int64_t at = 0; at < s->m; at += r->rows)
        pack_panel(r, x, t->b, t->i0 + i + at, least(r->rows, s->m - at), k0, s->nk, r->rows,
                   t->xs + at * s->nk * r->size);
}

/* Adds up the columns of y: a product with a row of ones. */
static void sum_columns(const run *r, const tile *t, const strip *y)
{
    static const uint32_t ones = 0x01010101;
    strip s = *y;
    s.m = 1;
    s.x = (const char *)&ones;
    s.xi = s.xk = s.x_rows = 0;
    s.out = t->sums;
    multiply(r, &s);
}

/* Takes back what x has too much: 128 times the sums of the columns. */
static void unshift(const tile *t)
{
    const uint32_t *sums = (const void *)t->sums;
    assert(sums); /* room_sums */
    for (int64_t i = 0; i < t->mi; i++) {
        uint32_t *row = (uint32_t *)(void *)t->out + i * t->oi;
        for (int64_t j = 0; j < t->nj; j++)
            row[j] -= sums[j] << 7;
    }
}

static void sum_up(const run *r, const tile *t)
{
    assert(t->out);
    int64_t step = MC;
    for (int64_t k0 = 0; k0 < r->g->k; k0 += KC) {
        strip s = { .n = t->nj, .nk = least(KC, r->g->k - k0), .oi = t->oi, .add = k0 > 0 };
        lay_y(r, t, k0, &s);
        if (r->g->shifted)
            sum_columns(r, t, &s);
        for (int64_t i = 0; i < t->mi; i += step) {
            s.m = least(step, t->mi - i);
            s.out = t->out + i * t->oi * r->size;
            lay_x(r, t, i, k0, &s);
            multiply(r, &s);
        }
    }
    for (int64_t i = 0; r->g->k == 0 && i < t->mi; i++)
        memset(t->out + i * t->oi * r->size, 0, (size_t)(t->nj * r->size));
    if (r->g->shifted && r->g->k)
        unshift(t);
}

static lz_err *do_tile(const run *r, int64_t number, int worker)
{
    const lz_gemm *g = r->g;
    char *scratch = r->room ? r->scratch + (size_t)worker * r->room : NULL;
    tile t = { .b = number / r->tiles_n / r->tiles_m,
               .i0 = number / r->tiles_n % r->tiles_m * r->tile_m,
               .j0 = number % r->tiles_n * r->tile_n,
               .xs = scratch,
               .ys = scratch ? scratch + r->room_x : NULL,
               .sums = scratch ? scratch + r->room - r->room_sums : NULL };
    t.mi = least(r->tile_m, g->m - t.i0);
    t.nj = least(r->tile_n, g->n - t.j0);
    int64_t size = (int64_t)lz_dtype_size(g->out_dtype);
    char *out = (char *)g->out + (t.b * g->out_batch + t.i0 * g->out_row + t.j0) * size;
    t.out = r->convert ? t.ys + r->room_y : out;
    t.oi = r->convert ? t.nj : g->out_row;
    sum_up(r, &t);
    for (int64_t i = 0; r->convert && i < t.mi; i++)
        lz_convert_run(r->compute, t.out + i * t.oi * r->size, r->size, g->out_dtype,
                       out + i * g->out_row * size, size, t.nj);
    return lz_bands_add(r->bands, number / r->tiles_n);
}

static lz_err *do_tiles(void *user, int64_t begin, int64_t end, int worker)
{
    const run *r = user;
    lz_err *e = NULL;
    for (int64_t t = begin; !e && t < end; t++)
        e = do_tile(r, t, worker);
    return e;
}

/* A product that would be finished before another thread wakes up uses one thread. */
static int worth_threads(const lz_gemm *g, int threads)
{
    enum { PRODUCTS = 200000 };
    return products(g) < PRODUCTS ? 1 : threads;
}

/* A product with one column becomes the transposed product with one row; the result has the same elements. */
static lz_gemm laid_down(const lz_gemm *g)
{
    lz_gemm t = *g;
    bool column = g->n == 1 && g->m > 1 && g->out_row == 1 && !g->x.fetch && !g->y.fetch && !g->after;
    if (!column)
        return t;
    t.m = 1;
    t.n = g->m;
    t.x = g->y;
    t.y = g->x;
    t.out_row = g->m;
    return t;
}

size_t lz_gemm_scratch(const lz_gemm *g, int threads)
{
    run r;
    lz_gemm t = laid_down(g);
    threads = worth_threads(&t, threads);
    set_up(&r, &t, widest(g->type), threads);
    return (size_t)threads * r.room;
}

static lz_err *run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool)
{
    run r;
    lz_bands bands;
    int threads = worth_threads(g, lz_pool_threads(pool));
    set_up(&r, g, w, threads);
    if (r.tiles == 0)
        return NULL;
    lz_bands_init(&bands, g->after, g->after_user, g->batch, g->m, r.tile_m, r.tiles_n, threads);
    r.bands = &bands;
    r.scratch = g->scratch;
    if (!r.scratch && r.room && !(r.scratch = lz_temporary_take((size_t)threads * r.room, ALIGN)))
        return lz_err_oom();
    lz_err *e = lz_pool_for(threads > 1 ? pool : NULL, r.tiles, 1, do_tiles, &r);
    e = e ? e : lz_bands_finish(&bands);
    if (r.scratch != g->scratch)
        lz_temporary_give(r.scratch);
    return e;
}

lz_err *lz_gemm_run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool)
{
    lz_gemm t = laid_down(g);
    return run_with(&t, w, pool);
}

lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool)
{
    return lz_gemm_run_with(g, widest(g->type), pool);
}
