/* Products of any width of vectors are those of one fma after the other, to the last bit. */
#include "check.h"
#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

enum { M = 37, N = 45, K = 300 };

static double x[M][K], y[K][N];
static float out32[M][N];
static double out64[M][N];
static bool wide_type;

static void put(void *panel, int64_t at, double v)
{
    if (wide_type)
        ((double *)panel)[at] = v;
    else
        ((float *)panel)[at] = (float)v;
}

static void fetch_x(void *user, int64_t b, int64_t i0, int64_t ni, int64_t k0, int64_t nk, int64_t wide,
                    void *panel)
{
    (void)user;
    (void)b;
    for (int64_t k = 0; k < nk; k++)
        for (int64_t i = 0; i < ni; i++)
            put(panel, k * wide + i, x[i0 + i][k0 + k]);
}

static void fetch_y(void *user, int64_t b, int64_t k0, int64_t nk, int64_t j0, int64_t nj, int64_t wide,
                    void *panel)
{
    (void)user;
    (void)b;
    for (int64_t k = 0; k < nk; k++)
        for (int64_t j = 0; j < nj; j++)
            put(panel, k * wide + j, y[k0 + k][j0 + j]);
}

static void store(void *user, int64_t b, int64_t i, int64_t j0, int64_t n, const void *row)
{
    (void)user;
    (void)b;
    if (wide_type)
        memcpy(&out64[i][j0], row, (size_t)n * sizeof(double));
    else
        memcpy(&out32[i][j0], row, (size_t)n * sizeof(float));
}

static void check(int64_t i, int64_t j)
{
    float s32 = 0;
    double s64 = 0;
    for (int k = 0; k < K; k++) {
        s32 = fmaf((float)x[i][k], (float)y[k][j], s32);
        s64 = fma(x[i][k], y[k][j], s64);
    }
    assert_true(wide_type ? out64[i][j] == s64 : out32[i][j] == s32);
}

static lz_err *test_widths_agree(void)
{
    const lz_gemm_width *widths[LZ_GEMM_WIDTHS];
    int n = lz_gemm_widths(widths);
    for (int i = 0; i < M * K; i++)
        x[i / K][i % K] = sin(i * 0.7) * (i % 11 ? 1 : 1e-3);
    for (int i = 0; i < N * K; i++)
        y[i / N][i % N] = cos(i * 1.3);
    for (int w = 0; w < 2 * n; w++) {
        wide_type = w & 1;
        lz_gemm g = { .type = wide_type ? LZ_GEMM_F64 : LZ_GEMM_F32,
                      .batch = 1,
                      .m = M,
                      .n = N,
                      .k = K,
                      .fetch_x = fetch_x,
                      .fetch_y = fetch_y,
                      .store = store };
        LZ_TRY(lz_gemm_run_with(&g, widths[w / 2], NULL));
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++)
                check(i, j);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_widths_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
