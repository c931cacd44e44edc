#include "kernel/gemm.h"
#include "base/mem.h"
#include "core/dtype.h"
#include <string.h>

/* A tile of the result: MB and NB are whole numbers of blocks of every width. */
enum { MB = 96, NB = 128, KB = 256, X_PANEL = MB * KB, Y_PANEL = NB * KB, SUMS = MB * NB };

lz_gemm_type lz_gemm_type_of(lz_dtype d)
{
    if (lz_dtype_is_float(d))
        return d == LZ_F64 ? LZ_GEMM_F64 : LZ_GEMM_F32;
    return d == LZ_I64 ? LZ_GEMM_I64 : LZ_GEMM_I32;
}

lz_dtype lz_gemm_dtype(lz_gemm_type t)
{
    static const lz_dtype dtypes[LZ_GEMM_TYPES] = {
        [LZ_GEMM_F32] = LZ_F32, [LZ_GEMM_F64] = LZ_F64, [LZ_GEMM_I32] = LZ_I32, [LZ_GEMM_I64] = LZ_I64
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

/* ---- tiles ---- */

typedef struct run {
    const lz_gemm *g;
    lz_gemm_micro *micro;
    int64_t rows, cols; /* of a block */
    size_t size;        /* of an element */
    char *scratch;      /* for each worker: x panels, y panels, the tile */
    size_t room;
    int64_t tiles_m, tiles_n;
} run;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

typedef struct tile {
    int64_t b, i0, mi, j0, nj;
} tile;

static void fetch(const run *r, const tile *t, int64_t k0, int64_t nk, char *xs, char *ys)
{
    const lz_gemm *g = r->g;
    if (t->mi % r->rows)
        memset(xs, 0, X_PANEL * r->size);
    for (int64_t i = 0; i < t->mi; i += r->rows)
        g->fetch_x(g->user, t->b, t->i0 + i, least(r->rows, t->mi - i), k0, nk, r->rows,
                   xs + (size_t)(i * KB) * r->size);
    memset(ys, 0, Y_PANEL * r->size);
    for (int64_t j = 0; j < t->nj; j += r->cols)
        g->fetch_y(g->user, t->b, k0, nk, t->j0 + j, least(r->cols, t->nj - j), r->cols,
                   ys + (size_t)(j * KB) * r->size);
}

static void multiply(const run *r, const tile *t, int64_t nk, const char *xs, const char *ys, char *acc)
{
    for (int64_t j = 0; j < t->nj; j += r->cols)
        for (int64_t i = 0; i < t->mi; i += r->rows)
            r->micro(nk, xs + (size_t)(i * KB) * r->size, ys + (size_t)(j * KB) * r->size,
                     acc + (size_t)(i * NB + j) * r->size, NB);
}

static void do_tile(const run *r, int64_t number, char *scratch)
{
    const lz_gemm *g = r->g;
    char *xs = scratch, *ys = xs + X_PANEL * r->size, *acc = ys + Y_PANEL * r->size;
    tile t = { .b = number / r->tiles_n / r->tiles_m,
               .i0 = number / r->tiles_n % r->tiles_m * MB,
               .j0 = number % r->tiles_n * NB };
    t.mi = least(MB, g->m - t.i0);
    t.nj = least(NB, g->n - t.j0);
    memset(acc, 0, SUMS * r->size);
    for (int64_t k0 = 0; k0 < g->k; k0 += KB) {
        int64_t nk = least(KB, g->k - k0);
        fetch(r, &t, k0, nk, xs, ys);
        multiply(r, &t, nk, xs, ys, acc);
    }
    for (int64_t i = 0; i < t.mi; i++)
        g->store(g->user, t.b, t.i0 + i, t.j0, t.nj, acc + (size_t)(i * NB) * r->size);
}

static lz_err *do_tiles(void *user, int64_t begin, int64_t end, int worker)
{
    const run *r = user;
    for (int64_t t = begin; t < end; t++)
        do_tile(r, t, r->scratch + (size_t)worker * r->room);
    return NULL;
}

lz_err *lz_gemm_run_with(const lz_gemm *g, const lz_gemm_width *w, lz_pool *pool)
{
    run r = { .g = g, .micro = w->micro[g->type], .rows = w->rows };
    r.size = lz_dtype_size(lz_gemm_dtype(g->type));
    r.cols = (int64_t)2 * w->bytes / (int64_t)r.size;
    r.tiles_m = (g->m + MB - 1) / MB;
    r.tiles_n = (g->n + NB - 1) / NB;
    r.room = (size_t)(X_PANEL + Y_PANEL + SUMS) * r.size;
    int64_t tiles = g->batch * r.tiles_m * r.tiles_n;
    if (tiles == 0)
        return NULL;
    r.scratch = lz_mem_alloc_aligned((size_t)(pool ? lz_pool_threads(pool) : 1) * r.room, 64);
    if (!r.scratch)
        return lz_err_oom();
    lz_err *e = lz_pool_for(pool, tiles, 1, do_tiles, &r);
    lz_mem_free(r.scratch);
    return e;
}

lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    return lz_gemm_run_with(g, widths[n - 1], pool);
}
