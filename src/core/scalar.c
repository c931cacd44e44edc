#include "core/scalar.h"
#include "base/number.h"
#include "core/convert.h"
#include <math.h>

typedef lz_err *int_fn(int64_t a, int64_t b, int64_t *out);
typedef double float_fn(double a, double b);
typedef lz_scalar complex_fn(lz_scalar a, lz_scalar b);

static lz_err *overflow(const char *sign, int64_t a, int64_t b)
{
    return lz_errf(LZ_ERR_LIMIT, "integer overflow: %lld %s %lld", (long long)a, sign, (long long)b);
}

static lz_err *int_add(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_add_overflow(a, b, out) ? overflow("+", a, b) : NULL;
}

static lz_err *int_sub(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_sub_overflow(a, b, out) ? overflow("-", a, b) : NULL;
}

static lz_err *int_mul(int64_t a, int64_t b, int64_t *out)
{
    return __builtin_mul_overflow(a, b, out) ? overflow("*", a, b) : NULL;
}

static lz_err *check_divisor(const char *sign, int64_t a, int64_t b)
{
    if (b == 0)
        return lz_errf(LZ_ERR_ARG, "division by zero: %lld %s 0", (long long)a, sign);
    return NULL;
}

static lz_err *int_floordiv(int64_t a, int64_t b, int64_t *out)
{
    LZ_TRY(check_divisor("//", a, b));
    if (b == -1)
        return __builtin_sub_overflow(0, a, out) ? overflow("//", a, b) : NULL;
    *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return NULL;
}

static lz_err *int_remainder(int64_t a, int64_t b, int64_t *out)
{
    LZ_TRY(check_divisor("%", a, b));
    int64_t r = b == -1 ? 0 : a % b;
    *out = r && (r < 0) != (b < 0) ? r + b : r;
    return NULL;
}

/* Requires b >= 0. */
static lz_err *int_pow(int64_t a, int64_t b, int64_t *out)
{
    int64_t power = 1, base = a;
    bool fits = true;
    for (int64_t left = b; left && fits; left >>= 1) {
        fits = !(left & 1) || !__builtin_mul_overflow(power, base, &power);
        if (left > 1 && __builtin_mul_overflow(base, base, &base))
            fits = false;
    }
    *out = power;
    return fits ? NULL : overflow("**", a, b);
}

static lz_err *int_min(int64_t a, int64_t b, int64_t *out)
{
    *out = b < a ? b : a;
    return NULL;
}

static lz_err *int_max(int64_t a, int64_t b, int64_t *out)
{
    *out = b > a ? b : a;
    return NULL;
}

static lz_err *int_and(int64_t a, int64_t b, int64_t *out)
{
    *out = a & b;
    return NULL;
}

static lz_err *int_or(int64_t a, int64_t b, int64_t *out)
{
    *out = a | b;
    return NULL;
}

static lz_err *int_xor(int64_t a, int64_t b, int64_t *out)
{
    *out = a ^ b;
    return NULL;
}

static lz_err *check_shift(const char *sign, int64_t a, int64_t b)
{
    if (b < 0)
        return lz_errf(LZ_ERR_ARG, "negative shift count: %lld %s %lld", (long long)a, sign, (long long)b);
    return NULL;
}

static lz_err *int_shl(int64_t a, int64_t b, int64_t *out)
{
    LZ_TRY(check_shift("<<", a, b));
    int64_t high = b < 63 ? a >> (63 - b) : a;
    if (a && (b > 63 || (b == 63 && a != -1) || (b < 63 && high != 0 && high != -1)))
        return overflow("<<", a, b);
    *out = b > 63 ? 0 : (int64_t)((uint64_t)a << b);
    return NULL;
}

static lz_err *int_shr(int64_t a, int64_t b, int64_t *out)
{
    LZ_TRY(check_shift(">>", a, b));
    *out = a >> (b > 63 ? 63 : b);
    return NULL;
}

static double float_add(double a, double b)
{
    return a + b;
}

static double float_sub(double a, double b)
{
    return a - b;
}

static double float_mul(double a, double b)
{
    return a * b;
}

static double float_div(double a, double b)
{
    return a / b;
}

static double float_floordiv(double a, double b)
{
    return floor(a / b);
}

static double float_remainder(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0)
        return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

static double float_min(double a, double b)
{
    return b < a ? b : a;
}

static double float_max(double a, double b)
{
    return b > a ? b : a;
}

static lz_scalar complex_add(lz_scalar a, lz_scalar b)
{
    return lz_scalar_complex(a.re + b.re, a.im + b.im);
}

static lz_scalar complex_sub(lz_scalar a, lz_scalar b)
{
    return lz_scalar_complex(a.re - b.re, a.im - b.im);
}

static lz_scalar complex_mul(lz_scalar a, lz_scalar b)
{
    return lz_scalar_complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* Scaled by the larger part of the divisor, so that intermediate results do not overflow. */
static lz_scalar complex_div(lz_scalar a, lz_scalar b)
{
    if (fabs(b.re) >= fabs(b.im)) {
        double ratio = b.re == 0 ? 0 : b.im / b.re, down = b.re + b.im * ratio;
        return lz_scalar_complex((a.re + a.im * ratio) / down, (a.im - a.re * ratio) / down);
    }
    double ratio = b.re / b.im, down = b.re * ratio + b.im;
    return lz_scalar_complex((a.re * ratio + a.im) / down, (a.im * ratio - a.re) / down);
}

/* NULL: not defined for that kind. */
static const struct {
    const char *sign;
    int_fn *of_int; /* NULL: ints are converted to floats */
    float_fn *of_float;
    complex_fn *of_complex;
    bool keeps_bool;
} ops[LZ_SCALAR_OPS] = {
    [LZ_SCALAR_ADD] = { "+", int_add, float_add, complex_add, false },
    [LZ_SCALAR_SUB] = { "-", int_sub, float_sub, complex_sub, false },
    [LZ_SCALAR_MUL] = { "*", int_mul, float_mul, complex_mul, false },
    [LZ_SCALAR_DIV] = { "/", NULL, float_div, complex_div, false },
    [LZ_SCALAR_FLOORDIV] = { "//", int_floordiv, float_floordiv, NULL, false },
    [LZ_SCALAR_REMAINDER] = { "%", int_remainder, float_remainder, NULL, false },
    [LZ_SCALAR_POW] = { "**", int_pow, pow, NULL, false },
    [LZ_SCALAR_MIN] = { "min", int_min, float_min, NULL, true },
    [LZ_SCALAR_MAX] = { "max", int_max, float_max, NULL, true },
    [LZ_SCALAR_AND] = { "&", int_and, NULL, NULL, true },
    [LZ_SCALAR_OR] = { "|", int_or, NULL, NULL, true },
    [LZ_SCALAR_XOR] = { "^", int_xor, NULL, NULL, true },
    [LZ_SCALAR_SHL] = { "<<", int_shl, NULL, NULL, false },
    [LZ_SCALAR_SHR] = { ">>", int_shr, NULL, NULL, false },
};

static const char *const kind_names[] = {
    [LZ_SCALAR_NONE] = "None",   [LZ_SCALAR_BOOL] = "bool",       [LZ_SCALAR_INT] = "int",
    [LZ_SCALAR_FLOAT] = "float", [LZ_SCALAR_COMPLEX] = "complex",
};

static bool is_int(lz_scalar v)
{
    return v.kind == LZ_SCALAR_INT || v.kind == LZ_SCALAR_BOOL;
}

/* The operand as a float or complex operation sees it. */
static lz_scalar widened(lz_scalar v)
{
    return is_int(v) ? lz_scalar_complex((double)v.i, 0) : v;
}

static lz_err *binary_int(lz_scalar_op op, lz_scalar a, lz_scalar b, lz_scalar *out)
{
    bool both = a.kind == LZ_SCALAR_BOOL && b.kind == LZ_SCALAR_BOOL;
    *out = both && ops[op].keeps_bool ? lz_scalar_bool(false) : lz_scalar_int(0);
    return ops[op].of_int(a.i, b.i, &out->i);
}

lz_err *lz_scalar_binary(lz_scalar_op op, lz_scalar a, lz_scalar b, lz_scalar *out)
{
    bool numbers = a.kind != LZ_SCALAR_NONE && b.kind != LZ_SCALAR_NONE;
    bool complex = a.kind == LZ_SCALAR_COMPLEX || b.kind == LZ_SCALAR_COMPLEX, ints = is_int(a) && is_int(b);
    if (numbers && ints && ops[op].of_int && !(op == LZ_SCALAR_POW && b.i < 0))
        return binary_int(op, a, b, out);
    lz_scalar wa = widened(a), wb = widened(b);
    if (numbers && complex && ops[op].of_complex)
        *out = ops[op].of_complex(wa, wb);
    else if (numbers && !complex && ops[op].of_float)
        *out = lz_scalar_float(ops[op].of_float(wa.re, wb.re));
    else
        return lz_errf(LZ_ERR_ARG, "unsupported operand types for %s: %s and %s", ops[op].sign,
                       kind_names[a.kind], kind_names[b.kind]);
    return NULL;
}

static lz_err *no_number(const char *what)
{
    return lz_errf(LZ_ERR_ARG, "%s of None", what);
}

lz_err *lz_scalar_neg(lz_scalar a, lz_scalar *out)
{
    if (a.kind == LZ_SCALAR_NONE)
        return no_number("negative");
    if (is_int(a))
        return lz_scalar_binary(LZ_SCALAR_SUB, lz_scalar_int(0), a, out);
    *out = a;
    out->re = -a.re;
    out->im = a.kind == LZ_SCALAR_COMPLEX ? -a.im : 0;
    return NULL;
}

lz_err *lz_scalar_abs(lz_scalar a, lz_scalar *out)
{
    if (a.kind == LZ_SCALAR_NONE)
        return no_number("absolute value");
    if (is_int(a) && a.i < 0)
        return lz_scalar_neg(a, out);
    *out = is_int(a) ? lz_scalar_int(a.i)
                     : lz_scalar_float(a.kind == LZ_SCALAR_COMPLEX ? hypot(a.re, a.im) : fabs(a.re));
    return NULL;
}

/* -1, 0, 1; 2 if unordered. */
static int order_floats(double a, double b)
{
    return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

static int order_int_float(int64_t a, double b)
{
    if (!lz_f64_fits_i64(b))
        return isnan(b) ? 2 : b > 0 ? -1 : 1;
    int64_t whole = (int64_t)b;
    if (a != whole)
        return a < whole ? -1 : 1;
    return order_floats((double)whole, b);
}

static int order_of(lz_scalar a, lz_scalar b)
{
    if (is_int(a) && is_int(b))
        return (a.i > b.i) - (a.i < b.i);
    if (is_int(a))
        return order_int_float(a.i, b.re);
    if (!is_int(b))
        return order_floats(a.re, b.re);
    int reverse = order_int_float(b.i, a.re);
    return reverse == 2 ? 2 : -reverse;
}

static bool equal(lz_scalar a, lz_scalar b)
{
    double aim = a.kind == LZ_SCALAR_COMPLEX ? a.im : 0, bim = b.kind == LZ_SCALAR_COMPLEX ? b.im : 0;
    return order_of(a, b) == 0 && aim == bim;
}

lz_err *lz_scalar_compare(lz_scalar_cmp cmp, lz_scalar a, lz_scalar b, bool *out)
{
    enum { LESS = 1, SAME = 2, MORE = 4 };
    static const struct {
        const char *sign;
        unsigned holds;
    } cmps[LZ_SCALAR_CMPS] = {
        [LZ_SCALAR_EQ] = { "==", SAME }, [LZ_SCALAR_NE] = { "!=", LESS | MORE },
        [LZ_SCALAR_LT] = { "<", LESS },  [LZ_SCALAR_LE] = { "<=", LESS | SAME },
        [LZ_SCALAR_GT] = { ">", MORE },  [LZ_SCALAR_GE] = { ">=", MORE | SAME },
    };
    bool none = a.kind == LZ_SCALAR_NONE || b.kind == LZ_SCALAR_NONE;
    bool complex = a.kind == LZ_SCALAR_COMPLEX || b.kind == LZ_SCALAR_COMPLEX, only_eq = cmp <= LZ_SCALAR_NE;
    if (none || (complex && !only_eq))
        return lz_errf(LZ_ERR_ARG, "%s has no meaning between %s and %s", cmps[cmp].sign, kind_names[a.kind],
                       kind_names[b.kind]);
    int order = order_of(a, b);
    if (only_eq)
        *out = equal(a, b) == (cmp == LZ_SCALAR_EQ);
    else
        *out = order != 2 && (cmps[cmp].holds >> (order + 1) & 1);
    return NULL;
}

static bool int_fits(int64_t v, const lz_dtype_info *d)
{
    if (d->dtype == LZ_U8)
        return v >= -UINT8_MAX && v <= UINT8_MAX;
    if (d->category == LZ_CATEGORY_INT)
        return v >= d->min && v <= d->max;
    return fabs((double)v) <= d->largest;
}

static bool float_fits(double v, const lz_dtype_info *d)
{
    if (d->category == LZ_CATEGORY_INT)
        return d->dtype == LZ_I64 ? lz_f64_fits_i64(v) : v >= (double)d->min && v <= (double)d->max;
    return !isfinite(v) || fabs(v) <= d->largest;
}

static bool fits(lz_scalar v, const lz_dtype_info *d)
{
    if (d->category == LZ_CATEGORY_BOOL)
        return true;
    if (is_int(v))
        return int_fits(v.i, d);
    bool real = v.kind != LZ_SCALAR_COMPLEX || v.im == 0;
    return float_fits(v.re, d) && (d->category == LZ_CATEGORY_COMPLEX ? real || float_fits(v.im, d) : real);
}

lz_err *lz_scalar_cast(lz_scalar v, lz_dtype d, lz_scalar *out)
{
    const lz_dtype_info *info = lz_dtype_get(d);
    double element[2];
    if (v.kind == LZ_SCALAR_NONE || info->category == LZ_CATEGORY_NONE)
        return lz_errf(LZ_ERR_ARG, "%s cannot be converted to type %s", kind_names[v.kind], info->c_name);
    if (!fits(v, info))
        return lz_errf(LZ_ERR_ARG, "value cannot be converted to type %s without overflow", info->c_name);
    lz_element_set(d, v, element);
    *out = lz_element_get(d, element);
    return NULL;
}

lz_err *lz_scalar_to_int(lz_scalar v, int64_t *out)
{
    lz_scalar s;
    LZ_TRY(lz_scalar_cast(v, LZ_I64, &s));
    *out = s.i;
    return NULL;
}

lz_err *lz_scalar_to_double(lz_scalar v, double *out)
{
    lz_scalar s;
    LZ_TRY(lz_scalar_cast(v, LZ_F64, &s));
    *out = s.re;
    return NULL;
}

bool lz_scalar_is_true(lz_scalar v)
{
    if (is_int(v))
        return v.i != 0;
    return v.kind != LZ_SCALAR_NONE && (v.re != 0 || (v.kind == LZ_SCALAR_COMPLEX && v.im != 0));
}

/* Python omits ".0" in the parts of a complex number. */
static void print_part(double v, lz_text *out)
{
    char buf[LZ_DOUBLE_CHARS];
    lz_str s = { buf, lz_double_print(v, buf) };
    if (lz_str_ends(s, LZ_STR(".0")))
        s.len -= 2;
    lz_text_add(out, s);
}

static void print_complex(lz_scalar v, lz_text *out)
{
    bool only_im = v.re == 0 && !signbit(v.re);
    if (!only_im) {
        lz_text_putc(out, '(');
        print_part(v.re, out);
        lz_text_puts(out, signbit(v.im) && !isnan(v.im) ? "" : "+");
    }
    print_part(v.im, out);
    lz_text_puts(out, only_im ? "j" : "j)");
}

void lz_scalar_print(lz_scalar v, lz_text *out)
{
    if (v.kind == LZ_SCALAR_COMPLEX)
        print_complex(v, out);
    else if (v.kind == LZ_SCALAR_FLOAT)
        lz_text_double(out, v.re);
    else if (v.kind == LZ_SCALAR_INT)
        lz_text_int(out, v.i);
    else
        lz_text_puts(out, v.kind == LZ_SCALAR_NONE ? "None" : v.i ? "True" : "False");
}
