/* math32.h - the functions of f32: a template like math64.h, which must be included before it.
 *
 * The frequent functions have fits of their own and stay in f32. The others are those of f64, rounded: half
 * as fast, and almost always the nearest f32. */

#define MAGIC32      12582912.0f
#define MAGIC32_BITS 0x4b400000

FN(V32, pow2_32, VI32 k)
{
    return BITS32(SHL32(ADDI32(k, CI32(127)), 23));
}

/* v * 2^n, n in the low bits of t, rounded once. SCALE32 where there is no instruction. */
FN(V32, scale32, V32 v, V32 t)
{
    VI32 k = SUBI32(BITS32(t), CI32(MAGIC32_BITS));
    VI32 half = SHR32(k, 1);
    V32 w = MUL(v, CALL(pow2_32, half));
    return MUL(w, CALL(pow2_32, SUBI32(k, half)));
}

/* exp(r) for |r| <= ln(2)/2; positive for every r */
FN(V32, exp_part32, V32 r)
{
    return HORNER7(32, r, 1.0f, 1.0f, 0.49999994f, 0.166665211f, 0.0416682623f, 0.00836866908f,
                   0.00138210237f);
}

/* exp(r) - 1, accurate near 0 */
FN(V32, expm1_core32, V32 r)
{
    V32 p =
        HORNER6(32, r, 0.5f, 0.166666657f, 0.0416663587f, 0.00833338965f, 0.00139406684f, 0.000198459398f);
    return FMA32(MUL(r, r), p, r);
}

FN(V32, ln2_rest32, V32 x, V32 n)
{
    return FMA32(n, C32(1.90465421e-09f), FMA32(n, C32(-0.693147182f), x));
}

/* x = n ln(2) + r; n in the low bits of t */
FN(V32, halvings32, V32 x)
{
    return FMA32(x, C32(1.44269502f), C32(MAGIC32));
}

FN(V32, exp_core32, V32 x, V32 t)
{
    return CALL(exp_part32, CALL(ln2_rest32, x, SUB(t, C32(MAGIC32))));
}

/* Equals exp32 where exp(x) and exp(-x) are normal numbers. */
FN(V32, exp_near32, V32 x)
{
    V32 t = CALL(halvings32, x);
    return BITS32(ADDI32(BITS32(CALL(exp_core32, x, t)), SHL32(BITS32(t), 23)));
}

FN(V32, exp32, V32 x)
{
    V32 z = NO_MORE32(x, C32(89.0f));
    z = SEL(LT(z, C32(-104.0f)), C32(-104.0f), z);
    V32 t = CALL(halvings32, z);
    return SCALE32(CALL(exp_core32, z, t), t);
}

/* exp32(-x) with the sign folded into the constants. */
FN(V32, exp_minus32, V32 x)
{
    V32 z = NO_LESS32(x, C32(-89.0f));
    z = SEL(GT(z, C32(104.0f)), C32(104.0f), z);
    V32 t = FMA32(z, C32(-1.44269502f), C32(MAGIC32));
    return SCALE32(CALL(exp_core32, NEG(z), t), t);
}

FN(V32, expm1_32, V32 x)
{
    V32 z = SEL(GT(x, C32(89.0f)), C32(89.0f), x);
    z = SEL(LT(z, C32(-20.0f)), C32(-20.0f), z);
    V32 t = FMA32(z, C32(1.44269502f), C32(MAGIC32));
    V32 n = SUB(t, C32(MAGIC32));
    V32 q = CALL(expm1_core32, CALL(ln2_rest32, z, n));
    V32 h = CALL(pow2_32, SUBI32(BITS32(t), CI32(MAGIC32_BITS + 1)));
    V32 e = FMA32(h, q, SUB(h, C32(0.5f)));
    return COPYSIGN(SEL(EQ(n, C32(0.0f)), q, ADD(e, e)), x);
}

FN(V32, exp2_32, V32 x)
{
    V32 z = SEL(GT(x, C32(129.0f)), C32(129.0f), x);
    z = SEL(LT(z, C32(-151.0f)), C32(-151.0f), z);
    V32 t = ADD(z, C32(MAGIC32));
    V32 r = SUB(z, SUB(t, C32(MAGIC32)));
    V32 p = HORNER7(32, r, 0.693147182f, 0.240226507f, 0.0555040501f, 0.0096180886f, 0.00133379805f,
                    0.00015451049f, 1.43126435e-05f);
    return SCALE32(FMA32(r, p, C32(1.0f)), t);
}

/* 1 / (1 + exp(-x)), both sides scaled by 2^-64, so that exp(-x) does not overflow where the result is
 * subnormal; rounded twice after the polynomial. Nothing is lost up to s = 2^-41. */
FN(V32, sigmoid_near32, V32 x)
{
    V32 z = NEG(x);
    V32 t = CALL(halvings32, z);
    V32 q = CALL(expm1_core32, CALL(ln2_rest32, z, SUB(t, C32(MAGIC32))));
    V32 s = CALL(pow2_32, SUBI32(BITS32(t), CI32(MAGIC32_BITS + 64)));
    V32 sum = ADD(s, C32(0x1p-64f));
    V32 lost = SUB(C32(0x1p-64f), SUB(sum, s));
    return DIV(C32(0x1p-64f), ADD(sum, FMA32(s, q, lost)));
}

FN(V32, sigmoid32, V32 x)
{
    V32 z = SEL(GT(x, C32(40.0f)), C32(40.0f), x);
    return CALL(sigmoid_near32, SEL(LT(z, C32(-104.0f)), C32(-104.0f), z));
}

/* e / (1 + e) with e = exp(-|x|), which does not overflow */
FN(V64, sigmoid64, V64 x)
{
    V64 e = CALL(exp64, NEG(ABS(x)));
    return DIV(SEL(LT(x, C64(0.0)), e, C64(1.0)), ADD(C64(1.0), e));
}

/* Near 0 x + x^3 P(x^2); further out 1 - 2 / (exp(2|x|) + 1). */
FN(V32, tanh32, V32 x)
{
    V32 a = ABS(x);
    V32 z = SEL(GT(a, C32(10.0f)), C32(10.0f), a);
    z = ADD(z, z);
    V32 t = CALL(halvings32, z);
    V32 q = CALL(expm1_core32, CALL(ln2_rest32, z, SUB(t, C32(MAGIC32))));
    V32 s = CALL(pow2_32, SUBI32(BITS32(t), CI32(MAGIC32_BITS)));
    V32 far = SUB(C32(1.0f), DIV(C32(2.0f), FMA32(s, q, ADD(s, C32(1.0f)))));
    V32 w = MUL(a, a);
    V32 p = HORNER5(32, w, -0.333333164f, 0.133325443f, -0.0538475476f, 0.021050714f, -0.00624284754f);
    V32 near = FMA32(MUL(a, w), p, a);
    return COPYSIGN(SEL(LT(a, C32(0.55f)), near, far), x);
}

/* log(1 + f) + e ln(2) for sqrt(1/2) <= 1 + f < sqrt(2) */
FN(V32, log_core32, V32 f, V32 e)
{
    V32 z = MUL(f, f);
    V32 p = HORNER9(32, f, 0.333333135f, -0.250001609f, 0.200022161f, -0.166596964f, 0.142100573f,
                    -0.125442341f, 0.120992027f, -0.109449103f, 0.0539616235f);
    V32 c = FMA32(e, C32(-1.90465421e-09f), MUL(MUL(f, z), p));
    c = FMA32(C32(-0.5f), z, c);
    return FMA32(e, C32(0.693147182f), ADD(f, c));
}

FN(V32, log_edge32, V32 x, V32 r)
{
    r = SEL(LT(x, C32(INFINITY)), r, x);
    r = SEL(EQ(x, C32(0.0f)), C32(-INFINITY), r);
    return SEL(LT(x, C32(0.0f)), C32(NAN), r);
}

FN(VI32, exponent32, V32 x)
{
    return SHR32(SUBI32(BITS32(x), CI32(0x3f3504f3)), 23);
}

FN(V32, mantissa32, V32 x, VI32 e)
{
    return BITS32(SUBI32(BITS32(x), SHL32(e, 23)));
}

/* Equals log32 for normal positive numbers. */
FN(V32, log_near32, V32 x)
{
    VI32 k = CALL(exponent32, x);
    return CALL(log_core32, SUB(CALL(mantissa32, x, k), C32(1.0f)), TO_F32(k));
}

FN(V32, log32, V32 x)
{
    VM tiny = LT(x, C32(1.17549435e-38f));
    V32 y = SEL(tiny, MUL(x, C32(33554432.0f)), x);
    VI32 k = CALL(exponent32, y);
    V32 e = TO_F32(k);
    e = SEL(tiny, SUB(e, C32(25.0f)), e);
    V32 f = SUB(CALL(mantissa32, y, k), C32(1.0f));
    return CALL(log_edge32, x, CALL(log_core32, f, e));
}

FN(V32, log1p32, V32 x)
{
    V32 u = ADD(C32(1.0f), x);
    V32 lost = SEL(GT(x, C32(1.0f)), SUB(C32(1.0f), SUB(u, x)), SUB(x, SUB(u, C32(1.0f))));
    VI32 k = CALL(exponent32, u);
    V32 back = BITS32(SHL32(SUBI32(CI32(127), k), 23));
    back = SEL(GT(x, C32(1e38f)), C32(0.0f), back);
    V32 f = FMA32(lost, back, SUB(CALL(mantissa32, u, k), C32(1.0f)));
    V32 r = CALL(log_edge32, u, CALL(log_core32, f, TO_F32(k)));
    return SEL(LT(ABS(x), C32(1e-20f)), x, r);
}

/* x| < 2^16: x = n pi/2 + r; n in the low bits of t. The first step is exact. */
FN(V32, turns32, V32 x)
{
    return FMA32(x, C32(0.636619747f), C32(MAGIC32));
}

FN(V32, turn_rest32, V32 x, V32 t)
{
    V32 n = SUB(t, C32(MAGIC32));
    V32 r = FMA32(n, C32(-1.57079637f), x);
    return FMA32(n, C32(1.71512451e-15f), FMA32(n, C32(4.37113883e-08f), r));
}

FN(V32, sin_core32, V32 r)
{
    V32 z = MUL(r, r);
    V32 p = HORNER4(32, z, -0.166666672f, 0.00833337847f, -0.000198525566f, 2.826225e-06f);
    return FMA32(MUL(r, z), p, r);
}

FN(V32, cos_core32, V32 r)
{
    V32 z = MUL(r, r);
    V32 p = HORNER4(32, z, 0.0416666679f, -0.00138889777f, 2.48209744e-05f, -2.87680734e-07f);
    return FMA32(MUL(z, z), p, FMA32(C32(-0.5f), z, C32(1.0f)));
}

FN(V32, quarter32, V32 r, VI32 q)
{
    V32 v = SEL(NEI32(AND32(q, CI32(1)), CI32(0)), CALL(cos_core32, r), CALL(sin_core32, r));
    return SEL(NEI32(AND32(q, CI32(2)), CI32(0)), NEG(v), v);
}

FN(V32, sin_near32, V32 x)
{
    V32 t = CALL(turns32, x);
    V32 v = CALL(quarter32, CALL(turn_rest32, x, t), BITS32(t));
    return SEL(EQ(x, C32(0.0f)), x, v);
}

FN(V32, cos_near32, V32 x)
{
    V32 t = CALL(turns32, x);
    return CALL(quarter32, CALL(turn_rest32, x, t), ADDI32(BITS32(t), CI32(1)));
}

FN(VM, is_near32, V32 x)
{
    return LT(ABS(x), C32(65536.0f));
}

FN(V32, sin_far32, V32 x)
{
    return TO_F32(CALL(sin64, TO_F64(x)));
}

FN(V32, cos_far32, V32 x)
{
    return TO_F32(CALL(cos64, TO_F64(x)));
}

FN(V32, sin32, V32 x)
{
    return SEL(CALL(is_near32, x), CALL(sin_near32, x), CALL(sin_far32, x));
}

FN(V32, cos32, V32 x)
{
    return SEL(CALL(is_near32, x), CALL(cos_near32, x), CALL(cos_far32, x));
}

/* Near 0 x + x P(x^2); further out 1 - exp(Q(|x|)). */
FN(V32, erf32, V32 x)
{
    V32 a = ABS(x);
    V32 z = SEL(GT(a, C32(3.95f)), C32(3.95f), a);
    V32 p = HORNER7(32, MUL(a, a), 0.128379166f, -0.376126289f, 0.112836227f, -0.026855357f, 0.00519086607f,
                    -0.00080241845f, 7.84775621e-05f);
    V32 q = HORNER8(32, z, 0.000151411194f, -1.12940001f, -0.633585036f, -0.108011886f, 0.0249422546f,
                    -0.00410246523f, 0.00042005672f, -1.9829693e-05f);
    V32 t = CALL(halvings32, q);
    V32 e = CALL(exp_part32, FMA32(SUB(t, C32(MAGIC32)), C32(-0.693147182f), q));
    VI32 minus_scale = ADDI32(SHL32(BITS32(t), 23), CI32(-0x40800000)); /* -2^n: MAGIC32 ends in zeros */
    V32 far = FMA32(BITS32(minus_scale), e, C32(1.0f));
    return COPYSIGN(SEL(LT(a, C32(0.84f)), FMA32(a, p, a), far), x);
}

/* 2^r for |r| <= 1/2, to 9e-8 */
FN(V32, exp2_part32, V32 r)
{
    V32 rr = MUL(r, r);
    return PAIRS6(32, r, rr, 1.0f, 0.693147004f, 0.240222424f, 0.0555073358f, 0.00967151299f, 0.00132647273f);
}

/* 2^Q(|x|) is the tail beyond |x|: a fit on [0, 6.5], weighted by the tail and by |x|. It falls further out,
 * and is 0 from 10.75 on. */
FN(V32, normal_cdf32, V32 x)
{
    V32 a = ABS(x);
    a = SEL(GT(a, C32(10.75f)), C32(10.75f), a);
    V32 aa = MUL(a, a), aaaa = MUL(aa, aa);
    V32 q = PAIRS9(32, a, aa, aaaa, -1.0f, -1.151106f, -0.459198296f, -0.0525336117f, 0.00712686498f,
                   -0.000191703584f, -0.000161293821f, 3.37378151e-05f, -2.33494893e-06f);
    V32 t = ADD(q, C32(MAGIC32));
    V32 e = SCALE32(CALL(exp2_part32, SUB(q, SUB(t, C32(MAGIC32)))), t);
    return SEL(LT(x, C32(0.0f)), e, SUB(C32(1.0f), e));
}

POW_EDGE(V32, 32)

/* 2^(y log2(a)) in f64, to about 40 bits; f64 has room for every exponent. */
FN(V32, pow32, V32 x, V32 y)
{
    V64 a = TO_F64(ABS(x));
    VI64 k = CALL(exponent64, a);
    V64 e = CALL(small64, k);
    V64 m = CALL(mantissa64, a, k);
    V64 s = DIV(SUB(m, C64(1.0)), ADD(m, C64(1.0)));
    V64 z = MUL(s, s);
    V64 p = HORNER6(64, z, 0.66666666666587404, 0.40000000052189433, 0.2857141714184438, 0.22223370931577147,
                    0.18123663689721387, 0.1681960348072821);
    V64 l = FMA64(MUL(s, z), p, ADD(s, s));
    V64 h = MUL(TO_F64(y), FMA64(l, C64(1.4426950408889634), e));
    h = SEL(GT(h, C64(200.0)), C64(200.0), h);
    h = SEL(LT(h, C64(-200.0)), C64(-200.0), h);
    V64 t = ADD(h, C64(MAGIC64));
    V64 r = SUB(h, SUB(t, C64(MAGIC64)));
    V64 v = HORNER8(64, r, 0.69314718055994529, 0.24022650695910097, 0.05550410866482345,
                    0.0096181291076068536, 0.0013333558146001675, 0.00015403530441794136,
                    1.5252734209364087e-05, 1.3215442552522291e-06);
    v = MUL(FMA64(r, v, C64(1.0)), CALL(pow2_64, SUBI64(BITS64(t), CI64(MAGIC64_BITS))));
    return CALL(pow_edge32, x, y, TO_F32(v));
}

/* TO_F32 rounds 2^130 and more to infinity, 2^-150 and less to 0. */
#define BY_F64(name, wide)                                                                                   \
    FN(V32, name, V32 x)                                                                                     \
    {                                                                                                        \
        return TO_F32(CALL(wide, TO_F64(x)));                                                                \
    }
BY_F64(log2_32, log2_64)
BY_F64(log10_32, log10_64)
BY_F64(tan_near32, tan_near64)
BY_F64(tan_far32, tan64)
BY_F64(asin32, asin64)
BY_F64(acos32, acos64)
BY_F64(atan32, atan64)
BY_F64(sinh32, sinh64)
BY_F64(cosh32, cosh64)
BY_F64(asinh32, asinh64)
BY_F64(acosh32, acosh64)
BY_F64(atanh32, atanh64)
BY_F64(erfc32, erfc64)
BY_F64(erfinv32, erfinv64)
BY_F64(lgamma32, lgamma64)
BY_F64(digamma32, digamma64)
#undef BY_F64

FN(V32, tan32, V32 x)
{
    return TO_F32(CALL(tan64, TO_F64(x)));
}

FN(V32, atan2_32, V32 y, V32 x)
{
    return TO_F32(CALL(atan2_64, TO_F64(y), TO_F64(x)));
}
