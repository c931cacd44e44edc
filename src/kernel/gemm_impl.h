/* gemm_impl.h - the innermost loops of a product for one width of vectors; included once
 * for each, with LZ_GEMM_BYTES (of a vector), LZ_GEMM_ROWS and LZ_GEMM_TABLE defined.
 *
 * A block is LZ_GEMM_ROWS rows by two vectors. Every element is added up along k one
 * product after the other, whatever the width; floats by fma, rounded once. LZ_GEMM_FMA_f32
 * and _f64 are that of a vector; without them it is had one element at a time. */
#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

#ifndef LZ_GEMM_FMA_f32
/* The product is exact in double; the sum is rounded to odd, so that rounding it once more
 * cannot go wrong. */
static inline float fma_f32(float x, float y, float z)
{
    double p = (double)x * (double)y, c = (double)z, s = p + c, t = s - p;
    double e = (p - (s - t)) + (c - t);
    int64_t i;
    memcpy(&i, &s, sizeof i);
    bool inexact = e != 0 && (i & 1) == 0 && s - s == 0;
    i += inexact ? ((e > 0) == (s > 0) ? 1 : -1) : 0;
    memcpy(&s, &i, sizeof s);
    return (float)s;
}
#define EACH(sum, x, y, fma)                                                                                 \
    for (size_t l_ = 0; l_ < LANES; l_++)                                                                    \
        (sum)[l_] = fma((x)[l_], (y)[l_], (sum)[l_]);
#define ADD_f32(sum, x, y) EACH(sum, x, y, fma_f32)
#define ADD_f64(sum, x, y) EACH(sum, x, y, fma)
#else
#define ADD_f32(sum, x, y) (sum) = LZ_GEMM_FMA_f32(x, y, sum);
#define ADD_f64(sum, x, y) (sum) = LZ_GEMM_FMA_f64(x, y, sum);
#endif
#define ADD_i(sum, x, y) (sum) += (x) * (y);

/* acc[rows][cols] += x panel * y panel; rows of acc are `stride` apart */
#define MICRO(name, T, ADD)                                                                                  \
    typedef T vec_##name __attribute__((vector_size(LZ_GEMM_BYTES), aligned(sizeof(T)), may_alias));         \
    static void name(int64_t nk, const void *xs, const void *ys, void *accs, int64_t stride)                 \
    {                                                                                                        \
        enum { LANES = LZ_GEMM_BYTES / sizeof(T), ROWS = LZ_GEMM_ROWS };                                     \
        const T *x = xs, *y = ys;                                                                            \
        T *acc = accs;                                                                                       \
        vec_##name sum[ROWS][2];                                                                             \
        for (int i = 0; i < ROWS; i++)                                                                       \
            for (int64_t j = 0; j < 2; j++)                                                                  \
                sum[i][j] = *(const vec_##name *)(acc + i * stride + j * LANES);                             \
        for (int64_t k = 0; k < nk; k++, x += ROWS, y += (int64_t)2 * LANES) {                               \
            vec_##name y0 = *(const vec_##name *)y, y1 = *(const vec_##name *)(y + LANES);                   \
            for (int i = 0; i < ROWS; i++) {                                                                 \
                vec_##name xi = x[i] - (vec_##name){ 0 };                                                    \
                ADD(sum[i][0], xi, y0)                                                                       \
                ADD(sum[i][1], xi, y1)                                                                       \
            }                                                                                                \
        }                                                                                                    \
        for (int i = 0; i < ROWS; i++)                                                                       \
            for (int64_t j = 0; j < 2; j++)                                                                  \
                *(vec_##name *)(acc + i * stride + j * LANES) = sum[i][j];                                   \
    }

MICRO(micro_f32, float, ADD_f32)
MICRO(micro_f64, double, ADD_f64)
MICRO(micro_i32, uint32_t, ADD_i)
MICRO(micro_i64, uint64_t, ADD_i)

const lz_gemm_width LZ_GEMM_TABLE = {
    .rows = LZ_GEMM_ROWS,
    .bytes = LZ_GEMM_BYTES,
    .micro = { [LZ_GEMM_F32] = micro_f32,
               [LZ_GEMM_F64] = micro_f64,
               [LZ_GEMM_I32] = micro_i32,
               [LZ_GEMM_I64] = micro_i64 },
};

#undef MICRO
