/* gemm_impl.h - the microkernels of a product for one vector width; included once per width, with
 * LZ_GEMM_BYTES (of a vector), LZ_GEMM_TABLE, and the heights of blocks.
 *
 * Every element is added up along k one product after the other, whatever the width; floats by fma, rounded
 * once. With LZ_GEMM_DOT the elements are pairs of neighbours along k, and the macro adds both products of a
 * pair to a sum of LZ_GEMM_DOT_TYPE. LZ_GEMM_FMA_f32 and _f64 are the fma of a vector; without them it is
 * computed one element at a time. LOAD_ and STORE_ access the first lanes of a vector. */
#include "kernel/gemm.h"
#include <math.h>
#include <string.h>

#ifndef LZ_GEMM_FMA_f32
/* The product is exact in double. The sum is rounded to odd, so that rounding it again gives the right
 * result. */
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
    for (size_t l_ = 0; l_ < sizeof(sum) / sizeof((sum)[0]); l_++)                                           \
        (sum)[l_] = fma((x)[l_], (y)[l_], (sum)[l_]);
#define ADD_f32(sum, x, y) EACH(sum, x, y, fma_f32)
#define ADD_f64(sum, x, y) EACH(sum, x, y, fma)
#define SOME(T)                                                                                              \
    static inline vec_##T load_##T(const void *p, int lanes)                                                 \
    {                                                                                                        \
        vec_##T v = { 0 };                                                                                   \
        memcpy(&v, p, (size_t)lanes * sizeof v[0]);                                                          \
        return v;                                                                                            \
    }                                                                                                        \
    static inline void store_##T(void *p, int lanes, vec_##T v)                                              \
    {                                                                                                        \
        memcpy(p, &v, (size_t)lanes * sizeof v[0]);                                                          \
    }
#else
#define ADD_f32(sum, x, y) (sum) = LZ_GEMM_FMA_f32(x, y, sum);
#define ADD_f64(sum, x, y) (sum) = LZ_GEMM_FMA_f64(x, y, sum);
#define SOME(T)                                                                                              \
    static inline vec_##T load_##T(const void *p, int lanes)                                                 \
    {                                                                                                        \
        return (vec_##T)LZ_GEMM_LOAD_##T(p, lanes);                                                          \
    }                                                                                                        \
    static inline void store_##T(void *p, int lanes, vec_##T v)                                              \
    {                                                                                                        \
        LZ_GEMM_STORE_##T(p, lanes, v);                                                                      \
    }
#endif
#define ADD_i(sum, x, y) (sum) += (x) * (y);
#define ADD_i32          ADD_i
#define ADD_i64          ADD_i

#define VEC(T, type)                                                                                         \
    typedef type scalar_##T;                                                                                 \
    typedef type vec_##T __attribute__((vector_size(LZ_GEMM_BYTES), aligned(sizeof(type)), may_alias));      \
    SOME(T)

#ifdef LZ_GEMM_DOT
#define ADD_pair(sum, x, y) (sum) = (vec_pair)LZ_GEMM_DOT(sum, x, y);
VEC(pair, uint32_t)
#else
VEC(f32, float)
VEC(f64, double)
VEC(i32, uint32_t)
VEC(i64, uint64_t)
#endif

/* Three rows share one pointer, so that few registers hold all row addresses. The asm statements hide two
 * facts from the compiler. If it knew the strides, it would add a second loop for strides of one element and
 * run out of registers. If it knew that results go where the sums came from, it would keep all their
 * addresses meanwhile. */
#define ALL _Pragma("GCC unroll 16")
#define MICRO(T, R, V, PART, name)                                                                           \
    static void name(const lz_gemm_block *b)                                                                 \
    {                                                                                                        \
        enum { SIZE = sizeof(scalar_##T), LANES = LZ_GEMM_BYTES / SIZE };                                    \
        const int64_t xi = b->xi * SIZE, nk = b->nk;                                                         \
        int64_t xk = b->xk * SIZE, yk = b->yk * SIZE, oi = b->oi;                                            \
        __asm__("" : "+r"(xk), "+r"(yk));                                                                    \
        const int lanes = b->lanes;                                                                          \
        const char *x[((R) + 2) / 3], *y = b->y;                                                             \
        scalar_##T *out = b->out;                                                                            \
        vec_##T sum[R][V];                                                                                   \
        ALL for (int i = 0; i < (R); i += 3) x[i / 3] = (const char *)b->x + i * xi;                         \
        ALL for (int i = 0; i < (R); i++) ALL for (int64_t j = 0; j < (V); j++) sum[i][j] = (vec_##T){ 0 };  \
        if (b->add)                                                                                          \
            ALL for (int i = 0; i < (R); i++) ALL for (int64_t j = 0; j < (V); j++) sum[i][j] =              \
                (PART) ? load_##T(out + i * oi, lanes) : *(const vec_##T *)(out + i * oi + j * LANES);       \
        for (int64_t k = 0; k < nk; k++, y += yk) {                                                          \
            vec_##T ys[V];                                                                                   \
            ALL for (int64_t j = 0; j < (V); j++) ys[j] =                                                    \
                (PART) ? load_##T(y, lanes) : *(const vec_##T *)(const void *)(y + j * LZ_GEMM_BYTES);       \
            ALL for (int i = 0; i < (R); i++)                                                                \
            {                                                                                                \
                scalar_##T xs = *(const scalar_##T *)(const void *)(x[i / 3] + i % 3 * xi);                  \
                ALL for (int64_t j = 0; j < (V); j++) ADD_##T(sum[i][j], xs - (vec_##T){ 0 }, ys[j])         \
            }                                                                                                \
            ALL for (int i = 0; i < (R); i += 3) x[i / 3] += xk;                                             \
        }                                                                                                    \
        __asm__("" : "+r"(out), "+r"(oi));                                                                   \
        ALL for (int i = 0; i < (R); i++) ALL for (int64_t j = 0; j < (V); j++)                              \
        {                                                                                                    \
            if (PART)                                                                                        \
                store_##T(out + i * oi, lanes, sum[i][j]);                                                   \
            else                                                                                             \
                *(vec_##T *)(out + i * oi + j * LANES) = sum[i][j];                                          \
        }                                                                                                    \
    }

#define HEIGHT(T, R)                                                                                         \
    MICRO(T, R, 1, false, one_##T##_##R)                                                                     \
    MICRO(T, R, 2, false, two_##T##_##R)                                                                     \
    MICRO(T, R, 1, true, part_##T##_##R)
#define LOW(T, R)                                                                                            \
    HEIGHT(T, R)                                                                                             \
    MICRO(T, R, 4, false, four_##T##_##R)

#define HIGH_ROW(T, R)                                                                                       \
    {                                                                                                        \
        one_##T##_##R, two_##T##_##R, NULL, part_##T##_##R                                                   \
    }
#define LOW_ROW(T, R)                                                                                        \
    {                                                                                                        \
        one_##T##_##R, two_##T##_##R, four_##T##_##R, part_##T##_##R                                         \
    }

#if LZ_GEMM_BYTES == 64
#define EVERY(T) HEIGHT(T, 12) HEIGHT(T, 8) LOW(T, 4) LOW(T, 2) LOW(T, 1)
#define HEIGHTS                                                                                              \
    {                                                                                                        \
        12, 8, 4, 2, 1                                                                                       \
    }
#define TABLE(T)                                                                                             \
    {                                                                                                        \
        HIGH_ROW(T, 12), HIGH_ROW(T, 8), LOW_ROW(T, 4), LOW_ROW(T, 2), LOW_ROW(T, 1)                         \
    }
#elif LZ_GEMM_BYTES == 32
#define EVERY(T) HEIGHT(T, 6) HEIGHT(T, 4) LOW(T, 2) LOW(T, 1)
#define HEIGHTS                                                                                              \
    {                                                                                                        \
        6, 4, 2, 1                                                                                           \
    }
#define TABLE(T)                                                                                             \
    {                                                                                                        \
        HIGH_ROW(T, 6), HIGH_ROW(T, 4), LOW_ROW(T, 2), LOW_ROW(T, 1)                                         \
    }
#else
#define EVERY(T) HEIGHT(T, 4) LOW(T, 2) LOW(T, 1)
#define HEIGHTS                                                                                              \
    {                                                                                                        \
        4, 2, 1                                                                                              \
    }
#define TABLE(T)                                                                                             \
    {                                                                                                        \
        HIGH_ROW(T, 4), LOW_ROW(T, 2), LOW_ROW(T, 1)                                                         \
    }
#endif

#ifdef LZ_GEMM_DOT
EVERY(pair)
#else
EVERY(f32)
EVERY(f64)
EVERY(i32)
EVERY(i64)
#endif

const lz_gemm_width LZ_GEMM_TABLE = {
    .bytes = LZ_GEMM_BYTES,
    .heights = HEIGHTS,
    .transpose = LZ_GEMM_TRANSPOSE,
#ifdef LZ_GEMM_DOT
    .micro = { [LZ_GEMM_DOT_TYPE] = TABLE(pair) },
#else
    .micro = { [LZ_GEMM_F32] = TABLE(f32),
               [LZ_GEMM_F64] = TABLE(f64),
               [LZ_GEMM_I32] = TABLE(i32),
               [LZ_GEMM_I64] = TABLE(i64) },
#endif
};
