/* trig_reduce.h - reduces a large angle to a quarter turn (Payne and Hanek's method).
 *
 * x = n pi/2 + hi + lo, |hi| <= pi/4, for finite |x| >= 2^20: the digits of 2/pi that matter for x are
 * multiplied in integers. These are primitives of the kernel IR; they are inline, so that a compiler computes
 * their common part once. */
#ifndef LZ_JIT_TRIG_REDUCE_H
#define LZ_JIT_TRIG_REDUCE_H

#include "jit/tile_prim.h"

typedef struct lz_trig {
    int64_t count; /* n modulo 4; 0 for smaller |x|, infinities and NaN */
    double hi, lo; /* 0 for smaller |x|, NaN for infinities and NaN */
} lz_trig;

__extension__ typedef unsigned __int128 lz_trig_wide;

extern const uint64_t lz_trig_digits[21]; /* binary digits of 2/pi after the point, preceded by 64 zeros */

static inline uint64_t turn_window(int bit)
{
    int word = bit / 64, shift = bit % 64;
    uint64_t next = shift ? lz_trig_digits[word + 1] >> (64 - shift) : 0;
    return (lz_trig_digits[word] << shift) | next;
}

/* f 2^-128 as two doubles */
static inline lz_trig turn_split(lz_trig_wide f)
{
    uint64_t top = (uint64_t)(f >> 64), bottom = (uint64_t)f;
    int zeros = top ? __builtin_clzll(top) : 64 + (bottom ? __builtin_clzll(bottom) : 0);
    lz_trig_wide g = f << (zeros < 128 ? zeros : 0);
    uint64_t first = (uint64_t)(g >> 75), second = (uint64_t)(g >> 22) & ((UINT64_C(1) << 53) - 1);
    double scale = i64_bits((int64_t)(1023 - 53 - zeros) << 52);
    return (lz_trig){ 0, (double)first * scale, (double)second * scale * 0x1p-53 };
}

/* x is finite, |x| >= 2^20. Computes m 2^e 2/pi modulo 4 with two bits of integer and 190 of fraction. Bits
 * of 2/pi before the window would only add multiples of 4. */
static inline lz_trig turn_great(double x)
{
    int64_t i = f64_bits(x);
    uint64_t m = ((uint64_t)i & ((UINT64_C(1) << 52) - 1)) | (UINT64_C(1) << 52);
    int bit = 64 - 2 - 1075 + (int)((i >> 52) & 2047);
    lz_trig_wide low = (lz_trig_wide)turn_window(bit + 128) * m;
    lz_trig_wide mid = (lz_trig_wide)turn_window(bit + 64) * m + (uint64_t)(low >> 64);
    uint64_t p2 = (uint64_t)low, p1 = (uint64_t)mid, p0 = turn_window(bit) * m + (uint64_t)(mid >> 64);
    lz_trig_wide f = ((lz_trig_wide)((p0 << 2) | (p1 >> 62)) << 64) | ((p1 << 2) | (p2 >> 62));
    int64_t above = (int64_t)(f >> 127); /* more than half a quarter turn: measure from the other side */
    lz_trig t = turn_split(above ? -f : f);
    double sign = (above != 0) != (x < 0) ? -1 : 1, hi = t.hi * 1.5707963267948966;
    double rest = fma_f64(t.hi, 1.5707963267948966, -hi) + t.hi * 6.123233995736766e-17;
    int64_t n = (int64_t)(p0 >> 62) + above;
    return (lz_trig){ (x < 0 ? -n : n) & 3, sign * hi, sign * (rest + t.lo * 1.5707963267948966) };
}

static inline lz_trig turn_of(double x)
{
    int e = (int)((f64_bits(x) >> 52) & 2047);
    if (e == 2047)
        return (lz_trig){ 0, (double)NAN, (double)NAN };
    return e < 1023 + 20 ? (lz_trig){ 0, 0, 0 } : turn_great(x);
}

static inline int64_t lz_trig_count(double x)
{
    return turn_of(x).count;
}

static inline double lz_trig_hi(double x)
{
    return turn_of(x).hi;
}

static inline double lz_trig_lo(double x)
{
    return turn_of(x).lo;
}

#endif
