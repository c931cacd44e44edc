/* prim_lang.h - the template language of math64.h and math32.h, as plain C on one element. */
#ifndef LZ_JIT_PRIM_LANG_H
#define LZ_JIT_PRIM_LANG_H

#include "jit/horner.h"
#include "jit/tile_prim.h"
#include "jit/trig_reduce.h"

#define V32               float
#define V64               double
#define VI32              int32_t
#define VI64              int64_t
#define VM                bool
#define FN(T, name, ...)  __attribute__((unused, always_inline)) static inline T name(__VA_ARGS__)
#define CALL(name, ...)   name(__VA_ARGS__)
#define C32(v)            ((float)(v))
#define C64(v)            ((double)(v))
#define CI32(v)           ((int32_t)(v))
#define CI64(v)           ((int64_t)(v))
#define PICK(x, f32, f64) _Generic((x), float : f32, double : f64)
#define ADD(x, y)         ((x) + (y))
#define SUB(x, y)         ((x) - (y))
#define MUL(x, y)         ((x) * (y))
#define DIV(x, y)         ((x) / (y))
#define NEG(x)            (-(x))
#define FMA32(x, y, z)    fma_f32(x, y, z)
#define FMA64(x, y, z)    fma_f64(x, y, z)
#define ABS(x)            PICK(x, abs_f32, abs_f64)(x)
#define MAX(x, y)         PICK(x, max_f32, max_f64)(x, y)
#define COPYSIGN(x, y)    PICK(x, copysign_f32, copysign_f64)(x, y)
#define SIGNBIT(x)        (f64_bits(x) < 0)
#define SQRT(x)           PICK(x, __builtin_sqrtf, __builtin_sqrt)(x)
#define FLOOR(x)          PICK(x, __builtin_floorf, __builtin_floor)(x)
#define ROUND(x)          PICK(x, __builtin_rintf, __builtin_rint)(x)
#define EQ(x, y)          ((x) == (y))
#define NE(x, y)          ((x) != (y))
#define LT(x, y)          ((x) < (y))
#define GT(x, y)          ((x) > (y))
#define GE(x, y)          ((x) >= (y))
#define AND(x, y)         ((x) & (y))
#define OR(x, y)          ((x) | (y))
#define NOT(x)            (!(x))
#define SEL(m, x, y)      ((m) ? (x) : (y))
#define BITS32(x)         _Generic((x), float : f32_bits, int32_t : i32_bits)(x)
#define BITS64(x)         _Generic((x), double : f64_bits, int64_t : i64_bits)(x)
#define ADDI32(x, y)      add_int32(x, y)
#define SUBI32(x, y)      sub_int32(x, y)
#define AND32(x, y)       ((x) & (y))
#define SHL32(x, n)       ((int32_t)((uint32_t)(x) << (n)))
#define SHR32(x, n)       ((x) >> (n))
#define NEI32(x, y)       ((x) != (y))
#define ADDI64(x, y)      add_int64(x, y)
#define SUBI64(x, y)      sub_int64(x, y)
#define AND64(x, y)       ((x) & (y))
#define OR64(x, y)        ((x) | (y))
#define SHL64(x, n)       ((int64_t)((uint64_t)(x) << (n)))
#define SHRU64(x, n)      ((int64_t)((uint64_t)(x) >> (n)))
#define NEI64(x, y)       ((x) != (y))
#define TO_F32(x)         ((float)(x))
#define TO_F64(x)         ((double)(x))
#define NO_MORE32(x, c)   SEL(GT(x, c), c, x)
#define NO_LESS32(x, c)   SEL(LT(x, c), c, x)
#define SCALE32(v, t)     scale32(v, t)
#define SCALE64(v, t)     scale64(v, t)
#define TURN_HI(x)        lz_trig_hi(x)
#define TURN_LO(x)        lz_trig_lo(x)
#define TURN_COUNT(x)     lz_trig_count(x)

#include "jit/math64.h"

#include "jit/math32.h"

#endif
