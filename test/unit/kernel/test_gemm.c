/* Products of any width of vectors, read where they lie or packed, are those of one fma after
 * the other, to the last bit. */
#include "check.h"
#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

enum { M = 131, N = 77, K = 420, GAP = 3 };

/* Either way round, and the same twice for two matrices in a batch. */
static double x64[2 * M * K], y64[2 * K * N], out64[2 * M * (N + GAP)];
static float x32[2 * M * K], y32[2 * K * N], out32[2 * M * (N + GAP)];

typedef struct shape {
    int64_t m, n, k;
    bool wide, xt, yt; /* f64; stored transposed */
} shape;

static lz_gemm_side side(const shape *s, const void *data, int64_t along, int64_t k, bool transposed)
{
    return (lz_gemm_side){ .data = data,
                           .dtype = s->wide ? LZ_F64 : LZ_F32,
                           .batch = along * k,
                           .along = transposed ? 1 : k,
                           .k = transposed ? along : 1 };
}

static double right(const shape *s, const lz_gemm *g, int64_t b, int64_t i, int64_t j)
{
    float s32 = 0;
    double s64 = 0;
    for (int64_t k = 0; k < s->k; k++) {
        int64_t at = b * g->x.batch + i * g->x.along + k * g->x.k;
        int64_t bt = b * g->y.batch + j * g->y.along + k * g->y.k;
        s32 = s->wide ? 0 : fmaf(x32[at], y32[bt], s32);
        s64 = s->wide ? fma(x64[at], y64[bt], s64) : 0;
    }
    return s->wide ? s64 : (double)s32;
}

static lz_err *check_shape(shape s, const lz_gemm_width *w, lz_pool *pool)
{
    lz_gemm g = { .type = s.wide ? LZ_GEMM_F64 : LZ_GEMM_F32, .batch = 2, .m = s.m, .n = s.n, .k = s.k };
    g.x = side(&s, s.wide ? (void *)x64 : x32, s.m, s.k, s.xt);
    g.y = side(&s, s.wide ? (void *)y64 : y32, s.n, s.k, !s.yt);
    g.out = s.wide ? (void *)out64 : out32;
    g.out_dtype = s.wide ? LZ_F64 : LZ_F32;
    g.out_row = s.n + GAP;
    g.out_batch = s.m * g.out_row;
    memset(out32, 0x55, sizeof out32);
    memset(out64, 0x55, sizeof out64);
    LZ_TRY(lz_gemm_run_with(&g, w, pool));
    for (int64_t b = 0; b < 2; b++)
        for (int64_t i = 0; i < s.m; i++) {
            const int64_t row = b * g.out_batch + i * g.out_row;
            for (int64_t j = 0; j < s.n; j++)
                assert_true((s.wide ? out64[row + j] : (double)out32[row + j]) == right(&s, &g, b, i, j));
            for (int64_t j = s.n; j < s.n + GAP; j++) /* nothing is written beside it */
                assert_int_equal(((unsigned char *)(s.wide ? (void *)&out64[row + j] : &out32[row + j]))[0],
                                 0x55);
        }
    return NULL;
}

static const int64_t shapes[][3] = { { 37, 45, 300 }, { 1, 1, 1 },   { 1, 70, 40 },   { 13, 16, 5 },
                                     { 12, 32, 64 },  { 3, 7, 400 }, { M, N, K },     { 64, 64, 64 },
                                     { 29, 33, 385 }, { 5, 64, 20 }, { 100, 3, 100 }, { 7, 48, 0 } };

static void fill(void)
{
    for (int i = 0; i < 2 * M * K; i++)
        x32[i] = (float)(x64[i] = sin(i * 0.7) * (i % 11 ? 1 : 1e-3));
    for (int i = 0; i < 2 * N * K; i++)
        y32[i] = (float)(y64[i] = cos(i * 1.3));
}

static lz_err *test_small_shape(void)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    fill();
    for (int w = 0; w < n; w++) {
        LZ_TRY(check_shape((shape){ 37, 5, 300, .yt = true }, widths[w], NULL));
        LZ_TRY(check_shape((shape){ .m = 12, .n = 32, .k = 64 }, widths[w], NULL));
    }
    return NULL;
}

static void test_widths_and_layouts_agree(void **state)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    (void)state;
    fill();
    for (int w = 0; w < n; w++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int way = 0; way < 8; way++)
                assert_null(check_shape((shape){ .m = shapes[i][0],
                                                 .n = shapes[i][1],
                                                 .k = shapes[i][2],
                                                 .wide = way & 1,
                                                 .xt = way & 2,
                                                 .yt = way & 4 },
                                        widths[w], NULL));
}

/* Tiles are smaller then. */
static void test_threads_change_nothing(void **state)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    lz_pool *pool;
    (void)state;
    fill();
    static const int counts[] = { 2, 3, 4, 16, 64 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_null(lz_pool_create(counts[i], &pool));
        assert_null(check_shape((shape){ .m = M, .n = N, .k = K }, widths[n - 1], pool));
        assert_null(check_shape((shape){ M, N, K, .xt = true, .yt = true, .wide = true }, widths[0], pool));
        lz_pool_destroy(pool);
    }
}

/* ---- the cut of the work ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Elements of the busiest thread over those of the mean, if each takes the next tile when it is done. */
static double unevenness(int64_t m, int64_t n, const lz_gemm_tiles *t, int threads)
{
    int64_t load[64] = { 0 }, most = 0, tiles = 0;
    for (int64_t i = 0; i < m; i += t->m)
        for (int64_t j = 0; j < n; j += t->n, tiles++) {
            int next = 0;
            for (int k = 1; k < threads; k++)
                next = load[k] < load[next] ? k : next;
            load[next] += least(t->m, m - i) * least(t->n, n - j);
        }
    for (int k = 0; k < threads; k++)
        most = load[k] > most ? load[k] : most;
    assert_int_equal(tiles, t->count);
    return (double)most * threads / (double)(m * n);
}

/* {m, n, k}, and the most threads that get even work; on more, each tile is as small as pays. */
static void test_many_threads_get_even_work(void **state)
{
    static const int64_t of[][4] = { { 1024, 1024, 1024, 64 }, { 2048, 2048, 2048, 64 },
                                     { 1024, 256, 1024, 64 },  { 512, 512, 512, 64 },
                                     { 256, 256, 256, 16 },    { 1000, 1000, 1000, 64 },
                                     { 1024, 768, 256, 64 },   { 96, 1024, 1024, 16 },
                                     { 64, 512, 784, 8 } };
    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int threads = 1; threads <= 64; threads *= 2) {
            lz_gemm_tiles t;
            lz_gemm g = { .type = LZ_GEMM_F32, .batch = 1, .m = of[i][0], .n = of[i][1], .k = of[i][2] };
            lz_gemm_cut(&g, threads, &t);
            double uneven = unevenness(g.m, g.n, &t, threads);
            if (threads <= of[i][3] && uneven > 1.15)
                fail_msg("%dx%dx%d on %d threads: %.2f of the mean, %d tiles of %dx%d", (int)g.m, (int)g.n,
                         (int)g.k, threads, uneven, (int)t.count, (int)t.m, (int)t.n);
        }
}

/* TSan looks for races. With one thread there are none, and it takes minutes. */
#ifdef __SANITIZE_THREAD__
enum { ONE_THREAD_TOO = 0 };
#else
enum { ONE_THREAD_TOO = 1 };
#endif

int main(void)
{
    const struct CMUnitTest one_thread[] = { LZ_TEST(test_small_shape),
                                             cmocka_unit_test(test_widths_and_layouts_agree),
                                             cmocka_unit_test(test_many_threads_get_even_work) };
    const struct CMUnitTest threads[] = { cmocka_unit_test(test_threads_change_nothing) };
    int failed = ONE_THREAD_TOO ? cmocka_run_group_tests(one_thread, NULL, NULL) : 0;
    return failed + cmocka_run_group_tests(threads, NULL, NULL);
}
