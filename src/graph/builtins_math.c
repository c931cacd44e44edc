/* The functions of Python's math module, on floats; ints are converted to floats. As in TorchScript, a
 * function outside its domain returns nan or an infinity and no error. */
#include "graph/builtins.h"
#include <math.h>

static double real(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_FLOAT ? v.f : v.kind == LZ_SCRIPT_VALUE_INT ? (double)v.i : (double)v.b;
}

static double degrees(double v)
{
    return v * (180.0 / 3.14159265358979323846);
}

static double radians(double v)
{
    return v * (3.14159265358979323846 / 180.0);
}

static double gamma_of(double v)
{
    return tgamma(v);
}

static double log_base(double v, double base)
{
    return log(v) / log(base);
}

#define UNARY(name, fn)                                                                                      \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_float(fn(real(*in)));                                                         \
        return NULL;                                                                                         \
    }
#define BINARY(name, fn)                                                                                     \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_float(fn(real(in[0]), real(in[1])));                                          \
        return NULL;                                                                                         \
    }
#define TEST(name, fn)                                                                                       \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_bool(fn(real(*in)) != 0);                                                     \
        return NULL;                                                                                         \
    }

UNARY(m_acos, acos)
UNARY(m_acosh, acosh)
UNARY(m_asin, asin)
UNARY(m_asinh, asinh)
UNARY(m_atan, atan)
UNARY(m_atanh, atanh)
UNARY(m_cos, cos)
UNARY(m_cosh, cosh)
UNARY(m_degrees, degrees)
UNARY(m_erf, erf)
UNARY(m_erfc, erfc)
UNARY(m_exp, exp)
UNARY(m_expm1, expm1)
UNARY(m_fabs, fabs)
UNARY(m_gamma, gamma_of)
UNARY(m_lgamma, lgamma)
UNARY(m_log, log)
UNARY(m_log10, log10)
UNARY(m_log1p, log1p)
UNARY(m_log2, log2)
UNARY(m_radians, radians)
UNARY(m_sin, sin)
UNARY(m_sinh, sinh)
UNARY(m_sqrt, sqrt)
UNARY(m_tan, tan)
UNARY(m_tanh, tanh)
BINARY(m_atan2, atan2)
BINARY(m_copysign, copysign)
BINARY(m_log_base, log_base)
BINARY(m_remainder, remainder)
TEST(m_isfinite, isfinite)
TEST(m_isinf, isinf)
TEST(m_isnan, isnan)

static lz_err *m_factorial(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t r = 1;
    (void)nin;
    if (in->i < 0)
        return lz_errf(LZ_ERR_ARG, "ValueError: factorial() not defined for negative values");
    for (int64_t i = 2; i <= in->i; i++)
        if (__builtin_mul_overflow(r, i, &r))
            return lz_errf(LZ_ERR_LIMIT, "OverflowError: the factorial does not fit in 64 bits");
    *out = lz_script_value_int(r);
    return NULL;
}

static lz_err *m_gcd(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    uint64_t a = in[0].i < 0 ? 0 - (uint64_t)in[0].i : (uint64_t)in[0].i;
    uint64_t b = in[1].i < 0 ? 0 - (uint64_t)in[1].i : (uint64_t)in[1].i;
    (void)nin;
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    if (a > INT64_MAX)
        return lz_errf(LZ_ERR_LIMIT, "OverflowError: the result does not fit in 64 bits");
    *out = lz_script_value_int((int64_t)a);
    return NULL;
}

static lz_err *m_frexp(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int exponent = 0;
    (void)nin;
    out[0] = lz_script_value_float(frexp(in->f, &exponent));
    out[1] = lz_script_value_int(exponent);
    return NULL;
}

static lz_err *m_ldexp(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t e = in[1].i < -100000 ? -100000 : in[1].i > 100000 ? 100000 : in[1].i; /* 0 or infinite */
    (void)nin;
    *out = lz_script_value_float(ldexp(in[0].f, (int)e));
    return NULL;
}

static lz_err *m_modf(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    double whole_part;
    (void)nin;
    out[0] = lz_script_value_float(modf(in->f, &whole_part));
    out[1] = lz_script_value_float(whole_part);
    return NULL;
}

#define FUNCTION(name, fn)                                                                                   \
    { name, "int", "i", "f", fn, 0 }, { name, "float", "f", "f", fn, 0 },                                    \
    {                                                                                                        \
        name, "Scalar", "S", "S", fn, 0                                                                      \
    }
#define FUNCTION2(name, fn)                                                                                  \
    { name, "int", "ii", "f", fn, 0 }, { name, "float", "ff", "f", fn, 0 },                                  \
        { name, "int_float", "if", "f", fn, 0 }, { name, "float_int", "fi", "f", fn, 0 },                    \
    {                                                                                                        \
        name, "Scalar_Scalar", "SS", "S", fn, 0                                                              \
    }

static const lz_builtin rows[] = {
    FUNCTION("aten::acos", m_acos),
    FUNCTION("aten::acosh", m_acosh),
    FUNCTION("aten::asin", m_asin),
    FUNCTION("aten::asinh", m_asinh),
    FUNCTION("aten::atan", m_atan),
    FUNCTION2("aten::atan2", m_atan2),
    FUNCTION("aten::atanh", m_atanh),
    FUNCTION2("aten::copysign", m_copysign),
    FUNCTION("aten::cos", m_cos),
    FUNCTION("aten::cosh", m_cosh),
    FUNCTION("aten::degrees", m_degrees),
    FUNCTION("aten::erf", m_erf),
    FUNCTION("aten::erfc", m_erfc),
    FUNCTION("aten::exp", m_exp),
    FUNCTION("aten::expm1", m_expm1),
    FUNCTION("aten::fabs", m_fabs),
    { "aten::factorial", "int", "i", "i", m_factorial, 0 },
    { "aten::frexp", "", "f", "fi", m_frexp, 0 },
    FUNCTION("aten::gamma", m_gamma),
    { "aten::gcd", "int", "ii", "i", m_gcd, 0 },
    { "aten::isfinite", "float", "f", "b", m_isfinite, 0 },
    { "aten::isinf", "float", "f", "b", m_isinf, 0 },
    { "aten::isnan", "float", "f", "b", m_isnan, 0 },
    { "aten::ldexp", "", "fi", "f", m_ldexp, 0 },
    FUNCTION("aten::lgamma", m_lgamma),
    FUNCTION("aten::log", m_log),
    FUNCTION2("aten::log", m_log_base),
    FUNCTION("aten::log10", m_log10),
    FUNCTION("aten::log1p", m_log1p),
    FUNCTION("aten::log2", m_log2),
    FUNCTION2("aten::mathremainder", m_remainder),
    { "aten::modf", "", "f", "ff", m_modf, 0 },
    FUNCTION("aten::radians", m_radians),
    FUNCTION("aten::sin", m_sin),
    FUNCTION("aten::sinh", m_sinh),
    FUNCTION("aten::sqrt", m_sqrt),
    FUNCTION("aten::tan", m_tan),
    FUNCTION("aten::tanh", m_tanh),
};

const lz_builtin_table lz_builtins_math = LZ_BUILTIN_TABLE(rows);
