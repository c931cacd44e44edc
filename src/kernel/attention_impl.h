/* attention_impl.h - rows of scores for one vector width; included once per width, with LZ_ATTENTION_TABLE.
 *
 * The vectors have 64 bytes at every width, and each lane has a sum of its own, so the bits are the same.
 * There is no fma, which the narrowest width lacks. */
#include "kernel/attention.h"
#include <string.h>

#define VEC(T, type, word)                                                                                   \
    typedef type scalar_##T;                                                                                 \
    typedef word index_##T;                                                                                  \
    typedef type vec_##T __attribute__((vector_size(64), aligned(sizeof(type)), may_alias));                 \
    typedef word bits_##T __attribute__((vector_size(64), aligned(sizeof(type)), may_alias));
VEC(f32, float, int32_t)
VEC(f64, double, int64_t)

enum { LANES_f32 = 16, LANES_f64 = 8 };

#define SPLAT(T, x)      ((scalar_##T)(x) - (vec_##T){ 0 })
#define PICK(T, m, x, y) ((vec_##T)(((bits_##T)(x) & (m)) | ((bits_##T)(y) & ~(m))))
#define LOAD(T, p)       (*(const vec_##T *)(const void *)(p))
#define STORE(T, p, v)   (*(vec_##T *)(void *)(p) = (v))

/* exp(x) = 2^n exp(r), |r| <= ln(2)/2, exp(r) by its series; 0 where the result is no normal number. */
#define LOWEST_f32  -87.336f
#define HIGHEST_f32 88.722f
#define MAGIC_f32   12582912.0f
#define LN2_HI_f32  0.693359375f
#define LN2_LO_f32  -2.12194440e-4f
#define SHIFT_f32   23
#define SERIES_f32(r)                                                                                        \
    (((((1.0f / 5040 * (r) + 1.0f / 720) * (r) + 1.0f / 120) * (r) + 1.0f / 24) * (r) + 1.0f / 6) * (r)      \
     + 0.5f)
#define LOWEST_f64  -708.39
#define HIGHEST_f64 709.78
#define MAGIC_f64   6755399441055744.0
#define LN2_HI_f64  6.93147180369123816490e-01
#define LN2_LO_f64  1.90821492927058770002e-10
#define SHIFT_f64   52
#define SERIES_f64(r)                                                                                        \
    (((((((((((1.0 / 6227020800 * (r) + 1.0 / 479001600) * (r) + 1.0 / 39916800) * (r) + 1.0 / 3628800)      \
                * (r)                                                                                        \
            + 1.0 / 362880)                                                                                  \
               * (r)                                                                                         \
           + 1.0 / 40320)                                                                                    \
              * (r)                                                                                          \
          + 1.0 / 5040)                                                                                      \
             * (r)                                                                                           \
         + 1.0 / 720)                                                                                        \
            * (r)                                                                                            \
        + 1.0 / 120)                                                                                         \
           * (r)                                                                                             \
       + 1.0 / 24)                                                                                           \
          * (r)                                                                                              \
      + 1.0 / 6)                                                                                             \
         * (r)                                                                                               \
     + 0.5)

/* Declares `y`, the exponential of the vector x. */
#define EXP(T, x, y)                                                                                         \
    const bits_##T y##_low = (x)<SPLAT(T, LOWEST_##T), y##_high = (x)> SPLAT(T, HIGHEST_##T);                \
    const vec_##T y##_x = PICK(T, y##_low | y##_high, SPLAT(T, 0), x);                                       \
    const vec_##T y##_t = y##_x * (scalar_##T)1.4426950408889634 + (scalar_##T)MAGIC_##T;                    \
    const vec_##T y##_n = y##_t - (scalar_##T)MAGIC_##T;                                                     \
    const vec_##T y##_r = (y##_x - y##_n * LN2_HI_##T) - y##_n * LN2_LO_##T;                                 \
    const vec_##T y##_e = (SERIES_##T(y##_r) * (y##_r * y##_r) + y##_r) + 1;                                 \
    vec_##T y = (vec_##T)((bits_##T)y##_e + ((bits_##T)y##_t << SHIFT_##T));                                 \
    y = PICK(T, y##_low, SPLAT(T, 0), y);                                                                    \
    y = PICK(T, y##_high, SPLAT(T, INFINITY), y);                                                            \
    y = PICK(T, (x) != (x), x, y);

/* Scores of the vector at j: products times scale plus bias, -inf behind the last key that counts. */
#define SCORES(T, v)                                                                                         \
    vec_##T v = LOAD(T, s + j) * scale;                                                                      \
    if (bias && r->choose)                                                                                   \
        v = PICK(T, LOAD(T, bias + j) < SPLAT(T, 0), lowest, v);                                             \
    else if (bias)                                                                                           \
        v += LOAD(T, bias + j);                                                                              \
    if (j + LANES_##T > r->valid)                                                                            \
        v = PICK(T, lanes < (bits_##T){ 0 } + (index_##T)(r->valid - j), v, lowest);

#define NUMBERS(T)                                                                                           \
    bits_##T lanes;                                                                                          \
    for (int l = 0; l < LANES_##T; l++)                                                                      \
        lanes[l] = (index_##T)l;

#define ROWS(T)                                                                                              \
    static scalar_##T exp_##T(scalar_##T x)                                                                  \
    {                                                                                                        \
        const vec_##T v = SPLAT(T, x);                                                                       \
        EXP(T, v, y)                                                                                         \
        return y[0];                                                                                         \
    }                                                                                                        \
    static scalar_##T total_##T(const scalar_##T *sums)                                                      \
    {                                                                                                        \
        scalar_##T v[LANES_##T];                                                                             \
        memcpy(v, sums, sizeof v);                                                                           \
        for (int half = LANES_##T / 2; half; half /= 2)                                                      \
            for (int l = 0; l < half; l++)                                                                   \
                v[l] += v[l + half];                                                                         \
        return v[0];                                                                                         \
    }                                                                                                        \
    static scalar_##T greatest_##T(const scalar_##T *v, scalar_##T max)                                      \
    {                                                                                                        \
        for (int l = 0; l < LANES_##T; l++)                                                                  \
            max = v[l] > max ? v[l] : max;                                                                   \
        return max;                                                                                          \
    }                                                                                                        \
    static void forward_##T(lz_attention_row *r)                                                             \
    {                                                                                                        \
        scalar_##T *s = r->s, before = (scalar_##T)r->max, scale = (scalar_##T)r->scale;                     \
        const scalar_##T *bias = r->bias;                                                                    \
        const vec_##T lowest = SPLAT(T, -INFINITY);                                                          \
        vec_##T most = lowest, sum = SPLAT(T, 0);                                                            \
        int64_t j;                                                                                           \
        NUMBERS(T)                                                                                           \
        for (j = 0; j < r->valid; j += LANES_##T) {                                                          \
            SCORES(T, v)                                                                                     \
            most = PICK(T, v > most, v, most);                                                               \
            STORE(T, s + j, v);                                                                              \
        }                                                                                                    \
        scalar_##T max = greatest_##T((const scalar_##T *)&most, before);                                    \
        scalar_##T from = max == -(scalar_##T)INFINITY ? 0 : max;                                            \
        for (j = 0; j < r->valid; j += LANES_##T) {                                                          \
            const vec_##T x = LOAD(T, s + j) - from;                                                         \
            EXP(T, x, y)                                                                                     \
            STORE(T, s + j, y);                                                                              \
            sum += y;                                                                                        \
        }                                                                                                    \
        for (; j < r->n; j += LANES_##T)                                                                     \
            STORE(T, s + j, SPLAT(T, 0));                                                                    \
        scalar_##T shrink = before == max ? 1 : exp_##T(before - from);                                      \
        r->shrink = (double)shrink;                                                                          \
        r->max = (double)max;                                                                                \
        r->sum = (double)((scalar_##T)r->sum * shrink + total_##T((const scalar_##T *)&sum));                \
    }                                                                                                        \
    static void backward_##T(const lz_attention_row *r)                                                      \
    {                                                                                                        \
        scalar_##T *s = r->s, *slope = r->slope, scale = (scalar_##T)r->scale;                               \
        scalar_##T lse = (scalar_##T)r->lse, delta = (scalar_##T)r->delta;                                   \
        const scalar_##T *bias = r->bias;                                                                    \
        const vec_##T lowest = SPLAT(T, -INFINITY);                                                          \
        int64_t j;                                                                                           \
        NUMBERS(T)                                                                                           \
        for (j = 0; j < r->valid; j += LANES_##T) {                                                          \
            SCORES(T, v)                                                                                     \
            const vec_##T x = v - lse;                                                                       \
            EXP(T, x, y)                                                                                     \
            STORE(T, s + j, y);                                                                              \
            STORE(T, slope + j, y * (LOAD(T, slope + j) - delta) * scale);                                   \
        }                                                                                                    \
        for (; j < r->n; j += LANES_##T) {                                                                   \
            STORE(T, s + j, SPLAT(T, 0));                                                                    \
            STORE(T, slope + j, SPLAT(T, 0));                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void multiply_##T(void *x, int64_t n, double by)                                                  \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ((scalar_##T *)x)[i] *= (scalar_##T)by;                                                          \
    }                                                                                                        \
    static void write_##T(const void *from, int64_t n, double by, void *to)                                  \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            ((scalar_##T *)to)[i] = ((const scalar_##T *)from)[i] * (scalar_##T)by;                          \
    }

ROWS(f32)
ROWS(f64)

const lz_attention_math LZ_ATTENTION_TABLE = {
    .forward = { forward_f32, forward_f64 },
    .backward = { backward_f32, backward_f64 },
    .multiply = { multiply_f32, multiply_f64 },
    .write = { write_f32, write_f64 },
};
