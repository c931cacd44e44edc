/* scalar.h - numbers that are no tensors: arithmetic, comparison, conversion, text.
 *
 * The wider kind of two operands decides: bool < int < float < complex; bool counts as an int of 0 or 1.
 * Integers never wrap: a result that does not fit is LZ_ERR_LIMIT. Floats follow IEEE 754, including division
 * by 0. NONE is no number. */
#ifndef LZ_CORE_SCALAR_H
#define LZ_CORE_SCALAR_H

#include "base/err.h"
#include "base/text.h"
#include "core/dtype.h"

typedef enum lz_scalar_op {
    LZ_SCALAR_ADD,
    LZ_SCALAR_SUB,
    LZ_SCALAR_MUL,
    LZ_SCALAR_DIV,       /* always a float or complex */
    LZ_SCALAR_FLOORDIV,  /* floor(a / b) */
    LZ_SCALAR_REMAINDER, /* has the sign of the divisor */
    LZ_SCALAR_POW,       /* ints give an int, unless the exponent is negative */
    LZ_SCALAR_MIN,       /* of equal operands, or if one is NaN, the first */
    LZ_SCALAR_MAX,
    LZ_SCALAR_AND, /* bitwise; two bools give a bool */
    LZ_SCALAR_OR,
    LZ_SCALAR_XOR,
    LZ_SCALAR_SHL,
    LZ_SCALAR_SHR,
    LZ_SCALAR_OPS
} lz_scalar_op;

LZ_MUST_USE lz_err *lz_scalar_binary(lz_scalar_op op, lz_scalar a, lz_scalar b, lz_scalar *out);
LZ_MUST_USE lz_err *lz_scalar_neg(lz_scalar a, lz_scalar *out);
LZ_MUST_USE lz_err *lz_scalar_abs(lz_scalar a, lz_scalar *out); /* of a complex: its magnitude */

typedef enum lz_scalar_cmp {
    LZ_SCALAR_EQ,
    LZ_SCALAR_NE,
    LZ_SCALAR_LT,
    LZ_SCALAR_LE,
    LZ_SCALAR_GT,
    LZ_SCALAR_GE,
    LZ_SCALAR_CMPS
} lz_scalar_cmp;

/* Exact comparison of values: 2^53 + 1 is not equal to the float 2^53. Nothing is less or greater than a NaN;
 * complex numbers have no order (LZ_ERR_ARG). */
LZ_MUST_USE lz_err *lz_scalar_compare(lz_scalar_cmp cmp, lz_scalar a, lz_scalar b, bool *out);

/* The number as an element of d would hold it, or LZ_ERR_ARG with PyTorch's message: "value cannot be
 * converted to type int8_t without overflow". A fraction is truncated, an imaginary part must be 0; u8 also
 * accepts the ints -255 to -1 as 1 to 255. */
LZ_MUST_USE lz_err *lz_scalar_cast(lz_scalar v, lz_dtype d, lz_scalar *out);

/* Like lz_scalar_cast to i64, f64 and bool. */
LZ_MUST_USE lz_err *lz_scalar_to_int(lz_scalar v, int64_t *out);
LZ_MUST_USE lz_err *lz_scalar_to_double(lz_scalar v, double *out);
bool lz_scalar_is_true(lz_scalar v); /* is it not 0? NONE is not */

/* As Python writes it: True, 3, 2.5, (1+2j), None. */
void lz_scalar_print(lz_scalar v, lz_text *out);

#endif
