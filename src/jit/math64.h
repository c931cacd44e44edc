/* math64.h - the functions of f64, each written once, in the operations of the kernel IR.
 *
 * This file is a template. The including file defines V64 (f64), VI64 (i64), VM (bool) and the operations
 * ADD, FMA, SEL, ...: prim_lang.h turns the template into C functions, which compilers vectorise; expand.c
 * turns it into kernel IR. So both compute the same bits. The coefficients are minimax fits (relative error
 * of the function) made for these intervals. test/unit/jit measures the accuracy; docs/accuracy.md states
 * it. */

/* Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits of the sum t. */
#define MAGIC64      6755399441055744.0
#define MAGIC64_BITS 0x4338000000000000

/* 2^k for -1022 <= k <= 1023 */
FN(V64, pow2_64, VI64 k)
{
    return BITS64(SHL64(ADDI64(k, CI64(1023)), 52));
}

/* v * 2^n for |n| <= 2046, n in the low bits of t, rounded once. SCALE64 where there is no instruction. */
FN(V64, scale64, V64 v, V64 t)
{
    VI64 k = SUBI64(BITS64(t), CI64(MAGIC64_BITS));
    VI64 half = SUBI64(SHRU64(ADDI64(k, CI64(4096)), 1), CI64(2048));
    V64 w = MUL(v, CALL(pow2_64, half));
    return MUL(w, CALL(pow2_64, SUBI64(k, half)));
}

/* exp(r) - 1 for |r| <= ln(2)/2 */
FN(V64, expm1_core64, V64 r)
{
    V64 p = HORNER11(64, r, 0.5, 0.16666666666666677, 0.041666666666666685, 0.0083333333333218424,
                     0.0013888888888896136, 0.00019841269885102547, 2.4801587266212543e-05,
                     2.7557245451561447e-06, 2.7557346563196053e-07, 2.510857778570369e-08,
                     2.0887143586461737e-09);
    return FMA64(MUL(r, r), p, r);
}

FN(V64, ln2_rest64, V64 x, V64 n)
{
    return FMA64(n, C64(-2.3190468138462996e-17), FMA64(n, C64(-0.69314718055994529), x));
}

FN(V64, exp64, V64 x)
{
    V64 z = SEL(GT(x, C64(710.0)), C64(710.0), x);
    z = SEL(LT(z, C64(-746.0)), C64(-746.0), z);
    V64 t = FMA64(z, C64(1.4426950408889634), C64(MAGIC64));
    V64 r = CALL(ln2_rest64, z, SUB(t, C64(MAGIC64)));
    return SCALE64(ADD(C64(1.0), CALL(expm1_core64, r)), t);
}

/* Computes half of the result, because 2^1024 is not representable. */
FN(V64, expm1_64, V64 x)
{
    V64 z = SEL(GT(x, C64(710.0)), C64(710.0), x);
    z = SEL(LT(z, C64(-50.0)), C64(-50.0), z);
    V64 t = FMA64(z, C64(1.4426950408889634), C64(MAGIC64));
    V64 n = SUB(t, C64(MAGIC64));
    V64 q = CALL(expm1_core64, CALL(ln2_rest64, z, n));
    V64 h = CALL(pow2_64, SUBI64(BITS64(t), CI64(MAGIC64_BITS + 1)));
    V64 e = FMA64(h, q, SUB(h, C64(0.5)));
    return COPYSIGN(SEL(EQ(n, C64(0.0)), q, ADD(e, e)), x);
}

FN(V64, exp2_core64, V64 r) /* 2^r - 1, |r| <= 0.5 */
{
    V64 p = HORNER11(64, r, 0.24022650695910072, 0.055504108664821701, 0.0096181291076284838,
                     0.0013333558146390292, 0.00015403530393362725, 1.5252733856356214e-05,
                     1.3215486816031034e-06, 1.017805116507814e-07, 7.0548943725474971e-09,
                     4.4566798014222902e-10, 2.57335903859786e-11);
    p = FMA64(MUL(r, r), p, MUL(r, C64(2.3190468138462996e-17)));
    return FMA64(r, C64(0.69314718055994529), p);
}

FN(V64, exp2_64, V64 x)
{
    V64 z = SEL(GT(x, C64(1025.0)), C64(1025.0), x);
    z = SEL(LT(z, C64(-1080.0)), C64(-1080.0), z);
    V64 t = ADD(z, C64(MAGIC64));
    V64 r = SUB(z, SUB(t, C64(MAGIC64)));
    return SCALE64(ADD(C64(1.0), CALL(exp2_core64, r)), t);
}

/* x = 2^e m, sqrt(1/2) <= m < sqrt(2), for x > 0 and not subnormal */
FN(VI64, exponent64, V64 x) /* e + 1023 */
{
    VI64 i = ADDI64(BITS64(x), CI64(0x3ff0000000000000 - 0x3fe6a09e667f3bcd));
    return SHRU64(i, 52);
}

FN(V64, mantissa64, V64 x, VI64 biased)
{
    return BITS64(SUBI64(BITS64(x), SHL64(SUBI64(biased, CI64(1023)), 52)));
}

/* e as f64: the biased exponent is placed in the mantissa of 2^52 */
FN(V64, small64, VI64 biased)
{
    return SUB(BITS64(OR64(biased, CI64(0x4330000000000000))), C64(4503599627370496.0 + 1023.0));
}

/* (2 atanh(s) - 2 s) / s^3, z = s^2 <= 0.0295 */
FN(V64, atanh_core64, V64 z)
{
    return HORNER8(64, z, 0.66666666666666663, 0.40000000000004921, 0.28571428569412172, 0.22222222606844155,
                   0.181817783622159, 0.15386988678630351, 0.1325214951317909, 0.13234783341520534);
}

/* log(1 + f) = f - c for a small c: with s = f / (2 + f), c = f^2/2 - s (f^2/2 + s^2 R) */
FN(V64, log_rest64, V64 f)
{
    V64 s = DIV(f, ADD(C64(2.0), f));
    V64 z = MUL(s, s);
    V64 h = MUL(MUL(C64(0.5), f), f);
    return SUB(h, MUL(s, FMA64(z, CALL(atanh_core64, z), h)));
}

/* The logarithms of 0, negative numbers, infinity and NaN. */
FN(V64, log_edge64, V64 x, V64 r)
{
    r = SEL(LT(x, C64(INFINITY)), r, x);
    r = SEL(EQ(x, C64(0.0)), C64(-INFINITY), r);
    return SEL(LT(x, C64(0.0)), C64(NAN), r);
}

FN(V64, normal64, V64 x) /* scales subnormals by 2^54 */
{
    return SEL(LT(x, C64(2.2250738585072014e-308)), MUL(x, C64(18014398509481984.0)), x);
}

FN(V64, normal_exponent64, V64 x, V64 e)
{
    return SEL(LT(x, C64(2.2250738585072014e-308)), SUB(e, C64(54.0)), e);
}

FN(V64, log64, V64 x)
{
    V64 y = CALL(normal64, x);
    VI64 k = CALL(exponent64, y);
    V64 e = CALL(normal_exponent64, x, CALL(small64, k));
    V64 f = SUB(CALL(mantissa64, y, k), C64(1.0));
    V64 c = FMA64(e, C64(-2.3190468138462996e-17), CALL(log_rest64, f));
    return CALL(log_edge64, x, FMA64(e, C64(0.69314718055994529), SUB(f, c)));
}

/* log(x) times a constant hi + lo, plus e times another; for bases 2 and 10 */
FN(V64, log_base64, V64 x, V64 hi, V64 lo, V64 unit, V64 unit_lo)
{
    V64 y = CALL(normal64, x);
    VI64 k = CALL(exponent64, y);
    V64 e = CALL(normal_exponent64, x, CALL(small64, k));
    V64 f = SUB(CALL(mantissa64, y, k), C64(1.0));
    V64 c = CALL(log_rest64, f);
    V64 g = SUB(f, c);
    V64 g_lo = SUB(SUB(f, g), c);
    V64 p = MUL(g, hi);
    V64 p_lo = FMA64(g, hi, NEG(p));
    p_lo = ADD(p_lo, FMA64(g, lo, FMA64(g_lo, hi, MUL(e, unit_lo))));
    V64 w = MUL(e, unit);
    V64 w_lo = FMA64(e, unit, NEG(w));
    V64 r = ADD(w, p);
    V64 r_lo = ADD(ADD(SUB(w, r), p), ADD(w_lo, p_lo));
    return CALL(log_edge64, x, ADD(r, r_lo));
}

FN(V64, log2_64, V64 x)
{
    return CALL(log_base64, x, C64(1.4426950408889634), C64(2.0355273740931033e-17), C64(1.0), C64(0.0));
}

FN(V64, log10_64, V64 x)
{
    return CALL(log_base64, x, C64(0.43429448190325182), C64(1.0983196502167651e-17), C64(0.3010299956639812),
                C64(-2.8037281277851704e-18));
}

/* u = 1 + x has the rounding error x - (u - 1), which is added to f. */
FN(V64, log1p64, V64 x)
{
    V64 u = ADD(C64(1.0), x);
    V64 lost = SEL(GT(x, C64(1.0)), SUB(C64(1.0), SUB(u, x)), SUB(x, SUB(u, C64(1.0))));
    VI64 k = CALL(exponent64, u);
    V64 e = CALL(small64, k);
    V64 back = BITS64(SHL64(SUBI64(CI64(2046), k), 52));
    back = SEL(GT(x, C64(1e300)), C64(0.0), back);
    V64 f = SUB(CALL(mantissa64, u, k), C64(1.0));
    V64 g = FMA64(lost, back, f);
    V64 g_lo = FMA64(lost, back, SUB(f, g));
    V64 c = SUB(FMA64(e, C64(-2.3190468138462996e-17), CALL(log_rest64, g)), g_lo);
    V64 r = FMA64(e, C64(0.69314718055994529), SUB(g, c));
    r = CALL(log_edge64, u, r);
    return SEL(LT(ABS(x), C64(1e-300)), x, r);
}

/* sin and cos of r + lo, |r| <= pi/4 */
FN(V64, sin_core64, V64 r, V64 lo)
{
    V64 z = MUL(r, r);
    V64 p = HORNER6(64, z, 0.0083333333333330418, -0.00019841269840962481, 2.7557319073903525e-06,
                    -2.5052070864502361e-08, 1.6054298299147127e-10, -7.3884943848400455e-13);
    V64 cube = MUL(z, r);
    V64 t = SUB(MUL(C64(0.5), lo), MUL(cube, p));
    t = SUB(MUL(z, t), lo);
    return SUB(r, FMA64(cube, C64(0.16666666666666666), t));
}

FN(V64, cos_core64, V64 r, V64 lo)
{
    V64 z = MUL(r, r);
    V64 p = HORNER7(64, z, 0.041666666666666664, -0.0013888888888888389, 2.4801587301180827e-05,
                    -2.7557319060693209e-07, 2.0876722013521987e-09, -1.146686263837715e-11,
                    4.5927391451465395e-14);
    V64 h = MUL(C64(0.5), z);
    V64 w = SUB(C64(1.0), h);
    V64 t = FMA64(MUL(z, z), p, NEG(MUL(r, lo)));
    return ADD(w, ADD(SUB(SUB(C64(1.0), w), h), t));
}

/* x| < 2^30: x = n pi/2 + r + lo; n in the low bits of t. The first step is exact. */
FN(V64, turns64, V64 x)
{
    return FMA64(x, C64(0.63661977236758138), C64(MAGIC64));
}

FN(V64, turn_mid64, V64 x, V64 t)
{
    return FMA64(SUB(t, C64(MAGIC64)), C64(-1.5707963267948966), x);
}

FN(V64, turn_rest64, V64 x, V64 t)
{
    return FMA64(SUB(t, C64(MAGIC64)), C64(-6.123233995736766e-17), CALL(turn_mid64, x, t));
}

FN(V64, turn_lo64, V64 x, V64 t)
{
    V64 n = SUB(t, C64(MAGIC64));
    V64 lost = SUB(CALL(turn_mid64, x, t), CALL(turn_rest64, x, t));
    return FMA64(n, C64(1.4973849048591698e-33), FMA64(n, C64(-6.123233995736766e-17), lost));
}

/* The sine of r + lo plus q quarter turns. */
FN(V64, quarter64, V64 r, V64 lo, VI64 q)
{
    V64 s = CALL(sin_core64, r, lo);
    V64 c = CALL(cos_core64, r, lo);
    V64 v = SEL(NEI64(AND64(q, CI64(1)), CI64(0)), c, s);
    return SEL(NEI64(AND64(q, CI64(2)), CI64(0)), NEG(v), v);
}

FN(V64, sin_near64, V64 x)
{
    V64 t = CALL(turns64, x);
    V64 v = CALL(quarter64, CALL(turn_rest64, x, t), CALL(turn_lo64, x, t), BITS64(t));
    return SEL(EQ(x, C64(0.0)), x, v);
}

FN(V64, cos_near64, V64 x)
{
    V64 t = CALL(turns64, x);
    return CALL(quarter64, CALL(turn_rest64, x, t), CALL(turn_lo64, x, t), ADDI64(BITS64(t), CI64(1)));
}

FN(V64, tan_near64, V64 x)
{
    V64 t = CALL(turns64, x);
    V64 r = CALL(turn_rest64, x, t), lo = CALL(turn_lo64, x, t);
    V64 s = CALL(sin_core64, r, lo), c = CALL(cos_core64, r, lo);
    VM odd = NEI64(AND64(BITS64(t), CI64(1)), CI64(0));
    V64 v = DIV(SEL(odd, NEG(c), s), SEL(odd, s, c));
    return SEL(EQ(x, C64(0.0)), x, v);
}

/* For larger |x|, TURN_HI, TURN_LO and TURN_COUNT use as many digits of 2/pi as needed. */
FN(V64, sin_far64, V64 x)
{
    return CALL(quarter64, TURN_HI(x), TURN_LO(x), TURN_COUNT(x));
}

FN(V64, cos_far64, V64 x)
{
    return CALL(quarter64, TURN_HI(x), TURN_LO(x), ADDI64(TURN_COUNT(x), CI64(1)));
}

FN(V64, tan_far64, V64 x)
{
    V64 s = CALL(sin_core64, TURN_HI(x), TURN_LO(x)), c = CALL(cos_core64, TURN_HI(x), TURN_LO(x));
    VM odd = NEI64(AND64(TURN_COUNT(x), CI64(1)), CI64(0));
    return DIV(SEL(odd, NEG(c), s), SEL(odd, s, c));
}

FN(VM, is_near64, V64 x)
{
    return LT(ABS(x), C64(1073741824.0));
}

FN(V64, sin64, V64 x)
{
    return SEL(CALL(is_near64, x), CALL(sin_near64, x), CALL(sin_far64, x));
}

FN(V64, cos64, V64 x)
{
    return SEL(CALL(is_near64, x), CALL(cos_near64, x), CALL(cos_far64, x));
}

FN(V64, tan64, V64 x)
{
    return SEL(CALL(is_near64, x), CALL(tan_near64, x), CALL(tan_far64, x));
}

/* (asin(s) - s) / s^3, z = s^2 <= 1/4 */
FN(V64, asin_core64, V64 z)
{
    return HORNER14(64, z, 0.1666666666666666, 0.075000000000023895, 0.044642857139817728,
                    0.030381944638407928, 0.022372151787649921, 0.017352941653128381, 0.013961923051914881,
                    0.011585504247952887, 0.0094851468269267145, 0.01000449861356738, 0.00069780688542622922,
                    0.024796171725657137, -0.026115319752315905, 0.033626680700409847);
}

/* asin(a) = pi/2 - 2 asin(sqrt((1 - a)/2)) for a > 1/2 */
FN(V64, asin64, V64 x)
{
    V64 a = ABS(x);
    VM big = GT(a, C64(0.5));
    V64 z = SEL(big, MUL(SUB(C64(1.0), a), C64(0.5)), MUL(a, a));
    V64 s = SEL(big, SQRT(z), a);
    V64 p = MUL(z, CALL(asin_core64, z));
    V64 small = FMA64(s, p, s);
    V64 lost = SEL(big, DIV(FMA64(NEG(s), s, z), SEL(EQ(s, C64(0.0)), C64(1.0), s)), C64(0.0));
    V64 rest = SUB(C64(6.123233995736766e-17), FMA64(MUL(C64(2.0), s), p, lost));
    V64 left = SUB(C64(1.5707963267948966), MUL(C64(2.0), s));
    V64 left_lo = SUB(SUB(C64(1.5707963267948966), left), MUL(C64(2.0), s));
    V64 r = SEL(big, ADD(left, ADD(left_lo, rest)), small);
    return SEL(EQ(x, C64(0.0)), x, COPYSIGN(r, x));
}

FN(V64, acos64, V64 x)
{
    V64 a = ABS(x);
    VM big = GT(a, C64(0.5)), negative = LT(x, C64(0.0));
    V64 z = SEL(big, MUL(SUB(C64(1.0), a), C64(0.5)), MUL(a, a));
    V64 s = SEL(big, SQRT(z), x);
    V64 p = MUL(z, CALL(asin_core64, z));
    V64 lost = SEL(big, DIV(FMA64(NEG(s), s, z), SEL(EQ(s, C64(0.0)), C64(1.0), s)), C64(0.0));
    V64 twice = FMA64(MUL(C64(2.0), s), p, lost); /* 2 asin(s) - 2 s */
    V64 near_one = FMA64(C64(2.0), s, twice);
    V64 near_minus = SUB(C64(3.1415926535897931), SUB(near_one, C64(1.2246467991473532e-16)));
    V64 middle = SUB(C64(1.5707963267948966), SUB(FMA64(s, p, s), C64(6.123233995736766e-17)));
    return SEL(big, SEL(negative, near_minus, near_one), middle);
}

/* atan(s) for |s| <= tan(pi/8) */
FN(V64, atan_core64, V64 s)
{
    V64 z = MUL(s, s);
    V64 p =
        HORNER12(64, z, -0.33333333333333326, 0.19999999999997098, -0.14285714285317072, 0.11111111083804903,
                 -0.090909079885077376, 0.076922792699674586, -0.066661758029115892, 0.05876528166943891,
                 -0.052152598259095261, 0.044908919739487616, -0.033182661265622047, 0.014901612047243636);
    return MUL(MUL(s, z), p);
}

/* atan(y/x) for 0 <= y, x, not both 0 or both infinite */
FN(V64, atan_ratio64, V64 y, V64 x)
{
    VM steep = GT(y, MUL(x, C64(2.4142135623730949))), middle = GT(y, MUL(x, C64(0.41421356237309503)));
    V64 top = SEL(steep, NEG(x), SEL(middle, SUB(y, x), y));
    V64 bottom = SEL(steep, y, SEL(middle, ADD(y, x), x));
    V64 base = SEL(steep, C64(1.5707963267948966), SEL(middle, C64(0.78539816339744828), C64(0.0)));
    V64 base_lo = SEL(steep, C64(6.123233995736766e-17), SEL(middle, C64(3.061616997868383e-17), C64(0.0)));
    V64 s = DIV(top, bottom);
    return ADD(base, ADD(s, ADD(CALL(atan_core64, s), base_lo)));
}

FN(V64, atan64, V64 x)
{
    V64 a = ABS(x);
    V64 r = SEL(EQ(a, C64(INFINITY)), C64(1.5707963267948966), CALL(atan_ratio64, a, C64(1.0)));
    return SEL(EQ(x, C64(0.0)), x, COPYSIGN(r, x));
}

FN(V64, atan2_64, V64 y, V64 x)
{
    V64 a = ABS(y), b = ABS(x);
    VM wide = EQ(a, C64(INFINITY)), long_ = EQ(b, C64(INFINITY));
    V64 top = SEL(wide, C64(1.0), SEL(long_, C64(0.0), a));
    V64 bottom = SEL(long_, C64(1.0), SEL(wide, C64(0.0), b));
    bottom = SEL(EQ(a, C64(0.0)), C64(1.0), bottom); /* 0/0 is 0 here */
    VM huge = GT(MAX(a, b), C64(1e300));
    top = SEL(huge, MUL(top, C64(0.125)), top); /* so that y + x stays finite */
    bottom = SEL(huge, MUL(bottom, C64(0.125)), bottom);
    V64 r = CALL(atan_ratio64, top, bottom);
    V64 back = SUB(C64(3.1415926535897931), SUB(r, C64(1.2246467991473532e-16)));
    r = SEL(SIGNBIT(x), back, r);
    r = SEL(OR(NE(x, x), NE(y, y)), ADD(x, y), r);
    return COPYSIGN(r, y);
}

FN(V64, sinh64, V64 x)
{
    V64 a = ABS(x);
    V64 t = CALL(expm1_64, a);
    V64 small = MUL(C64(0.5), ADD(t, DIV(t, ADD(t, C64(1.0)))));
    V64 w = CALL(exp64, MUL(C64(0.5), a));
    V64 big = MUL(MUL(C64(0.5), w), w);
    V64 r = SEL(GT(a, C64(709.0)), big, SEL(GT(a, C64(40.0)), MUL(C64(0.5), t), small));
    return COPYSIGN(SEL(LT(a, C64(1e-300)), a, r), x);
}

FN(V64, cosh64, V64 x)
{
    V64 a = ABS(x);
    V64 e = CALL(exp64, a);
    V64 small = FMA64(C64(0.5), e, DIV(C64(0.5), e));
    V64 w = CALL(exp64, MUL(C64(0.5), a));
    return SEL(GT(a, C64(709.0)), MUL(MUL(C64(0.5), w), w), small);
}

FN(V64, tanh64, V64 x)
{
    V64 a = ABS(x);
    V64 z = SEL(GT(a, C64(22.0)), C64(22.0), a);
    V64 e = CALL(expm1_64, ADD(z, z));
    return COPYSIGN(DIV(e, ADD(e, C64(2.0))), x);
}

FN(V64, asinh64, V64 x)
{
    V64 a = ABS(x);
    VM big = GT(a, C64(1e9));
    V64 z = SEL(big, C64(1.0), a);
    V64 s = MUL(z, z);
    V64 t = ADD(z, DIV(s, ADD(C64(1.0), SQRT(ADD(s, C64(1.0))))));
    V64 far = ADD(CALL(log64, a), C64(0.69314718055994529));
    return COPYSIGN(SEL(big, far, CALL(log1p64, t)), x);
}

FN(V64, acosh64, V64 x)
{
    VM big = GT(x, C64(1e9));
    V64 t = SUB(SEL(big, C64(1.0), x), C64(1.0));
    V64 near = CALL(log1p64, ADD(t, SQRT(FMA64(t, t, ADD(t, t)))));
    V64 far = ADD(CALL(log64, x), C64(0.69314718055994529));
    return SEL(LT(x, C64(1.0)), C64(NAN), SEL(big, far, near));
}

FN(V64, atanh64, V64 x)
{
    V64 a = ABS(x);
    V64 t = DIV(ADD(a, a), SUB(C64(1.0), a));
    V64 r = MUL(C64(0.5), CALL(log1p64, t));
    r = SEL(LT(a, C64(1e-300)), a, r);
    return COPYSIGN(SEL(GT(a, C64(1.0)), C64(NAN), r), x);
}

/* exp(-x^2), with the square in double-double precision */
FN(V64, gauss64, V64 x)
{
    V64 s = MUL(x, x);
    V64 lost = FMA64(x, x, NEG(s));
    V64 e = CALL(exp64, NEG(s));
    return FMA64(NEG(e), lost, e);
}

/* erf(x) / x, z = x^2 <= 1/4 */
FN(V64, erf_core64, V64 z)
{
    return HORNER10(64, z, 1.1283791670955126, -0.37612638903183748, 0.11283791670954864,
                    -0.026866170644997283, 0.0052239776219662921, -0.00085483265048097879,
                    0.00012055285796226942, -1.4922987145377663e-05, 1.6370884692258693e-06,
                    -1.4617772048984521e-07);
}

/* erfc(a), a >= 1/2, as exp(-a^2) G((a - 4)/(a + 4)) / (1 + 2 a) */
FN(V64, erfc_core64, V64 a)
{
    a = SEL(GT(a, C64(27.5)), C64(27.5), a);
    V64 t = DIV(SUB(a, C64(4.0)), ADD(a, C64(4.0)));
    V64 g = HORNER23(
        64, t, 1.2329951186255526, -0.1396211168405625, 0.01537965210261984, 0.068097054254688885,
        -0.10103906603630984, 0.093732834998516479, -0.066330365812095907, 0.037167515534131043,
        -0.016197734059183382, 0.0050319700150940313, -0.00075777327950907484, -0.00019925694408191833,
        0.00015062164099315683, -2.4398140248794419e-05, -1.1221959057013411e-05, 5.7066964686688717e-06,
        2.9376679775585064e-07, -8.1980870277757644e-07, 7.454226430195029e-08, 1.0350606322601759e-07,
        -1.7744932612923846e-08, -9.7408125551308706e-09, 1.7525463471107115e-09);
    return MUL(CALL(gauss64, a), DIV(g, FMA64(C64(2.0), a, C64(1.0))));
}

FN(V64, erf64, V64 x)
{
    V64 a = ABS(x);
    V64 r = SEL(LT(a, C64(0.5)), MUL(a, CALL(erf_core64, MUL(a, a))), SUB(C64(1.0), CALL(erfc_core64, a)));
    return COPYSIGN(r, x);
}

FN(V64, normal_cdf64, V64 x)
{
    return MUL(C64(0.5), ADD(C64(1.0), CALL(erf64, MUL(x, C64(0.70710678118654757)))));
}

FN(V64, erfc64, V64 x)
{
    V64 a = ABS(x);
    V64 c = CALL(erfc_core64, a);
    V64 far = SEL(LT(x, C64(0.0)), SUB(C64(2.0), c), c);
    return SEL(LT(a, C64(0.5)), FMA64(NEG(x), CALL(erf_core64, MUL(x, x)), C64(1.0)), far);
}

/* A fit with error 2^-20, then one step of Halley's method on erf or on erfc. */
FN(V64, erfinv64, V64 x)
{
    V64 a = ABS(x);
    V64 w = NEG(CALL(log64, MUL(SUB(C64(1.0), a), ADD(C64(1.0), a))));
    V64 s = SQRT(w);
    V64 near = HORNER10(64, w, 0.88622685961510417, 0.23201589119301244, 0.011537335069155216,
                        -0.0023109461817429804, -0.00015127745404931191, 5.8045499327089683e-05,
                        -4.6744122744070586e-07, -1.125066119547657e-06, 1.3358022225657329e-07,
                        -5.0598474391482759e-09);
    V64 far = HORNER9(64, s, 2.537870351805767, -3.7460390881908894, 3.6504074853847066, -1.6077446416964729,
                      0.44255482908408328, -0.077746504254713272, 0.0084978855879352007,
                      -0.00052783395795018913, 1.4255985719252946e-05);
    V64 y = MUL(a, SEL(LT(w, C64(6.25)), near, far));
    V64 low = SUB(CALL(erf64, y), a);
    V64 high = SUB(SUB(C64(1.0), a), CALL(erfc64, y));
    V64 d = SEL(LT(a, C64(0.5)), low, high);
    V64 u = DIV(MUL(d, C64(0.88622692545275805)), CALL(gauss64, y));
    y = SUB(y, DIV(u, FMA64(y, u, C64(1.0))));
    y = SEL(EQ(a, C64(1.0)), C64(INFINITY), y);
    y = SEL(LT(a, C64(1e-300)), MUL(a, C64(0.88622692545275805)), y);
    return COPYSIGN(SEL(GT(a, C64(1.0)), C64(NAN), y), x);
}

/* sin(pi x)|: x is first reduced to |r| <= 1/2. */
FN(V64, sin_pi64, V64 x)
{
    V64 r = ABS(SUB(x, ROUND(x)));
    V64 hi = MUL(r, C64(3.1415926535897931));
    V64 lo = FMA64(r, C64(1.2246467991473532e-16), FMA64(r, C64(3.1415926535897931), NEG(hi)));
    V64 t = CALL(turns64, hi);
    return CALL(quarter64, CALL(turn_rest64, hi, t), ADD(CALL(turn_lo64, hi, t), lo), BITS64(t));
}

/* One step down from x towards [1.5, 2.5), and the product of the numbers passed. */
FN(V64, step_down64, V64 x)
{
    return SEL(GE(x, C64(2.5)), SUB(x, C64(1.0)), x);
}

FN(V64, step_product64, V64 p, V64 x)
{
    return SEL(GE(x, C64(2.5)), MUL(p, SUB(x, C64(1.0))), p);
}

/* log(gamma(2 + t)) / t for -1/2 <= t <= 1/2 */
FN(V64, lgamma_part64, V64 t)
{
    return HORNER19(
        64, t, 0.42278433509846713, 0.32246703342411331, -0.06735230105319491, 0.020580808427765853,
        -0.0073855510290106573, 0.0028905103318184709, -0.0011927538980418698, 0.00050966949641144128,
        -0.00022315503533765454, 9.9457917575945611e-05, -4.4923095260253146e-05, 2.0503813771929755e-05,
        -9.4603214993101411e-06, 4.3920707392441205e-06, -1.9594110849234597e-06, 9.0385802984683023e-07,
        -6.1062159475724503e-07, 2.9339324596453106e-07, 2.4158477905393077e-08);
}

/* log(gamma(x)) for x > 0: Stirling's series from 8 on; smaller x are first moved next to 2. */
FN(V64, lgamma_positive64, V64 x)
{
    V64 y1 = CALL(step_down64, x), p1 = CALL(step_product64, C64(1.0), x);
    V64 y2 = CALL(step_down64, y1), p2 = CALL(step_product64, p1, y1);
    V64 y3 = CALL(step_down64, y2), p3 = CALL(step_product64, p2, y2);
    V64 y4 = CALL(step_down64, y3), p4 = CALL(step_product64, p3, y3);
    V64 y5 = CALL(step_down64, y4), p5 = CALL(step_product64, p4, y4);
    V64 y6 = CALL(step_down64, y5), p6 = CALL(step_product64, p5, y5);
    VM first = LT(x, C64(0.5)), second = LT(x, C64(1.5)), large = GE(x, C64(8.0));
    /* t = y - 2, without rounding if x is tiny or near 1 */
    V64 t = SEL(first, x, SEL(second, SUB(x, C64(1.0)), SUB(y6, C64(2.0))));
    V64 p = SEL(first, MUL(x, ADD(x, C64(1.0))), SEL(second, x, p6));
    V64 q = CALL(lgamma_part64, t);
    V64 l = CALL(log64, SEL(large, x, p));
    V64 below = FMA64(t, q, SEL(second, NEG(l), l));
    V64 i = DIV(C64(1.0), x);
    V64 series = HORNER9(64, MUL(i, i), 0.083333333333333329, -0.0027777777777777779, 0.00079365079365079365,
                         -0.00059523809523809529, 0.00084175084175084171, -0.0019175269175269176,
                         0.00641025641025641, -0.029550653594771242, 0.17964437236883057);
    V64 above = FMA64(SUB(x, C64(0.5)), SUB(l, C64(1.0)), FMA64(i, series, C64(0.91893853320467278 - 0.5)));
    above = SEL(GT(x, C64(1e300)), MUL(x, SUB(l, C64(1.0))), above);
    return SEL(large, above, below);
}

/* gamma(x) gamma(1 - x) = pi / sin(pi x) */
FN(V64, lgamma64, V64 x)
{
    V64 a = ABS(x);
    V64 positive = CALL(lgamma_positive64, a);
    V64 s = CALL(sin_pi64, a);
    V64 negative = SUB(CALL(log64, DIV(C64(3.1415926535897931), MUL(a, s))), positive);
    negative = SEL(EQ(s, C64(0.0)), C64(INFINITY), negative);
    V64 r = SEL(LT(x, C64(0.0)), negative, positive);
    r = SEL(LT(a, C64(1e-17)), NEG(CALL(log64, a)), r);
    return SEL(EQ(a, C64(INFINITY)), a, r);
}

/* One step of psi(x) = psi(x + 1) - 1/x if x + k is below 10, and the count of these steps. */
FN(V64, psi_step64, V64 sum, V64 x, V64 k)
{
    V64 y = ADD(x, k);
    return SEL(LT(y, C64(10.0)), SUB(sum, DIV(C64(1.0), y)), sum);
}

FN(V64, psi_count64, V64 count, V64 x, V64 k)
{
    return SEL(LT(ADD(x, k), C64(10.0)), ADD(count, C64(1.0)), count);
}

/* psi(x) for x > 0: x is moved to 10 or more, then the asymptotic series. */
FN(V64, digamma_positive64, V64 x)
{
    V64 sum = C64(0.0), count = C64(0.0);
#define STEP(k)                                                                                              \
    sum = CALL(psi_step64, sum, x, C64(k));                                                                  \
    count = CALL(psi_count64, count, x, C64(k));
    STEP(9.0)
    STEP(8.0)
    STEP(7.0)
    STEP(6.0)
    STEP(5.0)
    STEP(4.0)
    STEP(3.0)
    STEP(2.0)
    STEP(1.0)
    STEP(0.0)
#undef STEP
    V64 y = ADD(x, count);
    V64 i = DIV(C64(1.0), y);
    V64 z = MUL(i, i);
    V64 series = HORNER8(64, z, 0.083333333333333329, -0.0083333333333333332, 0.003968253968253968,
                         -0.0041666666666666666, 0.007575757575757576, -0.021092796092796094,
                         0.083333333333333329, -0.44325980392156861);
    V64 l = SUB(CALL(log64, y), FMA64(C64(0.5), i, MUL(z, series)));
    return ADD(l, sum);
}

/* psi(1 - x) - psi(x) = pi / tan(pi x); the cotangent is taken of the distance to the nearest integer. */
FN(V64, digamma64, V64 x)
{
    VM mirrored = LT(x, C64(0.0));
    V64 positive = CALL(digamma_positive64, SEL(mirrored, SUB(C64(1.0), x), x));
    V64 r = SUB(x, ROUND(x));
    V64 cot = DIV(C64(3.1415926535897931), CALL(tan_near64, MUL(r, C64(3.1415926535897931))));
    V64 v = SEL(mirrored, SUB(positive, cot), positive);
    v = SEL(AND(mirrored, EQ(r, C64(0.0))), C64(NAN), v);
    return SEL(EQ(x, C64(0.0)), COPYSIGN(C64(INFINITY), NEG(x)), v);
}

/* The signs and special cases of pow, given |x|^y for 0 < |x| < inf. */
#define POW_EDGE(V, b)                                                                                       \
    FN(V, pow_edge##b, V x, V y, V r)                                                                        \
    {                                                                                                        \
        V a = ABS(x);                                                                                        \
        VM whole = EQ(FLOOR(y), y);                                                                          \
        V half = MUL(y, C##b(0.5));                                                                          \
        VM odd = AND(whole, NE(FLOOR(half), half));                                                          \
        VM negative = SIGNBIT(x), up = LT(C##b(0.0), y);                                                     \
        r = SEL(EQ(a, C##b(0.0)), SEL(up, C##b(0.0), C##b(INFINITY)), r);                                    \
        r = SEL(EQ(a, C##b(INFINITY)), SEL(up, C##b(INFINITY), C##b(0.0)), r);                               \
        VM far = EQ(ABS(y), C##b(INFINITY));                                                                 \
        V limit = SEL(EQ(LT(C##b(1.0), a), up), C##b(INFINITY), C##b(0.0));                                  \
        r = SEL(far, SEL(EQ(a, C##b(1.0)), C##b(1.0), limit), r);                                            \
        r = SEL(AND(negative, odd), NEG(r), r);                                                              \
        r = SEL(AND(LT(x, C##b(0.0)), AND(NOT(whole), LT(a, C##b(INFINITY)))), C##b(NAN), r);                \
        r = SEL(OR(NE(x, x), NE(y, y)), ADD(x, y), r);                                                       \
        return SEL(OR(EQ(y, C##b(0.0)), EQ(x, C##b(1.0))), C##b(1.0), r);                                    \
    }
POW_EDGE(V64, 64)

/* 2^(y log2(a)), the logarithm to 20 bits more than f64 has: s and its square in two parts each, higher
 * powers in one. */
FN(V64, pow_core64, V64 a, V64 y)
{
    V64 n = CALL(normal64, a);
    VI64 k = CALL(exponent64, n);
    V64 e = CALL(normal_exponent64, a, CALL(small64, k));
    V64 m = CALL(mantissa64, n, k);
    V64 f = SUB(m, C64(1.0)), g = ADD(m, C64(1.0));
    V64 one = SUB(g, m);
    V64 g_lo = ADD(SUB(m, SUB(g, one)), SUB(C64(1.0), one)); /* the rounding error of g */
    V64 s = DIV(f, g);
    V64 s_lo = DIV(FMA64(NEG(s), g_lo, FMA64(NEG(s), g, f)), g);
    V64 z = MUL(s, s);
    V64 z_lo = FMA64(C64(2.0), MUL(s, s_lo), FMA64(s, s, NEG(z)));
    V64 p = HORNER8(64, z, 0.1999999999999999, 0.14285714285721923, 0.11111111108893744, 0.090909094221735015,
                    0.076922792002200077, 0.066681328488671435, 0.058378772285344854, 0.05990992654277328);
    /* w = z (1/3 + z p) */
    V64 zp = MUL(z, p);
    V64 c = ADD(C64(0.33333333333333331), zp);
    V64 c_lo = ADD(ADD(SUB(C64(0.33333333333333331), c), zp), C64(1.8503717077085941e-17));
    V64 w = MUL(z, c);
    V64 w_lo = FMA64(z, c_lo, FMA64(z_lo, c, FMA64(z, c, NEG(w))));
    /* l = s + s w, half of log(m) */
    V64 sw = MUL(s, w);
    V64 sw_lo = FMA64(s, w_lo, FMA64(s_lo, w, FMA64(s, w, NEG(sw))));
    V64 l = ADD(s, sw);
    V64 l_lo = ADD(ADD(SUB(s, l), sw), ADD(sw_lo, s_lo));
    /* t = e + l 2/ln(2) */
    V64 b = MUL(l, C64(2.8853900817779268));
    V64 b_lo = FMA64(l, C64(2.8853900817779268), NEG(b));
    b_lo = ADD(b_lo, FMA64(l, C64(4.0710547481862066e-17), MUL(l_lo, C64(2.8853900817779268))));
    V64 t = ADD(e, b);
    V64 t_lo = ADD(ADD(SUB(e, t), b), b_lo);
    V64 h = MUL(y, t);
    V64 h_lo = FMA64(y, t_lo, FMA64(y, t, NEG(h)));
    VM over = GT(h, C64(1100.0)), under = LT(h, C64(-1100.0));
    h = SEL(over, C64(1100.0), SEL(under, C64(-1100.0), h));
    h_lo = SEL(OR(over, under), C64(0.0), h_lo);
    V64 u = ADD(h, C64(MAGIC64));
    V64 r = SUB(h, SUB(u, C64(MAGIC64)));
    V64 v = CALL(exp2_core64, r);
    V64 small = MUL(C64(0.69314718055994529), h_lo);
    v = ADD(v, FMA64(small, v, small));
    return SCALE64(ADD(C64(1.0), v), u);
}

FN(V64, pow64, V64 x, V64 y)
{
    return CALL(pow_edge64, x, y, CALL(pow_core64, ABS(x), y));
}
