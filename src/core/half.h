/* half.h - float16 and bfloat16 as bits, to and from float.
 *
 * Widening is exact. Narrowing rounds to nearest, ties to even, whatever the rounding
 * mode of the processor; overflow gives an infinity. A NaN stays a NaN with its sign
 * and the upper bits of its payload, and becomes quiet in both directions. */
#ifndef LZ_CORE_HALF_H
#define LZ_CORE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t lz_f32_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline float lz_f32_of_bits(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline float lz_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fff;
    if (mag > 0x7c00)
        return lz_f32_of_bits(sign | 0x7fc00000 | mag << 13);
    if (mag == 0x7c00)
        return lz_f32_of_bits(sign | 0x7f800000);
    if (mag < 0x0400)
        return lz_f32_of_bits(sign | lz_f32_bits((float)mag * 0x1p-24f));
    return lz_f32_of_bits(sign | ((mag << 13) + 0x38000000));
}

static inline uint16_t lz_f32_to_f16(float v)
{
    uint32_t bits = lz_f32_bits(v), sign = bits >> 16 & 0x8000, mag = bits & 0x7fffffff, out;
    if (mag > 0x7f800000)
        out = 0x7e00 | (mag >> 13 & 0x3ff);
    else if (mag >= 0x47800000) /* 2^16 */
        out = 0x7c00;
    else if (mag >= 0x38800000) /* 2^-14: the result is normal, or rounds up to infinity */
        out = (mag + 0xfff + (mag >> 13 & 1) - 0x38000000) >> 13;
    else if (mag < 0x33000000) /* 2^-25, half of the least subnormal */
        out = 0;
    else {
        uint32_t frac = (mag & 0x7fffff) | 0x800000, shift = 126 - (mag >> 23);
        out = (frac + (UINT32_C(1) << (shift - 1)) - 1 + (frac >> shift & 1)) >> shift;
    }
    return (uint16_t)(sign | out);
}

static inline float lz_bf16_to_f32(uint16_t h)
{
    uint32_t quiet = (h & 0x7fff) > 0x7f80 ? 0x400000 : 0;
    return lz_f32_of_bits((uint32_t)h << 16 | quiet);
}

static inline uint16_t lz_f32_to_bf16(float v)
{
    uint32_t bits = lz_f32_bits(v);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#endif
