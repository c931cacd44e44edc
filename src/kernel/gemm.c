#include "kernel/gemm.h"
#include "base/mem.h"
#include "core/dtype.h"
#include <string.h>

enum { MR = LZ_GEMM_MR, NR = LZ_GEMM_NR, MB = 64, NB = 128, KB = 256 };

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

/* ---- the innermost loop: acc[MR][NR] += x panel * y panel ---- */

/* Compiled for several vector widths; no width changes the order of additions. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)        \
    && !defined(__SANITIZE_THREAD__)
#define WIDTHS __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define WIDTHS
#endif

#define MICRO(name, T)                                                                                       \
    WIDTHS static void name(int64_t nk, const T *x, const T *y, T *acc, int64_t stride)                      \
    {                                                                                                        \
        T sum[MR][NR];                                                                                       \
        for (int i = 0; i < MR; i++)                                                                         \
            for (int j = 0; j < NR; j++)                                                                     \
                sum[i][j] = acc[i * stride + j];                                                             \
        for (int64_t k = 0; k < nk; k++, x += MR, y += NR)                                                   \
            for (int i = 0; i < MR; i++)                                                                     \
                for (int j = 0; j < NR; j++)                                                                 \
                    sum[i][j] += x[i] * y[j];                                                                \
        for (int i = 0; i < MR; i++)                                                                         \
            for (int j = 0; j < NR; j++)                                                                     \
                acc[i * stride + j] = sum[i][j];                                                             \
    }

MICRO(micro_f32, float)
MICRO(micro_f64, double)
MICRO(micro_i32, uint32_t)
MICRO(micro_i64, uint64_t)

#define TILE(name, micro, T)                                                                                 \
    static void name(int64_t mi, int64_t nj, int64_t nk, const void *xs, const void *ys, void *acc)          \
    {                                                                                                        \
        for (int64_t j = 0; j < nj; j += NR)                                                                 \
            for (int64_t i = 0; i < mi; i += MR)                                                             \
                micro(nk, (const T *)xs + i * KB, (const T *)ys + j * KB, (T *)acc + i * NB + j, NB);        \
    }

TILE(tile_f32, micro_f32, float)
TILE(tile_f64, micro_f64, double)
TILE(tile_i32, micro_i32, uint32_t)
TILE(tile_i64, micro_i64, uint64_t)

typedef void tile_fn(int64_t mi, int64_t nj, int64_t nk, const void *xs, const void *ys, void *acc);

static const struct {
    size_t size;
    tile_fn *tile;
} types[LZ_GEMM_TYPES] = {
    [LZ_GEMM_F32] = { 4, tile_f32 },
    [LZ_GEMM_F64] = { 8, tile_f64 },
    [LZ_GEMM_I32] = { 4, tile_i32 },
    [LZ_GEMM_I64] = { 8, tile_i64 },
};

/* ---- tiles ---- */

typedef struct run {
    const lz_gemm *g;
    char *scratch; /* for each worker: x panels, y panels, the tile */
    size_t room;
    int64_t tiles_m, tiles_n;
} run;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void fetch(const lz_gemm *g, int64_t b, int64_t i0, int64_t mi, int64_t j0, int64_t nj, int64_t k0,
                  int64_t nk, char *xs, char *ys)
{
    size_t size = types[g->type].size;
    memset(xs, 0, MB * KB * size);
    for (int64_t i = 0; i < mi; i += MR)
        g->fetch_x(g->user, b, i0 + i, least(MR, mi - i), k0, nk, xs + (size_t)(i * KB) * size);
    memset(ys, 0, NB * KB * size);
    for (int64_t j = 0; j < nj; j += NR)
        g->fetch_y(g->user, b, k0, nk, j0 + j, least(NR, nj - j), ys + (size_t)(j * KB) * size);
}

static void do_tile(const run *r, int64_t tile, char *scratch)
{
    const lz_gemm *g = r->g;
    size_t size = types[g->type].size;
    char *xs = scratch, *ys = xs + MB * KB * size, *acc = ys + NB * KB * size;
    int64_t j0 = tile % r->tiles_n * NB, i0 = tile / r->tiles_n % r->tiles_m * MB;
    int64_t b = tile / r->tiles_n / r->tiles_m;
    int64_t mi = least(MB, g->m - i0), nj = least(NB, g->n - j0);
    memset(acc, 0, MB * NB * size);
    for (int64_t k0 = 0; k0 < g->k; k0 += KB) {
        int64_t nk = least(KB, g->k - k0);
        fetch(g, b, i0, mi, j0, nj, k0, nk, xs, ys);
        types[g->type].tile(mi, nj, nk, xs, ys, acc);
    }
    for (int64_t i = 0; i < mi; i++)
        g->store(g->user, b, i0 + i, j0, nj, acc + (size_t)(i * NB) * size);
}

static lz_err *do_tiles(void *user, int64_t begin, int64_t end, int worker)
{
    const run *r = user;
    for (int64_t t = begin; t < end; t++)
        do_tile(r, t, r->scratch + (size_t)worker * r->room);
    return NULL;
}

lz_err *lz_gemm_run(const lz_gemm *g, lz_pool *pool)
{
    run r = { .g = g, .tiles_m = (g->m + MB - 1) / MB, .tiles_n = (g->n + NB - 1) / NB };
    int64_t tiles = g->batch * r.tiles_m * r.tiles_n;
    if (tiles == 0)
        return NULL;
    r.room = (MB * KB + NB * KB + MB * NB) * types[g->type].size;
    r.scratch = lz_mem_alloc_aligned((size_t)(pool ? lz_pool_threads(pool) : 1) * r.room, 64);
    if (!r.scratch)
        return lz_err_oom();
    lz_err *e = lz_pool_for(pool, tiles, 1, do_tiles, &r);
    lz_mem_free(r.scratch);
    return e;
}
