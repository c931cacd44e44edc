/* expand_impl.h - the functions of math64.h and math32.h as kernel IR: defines their template language on
 * values of a builder. Each expand*.c includes this file once and defines LZ_EXPAND_SCALE, NO_MORE32,
 * NO_LESS32 and LZ_EXPANSIONS, the name of its table. */
#include "jit/expand.h"
#include "jit/horner.h"
#include <math.h>

#define V32              lz_kernel_value
#define V64              lz_kernel_value
#define VI32             lz_kernel_value
#define VI64             lz_kernel_value
#define VM               lz_kernel_value
#define FN(T, name, ...) __attribute__((unused)) static T name(lz_kernel_builder *kb_, __VA_ARGS__)
#define CALL(name, ...)  name(kb_, __VA_ARGS__)
#define C32(v)           lz_kernel_build_const_f(kb_, LZ_KERNEL_F32, (double)(v))
#define C64(v)           lz_kernel_build_const_f(kb_, LZ_KERNEL_F64, (double)(v))
#define CI32(v)          lz_kernel_build_const_i(kb_, LZ_KERNEL_I32, v)
#define CI64(v)          lz_kernel_build_const_i(kb_, LZ_KERNEL_I64, v)
#define ADD(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_ADD, x, y)
#define SUB(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_SUB, x, y)
#define MUL(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_MUL, x, y)
#define DIV(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_DIV, x, y)
#define NEG(x)           lz_kernel_build_op1(kb_, LZ_KERNEL_NEG, x)
#define FMA32(x, y, z)   lz_kernel_build_op3(kb_, LZ_KERNEL_FMA, x, y, z)
#define FMA64(x, y, z)   lz_kernel_build_op3(kb_, LZ_KERNEL_FMA, x, y, z)
#define ABS(x)           lz_kernel_build_op1(kb_, LZ_KERNEL_ABS, x)
#define MAX(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_MAX, x, y)
#define COPYSIGN(x, y)   lz_kernel_build_op2(kb_, LZ_KERNEL_COPYSIGN, x, y)
#define SIGNBIT(x)       lz_kernel_build_op1(kb_, LZ_KERNEL_SIGNBIT, x)
#define SQRT(x)          lz_kernel_build_op1(kb_, LZ_KERNEL_SQRT, x)
#define FLOOR(x)         lz_kernel_build_op1(kb_, LZ_KERNEL_FLOOR, x)
#define ROUND(x)         lz_kernel_build_op1(kb_, LZ_KERNEL_ROUND, x)
#define EQ(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_EQ, x, y)
#define NE(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_NE, x, y)
#define LT(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_LT, x, y)
#define GT(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_GT, x, y)
#define GE(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_GE, x, y)
#define AND(x, y)        lz_kernel_build_op2(kb_, LZ_KERNEL_AND, x, y)
#define OR(x, y)         lz_kernel_build_op2(kb_, LZ_KERNEL_OR, x, y)
#define NOT(x)           lz_kernel_build_op1(kb_, LZ_KERNEL_NOT, x)
#define SEL(m, x, y)     lz_kernel_build_op3(kb_, LZ_KERNEL_SELECT, m, x, y)
#define BITS32(x)        lz_kernel_build_op1(kb_, LZ_KERNEL_BITS, x)
#define BITS64(x)        lz_kernel_build_op1(kb_, LZ_KERNEL_BITS, x)
#define ADDI32(x, y)     ADD(x, y)
#define SUBI32(x, y)     SUB(x, y)
#define AND32(x, y)      AND(x, y)
#define SHL32(x, n)      lz_kernel_build_op2(kb_, LZ_KERNEL_SHL, x, CI32(n))
#define SHR32(x, n)      lz_kernel_build_op2(kb_, LZ_KERNEL_SHR, x, CI32(n))
#define NEI32(x, y)      NE(x, y)
#define ADDI64(x, y)     ADD(x, y)
#define SUBI64(x, y)     SUB(x, y)
#define AND64(x, y)      AND(x, y)
#define OR64(x, y)       OR(x, y)
#define SHL64(x, n)      lz_kernel_build_op2(kb_, LZ_KERNEL_SHL, x, CI64(n))
#define SHRU64(x, n)     lz_kernel_build_op2(kb_, LZ_KERNEL_SHRU, x, CI64(n))
#define NEI64(x, y)      NE(x, y)
#define TO_F32(x)        lz_kernel_build_cast(kb_, x, LZ_F32)
#define TO_F64(x)        lz_kernel_build_cast(kb_, x, LZ_F64)
#define SCALE32(v, t)    LZ_EXPAND_SCALE(32, v, t)
#define SCALE64(v, t)    LZ_EXPAND_SCALE(64, v, t)
#define TURN_HI(x)       lz_kernel_build_op1(kb_, LZ_KERNEL_TURN_HI, x)
#define TURN_LO(x)       lz_kernel_build_op1(kb_, LZ_KERNEL_TURN_LO, x)
#define TURN_COUNT(x)    lz_kernel_build_op1(kb_, LZ_KERNEL_TURN_COUNT, x)

#include "jit/math64.h"

#include "jit/math32.h"

FN(lz_kernel_value, rsqrt32, lz_kernel_value x)
{
    return DIV(C32(1.0), SQRT(x));
}

FN(lz_kernel_value, rsqrt64, lz_kernel_value x)
{
    return DIV(C64(1.0), SQRT(x));
}

const lz_expansions LZ_EXPANSIONS = {
    .one = {
        [LZ_KERNEL_RSQRT] = { rsqrt32, rsqrt64 },
        [LZ_KERNEL_EXP] = { exp32, exp64 },
        [LZ_KERNEL_EXP2] = { exp2_32, exp2_64 },
        [LZ_KERNEL_EXPM1] = { expm1_32, expm1_64 },
        [LZ_KERNEL_LOG] = { log32, log64 },
        [LZ_KERNEL_LOG2] = { log2_32, log2_64 },
        [LZ_KERNEL_LOG10] = { log10_32, log10_64 },
        [LZ_KERNEL_LOG1P] = { log1p32, log1p64 },
        [LZ_KERNEL_SIN] = { sin32, sin64 },
        [LZ_KERNEL_COS] = { cos32, cos64 },
        [LZ_KERNEL_TAN] = { tan32, tan64 },
        [LZ_KERNEL_ASIN] = { asin32, asin64 },
        [LZ_KERNEL_ACOS] = { acos32, acos64 },
        [LZ_KERNEL_ATAN] = { atan32, atan64 },
        [LZ_KERNEL_SINH] = { sinh32, sinh64 },
        [LZ_KERNEL_COSH] = { cosh32, cosh64 },
        [LZ_KERNEL_TANH] = { tanh32, tanh64 },
        [LZ_KERNEL_ASINH] = { asinh32, asinh64 },
        [LZ_KERNEL_ACOSH] = { acosh32, acosh64 },
        [LZ_KERNEL_ATANH] = { atanh32, atanh64 },
        [LZ_KERNEL_SIGMOID] = { sigmoid32, sigmoid64 },
        [LZ_KERNEL_ERF] = { erf32, erf64 },
        [LZ_KERNEL_ERFC] = { erfc32, erfc64 },
        [LZ_KERNEL_ERFINV] = { erfinv32, erfinv64 },
        [LZ_KERNEL_NORMAL_CDF] = { normal_cdf32, normal_cdf64 },
        [LZ_KERNEL_LGAMMA] = { lgamma32, lgamma64 },
        [LZ_KERNEL_DIGAMMA] = { digamma32, digamma64 },
    },
    .two = {
        [LZ_KERNEL_POW] = { pow32, pow64 },
        [LZ_KERNEL_ATAN2] = { atan2_32, atan2_64 },
    },
    .near = {
        [LZ_KERNEL_SIN] = { sin_near32, sin_near64 },
        [LZ_KERNEL_COS] = { cos_near32, cos_near64 },
        [LZ_KERNEL_TAN] = { NULL, tan_near64 },
    },
    .is_near = { is_near32, is_near64 },
    .exp_minus32 = exp_minus32,
};
