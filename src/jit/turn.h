/* turn.h - a great angle brought to its quarter turn (Payne and Hanek's method).
 *
 * x = n pi/2 + hi + lo, |hi| <= pi/4, for finite |x| >= 2^20: the digits of 2/pi
 * that matter for x are multiplied out in integers. Primitives of the kernel IR. */
#ifndef LZ_JIT_TURN_H
#define LZ_JIT_TURN_H

#include <stdint.h>

int64_t lz_turn_count(double x); /* n modulo 4; 0 for smaller, infinite and NaN x */
double lz_turn_hi(double x);     /* 0 for smaller x, NaN for infinite and NaN */
double lz_turn_lo(double x);

#endif
