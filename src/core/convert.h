/* convert.h - converts elements between any two dtypes.
 *
 * The rules:
 * - to bool: true if it differs from 0; a NaN does.
 * - integer to integer: the low bits.
 * - to f16 and bf16: rounded to f32 first, then to the half, both to nearest even.
 * - float to integer: truncated towards 0, as int64 for i64 and as int32 for the others, of
 *   which narrower ones keep the low bits. A NaN, or a value that does not fit that width, becomes
 *   its least value. (PyTorch on x86 gives these values; for u8 it goes through int64.)
 * - complex to anything but complex and bool: its real part. */
#ifndef LZ_CORE_CONVERT_H
#define LZ_CORE_CONVERT_H

#include "core/dtype.h"

/* Converts n elements, `step` bytes apart on either side; they need not be aligned. The two sides may be the
 * same memory if dtypes and steps are equal; otherwise they must not overlap. */
void lz_convert_run(lz_dtype from, const void *src, ptrdiff_t src_step, lz_dtype to, void *dst,
                    ptrdiff_t dst_step, int64_t n);

/* One element, without loss; and the reverse by the rules above. NONE is stored as 0. */
lz_scalar lz_element_get(lz_dtype d, const void *p);
void lz_element_set(lz_dtype d, lz_scalar v, void *p);

static inline bool lz_f64_fits_i64(double v)
{
    return v >= -9223372036854775808.0 && v < 9223372036854775808.0;
}

/* The truncation towards 0 of the rules. */
int32_t lz_f64_to_i32(double v);
int64_t lz_f64_to_i64(double v);

#endif
