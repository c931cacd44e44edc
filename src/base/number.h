/* number.h - decimal text to and from double, exact and independent of the locale.
 *
 * Both directions are correctly rounded: reading what was printed gives the same bits. Integers are read
 * exactly or refused. Nothing here allocates or depends on the floating-point environment. */
#ifndef LZ_BASE_NUMBER_H
#define LZ_BASE_NUMBER_H

#include "base/str.h"

enum {
    LZ_DOUBLE_CHARS = 32,   /* enough for any lz_double_print */
    LZ_INT_CHARS = 20,      /* enough for any 64-bit integer with its sign */
    LZ_SHORT_DIGITS = 17,   /* 17 digits always distinguish two doubles */
    LZ_DOUBLE_DIGITS = 768, /* the most digits of a double written out in full */
};

/* The shortest decimal that reads back as v, laid out as Python's repr does: 1.0,
 * 0.0001, 1e-05, 1e+16, inf, -inf, nan. Returns the length; no NUL. */
size_t lz_double_print(double v, char buf[LZ_DOUBLE_CHARS]);

/* Without a NUL, too. */
size_t lz_int64_print(int64_t v, char buf[LZ_INT_CHARS]);
size_t lz_uint64_print(uint64_t v, char buf[LZ_INT_CHARS]);

/* The decimal digits of |v|, which must be finite and not 0: |v| = 0.d1d2d3... * 10^*exp10. Trailing zeros
 * are omitted, even within the requested number of places. */

/* The fewest digits that read back as v; of these the nearest to v. */
size_t lz_double_digits_short(double v, char digits[LZ_SHORT_DIGITS], int *exp10);
/* Rounds as %.*f and %.*e: to `places` digits after the point, or to `count` digits in all (>= 1); half to
 * even. If _fixed rounds v to 0, there are no digits. */
size_t lz_double_digits_fixed(double v, int places, char digits[LZ_DOUBLE_DIGITS], int *exp10);
size_t lz_double_digits_exact(double v, int count, char digits[LZ_DOUBLE_DIGITS], int *exp10);

/* Parses all of s: an optional sign, digits with an optional point (before, among or
 * after them), an optional exponent; or inf, infinity, nan in any case. Of any length,
 * in linear time. Overflow gives an infinity. false if s is none of these. */
bool lz_double_parse(lz_str s, double *out);

/* Optional sign and decimal digits, all of s; false if malformed or out of range. */
bool lz_int64_parse(lz_str s, int64_t *out);
bool lz_uint64_parse(lz_str s, uint64_t *out);

#endif
