/* kop.h - the scalar operations of the kernel IR, one row each, and what they mean.
 *
 * Integers wrap around. Floats follow IEEE 754 with NaN propagated, no flushing of
 * subnormals; f32 is computed in f32. */
#ifndef LZ_JIT_KOP_H
#define LZ_JIT_KOP_H

#include "base/str.h"

/* X(name, text, operands, types, result)
 * types: B bool, I i32 and i64, F f32 and f64, D f64. result: the type of the operands
 * (SAME), of the last one (LAST), bool, or the other type of the same width (BITS). */
#define LZ_KOPS(X)                                                                                           \
    X(ADD, "add", 2, I | F, SAME)                                                                            \
    X(SUB, "sub", 2, I | F, SAME)                                                                            \
    X(MUL, "mul", 2, I | F, SAME)                                                                            \
    X(DIV, "div", 2, F, SAME)                                                                                \
    X(FMA, "fma", 3, F, SAME)                 /* x*y+z, rounded once */                                      \
    X(IDIV, "idiv", 2, I, SAME)               /* towards zero; x/0 fails the run; MIN/-1 = MIN */            \
    X(IDIV_FLOOR, "idiv_floor", 2, I, SAME)   /* towards minus infinity */                                   \
    X(FMOD, "fmod", 2, I | F, SAME)           /* the sign of x; integers by 0 fail */                        \
    X(REMAINDER, "remainder", 2, I | F, SAME) /* the sign of y, as Python's % */                             \
    X(NEG, "neg", 1, I | F, SAME)                                                                            \
    X(ABS, "abs", 1, I | F, SAME)                                                                            \
    X(MIN, "min", 2, B | I | F, SAME) /* NaN if either is */                                                 \
    X(MAX, "max", 2, B | I | F, SAME)                                                                        \
    X(FMIN, "fmin", 2, F, SAME) /* the other one if one is NaN */                                            \
    X(FMAX, "fmax", 2, F, SAME)                                                                              \
    X(EQ, "eq", 2, B | I | F, BOOL)                                                                          \
    X(NE, "ne", 2, B | I | F, BOOL)                                                                          \
    X(LT, "lt", 2, B | I | F, BOOL)                                                                          \
    X(LE, "le", 2, B | I | F, BOOL)                                                                          \
    X(GT, "gt", 2, B | I | F, BOOL) /* made as LT with operands swapped */                                   \
    X(GE, "ge", 2, B | I | F, BOOL)                                                                          \
    X(AND, "and", 2, B | I, SAME)                                                                            \
    X(OR, "or", 2, B | I, SAME)                                                                              \
    X(XOR, "xor", 2, B | I, SAME)                                                                            \
    X(NOT, "not", 1, B | I, SAME)                                                                            \
    X(SHL, "shl", 2, I, SAME)               /* a count below 0 or too great: 0 */                            \
    X(SHR, "shr", 2, I, SAME)               /* arithmetic; such counts: the sign */                          \
    X(SHRU, "shru", 2, I, SAME)             /* logical; such counts: 0 */                                    \
    X(SELECT, "select", 3, B | I | F, LAST) /* x is bool; y where it holds, else z */                        \
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
    X(TURN_COUNT, "turn_count", 1, D, BITS) /* turn.h: the far end of sin, cos, tan */                       \
    X(TURN_HI, "turn_hi", 1, D, SAME)                                                                        \
    X(TURN_LO, "turn_lo", 1, D, SAME)                                                                        \
    X(SCALE, "scale", 2, F, SAME) /* see below */

/* NORMAL_CDF is the normal distribution function, 0.5 * (1 + erf(x * sqrt(0.5))), with a small absolute
 * error; far below 0 it is 0. For what multiplies it by x, as gelu does: no part of erf's relative accuracy
 * near 0 is seen there, so that it takes fewer steps. */

/* SCALE is x * 2^y, rounded once, for a whole y and x near 1; NaN if y is NaN. y infinite, as
 * exp has it for infinities: infinite or 0, even if x is NaN. So AVX-512's vscalef. Only
 * lz_kernel_expand_hot makes it. */

typedef enum lz_kop {
#define ROW(name, text, n, types, result) LZ_K_##name,
    LZ_KOPS(ROW)
#undef ROW
        LZ_KOP_COUNT
} lz_kop;

/* What a table row says, as bits of 1 << lz_ktype (kernel.h). */
typedef enum lz_kresult { LZ_KR_SAME, LZ_KR_BOOL, LZ_KR_LAST, LZ_KR_BITS } lz_kresult;

/* By its text: "add"; false if there is none. */
bool lz_kop_find(lz_str text, lz_kop *out);
const char *lz_kop_text(lz_kop op);
int lz_kop_operands(lz_kop op);
unsigned lz_kop_types(lz_kop op);
lz_kresult lz_kop_result(lz_kop op);

#endif
