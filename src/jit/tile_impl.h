/* tile_impl.h - the bodies of tile.h. Each tile_*.c includes this file once, after choosing the vector
 * extension and defining LZ_TILE_TABLE, the name of its table.
 *
 * Loops are plain; the compilers vectorise them. LOOP tells them that no iteration reads what another one
 * wrote. */
#include "jit/prim_lang.h"
#include "jit/special64.h"
#include "jit/tile.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some loops stay scalar */
#define LOOP _Pragma("clang loop vectorize(assume_safety)") for (int64_t i = 0; i < n; i++)
#else
#define LOOP _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#endif

typedef uint8_t b8;
typedef uint16_t h16;

#define TILE(name)                                                                                           \
    static void name(void *ov, const void *xv, const void *yv, const void *zv, const void *wv, int64_t n)
#define UNUSED(v) (void)(v)

#define OP1(name, R, X, expr)                                                                                \
    TILE(name)                                                                                               \
    {                                                                                                        \
        R *o = ov;                                                                                           \
        const X *xs = xv;                                                                                    \
        UNUSED(yv);                                                                                          \
        UNUSED(zv);                                                                                          \
        UNUSED(wv);                                                                                          \
        LOOP                                                                                                 \
        {                                                                                                    \
            X x = xs[i];                                                                                     \
            o[i] = (R)(expr);                                                                                \
        }                                                                                                    \
    }

#define OP2(name, R, X, expr)                                                                                \
    TILE(name)                                                                                               \
    {                                                                                                        \
        R *o = ov;                                                                                           \
        const X *xs = xv, *ys = yv;                                                                          \
        UNUSED(zv);                                                                                          \
        UNUSED(wv);                                                                                          \
        LOOP                                                                                                 \
        {                                                                                                    \
            X x = xs[i], y = ys[i];                                                                          \
            o[i] = (R)(expr);                                                                                \
        }                                                                                                    \
    }

#define OP3(name, R, C, X, expr)                                                                             \
    TILE(name)                                                                                               \
    {                                                                                                        \
        R *o = ov;                                                                                           \
        const C *xs = xv;                                                                                    \
        const X *ys = yv, *zs = zv;                                                                          \
        UNUSED(wv);                                                                                          \
        LOOP                                                                                                 \
        {                                                                                                    \
            C x = xs[i];                                                                                     \
            X y = ys[i], z = zs[i];                                                                          \
            o[i] = (R)(expr);                                                                                \
        }                                                                                                    \
    }

/* Operations of every type */
#define ORDERED(T, X)                                                                                        \
    OP2(eq_##T, b8, X, x == y)                                                                               \
    OP2(ne_##T, b8, X, x != y)                                                                               \
    OP2(lt_##T, b8, X, x < y)                                                                                \
    OP2(le_##T, b8, X, x <= y)                                                                               \
    OP3(select_##T, X, b8, X, x ? y : z)                                                                     \
    TILE(splat_##T)                                                                                          \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        X x = *(const X *)xv;                                                                                \
        UNUSED(yv);                                                                                          \
        UNUSED(zv);                                                                                          \
        UNUSED(wv);                                                                                          \
        LOOP o[i] = x;                                                                                       \
    }                                                                                                        \
    static int64_t find_zero_##T(const void *xv, int64_t n)                                                  \
    {                                                                                                        \
        const X *x = xv;                                                                                     \
        int zeros = 0;                                                                                       \
        LOOP zeros |= x[i] == 0;                                                                             \
        int64_t i = 0;                                                                                       \
        while (zeros && x[i] != 0)                                                                           \
            i++;                                                                                             \
        return zeros ? i : n;                                                                                \
    }

ORDERED(bool, b8)
ORDERED(i32, int32_t)
ORDERED(i64, int64_t)
ORDERED(f32, float)
ORDERED(f64, double)

OP2(and_bool, b8, b8, x &y)
OP2(or_bool, b8, b8, x | y)
OP2(xor_bool, b8, b8, x ^ y)
OP1(not_bool, b8, b8, x ^ 1)

#define INTEGER(T, X, P)                                                                                     \
    OP2(add_##T, X, X, add_##P(x, y))                                                                        \
    OP2(sub_##T, X, X, sub_##P(x, y))                                                                        \
    OP2(mul_##T, X, X, mul_##P(x, y))                                                                        \
    OP2(idiv_##T, X, X, idiv_##P(x, y))                                                                      \
    OP2(idiv_floor_##T, X, X, idiv_floor_##P(x, y))                                                          \
    OP2(fmod_##T, X, X, fmod_##P(x, y))                                                                      \
    OP2(remainder_##T, X, X, remainder_##P(x, y))                                                            \
    OP1(neg_##T, X, X, neg_##P(x))                                                                           \
    OP1(abs_t_##T, X, X, abs_##P(x))                                                                         \
    OP2(min_t_##T, X, X, x < y ? x : y)                                                                      \
    OP2(max_t_##T, X, X, x > y ? x : y)                                                                      \
    OP2(and_##T, X, X, x &y)                                                                                 \
    OP2(or_##T, X, X, x | y)                                                                                 \
    OP2(xor_##T, X, X, x ^ y)                                                                                \
    OP1(not_##T, X, X, ~x)                                                                                   \
    OP2(shl_##T, X, X, shl_##P(x, y))                                                                        \
    OP2(shr_##T, X, X, shr_##P(x, y))                                                                        \
    OP2(shru_##T, X, X, shru_##P(x, y))                                                                      \
    OP2(gcd_##T, X, X, gcd_##P(x, y))                                                                        \
    OP2(pow_##T, X, X, pow_##P(x, y))
INTEGER(i32, int32_t, int32)
INTEGER(i64, int64_t, int64)

#define FLOAT(T, X, I, M, F, S)                                                                              \
    OP2(add_##T, X, X, x + y)                                                                                \
    OP2(sub_##T, X, X, x - y)                                                                                \
    OP2(mul_##T, X, X, x *y)                                                                                 \
    OP2(div_##T, X, X, x / y)                                                                                \
    OP3(fma_t_##T, X, X, X, fma_##T(x, y, z))                                                                \
    OP2(fmod_t_##T, X, X, fmod##S(x, y))                                                                     \
    OP2(remainder_t_##T, X, X, remainder_##T(x, y))                                                          \
    OP1(neg_##T, X, X, -x)                                                                                   \
    OP1(abs_t_##T, X, X, abs_##T(x))                                                                         \
    OP2(min_t_##T, X, X, min_##T(x, y))                                                                      \
    OP2(max_t_##T, X, X, max_##T(x, y))                                                                      \
    OP2(fmin_t_##T, X, X, fmin_##T(x, y))                                                                    \
    OP2(fmax_t_##T, X, X, fmax_##T(x, y))                                                                    \
    OP1(floor_##T, X, X, __builtin_floor##S(x))                                                              \
    OP1(ceil_##T, X, X, __builtin_ceil##S(x))                                                                \
    OP1(trunc_##T, X, X, __builtin_trunc##S(x))                                                              \
    OP1(round_##T, X, X, __builtin_rint##S(x))                                                               \
    ROOTS(T, X, S)                                                                                           \
    OP2(copysign_t_##T, X, X, copysign_##T(x, y))                                                            \
    OP1(signbit_##T, b8, X, T##_bits(x) < 0)                                                                 \
    OP2(nextafter_t_##T, X, X, nextafter_##T(x, y))                                                          \
    OP1(bits_##T, I, X, T##_bits(x))                                                                         \
    OP2(pow_t_##T, X, X, pow##M(x, y))                                                                       \
    OP1(exp2_##T, X, X, exp2_##M(x))                                                                         \
    OP1(expm1_##T, X, X, expm1_##M(x))                                                                       \
    OP1(log2_##T, X, X, log2_##M(x))                                                                         \
    OP1(log10_##T, X, X, log10_##M(x))                                                                       \
    OP1(log1p_##T, X, X, log1p##M(x))                                                                        \
    OP1(asin_##T, X, X, asin##M(x))                                                                          \
    OP1(acos_##T, X, X, acos##M(x))                                                                          \
    OP1(atan_##T, X, X, atan##M(x))                                                                          \
    OP2(atan2_##T, X, X, atan2_##M(x, y))                                                                    \
    OP1(sinh_##T, X, X, sinh##M(x))                                                                          \
    OP1(cosh_##T, X, X, cosh##M(x))                                                                          \
    OP1(tanh_##T, X, X, tanh##M(x))                                                                          \
    OP1(asinh_##T, X, X, asinh##M(x))                                                                        \
    OP1(acosh_##T, X, X, acosh##M(x))                                                                        \
    OP1(atanh_##T, X, X, atanh##M(x))                                                                        \
    OP1(erf_##T, X, X, erf##M(x))                                                                            \
    OP1(erfc_##T, X, X, erfc##M(x))                                                                          \
    OP1(erfinv_##T, X, X, erfinv##M(x))                                                                      \
    OP1(normal_cdf_##T, X, X, normal_cdf##M(x))                                                              \
    OP1(lgamma_##T, X, X, lgamma##M(x))                                                                      \
    OP1(digamma_##T, X, X, digamma##M(x))

/* Compilers that must preserve errno do not vectorise sqrt, so this uses intrinsics. */
#ifdef __x86_64__
#define ROOT_STRIPS(T)                                                                                       \
    for (; i + LZ_STRIP_##T <= n; i += LZ_STRIP_##T)                                                         \
        LZ_PUT_##T(o + i, LZ_ROOT_##T(LZ_GET_##T(x + i)));
#else
#define ROOT_STRIPS(T)
#endif
#define ROOTS(T, X, S)                                                                                       \
    TILE(sqrt_##T)                                                                                           \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const X *x = xv;                                                                                     \
        int64_t i = 0;                                                                                       \
        UNUSED(yv);                                                                                          \
        UNUSED(zv);                                                                                          \
        UNUSED(wv);                                                                                          \
        ROOT_STRIPS(T)                                                                                       \
        for (; i < n; i++)                                                                                   \
            o[i] = __builtin_sqrt##S(x[i]);                                                                  \
    }                                                                                                        \
    OP1(inverse_##T, X, X, 1 / x)                                                                            \
    TILE(rsqrt_##T)                                                                                          \
    {                                                                                                        \
        sqrt_##T(ov, xv, yv, zv, wv, n);                                                                     \
        inverse_##T(ov, ov, yv, zv, wv, n);                                                                  \
    }

/* A function with a cheaper case that nearly all arguments belong to. The tile is scanned first: an argument
 * belongs to the case if its `key` is below LIMIT. */
#define NEARLY(F, T, X, U, key, LIMIT)                                                                       \
    TILE(F##_##T)                                                                                            \
    {                                                                                                        \
        const X *x = xv;                                                                                     \
        U most = 0;                                                                                          \
        LOOP                                                                                                 \
        {                                                                                                    \
            U k = key(x[i]);                                                                                 \
            most = k > most ? k : most;                                                                      \
        }                                                                                                    \
        (most < (LIMIT) ? F##_all_##T : F##_any_##T)(ov, xv, yv, zv, wv, n);                                 \
    }

static inline uint32_t size_key32(float x)
{
    return (uint32_t)f32_bits(x) & INT32_MAX;
}

static inline uint64_t size_key64(double x)
{
    return (uint64_t)f64_bits(x) & INT64_MAX;
}

/* Below NORMAL if x is positive, normal and finite */
static inline uint32_t normal_key32(float x)
{
    return (uint32_t)f32_bits(x) - 0x00800000;
}

#define BELOW_2_16 0x47800000u           /* f32 65536 */
#define BELOW_2_30 0x41d0000000000000ull /* f64 2^30 */
#define BELOW_87   0x42ae0000u           /* f32 87 */
#define BELOW_40   0x42200000u
#define BELOW_7    0x40e00000u
#define NORMAL     0x7f000000u

#define NEAR_OR_ANY(F, T, X, M, U, key, LIMIT)                                                               \
    OP1(F##_all_##T, X, X, F##_near##M(x))                                                                   \
    OP1(F##_any_##T, X, X, F##M(x))                                                                          \
    NEARLY(F, T, X, U, key, LIMIT)

FLOAT(f32, float, int32_t, 32, float, f)
FLOAT(f64, double, int64_t, 64, double, )
NEAR_OR_ANY(exp, f32, float, 32, uint32_t, size_key32, BELOW_87)
NEAR_OR_ANY(sigmoid, f32, float, 32, uint32_t, size_key32, BELOW_40)
NEAR_OR_ANY(log, f32, float, 32, uint32_t, normal_key32, NORMAL)
NEAR_OR_ANY(sin, f32, float, 32, uint32_t, size_key32, BELOW_2_16)
NEAR_OR_ANY(cos, f32, float, 32, uint32_t, size_key32, BELOW_2_16)
NEAR_OR_ANY(tan, f32, float, 32, uint32_t, size_key32, BELOW_2_16)
NEAR_OR_ANY(sin, f64, double, 64, uint64_t, size_key64, BELOW_2_30)
NEAR_OR_ANY(cos, f64, double, 64, uint64_t, size_key64, BELOW_2_30)
NEAR_OR_ANY(tan, f64, double, 64, uint64_t, size_key64, BELOW_2_30)
OP1(exp_f64, double, double, exp64(x))
OP1(sigmoid_f64, double, double, sigmoid64(x))
OP1(log_f64, double, double, log64(x))

OP1(bits_i32, float, int32_t, i32_bits(x))
OP1(bits_i64, double, int64_t, i64_bits(x))
OP2(zeta_t, double, double, zeta_f64(x, y))
OP2(igamma_t, double, double, igamma_f64(x, y))
OP2(igammac_t, double, double, igammac_f64(x, y))
OP3(orthogonal_t, double, double, double, orthogonal_f64(x, y, z))
OP1(turn_count_f64, int64_t, double, lz_trig_count(x))
OP1(turn_hi_f64, double, double, lz_trig_hi(x))
OP1(turn_lo_f64, double, double, lz_trig_lo(x))

OP2(scale_t_f32, float, float, scale_f32(x, y))
OP2(scale_t_f64, double, double, scale_f64(x, y))

#define CASTS(T, X)                                                                                          \
    OP1(T##_as_bool, b8, X, x != 0)                                                                          \
    OP1(T##_as_f32, float, X, x)                                                                             \
    OP1(T##_as_f64, double, X, x)
CASTS(bool, b8)
CASTS(i32, int32_t)
CASTS(i64, int64_t)
CASTS(f32, float)
CASTS(f64, double)
OP1(bool_as_i32, int32_t, b8, x)
OP1(bool_as_i64, int64_t, b8, x)
OP1(i32_as_i32, int32_t, int32_t, x)
OP1(i32_as_i64, int64_t, int32_t, x)
OP1(i64_as_i32, int32_t, int64_t, x)
OP1(i64_as_i64, int64_t, int64_t, x)
OP1(f32_as_i32, int32_t, float, f32_to_i32(x))
OP1(f32_as_i64, int64_t, float, f32_to_i64(x))
OP1(f64_as_i32, int32_t, double, f64_to_i32(x))
OP1(f64_as_i64, int64_t, double, f64_to_i64(x))

OP1(narrow_u8, int32_t, int32_t, (uint8_t)x)
OP1(narrow_i8, int32_t, int32_t, (int8_t)x)
OP1(narrow_i16, int32_t, int32_t, (int16_t)x)
OP1(narrow_f16, float, float, f16_to_f32(f32_to_f16(x)))
OP1(narrow_bf16, float, float, bf16_to_f32(f32_to_bf16(x)))

/* Loads elements of `size` bytes from p[i * stride], or p[i * stride + index[i]], in whole vectors: a later
 * vector load would stall on elements written one by one. Returns how many of the n elements it loaded. */
static inline int64_t pick(void *o, const void *p, int64_t stride, const int64_t *index, size_t size,
                           int64_t n)
{
    int64_t i = 0;
#ifdef LZ_PICK
    enum { MOST = 1 << 24 }; /* the vector code multiplies strides in 32 bits */
    if ((size != 4 && size != 8) || stride > MOST || stride < -MOST)
        return 0;
    for (; i + LZ_PICK <= n; i += LZ_PICK) {
        const char *from = (const char *)p + i * stride * (int64_t)size;
        char *to = (char *)o + i * (int64_t)size;
        if (size == 4)
            lz_pick_4(to, from, stride, index ? index + i : NULL);
        else
            lz_pick_8(to, from, stride, index ? index + i : NULL);
    }
#else
    UNUSED(o);
    UNUSED(p);
    UNUSED(stride);
    UNUSED(index);
    UNUSED(size);
    UNUSED(n);
#endif
    return i;
}

/* D: the type in memory, X: the computing type; `in` and `out` convert v. */
#define MEMORY(T, D, X, in, out)                                                                             \
    static void load_##T(void *ov, const void *pv, int64_t stride, int64_t n)                                \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const D *p = pv;                                                                                     \
        if (stride == 1) {                                                                                   \
            LOOP                                                                                             \
            {                                                                                                \
                D v = p[i];                                                                                  \
                o[i] = in;                                                                                   \
            }                                                                                                \
        } else if (stride == 0) {                                                                            \
            D v = n > 0 ? *p : (D)0;                                                                         \
            X w = in;                                                                                        \
            LOOP o[i] = w;                                                                                   \
        } else if (stride == -1) {                                                                           \
            LOOP                                                                                             \
            {                                                                                                \
                D v = p[-i];                                                                                 \
                o[i] = in;                                                                                   \
            }                                                                                                \
        } else {                                                                                             \
            int64_t i = sizeof(D) == sizeof(X) ? pick(o, p, stride, NULL, sizeof(D), n) : 0;                 \
            for (; i < n; i++) {                                                                             \
                D v = p[i * stride];                                                                         \
                o[i] = in;                                                                                   \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void load_if_##T(void *ov, const void *pv, int64_t stride, const uint8_t *mask, const void *fill, \
                            int64_t n)                                                                       \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const D *p = pv;                                                                                     \
        const X *f = fill;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            D v = mask[i] ? p[i * stride] : (D)0;                                                            \
            o[i] = mask[i] ? in : f[i];                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void gather_##T(void *ov, const void *pv, int64_t stride, const int64_t *index, int64_t n)        \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const D *p = pv;                                                                                     \
        int64_t i = sizeof(D) == sizeof(X) ? pick(o, p, stride, index, sizeof(D), n) : 0;                    \
        for (; i < n; i++) {                                                                                 \
            D v = p[i * stride + index[i]];                                                                  \
            o[i] = in;                                                                                       \
        }                                                                                                    \
    }                                                                                                        \
    static void gather_if_##T(void *ov, const void *pv, int64_t stride, const int64_t *index,                \
                              const uint8_t *mask, const void *fill, int64_t n)                              \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const D *p = pv;                                                                                     \
        const X *f = fill;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            D v = mask[i] ? p[i * stride + index[i]] : (D)0;                                                 \
            o[i] = mask[i] ? in : f[i];                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void store_##T(void *pv, const void *xv, int64_t stride, int64_t n)                               \
    {                                                                                                        \
        D *p = pv;                                                                                           \
        const X *x = xv;                                                                                     \
        if (stride == 1) {                                                                                   \
            LOOP                                                                                             \
            {                                                                                                \
                X v = x[i];                                                                                  \
                p[i] = out;                                                                                  \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                X v = x[i];                                                                                  \
                p[i * stride] = out;                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }

MEMORY(bool, b8, b8, v, v)
MEMORY(u8, uint8_t, int32_t, v, (uint8_t)v)
MEMORY(i8, int8_t, int32_t, (int32_t)v, (int8_t)v)
MEMORY(i16, int16_t, int32_t, v, (int16_t)v)
MEMORY(i32, int32_t, int32_t, v, v)
MEMORY(i64, int64_t, int64_t, v, v)
MEMORY(f16, h16, float, f16_to_f32(v), f32_to_f16(v))
MEMORY(bf16, h16, float, bf16_to_f32(v), f32_to_bf16(v))
MEMORY(f32, float, float, v, v)
MEMORY(f64, double, double, v, v)

#ifdef LZ_STRIP_f32
#define LZ_LANE_BYTES (4 * LZ_STRIP_f32)
#else
#define LZ_LANE_BYTES 32
#endif
/* The lanes stay in registers for the whole tile: as many at a time as fit in eight registers. `made`
 * computes y from element k of the tile. */
#define INTO_LANES(X, expr, made)                                                                            \
    enum { FIT = 8 * LZ_LANE_BYTES / (int)sizeof(X), AT_ONCE = FIT < 64 ? FIT : 64 };                        \
    X *l = lane;                                                                                             \
    int64_t whole = n / 64 * 64;                                                                             \
    for (int from = 0; from < 64; from += AT_ONCE) {                                                         \
        X acc[AT_ONCE];                                                                                      \
        memcpy(acc, l + from, sizeof acc);                                                                   \
        for (int64_t at = from; at < whole; at += 64) {                                                      \
            for (int i = 0; i < AT_ONCE; i++) {                                                              \
                int64_t k = at + i;                                                                          \
                X x = acc[i], y = (made);                                                                    \
                acc[i] = (X)(expr);                                                                          \
            }                                                                                                \
        }                                                                                                    \
        memcpy(l + from, acc, sizeof acc);                                                                   \
    }                                                                                                        \
    for (int64_t k = whole; k < n; k++) {                                                                    \
        X x = l[k - whole], y = (made);                                                                      \
        l[k - whole] = (X)(expr);                                                                            \
    }

#define HALVE(X, v, half, expr)                                                                              \
    for (int i = 0; i < (half); i++) {                                                                       \
        X x = (v)[i], y = (v)[i + (half)];                                                                   \
        (v)[i] = (X)(expr);                                                                                  \
    }

/* W: the type of sums and total. A fold works on copies, which stay in registers. */
#define LANES(name, X, W, expr)                                                                              \
    static void lanes_##name(void *lane, const void *xv, int64_t n)                                          \
    {                                                                                                        \
        const X *xs = xv;                                                                                    \
        INTO_LANES(X, expr, xs[k])                                                                           \
    }                                                                                                        \
    static void fold_##name(void *lane, void *sum, void *total, bool block)                                  \
    {                                                                                                        \
        X l[64];                                                                                             \
        W s[16], *t = total;                                                                                 \
        memcpy(l, lane, sizeof l);                                                                           \
        memcpy(s, sum, sizeof s);                                                                            \
        HALVE(X, l, 32, expr)                                                                                \
        HALVE(X, l, 16, expr)                                                                                \
        for (int i = 0; i < 16; i++) {                                                                       \
            W x = s[i], y = (W)l[i];                                                                         \
            s[i] = (W)(expr);                                                                                \
        }                                                                                                    \
        if (!block) {                                                                                        \
            memcpy(sum, s, sizeof s);                                                                        \
            return;                                                                                          \
        }                                                                                                    \
        HALVE(W, s, 8, expr)                                                                                 \
        HALVE(W, s, 4, expr)                                                                                 \
        HALVE(W, s, 2, expr)                                                                                 \
        HALVE(W, s, 1, expr)                                                                                 \
        W x = *t, y = *s;                                                                                    \
        *t = (W)(expr);                                                                                      \
    }                                                                                                        \
    static void scan_##name(void *ov, void *state, const void *xv, int64_t n)                                \
    {                                                                                                        \
        X *o = ov, x = *(X *)state;                                                                          \
        const X *xs = xv;                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            X y = xs[i];                                                                                     \
            x = (X)(expr);                                                                                   \
            o[i] = x;                                                                                        \
        }                                                                                                    \
        *(X *)state = x;                                                                                     \
    }
LANES(and_bool, b8, b8, x &y)
LANES(or_bool, b8, b8, x | y)
LANES(xor_bool, b8, b8, x ^ y)
LANES(sum_i32, int32_t, int32_t, add_int32(x, y))
LANES(prod_i32, int32_t, int32_t, mul_int32(x, y))
LANES(max_i32, int32_t, int32_t, x > y ? x : y)
LANES(min_i32, int32_t, int32_t, x < y ? x : y)
LANES(and_i32, int32_t, int32_t, x &y)
LANES(or_i32, int32_t, int32_t, x | y)
LANES(xor_i32, int32_t, int32_t, x ^ y)
LANES(sum_i64, int64_t, int64_t, add_int64(x, y))
LANES(prod_i64, int64_t, int64_t, mul_int64(x, y))
LANES(max_i64, int64_t, int64_t, x > y ? x : y)
LANES(min_i64, int64_t, int64_t, x < y ? x : y)
LANES(and_i64, int64_t, int64_t, x &y)
LANES(or_i64, int64_t, int64_t, x | y)
LANES(xor_i64, int64_t, int64_t, x ^ y)
LANES(sum_f32, float, double, x + y)
LANES(prod_f32, float, float, x *y)
LANES(max_f32, float, float, max_f32(x, y))
LANES(min_f32, float, float, min_f32(x, y))
LANES(sum_f64, double, double, x + y)
LANES(prod_f64, double, double, x *y)
LANES(max_f64, double, double, max_f64(x, y))
LANES(min_f64, double, double, min_f64(x, y))

#define WIDEN(name, X, D, expr)                                                                              \
    static void widen_##name(void *lane, const void *xv, int64_t n)                                          \
    {                                                                                                        \
        const D *xs = xv;                                                                                    \
        INTO_LANES(X, expr, (X)xs[k])                                                                        \
    }
WIDEN(sum_i64, int64_t, int32_t, add_int64(x, y))
WIDEN(prod_i64, int64_t, int32_t, mul_int64(x, y))
WIDEN(sum_f64, double, float, x + y)
WIDEN(prod_f64, double, float, x *y)

/* At most 16 elements of a tile come to a lane, so their sum fits in 32 bits. */
#define WIDEN_DTYPE(T, D)                                                                                    \
    static void widen_##T(void *to, const void *xv, int64_t n)                                               \
    {                                                                                                        \
        const D *xs = xv;                                                                                    \
        int32_t lane[64] = { 0 };                                                                            \
        int64_t *sums = to;                                                                                  \
        INTO_LANES(int32_t, x + y, (int32_t)xs[k])                                                           \
        for (int i = 0; i < 64; i++)                                                                         \
            sums[i] = add_int64(sums[i], lane[i]);                                                           \
    }
WIDEN_DTYPE(u8, uint8_t)
WIDEN_DTYPE(i8, int8_t)
WIDEN_DTYPE(i16, int16_t)

#define PRODUCTS(T, X)                                                                                       \
    static void products_##T(void *lane, const void *xv, const void *yv, int64_t n)                          \
    {                                                                                                        \
        const X *xs = xv, *ys = yv;                                                                          \
        INTO_LANES(X, x + y, xs[k] * ys[k])                                                                  \
    }
PRODUCTS(f32, float)
PRODUCTS(f64, double)

/* BETTER: does y beat x? A NaN beats every number, and an earlier NaN a later one. */
#define BEST(name, X, BETTER, SAME)                                                                          \
    static void best_##name(void *best, int64_t *at, const void *xv, int64_t first, int64_t step, int64_t n) \
    {                                                                                                        \
        X *b = best;                                                                                         \
        const X *ys = xv;                                                                                    \
        LOOP                                                                                                 \
        {                                                                                                    \
            X x = b[i], y = ys[i];                                                                           \
            bool better = (BETTER) || at[i] == INT64_MAX;                                                    \
            b[i] = better ? y : x;                                                                           \
            at[i] = better ? first + i * step : at[i];                                                       \
        }                                                                                                    \
    }                                                                                                        \
    /* `fresh`: the lanes have no values yet; so the first 64 elements become them, and no later step asks   \
     */                                                                                                      \
    static void best_lanes_##name(void *best, int64_t *at, const void *xv, int64_t first, int64_t n)         \
    {                                                                                                        \
        enum { FIT = 4 * LZ_LANE_BYTES / (int)sizeof(X), AT_ONCE = FIT < 64 ? FIT : 64 };                    \
        X *b = best;                                                                                         \
        const X *ys = xv;                                                                                    \
        bool fresh = at[0] == INT64_MAX, full = at[63] != INT64_MAX;                                         \
        int64_t whole = fresh || full ? n / 64 * 64 : 0, begin = fresh && whole ? 64 : 0;                    \
        for (int from = 0; whole && from < 64; from += AT_ONCE) {                                            \
            X lane[AT_ONCE];                                                                                 \
            int64_t place[AT_ONCE];                                                                          \
            memcpy(lane, fresh ? ys + from : b + from, sizeof lane);                                         \
            for (int i = 0; i < AT_ONCE; i++)                                                                \
                place[i] = fresh ? first + from + i : at[from + i];                                          \
            for (int64_t k = begin + from; k < whole; k += 64) {                                             \
                for (int i = 0; i < AT_ONCE; i++) {                                                          \
                    X x = lane[i], y = ys[k + i];                                                            \
                    bool better = (BETTER);                                                                  \
                    lane[i] = better ? y : x;                                                                \
                    place[i] = better ? first + k + i : place[i];                                            \
                }                                                                                            \
            }                                                                                                \
            memcpy(b + from, lane, sizeof lane);                                                             \
            memcpy(at + from, place, sizeof place);                                                          \
        }                                                                                                    \
        for (int64_t k = whole; k < n; k += 64)                                                              \
            best_##name(best, at, ys + k, first + k, 1, n - k < 64 ? n - k : 64);                            \
    }                                                                                                        \
    static void merge_##name(void *best, int64_t *at, const void *xv, const int64_t *index, int64_t n)       \
    {                                                                                                        \
        X *b = best;                                                                                         \
        const X *ys = xv;                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            X x = b[i], y = ys[i];                                                                           \
            bool same = (SAME);                                                                              \
            bool better =                                                                                    \
                ((BETTER) && index[i] != INT64_MAX) || at[i] == INT64_MAX || (same && index[i] < at[i]);     \
            b[i] = better ? y : x;                                                                           \
            at[i] = better ? index[i] : at[i];                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static void last_##name(void *best, int64_t *at, const void *xv, int64_t first, int64_t step, int64_t n) \
    {                                                                                                        \
        X *b = best;                                                                                         \
        const X *ys = xv;                                                                                    \
        LOOP                                                                                                 \
        {                                                                                                    \
            X x = b[i], y = ys[i];                                                                           \
            bool better = (BETTER) || (SAME) || at[i] == INT64_MAX;                                          \
            b[i] = better ? y : x;                                                                           \
            at[i] = better ? first + i * step : at[i];                                                       \
        }                                                                                                    \
    }                                                                                                        \
    static void scan_best_##name(int64_t *o, void *best, int64_t *at, const void *xv, int64_t first,         \
                                 int64_t n)                                                                  \
    {                                                                                                        \
        const X *ys = xv;                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            last_##name(best, at, ys + i, first + i, 0, 1);                                                  \
            o[i] = *at;                                                                                      \
        }                                                                                                    \
    }
BEST(max_i32, int32_t, y > x, y == x)
BEST(min_i32, int32_t, y < x, y == x)
BEST(max_i64, int64_t, y > x, y == x)
BEST(min_i64, int64_t, y < x, y == x)
BEST(max_f32, float, y > x || (y != y && x == x), y == x || (y != y && x != x))
BEST(min_f32, float, y < x || (y != y && x == x), y == x || (y != y && x != x))
BEST(max_f64, double, y > x || (y != y && x == x), y == x || (y != y && x != x))
BEST(min_f64, double, y < x || (y != y && x == x), y == x || (y != y && x != x))

/* Returns n if all indices are within bounds, else the first that is not. The loop keeps only a sign bit of
 * the violations, so that compilers vectorise it. */
static int64_t check(int64_t *o, const int64_t *index, const int64_t *size, bool wrap, int64_t n)
{
    int64_t bad = 0, wraps = wrap ? -1 : 0;
    LOOP
    {
        int64_t at = add_int64(index[i], -(int64_t)(index[i] < 0) & size[i] & wraps);
        bad |= at | sub_int64(sub_int64(size[i], 1), at);
        o[i] = at;
    }
    int64_t i = bad < 0 ? 0 : n;
    while (bad < 0 && o[i] >= 0 && o[i] < size[i])
        i++;
    return i;
}

/* Are all equal to the first? */
static bool is_uniform(const int64_t *x, int64_t n)
{
    int64_t other = 0, first = n > 0 ? *x : 0;
    LOOP other |= x[i] ^ first;
    return !other;
}

/* Vectors have no fast 64-bit product, so the usual strides avoid it. */
static void affine(int64_t *o, int64_t first, int64_t stride, int64_t n)
{
    if (stride == 0) {
        LOOP o[i] = first;
    } else if (stride == 1) {
        LOOP o[i] = first + i;
    } else {
        LOOP o[i] = first + i * stride;
    }
}

#ifdef __x86_64__
static void stream(char *to, const char *from, int64_t bytes)
{
    int64_t i = -(int64_t)(uintptr_t)to & 63;
    i = i < bytes ? i : bytes;
    memcpy(to, from, (size_t)i);
    for (; i + 64 <= bytes; i += 64) {
        for (int k = 0; k < 64; k += 4 * LZ_STRIP_f32)
            LZ_PAST_f32((float *)(void *)(to + i + k),
                        LZ_GET_f32((const float *)(const void *)(from + i + k)));
    }
    memcpy(to + i, from + i, (size_t)(bytes - i));
}

static void streamed(void)
{
    _mm_sfence();
}
#else
static void stream(char *to, const char *from, int64_t bytes)
{
    memcpy(to, from, (size_t)bytes);
}

static void streamed(void)
{
}
#endif

/* One word of the 128 bits that ten rounds make of a counter under a key. */
static inline uint32_t philox(uint64_t key, uint64_t high, uint64_t low, int word)
{
    uint32_t c0 = (uint32_t)low, c1 = (uint32_t)(low >> 32);
    uint32_t c2 = (uint32_t)high, c3 = (uint32_t)(high >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * c0, q = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3;
}
/* Philox on one vector: the lower half of each 64-bit element counts. */
#ifdef __x86_64__
typedef uint64_t philox_strip __attribute__((vector_size(8 * LZ_STRIP_f64)));
static inline philox_strip philox_words(philox_strip key, philox_strip high, philox_strip low, int word)
{
    philox_strip c0 = low, c1 = low >> 32, c2 = high, c3 = high >> 32, k0 = key, k1 = key >> 32;
    for (int round = 0; round < 10; round++) {
        philox_strip p = LZ_TIMES_32(c0, 0xD2511F53), q = LZ_TIMES_32(c2, 0xCD9E8D57);
        c0 = (q >> 32) ^ c1 ^ k0;
        c1 = q;
        c2 = (p >> 32) ^ c3 ^ k1;
        c3 = p;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return (word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3) & UINT32_MAX;
}
#define PHILOX_STRIPS(w)                                                                                     \
    for (; i + LZ_STRIP_f64 <= n; i += LZ_STRIP_f64) {                                                       \
        philox_strip x, y, z, r;                                                                             \
        memcpy(&x, xs + i, sizeof x);                                                                        \
        memcpy(&y, ys + i, sizeof y);                                                                        \
        memcpy(&z, zs + i, sizeof z);                                                                        \
        r = philox_words(x, y, z, w);                                                                        \
        memcpy(o + i, &r, sizeof r);                                                                         \
    }
#else
#define PHILOX_STRIPS(w)
#endif
#define PHILOX(w)                                                                                            \
    TILE(philox##w)                                                                                          \
    {                                                                                                        \
        int64_t *o = ov, i = 0;                                                                              \
        const int64_t *xs = xv, *ys = yv, *zs = zv;                                                          \
        UNUSED(wv);                                                                                          \
        PHILOX_STRIPS(w)                                                                                     \
        for (; i < n; i++)                                                                                   \
            o[i] = philox((uint64_t)xs[i], (uint64_t)ys[i], (uint64_t)zs[i], w);                             \
    }
PHILOX(0)
PHILOX(1)
PHILOX(2)
PHILOX(3)

OP3(within_i64, b8, int64_t, int64_t, (y <= x) & (x < z))

#define OP4(name, X, expr)                                                                                   \
    TILE(name)                                                                                               \
    {                                                                                                        \
        X *o = ov;                                                                                           \
        const X *xs = xv, *ys = yv, *zs = zv, *ws = wv;                                                      \
        LOOP                                                                                                 \
        {                                                                                                    \
            X x = xs[i], y = ys[i], z = zs[i], w = ws[i];                                                    \
            o[i] = expr;                                                                                     \
        }                                                                                                    \
    }
#define CHOOSE(T, X)                                                                                         \
    OP4(choose_eq_##T, X, x == y ? z : w)                                                                    \
    OP4(choose_ne_##T, X, x != y ? z : w)                                                                    \
    OP4(choose_lt_##T, X, x < y ? z : w)                                                                     \
    OP4(choose_le_##T, X, x <= y ? z : w)
CHOOSE(f32, float)
CHOOSE(f64, double)

/* Both steps are rounded, as in two operations. */
#define PAIRS(first, expr)                                                                                   \
    OP3(first##_add, float, float, float, expr + z)                                                          \
    OP3(first##_sub, float, float, float, expr - z)                                                          \
    OP3(first##_bus, float, float, float, z - expr)                                                          \
    OP3(first##_mul, float, float, float, expr *z)                                                           \
    OP3(first##_div, float, float, float, expr / z)                                                          \
    OP3(first##_vid, float, float, float, z / expr)                                                          \
    OP3(first##_max, float, float, float, max_f32(expr, z))                                                  \
    OP3(first##_min, float, float, float, min_f32(expr, z))                                                  \
    OP2(first##_abs, float, float, abs_f32(expr))                                                            \
    OP2(first##_neg, float, float, -expr)
PAIRS(add, (x + y))
PAIRS(sub, (x - y))
PAIRS(mul, (x * y))
OP3(max_min, float, float, float, min_f32(max_f32(x, y), z))
OP3(min_max, float, float, float, max_f32(min_f32(x, y), z))

/* x is f32, y is f64. */
#define WIDE(name, expr)                                                                                     \
    TILE(wide_##name)                                                                                        \
    {                                                                                                        \
        double *o = ov;                                                                                      \
        const float *xs = xv;                                                                                \
        const double *ys = yv;                                                                               \
        UNUSED(zv);                                                                                          \
        UNUSED(wv);                                                                                          \
        LOOP                                                                                                 \
        {                                                                                                    \
            double x = (double)xs[i], y = ys[i];                                                             \
            o[i] = expr;                                                                                     \
        }                                                                                                    \
    }
WIDE(add, x + y)
WIDE(sub, x - y)
WIDE(bus, y - x)
WIDE(mul, x *y)

#define GELU_INNER(X) (x * ((x * x) * (X)(-0.044715 * 1.5957691216057308) - (X)1.5957691216057308))
#define LOGISTIC(T, X, exp, kind)                                                                            \
    OP1(logistic_##kind##T, X, X, 1 / (exp(-x) + 1))                                                         \
    OP1(silu_##kind##T, X, X, x / (exp(-x) + 1))                                                             \
    OP1(gelu_##kind##T, X, X, x / (exp(GELU_INNER(X)) + 1))
LOGISTIC(f64, double, exp64, )
LOGISTIC(f32, float, exp32, any_)
LOGISTIC(f32, float, exp_near32, all_)
NEARLY(logistic, f32, float, uint32_t, size_key32, BELOW_87)
NEARLY(silu, f32, float, uint32_t, size_key32, BELOW_87)
NEARLY(gelu, f32, float, uint32_t, size_key32, BELOW_7)

#define SUPERS(T, X, M)                                                                                      \
    OP1(gelu_tanh_##T, X, X,                                                                                 \
        (x * (X)0.5) * (tanh##M((x + ((x * (X)0.044715) * x) * x) * (X)0.79788456080286541) + 1))            \
    OP1(gelu_tanh_cube_##T, X, X,                                                                            \
        (x * (X)0.5) * (tanh##M((x + ((x * x) * x) * (X)0.044715) * (X)0.79788456080286541) + 1))            \
    OP1(gelu_erf_##T, X, X, x *normal_cdf##M(x))                                                             \
    OP1(silu_mul_##T, X, X, x *sigmoid##M(x))
SUPERS(f32, float, 32)
SUPERS(f64, double, 64)

#define BY_MEMORY(kind)                                                                                      \
    {                                                                                                        \
        [LZ_BOOL] = kind##_bool, [LZ_U8] = kind##_u8, [LZ_I8] = kind##_i8, [LZ_I16] = kind##_i16,            \
        [LZ_I32] = kind##_i32, [LZ_I64] = kind##_i64, [LZ_F16] = kind##_f16, [LZ_BF16] = kind##_bf16,        \
        [LZ_F32] = kind##_f32, [LZ_F64] = kind##_f64,                                                        \
    }
#define BY_TYPE(kind)                                                                                        \
    {                                                                                                        \
        [LZ_KERNEL_BOOL] = kind##_bool, [LZ_KERNEL_I32] = kind##_i32, [LZ_KERNEL_I64] = kind##_i64,          \
        [LZ_KERNEL_F32] = kind##_f32, [LZ_KERNEL_F64] = kind##_f64,                                          \
    }
#define BY_NUMBER(kind)                                                                                      \
    {                                                                                                        \
        [LZ_KERNEL_I32] = kind##_i32, [LZ_KERNEL_I64] = kind##_i64, [LZ_KERNEL_F32] = kind##_f32,            \
        [LZ_KERNEL_F64] = kind##_f64,                                                                        \
    }
#define BY_INTEGER(kind)                                                                                     \
    {                                                                                                        \
        [LZ_KERNEL_I32] = kind##_i32, [LZ_KERNEL_I64] = kind##_i64,                                          \
    }
#define BY_FLOAT(kind)                                                                                       \
    {                                                                                                        \
        [LZ_KERNEL_F32] = kind##_f32, [LZ_KERNEL_F64] = kind##_f64,                                          \
    }
#define BY_BITS(kind)                                                                                        \
    {                                                                                                        \
        [LZ_KERNEL_BOOL] = kind##_bool, [LZ_KERNEL_I32] = kind##_i32, [LZ_KERNEL_I64] = kind##_i64,          \
    }

#define BOTH(kind)                                                                                           \
    {                                                                                                        \
        BY_NUMBER(kind##_max), BY_NUMBER(kind##_min)                                                         \
    }

const lz_tile_table LZ_TILE_TABLE = {
    .name = LZ_TILE_NAME,
    .op = {
        [LZ_KERNEL_ADD] = BY_NUMBER(add),
        [LZ_KERNEL_SUB] = BY_NUMBER(sub),
        [LZ_KERNEL_MUL] = BY_NUMBER(mul),
        [LZ_KERNEL_DIV] = BY_FLOAT(div),
        [LZ_KERNEL_FMA] = BY_FLOAT(fma_t),
        [LZ_KERNEL_IDIV] = BY_INTEGER(idiv),
        [LZ_KERNEL_IDIV_FLOOR] = BY_INTEGER(idiv_floor),
        [LZ_KERNEL_FMOD] = { [LZ_KERNEL_I32] = fmod_i32, [LZ_KERNEL_I64] = fmod_i64, [LZ_KERNEL_F32] = fmod_t_f32, [LZ_KERNEL_F64] = fmod_t_f64 },
        [LZ_KERNEL_REMAINDER] = { [LZ_KERNEL_I32] = remainder_i32, [LZ_KERNEL_I64] = remainder_i64, [LZ_KERNEL_F32] = remainder_t_f32,
                             [LZ_KERNEL_F64] = remainder_t_f64 },
        [LZ_KERNEL_NEG] = BY_NUMBER(neg),
        [LZ_KERNEL_ABS] = BY_NUMBER(abs_t),
        [LZ_KERNEL_MIN] = { and_bool, min_t_i32, min_t_i64, min_t_f32, min_t_f64 },
        [LZ_KERNEL_MAX] = { or_bool, max_t_i32, max_t_i64, max_t_f32, max_t_f64 },
        [LZ_KERNEL_FMIN] = BY_FLOAT(fmin_t),
        [LZ_KERNEL_FMAX] = BY_FLOAT(fmax_t),
        [LZ_KERNEL_EQ] = BY_TYPE(eq),
        [LZ_KERNEL_NE] = BY_TYPE(ne),
        [LZ_KERNEL_LT] = BY_TYPE(lt),
        [LZ_KERNEL_LE] = BY_TYPE(le),
        [LZ_KERNEL_AND] = BY_BITS(and),
        [LZ_KERNEL_OR] = BY_BITS(or),
        [LZ_KERNEL_XOR] = BY_BITS(xor),
        [LZ_KERNEL_NOT] = BY_BITS(not),
        [LZ_KERNEL_SHL] = BY_INTEGER(shl),
        [LZ_KERNEL_SHR] = BY_INTEGER(shr),
        [LZ_KERNEL_SHRU] = BY_INTEGER(shru),
        [LZ_KERNEL_SELECT] = BY_TYPE(select),
        [LZ_KERNEL_FLOOR] = BY_FLOAT(floor),
        [LZ_KERNEL_CEIL] = BY_FLOAT(ceil),
        [LZ_KERNEL_TRUNC] = BY_FLOAT(trunc),
        [LZ_KERNEL_ROUND] = BY_FLOAT(round),
        [LZ_KERNEL_SQRT] = BY_FLOAT(sqrt),
        [LZ_KERNEL_RSQRT] = BY_FLOAT(rsqrt),
        [LZ_KERNEL_COPYSIGN] = BY_FLOAT(copysign_t),
        [LZ_KERNEL_SIGNBIT] = BY_FLOAT(signbit),
        [LZ_KERNEL_NEXTAFTER] = BY_FLOAT(nextafter_t),
        [LZ_KERNEL_BITS] = BY_NUMBER(bits),
        [LZ_KERNEL_GCD] = BY_INTEGER(gcd),
        [LZ_KERNEL_POW] = { [LZ_KERNEL_I32] = pow_i32, [LZ_KERNEL_I64] = pow_i64, [LZ_KERNEL_F32] = pow_t_f32, [LZ_KERNEL_F64] = pow_t_f64 },
        [LZ_KERNEL_EXP] = BY_FLOAT(exp),
        [LZ_KERNEL_EXP2] = BY_FLOAT(exp2),
        [LZ_KERNEL_EXPM1] = BY_FLOAT(expm1),
        [LZ_KERNEL_LOG] = BY_FLOAT(log),
        [LZ_KERNEL_LOG2] = BY_FLOAT(log2),
        [LZ_KERNEL_LOG10] = BY_FLOAT(log10),
        [LZ_KERNEL_LOG1P] = BY_FLOAT(log1p),
        [LZ_KERNEL_SIN] = BY_FLOAT(sin),
        [LZ_KERNEL_COS] = BY_FLOAT(cos),
        [LZ_KERNEL_TAN] = BY_FLOAT(tan),
        [LZ_KERNEL_ASIN] = BY_FLOAT(asin),
        [LZ_KERNEL_ACOS] = BY_FLOAT(acos),
        [LZ_KERNEL_ATAN] = BY_FLOAT(atan),
        [LZ_KERNEL_ATAN2] = BY_FLOAT(atan2),
        [LZ_KERNEL_SINH] = BY_FLOAT(sinh),
        [LZ_KERNEL_COSH] = BY_FLOAT(cosh),
        [LZ_KERNEL_TANH] = BY_FLOAT(tanh),
        [LZ_KERNEL_ASINH] = BY_FLOAT(asinh),
        [LZ_KERNEL_ACOSH] = BY_FLOAT(acosh),
        [LZ_KERNEL_ATANH] = BY_FLOAT(atanh),
        [LZ_KERNEL_SIGMOID] = BY_FLOAT(sigmoid),
        [LZ_KERNEL_ERF] = BY_FLOAT(erf),
        [LZ_KERNEL_ERFC] = BY_FLOAT(erfc),
        [LZ_KERNEL_ERFINV] = BY_FLOAT(erfinv),
        [LZ_KERNEL_NORMAL_CDF] = BY_FLOAT(normal_cdf),
        [LZ_KERNEL_LGAMMA] = BY_FLOAT(lgamma),
        [LZ_KERNEL_DIGAMMA] = BY_FLOAT(digamma),
        [LZ_KERNEL_TURN_COUNT] = { [LZ_KERNEL_F64] = turn_count_f64 },
        [LZ_KERNEL_TURN_HI] = { [LZ_KERNEL_F64] = turn_hi_f64 },
        [LZ_KERNEL_TURN_LO] = { [LZ_KERNEL_F64] = turn_lo_f64 },
        [LZ_KERNEL_ZETA] = { [LZ_KERNEL_F64] = zeta_t },
        [LZ_KERNEL_IGAMMA] = { [LZ_KERNEL_F64] = igamma_t },
        [LZ_KERNEL_IGAMMAC] = { [LZ_KERNEL_F64] = igammac_t },
        [LZ_KERNEL_ORTHOGONAL] = { [LZ_KERNEL_F64] = orthogonal_t },
        [LZ_KERNEL_SCALE] = BY_FLOAT(scale_t),
    },
    .cast = {
        [LZ_KERNEL_BOOL] = { bool_as_bool, bool_as_i32, bool_as_i64, bool_as_f32, bool_as_f64 },
        [LZ_KERNEL_I32] = { i32_as_bool, i32_as_i32, i32_as_i64, i32_as_f32, i32_as_f64 },
        [LZ_KERNEL_I64] = { i64_as_bool, i64_as_i32, i64_as_i64, i64_as_f32, i64_as_f64 },
        [LZ_KERNEL_F32] = { f32_as_bool, f32_as_i32, f32_as_i64, f32_as_f32, f32_as_f64 },
        [LZ_KERNEL_F64] = { f64_as_bool, f64_as_i32, f64_as_i64, f64_as_f32, f64_as_f64 },
    },
    .narrow = { [LZ_U8] = narrow_u8, [LZ_I8] = narrow_i8, [LZ_I16] = narrow_i16, [LZ_F16] = narrow_f16,
                [LZ_BF16] = narrow_bf16 },
    .load = BY_MEMORY(load),
    .load_if = BY_MEMORY(load_if),
    .gather = BY_MEMORY(gather),
    .gather_if = BY_MEMORY(gather_if),
    .store = BY_MEMORY(store),
    .splat = BY_TYPE(splat),
    .fused = {
        [LZ_FUSED_GELU] = { gelu_f32, gelu_f64 },
        [LZ_FUSED_GELU_TANH] = { gelu_tanh_f32, gelu_tanh_f64 },
        [LZ_FUSED_GELU_TANH_CUBE] = { gelu_tanh_cube_f32, gelu_tanh_cube_f64 },
        [LZ_FUSED_GELU_ERF] = { gelu_erf_f32, gelu_erf_f64 },
        [LZ_FUSED_LOGISTIC] = { logistic_f32, logistic_f64 },
        [LZ_FUSED_SILU] = { silu_f32, silu_f64 },
        [LZ_FUSED_SILU_MUL] = { silu_mul_f32, silu_mul_f64 },
    },
    .choose = { { choose_eq_f32, choose_eq_f64 }, { choose_ne_f32, choose_ne_f64 },
                { choose_lt_f32, choose_lt_f64 }, { choose_le_f32, choose_le_f64 } },
    .pair = {
        { add_add, add_sub, add_bus, add_mul, add_div, add_vid, add_max, add_min, add_abs, add_neg },
        { sub_add, sub_sub, sub_bus, sub_mul, sub_div, sub_vid, sub_max, sub_min, sub_abs, sub_neg },
        { mul_add, mul_sub, mul_bus, mul_mul, mul_div, mul_vid, mul_max, mul_min, mul_abs, mul_neg },
        { [7] = max_min },
        { [6] = min_max },
    },
    .wide = { [LZ_WIDE_ADD] = wide_add, [LZ_WIDE_SUB] = wide_sub, [LZ_WIDE_BUS] = wide_bus, [LZ_WIDE_MUL] = wide_mul },
    .lanes = {
        [LZ_KERNEL_RSUM] = BY_NUMBER(lanes_sum),
        [LZ_KERNEL_RPROD] = BY_NUMBER(lanes_prod),
        [LZ_KERNEL_RMAX] = { lanes_or_bool, lanes_max_i32, lanes_max_i64, lanes_max_f32, lanes_max_f64 },
        [LZ_KERNEL_RMIN] = { lanes_and_bool, lanes_min_i32, lanes_min_i64, lanes_min_f32, lanes_min_f64 },
        [LZ_KERNEL_RAND] = BY_BITS(lanes_and),
        [LZ_KERNEL_ROR] = BY_BITS(lanes_or),
        [LZ_KERNEL_RXOR] = BY_BITS(lanes_xor),
    },
    .widen = { [LZ_KERNEL_RSUM] = { [LZ_KERNEL_I64] = widen_sum_i64, [LZ_KERNEL_F64] = widen_sum_f64 },
               [LZ_KERNEL_RPROD] = { [LZ_KERNEL_I64] = widen_prod_i64, [LZ_KERNEL_F64] = widen_prod_f64 } },
    .widen_dtype = { [LZ_U8] = widen_u8, [LZ_I8] = widen_i8, [LZ_I16] = widen_i16 },
    .products = BY_FLOAT(products),
    .fold = {
        [LZ_KERNEL_RSUM] = BY_NUMBER(fold_sum),
        [LZ_KERNEL_RPROD] = BY_NUMBER(fold_prod),
        [LZ_KERNEL_RMAX] = { fold_or_bool, fold_max_i32, fold_max_i64, fold_max_f32, fold_max_f64 },
        [LZ_KERNEL_RMIN] = { fold_and_bool, fold_min_i32, fold_min_i64, fold_min_f32, fold_min_f64 },
        [LZ_KERNEL_RAND] = BY_BITS(fold_and),
        [LZ_KERNEL_ROR] = BY_BITS(fold_or),
        [LZ_KERNEL_RXOR] = BY_BITS(fold_xor),
    },
    .best_lanes = BOTH(best_lanes),
    .best = BOTH(best),
    .merge = BOTH(merge),
    .scan = {
        [LZ_KERNEL_RSUM] = BY_NUMBER(scan_sum),
        [LZ_KERNEL_RPROD] = BY_NUMBER(scan_prod),
        [LZ_KERNEL_RMAX] = { scan_or_bool, scan_max_i32, scan_max_i64, scan_max_f32, scan_max_f64 },
        [LZ_KERNEL_RMIN] = { scan_and_bool, scan_min_i32, scan_min_i64, scan_min_f32, scan_min_f64 },
        [LZ_KERNEL_RAND] = BY_BITS(scan_and),
        [LZ_KERNEL_ROR] = BY_BITS(scan_or),
        [LZ_KERNEL_RXOR] = BY_BITS(scan_xor),
    },
    .last_best = BOTH(last),
    .scan_best = BOTH(scan_best),
    .philox = { philox0, philox1, philox2, philox3 },
    .within = within_i64,
    .affine = affine,
    .check = check,
    .stream = stream,
    .streamed = streamed,
    .is_uniform = is_uniform,
    .find_zero = BY_TYPE(find_zero),
};
