/* lower_calc.h - used by generated lowering functions, beside lower.h: arithmetic on known ints, and
 * access to values.
 *
 * Arithmetic sets a fault if it fails. The fault stays set; lz_calc_check turns it into an error before
 * the number is used. */
#ifndef LZ_LOWER_LOWER_CALC_H
#define LZ_LOWER_LOWER_CALC_H

#include "lower/lower.h"

/* A list of arguments for lz_low_call. */
#define LZ_ARGS(...) ((const lz_low_value[]){ __VA_ARGS__ })

typedef unsigned lz_calc_fault;
enum { LZ_FAULT_OVERFLOW = 1, LZ_FAULT_ZERO = 2 };

/* LZ_ERR_ARG if a fault is set. */
LZ_MUST_USE lz_err *lz_calc_check(lz_calc_fault fault);

static inline int64_t lz_calc_add(lz_calc_fault *f, int64_t x, int64_t y)
{
    int64_t z;
    *f |= __builtin_add_overflow(x, y, &z) ? LZ_FAULT_OVERFLOW : 0;
    return z;
}

static inline int64_t lz_calc_sub(lz_calc_fault *f, int64_t x, int64_t y)
{
    int64_t z;
    *f |= __builtin_sub_overflow(x, y, &z) ? LZ_FAULT_OVERFLOW : 0;
    return z;
}

static inline int64_t lz_calc_mul(lz_calc_fault *f, int64_t x, int64_t y)
{
    int64_t z;
    *f |= __builtin_mul_overflow(x, y, &z) ? LZ_FAULT_OVERFLOW : 0;
    return z;
}

static inline int64_t lz_calc_neg(lz_calc_fault *f, int64_t x)
{
    return lz_calc_sub(f, 0, x);
}

static inline int64_t lz_calc_abs(lz_calc_fault *f, int64_t x)
{
    return x < 0 ? lz_calc_neg(f, x) : x;
}

/* Rounds down. The remainder has the sign of the divisor. */
int64_t lz_calc_div(lz_calc_fault *f, int64_t x, int64_t y);
int64_t lz_calc_mod(lz_calc_fault *f, int64_t x, int64_t y);
/* 1 for y = 0; a negative y is a fault unless x is 1 or -1. */
int64_t lz_calc_pow(lz_calc_fault *f, int64_t x, int64_t y);

static inline int64_t lz_calc_min(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static inline int64_t lz_calc_max(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

/* The number of ints from `from` up to, but not including, `to`. */
static inline size_t lz_calc_count(int64_t from, int64_t to)
{
    return from < to ? (size_t)to - (size_t)from : 0;
}

static inline int64_t lz_calc_len(const lz_low_value *list)
{
    return (int64_t)list->list.n;
}

static inline bool lz_calc_is(lz_dtype d, lz_dtype_attr attr)
{
    return lz_low_dtype_attr(d, attr).number.i != 0;
}

static inline int64_t lz_calc_itemsize(lz_dtype d)
{
    return lz_low_dtype_attr(d, LZ_DTYPE_ITEMSIZE).number.i;
}

LZ_MUST_USE lz_err *lz_calc_get_dtype(const lz_low_value *v, lz_dtype *out);
LZ_MUST_USE lz_err *lz_calc_to_int(const lz_low_value *number, int64_t *out); /* rounds towards zero */
/* One size of a tensor, one int of a list. A negative i counts from the end. */
LZ_MUST_USE lz_err *lz_calc_size(const lz_low_value *tensor, int64_t i, int64_t *out);
LZ_MUST_USE lz_err *lz_calc_int_at(const lz_low_value *list, int64_t i, int64_t *out);
/* c ? x : y for elements. Two numbers become elements of T. */
LZ_MUST_USE lz_err *lz_calc_select(lz_lower *b, const lz_inner *in, const lz_low_value *args,
                                   lz_low_value *out);
/* A list of n times the value. */
LZ_MUST_USE lz_err *lz_calc_spread(lz_lower *b, lz_low_value v, int64_t n, lz_low_value *out);
LZ_MUST_USE lz_err *lz_calc_floats(lz_lower *b, const lz_low_value *ints, lz_low_value *out);

#endif
