/* kop.h - the scalar operations of the kernel IR, one row each, and what they mean.
 *
 * Integers wrap around. Floats follow IEEE 754 with NaN propagated, no flushing of
 * subnormals; f32 is computed in f32. */
#ifndef LZ_JIT_KOP_H
#define LZ_JIT_KOP_H

#include "base/str.h"

/* X(name, text, operands, types, result)
 * types: B bool, I i32 and i64, F f32 and f64, D f64. result: the type of the operands
 * (SAME), of the last one (LAST), bool, or the other type of equal width (BITS). */
#define LZ_KERNEL_OP_COUNT(X)                                                                                \
    X(ADD, "add", 2, I | F, SAME)                                                                            \
    X(SUB, "sub", 2, I | F, SAME)                                                                            \
    X(MUL, "mul", 2, I | F, SAME)                                                                            \
    X(DIV, "div", 2, F, SAME)                                                                                \
    X(FMA, "fma", 3, F, SAME)                 /* x*y+z, rounded once */                                      \
    X(IDIV, "idiv", 2, I, SAME)               /* towards zero; x/0 fails the run; MIN/-1 = MIN */            \
    X(IDIV_FLOOR, "idiv_floor", 2, I, SAME)   /* towards minus infinity */                                   \
    X(FMOD, "fmod", 2, I | F, SAME)           /* the sign of x; an integer y of 0 fails the run */           \
    X(REMAINDER, "remainder", 2, I | F, SAME) /* the sign of y, as Python's % */                             \
    X(NEG, "neg", 1, I | F, SAME)                                                                            \
    X(ABS, "abs", 1, I | F, SAME)                                                                            \
    X(MIN, "min", 2, B | I | F, SAME) /* NaN if either is */                                                 \
    X(MAX, "max", 2, B | I | F, SAME)                                                                        \
    X(FMIN, "fmin", 2, F, SAME) /* ignores a NaN operand */                                                  \
    X(FMAX, "fmax", 2, F, SAME)                                                                              \
    X(EQ, "eq", 2, B | I | F, BOOL)                                                                          \
    X(NE, "ne", 2, B | I | F, BOOL)                                                                          \
    X(LT, "lt", 2, B | I | F, BOOL)                                                                          \
    X(LE, "le", 2, B | I | F, BOOL)                                                                          \
    X(GT, "gt", 2, B | I | F, BOOL) /* becomes LT with its operands swapped */                               \
    X(GE, "ge", 2, B | I | F, BOOL)                                                                          \
    X(AND, "and", 2, B | I, SAME)                                                                            \
    X(OR, "or", 2, B | I, SAME)                                                                              \
    X(XOR, "xor", 2, B | I, SAME)                                                                            \
    X(NOT, "not", 1, B | I, SAME)                                                                            \
    X(SHL, "shl", 2, I, SAME)               /* a count below 0 or not below the width: 0 */                  \
    X(SHR, "shr", 2, I, SAME)               /* arithmetic; out-of-range counts: the sign */                  \
    X(SHRU, "shru", 2, I, SAME)             /* logical; out-of-range counts: 0 */                            \
    X(SELECT, "select", 3, B | I | F, LAST) /* x is bool: x ? y : z */                                       \
    X(FLOOR, "floor", 1, F, SAME)                                                                            \
    X(CEIL, "ceil", 1, F, SAME)                                                                              \
    X(TRUNC, "trunc", 1, F, SAME)                                                                            \
    X(ROUND, "round", 1, F, SAME) /* half to even */                                                         \
    X(SQRT, "sqrt", 1, F, SAME)                                                                              \
    X(RSQRT, "rsqrt", 1, F, SAME) /* 1 / sqrt(x), two roundings */                                           \
    X(COPYSIGN, "copysign", 2, F, SAME)                                                                      \
    X(SIGNBIT, "signbit", 1, F, BOOL)                                                                        \
    X(NEXTAFTER, "nextafter", 2, F, SAME)                                                                    \
    X(BITS, "bits", 1, I | F, BITS) /* f32 to and from i32, f64 to and from i64 */                           \
    X(GCD, "gcd", 2, I, SAME)                                                                                \
    X(POW, "pow", 2, I | F, SAME) /* integers: by squaring; a negative exponent truncates */                 \
    X(EXP, "exp", 1, F, SAME)                                                                                \
    X(EXP2, "exp2", 1, F, SAME)                                                                              \
    X(EXPM1, "expm1", 1, F, SAME)                                                                            \
    X(LOG, "log", 1, F, SAME)                                                                                \
    X(LOG2, "log2", 1, F, SAME)                                                                              \
    X(LOG10, "log10", 1, F, SAME)                                                                            \
    X(LOG1P, "log1p", 1, F, SAME)                                                                            \
    X(SIN, "sin", 1, F, SAME)                                                                                \
    X(COS, "cos", 1, F, SAME)                                                                                \
    X(TAN, "tan", 1, F, SAME)                                                                                \
    X(ASIN, "asin", 1, F, SAME)                                                                              \
    X(ACOS, "acos", 1, F, SAME)                                                                              \
    X(ATAN, "atan", 1, F, SAME)                                                                              \
    X(ATAN2, "atan2", 2, F, SAME)                                                                            \
    X(SINH, "sinh", 1, F, SAME)                                                                              \
    X(COSH, "cosh", 1, F, SAME)                                                                              \
    X(TANH, "tanh", 1, F, SAME)                                                                              \
    X(ASINH, "asinh", 1, F, SAME)                                                                            \
    X(ACOSH, "acosh", 1, F, SAME)                                                                            \
    X(ATANH, "atanh", 1, F, SAME)                                                                            \
    X(SIGMOID, "sigmoid", 1, F, SAME) /* 1 / (1 + exp(-x)) */                                                \
    X(ERF, "erf", 1, F, SAME)                                                                                \
    X(ERFC, "erfc", 1, F, SAME)                                                                              \
    X(ERFINV, "erfinv", 1, F, SAME)                                                                          \
    X(NORMAL_CDF, "normal_cdf", 1, F, SAME) /* see below */                                                  \
    X(LGAMMA, "lgamma", 1, F, SAME)                                                                          \
    X(DIGAMMA, "digamma", 1, F, SAME)                                                                        \
    X(TURN_COUNT, "turn_count", 1, D, BITS) /* trig_reduce.h: large arguments of sin, cos, tan */            \
    X(TURN_HI, "turn_hi", 1, D, SAME)                                                                        \
    X(TURN_LO, "turn_lo", 1, D, SAME)                                                                        \
    X(ZETA, "zeta", 2, D, SAME) /* special64.h, as the next three */                                         \
    X(IGAMMA, "igamma", 2, D, SAME)                                                                          \
    X(IGAMMAC, "igammac", 2, D, SAME)                                                                        \
    X(ORTHOGONAL, "orthogonal", 3, D, SAME) /* x, degree, family */                                          \
    X(SCALE, "scale", 2, F, SAME)           /* see below */

/* NORMAL_CDF is the normal distribution function, 0.5 * (1 + erf(x * sqrt(0.5))), with a small absolute
 * error; below -10 it is 0. It is meant for products with x, as in gelu: they do not need erf's
 * relative accuracy near 0, so fewer steps suffice. */

/* SCALE is x * 2^y, rounded once, for integral y and x near 1; NaN if y is NaN. For infinite y (exp of an
 * infinity) the result is infinite or 0, even if x is NaN. This is AVX-512's vscalef. Only
 * lz_kernel_expand_hot creates it. */

typedef enum lz_kernel_op {
#define ROW(name, text, n, types, result) LZ_KERNEL_##name,
    LZ_KERNEL_OP_COUNT(ROW)
#undef ROW
        LZ_KERNEL_OP_COUNT
} lz_kernel_op;

/* The `result` column of the table. lz_kernel_op_types has bits 1 << lz_kernel_type (kernel.h). */
typedef enum lz_kernel_result {
    LZ_KERNEL_REDUCE_SAME,
    LZ_KERNEL_REDUCE_BOOL,
    LZ_KERNEL_REDUCE_LAST,
    LZ_KERNEL_REDUCE_BITS
} lz_kernel_result;

/* Finds an operation by its text, "add"; false if there is none. */
bool lz_kernel_op_find(lz_str text, lz_kernel_op *out);
const char *lz_kernel_op_text(lz_kernel_op op);
int lz_kernel_op_operands(lz_kernel_op op);
unsigned lz_kernel_op_types(lz_kernel_op op);
lz_kernel_result lz_kernel_op_result(lz_kernel_op op);

#endif
