/* tile_prim.h - what each primitive operation of the kernel IR does to one element.
 *
 * Everything that computes elements is built from these: the tile functions (whose loops a compiler
 * vectorises), constant folding, the functions of math32.h and math64.h. Results do not depend on the
 * compiler or the vector extension: nothing here is contracted, reassociated or left to libm, except
 * operations that IEEE 754 defines exactly. */
#ifndef LZ_JIT_TILE_PRIM_H
#define LZ_JIT_TILE_PRIM_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline int32_t f32_bits(float x)
{
    int32_t r;
    memcpy(&r, &x, sizeof r);
    return r;
}

static inline float i32_bits(int32_t x)
{
    float r;
    memcpy(&r, &x, sizeof r);
    return r;
}

static inline int64_t f64_bits(double x)
{
    int64_t r;
    memcpy(&r, &x, sizeof r);
    return r;
}

static inline double i64_bits(int64_t x)
{
    double r;
    memcpy(&r, &x, sizeof r);
    return r;
}

#ifdef LZ_TILE_FMA /* defined by files that are compiled for CPUs with FMA */
static inline float fma_f32(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}

static inline double fma_f64(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
#else
/* The product is exact in double. The sum is rounded to odd, so that rounding it again to float gives the
 * right result. */
static inline float fma_f32(float x, float y, float z)
{
    double p = (double)x * (double)y, c = (double)z;
    double s = p + c;
    double t = s - p;
    double e = (p - (s - t)) + (c - t);
    int64_t i = f64_bits(s);
    bool inexact = e != 0 && (i & 1) == 0 && s - s == 0;
    int64_t away = (e > 0) == (s > 0) ? 1 : -1;
    return (float)(inexact ? i64_bits(i + away) : s);
}

static inline double fma_f64(double x, double y, double z)
{
    return fma(x, y, z);
}
#endif

/* Integers, by width; arithmetic is done in the unsigned type. */
#define INTEGERS(T, U, BITS_)                                                                                \
    static inline T##_t add_##T(T##_t x, T##_t y)                                                            \
    {                                                                                                        \
        return (T##_t)((U)x + (U)y);                                                                         \
    }                                                                                                        \
    static inline T##_t sub_##T(T##_t x, T##_t y)                                                            \
    {                                                                                                        \
        return (T##_t)((U)x - (U)y);                                                                         \
    }                                                                                                        \
    static inline T##_t mul_##T(T##_t x, T##_t y)                                                            \
    {                                                                                                        \
        return (T##_t)((U)x * (U)y);                                                                         \
    }                                                                                                        \
    static inline T##_t neg_##T(T##_t x)                                                                     \
    {                                                                                                        \
        return (T##_t)(0 - (U)x);                                                                            \
    }                                                                                                        \
    static inline T##_t abs_##T(T##_t x)                                                                     \
    {                                                                                                        \
        return x < 0 ? neg_##T(x) : x;                                                                       \
    }                                                                                                        \
    static inline bool wide_##T(T##_t n)                                                                     \
    {                                                                                                        \
        return (U)n >= (BITS_);                                                                              \
    }                                                                                                        \
    static inline T##_t shl_##T(T##_t x, T##_t n)                                                            \
    {                                                                                                        \
        T##_t r = (T##_t)((U)x << ((U)n & ((BITS_)-1)));                                                     \
        return wide_##T(n) ? 0 : r;                                                                          \
    }                                                                                                        \
    static inline T##_t shr_##T(T##_t x, T##_t n)                                                            \
    {                                                                                                        \
        return x >> (wide_##T(n) ? (BITS_)-1 : n);                                                           \
    }                                                                                                        \
    static inline T##_t shru_##T(T##_t x, T##_t n)                                                           \
    {                                                                                                        \
        T##_t r = (T##_t)((U)x >> ((U)n & ((BITS_)-1)));                                                     \
        return wide_##T(n) ? 0 : r;                                                                          \
    }                                                                                                        \
    static inline T##_t idiv_##T(T##_t x, T##_t y) /* y is not 0 */                                          \
    {                                                                                                        \
        return y == -1 ? neg_##T(x) : x / y;                                                                 \
    }                                                                                                        \
    static inline T##_t fmod_##T(T##_t x, T##_t y)                                                           \
    {                                                                                                        \
        return y == -1 ? 0 : x % y;                                                                          \
    }                                                                                                        \
    static inline T##_t remainder_##T(T##_t x, T##_t y)                                                      \
    {                                                                                                        \
        T##_t r = fmod_##T(x, y);                                                                            \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                                     \
    }                                                                                                        \
    static inline T##_t idiv_floor_##T(T##_t x, T##_t y)                                                     \
    {                                                                                                        \
        T##_t q = idiv_##T(x, y), r = fmod_##T(x, y);                                                        \
        return r != 0 && (r < 0) != (y < 0) ? q - 1 : q;                                                     \
    }                                                                                                        \
    static inline T##_t gcd_##T(T##_t x, T##_t y)                                                            \
    {                                                                                                        \
        U a = (U)abs_##T(x), b = (U)abs_##T(y);                                                              \
        while (b) {                                                                                          \
            U r = a % b;                                                                                     \
            a = b;                                                                                           \
            b = r;                                                                                           \
        }                                                                                                    \
        return (T##_t)a;                                                                                     \
    }                                                                                                        \
    /* 1/x^n is 0 except for x = 1 and x = -1 */                                                             \
    static inline T##_t pow_##T(T##_t x, T##_t n)                                                            \
    {                                                                                                        \
        if (n < 0)                                                                                           \
            return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;                                              \
        T##_t r = 1;                                                                                         \
        for (; n; n >>= 1) {                                                                                 \
            r = n & 1 ? mul_##T(r, x) : r;                                                                   \
            x = mul_##T(x, x);                                                                               \
        }                                                                                                    \
        return r;                                                                                            \
    }
INTEGERS(int32, uint32_t, 32)
INTEGERS(int64, uint64_t, 64)
#undef INTEGERS

/* Floats, by width. NaN and values out of range become the least integer, as on x86. */
#define FLOATS(T, F, I, S, SIGN, FMOD, LEAST)                                                                \
    static inline F abs_##T(F x)                                                                             \
    {                                                                                                        \
        return S##_bits(T##_bits(x) & ~(SIGN));                                                              \
    }                                                                                                        \
    static inline F copysign_##T(F x, F y)                                                                   \
    {                                                                                                        \
        return S##_bits((T##_bits(x) & ~(SIGN)) | (T##_bits(y) & (SIGN)));                                   \
    }                                                                                                        \
    static inline F min_##T(F x, F y)                                                                        \
    {                                                                                                        \
        return x < y || x != x ? x : y;                                                                      \
    }                                                                                                        \
    static inline F max_##T(F x, F y)                                                                        \
    {                                                                                                        \
        return x > y || x != x ? x : y;                                                                      \
    }                                                                                                        \
    static inline F fmin_##T(F x, F y)                                                                       \
    {                                                                                                        \
        return x <= y || y != y ? x : y;                                                                     \
    }                                                                                                        \
    static inline F fmax_##T(F x, F y)                                                                       \
    {                                                                                                        \
        return x >= y || y != y ? x : y;                                                                     \
    }                                                                                                        \
    static inline F remainder_##T(F x, F y)                                                                  \
    {                                                                                                        \
        F r = FMOD(x, y);                                                                                    \
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;                                                     \
    }                                                                                                        \
    static inline F nextafter_##T(F x, F y)                                                                  \
    {                                                                                                        \
        I i = T##_bits(x);                                                                                   \
        if (x != x || y != y)                                                                                \
            return x + y;                                                                                    \
        if (x == y)                                                                                          \
            return y;                                                                                        \
        if (x == 0)                                                                                          \
            return copysign_##T(S##_bits(1), y);                                                             \
        return S##_bits((x < y) == (x > 0) ? i + 1 : i - 1);                                                 \
    }                                                                                                        \
    static inline int32_t T##_to_i32(F x)                                                                    \
    {                                                                                                        \
        bool in = x LEAST && x < (F)2147483648.0;                                                            \
        int32_t r = (int32_t)(in ? x : 0);                                                                   \
        return in ? r : INT32_MIN;                                                                           \
    }                                                                                                        \
    static inline int64_t T##_to_i64(F x)                                                                    \
    {                                                                                                        \
        bool in = x >= (F)-9223372036854775808.0 && x < (F)9223372036854775808.0;                            \
        int64_t r = (int64_t)(in ? x : 0);                                                                   \
        return in ? r : INT64_MIN;                                                                           \
    }
FLOATS(f32, float, int32_t, i32, INT32_MIN, fmodf, >= -2147483648.0f)
FLOATS(f64, double, int64_t, i64, INT64_MIN, fmod, > -2147483649.0)
#undef FLOATS

/* x * 2^y within the limits that kop.h states */
static inline double scale_f64(double x, double y)
{
    double z = y > 3000 ? 3000 : y < -3000 ? -3000 : y;
    int64_t k = z == z ? (int64_t)z : 0, half = k / 2;
    half = half < -1022 ? -1022 : half > 1023 ? 1023 : half;
    int64_t rest = k - half;
    rest = rest < -1022 ? -1022 : rest > 1023 ? 1023 : rest;
    double r = x * i64_bits((half + 1023) << 52) * i64_bits((rest + 1023) << 52);
    bool edge = x != x && (y - y != 0) && y == y;
    return edge ? (y > 0 ? y : 0) : y != y ? y : r;
}

static inline float scale_f32(float x, float y)
{
    return (float)scale_f64((double)x, (double)y);
}

/* Narrow floats, as their 16 bits in memory. */
static inline float f16_to_f32(uint16_t h)
{
    int32_t magnitude = (h & 0x7fff) << 13, sign = (int32_t)((uint32_t)(h & 0x8000) << 16);
    float normal = i32_bits(magnitude + (112 << 23));
    float tiny = i32_bits(magnitude + (113 << 23)) - 0x1p-14f; /* subnormal and zero */
    float big = i32_bits(magnitude + (224 << 23));             /* infinite, NaN */
    float r = magnitude < 1 << 23 ? tiny : magnitude >= 31 << 23 ? big : normal;
    return i32_bits(f32_bits(r) | sign);
}

static inline uint16_t f32_to_f16(float x)
{
    int32_t i = f32_bits(x), sign = (i >> 16) & 0x8000, a = i & INT32_MAX;
    int32_t normal = (a - (112 << 23) + 0xfff + ((a >> 13) & 1)) >> 13;
    int32_t tiny = f32_bits(i32_bits(a) + 0.5f) - (126 << 23); /* the sum rounds at 2^-24 */
    int32_t big = a > 255 << 23 ? 0x7e00 : 0x7c00;
    int32_t r = a < 113 << 23 ? tiny : a >= 143 << 23 ? big : normal;
    return (uint16_t)(r | sign);
}

static inline float bf16_to_f32(uint16_t h)
{
    return i32_bits((int32_t)((uint32_t)h << 16));
}

static inline uint16_t f32_to_bf16(float x)
{
    uint32_t i = (uint32_t)f32_bits(x);
    uint32_t r = (i + 0x7fff + ((i >> 16) & 1)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0 : r);
}

#endif
