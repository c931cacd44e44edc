/* number.h - decimal text to and from double, exact and without the locale.
 *
 * Both directions are correctly rounded: reading what was printed gives the same
 * bits. Integers are read exactly or refused. */
#ifndef LZ_BASE_NUMBER_H
#define LZ_BASE_NUMBER_H

#include "base/str.h"

enum { LZ_DOUBLE_CHARS = 32 };

/* The shortest decimal that reads back as v, laid out as Python's repr does: 1.0,
 * 0.0001, 1e-05, 1e+16, inf, -inf, nan. Returns the length; no NUL. */
size_t lz_double_print(double v, char buf[LZ_DOUBLE_CHARS]);

/* The decimal digits of |v| (finite, not 0), correctly rounded half to even:
 * v = 0.d1d2d3... * 10^*exp10. */
size_t lz_double_digits_short(double v, char digits[20], int *exp10); /* fewest that read back */
size_t lz_double_digits_fixed(double v, int after_point, char *digits, size_t cap,
                              int *exp10);                                    /* as %.Nf would round */
size_t lz_double_digits_exact(double v, int count, char *digits, int *exp10); /* as %.Ne would round */

/* Parses all of s: digits, optional fraction and exponent, optional sign; also inf,
 * infinity, nan in any case. Overflow gives an infinity. false if s is none of these. */
bool lz_double_parse(lz_str s, double *out);

/* Optional sign and decimal digits, all of s; false if malformed or out of range. */
bool lz_int64_parse(lz_str s, int64_t *out);
bool lz_uint64_parse(lz_str s, uint64_t *out);

#endif
