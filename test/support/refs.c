#include "refs.h"
#include <math.h>

/* glibc has these for whole vectors, and says so only to code that gives up NaN. */
#if defined(__GLIBC__) && defined(__x86_64__) && !defined(__clang__)
#define VECTORS(name) __attribute__((simd("notinbranch"))) double name(double);
VECTORS(exp)
VECTORS(exp2)
VECTORS(expm1)
VECTORS(log)
VECTORS(log2)
VECTORS(log10)
VECTORS(log1p)
VECTORS(sin)
VECTORS(cos)
VECTORS(tan)
VECTORS(asin)
VECTORS(acos)
VECTORS(atan)
VECTORS(sinh)
VECTORS(cosh)
VECTORS(tanh)
VECTORS(asinh)
VECTORS(acosh)
VECTORS(atanh)
VECTORS(erf)
VECTORS(erfc)
#endif

static double sigmoid_d(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static long double sigmoid_l(long double x)
{
    long double e = expl(-fabsl(x));
    return (x < 0 ? e : 1) / (1 + e);
}

static double rsqrt_d(double x)
{
    return 1 / sqrt(x);
}

static long double rsqrt_l(long double x)
{
    return 1 / sqrtl(x);
}

/* 0.5 x (1 + tanh(u)) = x sigmoid(2 u) */
static double gelu_tanh_d(double x)
{
    double u = 1.5957691216057308 * (x + 0.044715 * x * x * x);
    return x * sigmoid_d(u);
}

static long double gelu_tanh_l(long double x)
{
    long double u = 1.595769121605730711759784L * (x + 0.044715L * x * x * x);
    return x * sigmoid_l(u);
}

static double normal_cdf_d(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752);
}

static long double normal_cdf_l(long double x)
{
    return 0.5L * erfcl(-x * 0.7071067811865475244L);
}

static double gelu_erf_d(double x)
{
    return 0.5 * x * erfc(-x * 0.70710678118654752);
}

static long double gelu_erf_l(long double x)
{
    return 0.5L * x * erfcl(-x * 0.7071067811865475244L);
}

static double silu_d(double x)
{
    return x * sigmoid_d(x);
}

static long double silu_l(long double x)
{
    return x * sigmoid_l(x);
}

static double lgamma_d(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static long double lgamma_l(long double x)
{
    int sign;
    return lgammal_r(x, &sign);
}

/* Where there is nothing in libm: to the right by recurrence, then the series. */
static long double digamma_l(long double x)
{
    static const long double c[] = { 1 / 12.0L,  -1 / 120.0L,     1 / 252.0L, -1 / 240.0L,
                                     1 / 132.0L, -691 / 32760.0L, 1 / 12.0L,  -3617 / 8160.0L };
    long double low = 0;
    if (x == 0)
        return copysignl(INFINITY, -x);
    if (x < 0) {
        long double pi = 3.14159265358979323846264338L, r = x - rintl(x);
        if (r == 0 || isinf(x))
            return NAN;
        low = -pi / tanl(pi * r);
        x = 1 - x;
    }
    while (x < 24) {
        low -= 1 / x;
        x += 1;
    }
    long double z = 1 / (x * x), sum = 0;
    for (int i = 7; i >= 0; i--)
        sum = (sum + c[i]) * z;
    return isinf(x) ? x : low + logl(x) - 0.5L / x - sum;
}

/* The same in double, enough for f32. */
static double digamma_d(double x)
{
    double low = 0;
    if (x == 0)
        return copysign((double)INFINITY, -x);
    if (x < 0) {
        double pi = 3.14159265358979323846, r = x - rint(x);
        if (r == 0 || isinf(x))
            return (double)NAN;
        low = -pi / tan(pi * r);
        x = 1 - x;
    }
    while (x < 12) {
        low -= 1 / x;
        x += 1;
    }
    double z = 1 / (x * x);
    double sum = z * (1 / 12.0 - z * (1 / 120.0 - z * (1 / 252.0 - z * (1 / 240.0 - z * (1 / 132.0)))));
    return isinf(x) ? x : low + (log(x) - 0.5 / x - sum);
}

/* By Newton, from the double; erfc near 1 where 1 - x is known better than x. */
static long double erfinv_l(long double x)
{
    long double a = fabsl(x), y;
    if (!(a < 1))
        return a == 1 ? copysignl(INFINITY, x) : NAN;
    if (a < 1e-10L)
        return x * 0.886226925452758013649083741671L;
    long double l = logl((1 - a) * (1 + a)), h = 4.33075002395L + l / 2;
    y = sqrtl(sqrtl(h * h - l / 0.147L) - h);
    for (int i = 0; i < 4; i++) {
        long double miss = a > 0.5L ? (1 - a) - erfcl(y) : erfl(y) - a;
        y -= miss / (1.1283791670955125739L * expl(-y * y));
    }
    return copysignl(y, x);
}

/* A fit of about 20 bits for every f32 (M. Giles), and two steps of Newton's method. */
static double erfinv_d(double x)
{
    static const double near[] = { 2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                   -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                   -0.00417768164,  0.246640727,    1.50140941 };
    static const double far[] = { -0.000200214257, 0.000100950558, 0.00134934322,
                                  -0.00367342844,  0.00573950773,  -0.0076224613,
                                  0.00943887047,   1.00167406,     2.83297682 };
    double a = fabs(x), p = 0;
    if (!(a < 1))
        return a == 1 ? copysign((double)INFINITY, x) : (double)NAN;
    double w = -log((1 - a) * (1 + a)), s = w < 5 ? w - 2.5 : sqrt(w) - 3;
    const double *c = w < 5 ? near : far;
    for (int i = 0; i < 9; i++)
        p = p * s + c[i];
    double y = p * a;
    for (int i = 0; i < 2 && a > 1e-8; i++) {
        double miss = a > 0.5 ? (1 - a) - erfc(y) : erf(y) - a;
        y -= miss / (1.1283791670955126 * exp(-y * y));
    }
    return copysign(a > 1e-8 ? y : a * 0.88622692545275801, x);
}

#define OVER(name, function)                                                                                 \
    static void name##_f32(const float *x, double *y, int n)                                                 \
    {                                                                                                        \
        for (int i = 0; i < n; i++)                                                                          \
            y[i] = function((double)x[i]);                                                                   \
    }
#define LIBM(name) OVER(name, name)
#define OWN(name)  OVER(name, name##_d)
LIBM(exp)
LIBM(exp2)
LIBM(expm1)
LIBM(log)
LIBM(log2)
LIBM(log10)
LIBM(log1p)
LIBM(sqrt)
LIBM(sin)
LIBM(cos)
LIBM(tan)
LIBM(asin)
LIBM(acos)
LIBM(atan)
LIBM(sinh)
LIBM(cosh)
LIBM(tanh)
LIBM(asinh)
LIBM(acosh)
LIBM(atanh)
LIBM(erf)
LIBM(erfc)
OWN(rsqrt)
OWN(sigmoid)
OWN(erfinv)
OWN(normal_cdf)
OWN(lgamma)
OWN(digamma)
OWN(gelu_tanh)
OWN(gelu_erf)
OWN(silu)

/* normal_cdf and gelu lose what cancels in 1 + erf; lgamma and digamma what they lose near
 * their zeros. */
const ref refs[] = {
    { "exp", exp_f32, expl, 2, 4 },
    { "exp2", exp2_f32, exp2l, 2, 4 },
    { "expm1", expm1_f32, expm1l, 2, 4 },
    { "log", log_f32, logl, 2, 4 },
    { "log2", log2_f32, log2l, 2, 4 },
    { "log10", log10_f32, log10l, 2, 4 },
    { "log1p", log1p_f32, log1pl, 2, 4 },
    { "sqrt", sqrt_f32, sqrtl, 0.5, 0.5 },
    { "rsqrt", rsqrt_f32, rsqrt_l, 2, 4 },
    { "sin", sin_f32, sinl, 2, 4 },
    { "cos", cos_f32, cosl, 2, 4 },
    { "tan", tan_f32, tanl, 2, 4 },
    { "asin", asin_f32, asinl, 2, 4 },
    { "acos", acos_f32, acosl, 2, 4 },
    { "atan", atan_f32, atanl, 2, 4 },
    { "sinh", sinh_f32, sinhl, 2, 4 },
    { "cosh", cosh_f32, coshl, 2, 4 },
    { "tanh", tanh_f32, tanhl, 2, 4 },
    { "asinh", asinh_f32, asinhl, 2, 4 },
    { "acosh", acosh_f32, acoshl, 2, 4 },
    { "atanh", atanh_f32, atanhl, 2, 4 },
    { "sigmoid", sigmoid_f32, sigmoid_l, 2, 4 },
    { "erf", erf_f32, erfl, 2, 4 },
    { "erfc", erfc_f32, erfcl, 2, 4 },
    { "erfinv", erfinv_f32, erfinv_l, 2, 4 },
    { "normal_cdf", normal_cdf_f32, normal_cdf_l, 0, 0 },
    { "lgamma", lgamma_f32, lgamma_l, 0, 0 },
    { "digamma", digamma_f32, digamma_l, 0, 0 },
    { "gelu_tanh", gelu_tanh_f32, gelu_tanh_l, 0, 0 },
    { "gelu_erf", gelu_erf_f32, gelu_erf_l, 0, 0 },
    { "silu", silu_f32, silu_l, 0, 0 },
};
const int n_refs = sizeof refs / sizeof *refs;

const ref2 refs2[] = {
    { "pow", pow, powl, 1, 4 },
    { "atan2", atan2, atan2l, 1, 4 },
};
const int n_refs2 = sizeof refs2 / sizeof *refs2;
