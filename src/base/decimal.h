/* decimal.h - exact conversion between decimal digits and binary floating point.
 *
 * Every result is computed with integers of up to 3000 bits, so there are no rounding errors. It takes a
 * microsecond or two: number.h first tries a faster approximation and calls these functions only if that
 * leaves a doubt.
 *
 * Here a double is m * 2^e, m < 2^53 (not 0), -1074 <= e <= 971. */
#ifndef LZ_BASE_DECIMAL_H
#define LZ_BASE_DECIMAL_H

#include "base/number.h"

/* Row i: the leading 128 bits of 10^(27 * (i - 13)), truncated; high half first. In steps of 27 because 5^27
 * is the largest power of five that fits in 64 bits. */
enum { LZ_DECIMAL_STEP = 27, LZ_DECIMAL_ZERO = 13, LZ_DECIMAL_POWERS = 26 };
extern const uint64_t lz_decimal_powers[LZ_DECIMAL_POWERS][2];

/* As lz_double_digits_short, _fixed and _exact. edge: the gap below m * 2^e is half the one above. */
size_t lz_decimal_short(uint64_t m, int e, bool edge, char digits[LZ_SHORT_DIGITS], int *exp10);
size_t lz_decimal_fixed(uint64_t m, int e, int places, char digits[LZ_DOUBLE_DIGITS], int *exp10);
size_t lz_decimal_exact(uint64_t m, int e, int count, char digits[LZ_DOUBLE_DIGITS], int *exp10);

/* The sign of 0.d1d2d3... * 10^exp10 - m * 2^e. The digits may contain a point, which is skipped; d1 is not
 * 0. The two numbers must be within a factor of 2^32 of each other. Here m < 2^54 and e >= -1075, to allow
 * numbers half-way between two doubles. */
int lz_decimal_compare(lz_str digits, int exp10, uint64_t m, int e);

#endif
