#include "kernel/keys.h"
#include "core/dtype.h"

/* One loop per layout. U: the element's bits, KEY: their key as a U. Contiguous elements have a loop of their
 * own, which compilers vectorise. */
#define KEYS(name, U, KEY)                                                                                   \
    static void name(const void *x, int64_t step, int64_t n, bool descending, uint64_t *keys)                \
    {                                                                                                        \
        const U *v = x;                                                                                      \
        const U flip = descending ? (U)-1 : 0;                                                               \
        if (step == 1)                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                  \
                keys[i] = (U)(KEY(v[i]) ^ flip);                                                             \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++)                                                                  \
                keys[i] = (U)(KEY(v[i * step]) ^ flip);                                                      \
    }

/* Flips the sign bit, so that negative numbers come first. */
#define WHOLE8(b)  ((uint8_t)((b) ^ 0x80u))
#define WHOLE16(b) ((uint16_t)((b) ^ 0x8000u))
#define WHOLE32(b) ((b) ^ 0x80000000u)
#define WHOLE64(b) ((b) ^ 0x8000000000000000u)
#define PLAIN8(b)  (b)

/* infinity: its bits; greater magnitudes are NaNs. Negative numbers have all bits flipped, the others only
 * the sign; -0 has the key of 0. */
#define REAL_KEY(U, top, infinity, b)                                                                        \
    ((U)((b) & (U) ~(top)) > (infinity)                                                                      \
         ? (U)-1                                                                                             \
         : ((b) & (top) ? ((b) == (top) ? (top) : (U) ~(b)) : (U)((b) | (top))))
#define F16_KEY(b)  REAL_KEY(uint16_t, 0x8000u, 0x7c00u, b)
#define BF16_KEY(b) REAL_KEY(uint16_t, 0x8000u, 0x7f80u, b)
#define F32_KEY(b)  REAL_KEY(uint32_t, 0x80000000u, 0x7f800000u, b)
#define F64_KEY(b)  REAL_KEY(uint64_t, 0x8000000000000000u, 0x7ff0000000000000u, b)

KEYS(of_plain8, uint8_t, PLAIN8)
KEYS(of_whole8, uint8_t, WHOLE8)
KEYS(of_whole16, uint16_t, WHOLE16)
KEYS(of_whole32, uint32_t, WHOLE32)
KEYS(of_whole64, uint64_t, WHOLE64)
KEYS(of_f16, uint16_t, F16_KEY)
KEYS(of_bf16, uint16_t, BF16_KEY)
KEYS(of_f32, uint32_t, F32_KEY)
KEYS(of_f64, uint64_t, F64_KEY)

lz_keys_fn *lz_keys_of(lz_dtype d)
{
    static lz_keys_fn *const rows[LZ_DTYPE_NUMBERS] = {
        [LZ_BOOL] = of_plain8, [LZ_U8] = of_plain8,   [LZ_I8] = of_whole8, [LZ_I16] = of_whole16,
        [LZ_I32] = of_whole32, [LZ_I64] = of_whole64, [LZ_F16] = of_f16,   [LZ_BF16] = of_bf16,
        [LZ_F32] = of_f32,     [LZ_F64] = of_f64,
    };
    return (unsigned)d < LZ_DTYPE_NUMBERS ? rows[d] : NULL;
}
