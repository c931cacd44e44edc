/* Built-ins on numbers: arithmetic, comparison, conversion. Ints never wrap; floats follow IEEE 754,
 * including division by zero. As in TorchScript, the kinds of the arguments decide between int and float at
 * run time, so one function serves every overload. */
#include "base/number.h"
#include "graph/builtins.h"
#include <math.h>

static bool both_whole(const lz_script_value *in)
{
    return in[0].kind != LZ_SCRIPT_VALUE_FLOAT && in[1].kind != LZ_SCRIPT_VALUE_FLOAT;
}

static int64_t whole(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_BOOL ? v.b : v.i;
}

static double real(lz_script_value v)
{
    return v.kind == LZ_SCRIPT_VALUE_FLOAT ? v.f : (double)whole(v);
}

static const double two_to_63 = 9223372036854775808.0;

static lz_err *overflow(void)
{
    return lz_errf(LZ_ERR_LIMIT, "OverflowError: the result does not fit in 64 bits");
}

static lz_err *division_by_zero(void)
{
    return lz_errf(LZ_ERR_ARG, "ZeroDivisionError: integer division or modulo by zero");
}

/* ---- arithmetic ---- */

#define ARITHMETIC(name, checked, op)                                                                        \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        int64_t r;                                                                                           \
        (void)nin;                                                                                           \
        *out = lz_script_value_float(real(in[0]) op real(in[1]));                                            \
        if (!both_whole(in))                                                                                 \
            return NULL;                                                                                     \
        if (checked(whole(in[0]), whole(in[1]), &r))                                                         \
            return overflow();                                                                               \
        *out = lz_script_value_int(r);                                                                       \
        return NULL;                                                                                         \
    }

ARITHMETIC(add, __builtin_add_overflow, +)
ARITHMETIC(sub, __builtin_sub_overflow, -)
ARITHMETIC(mul, __builtin_mul_overflow, *)

static lz_err *divide(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_float(real(in[0]) / real(in[1]));
    return NULL;
}

static bool divides(int64_t a, int64_t b)
{
    return b != 0 && !(a == INT64_MIN && b == -1);
}

static lz_err *refuse_division(int64_t b)
{
    return b ? overflow() : division_by_zero();
}

static lz_err *floordiv(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t a = whole(in[0]), b = whole(in[1]);
    (void)nin;
    *out = lz_script_value_float(floor(real(in[0]) / real(in[1])));
    if (!both_whole(in))
        return NULL;
    if (!divides(a, b))
        return refuse_division(b);
    *out = lz_script_value_int(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
    return NULL;
}

static lz_err *remainder_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    double x = real(in[0]), y = real(in[1]);
    int64_t a = whole(in[0]), b = whole(in[1]);
    (void)nin;
    *out = lz_script_value_float(fmod(y + fmod(x, y), y));
    if (!both_whole(in))
        return NULL;
    if (b == 0)
        return division_by_zero();
    int64_t r = b == -1 ? 0 : a % b;
    *out = lz_script_value_int(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    return NULL;
}

static lz_err *truncdiv(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (!divides(in[0].i, in[1].i))
        return refuse_division(in[1].i);
    *out = lz_script_value_int(in[0].i / in[1].i);
    return NULL;
}

static lz_err *fmod_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_float(fmod(real(in[0]), real(in[1])));
    return NULL;
}

static lz_err *divmod(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    LZ_TRY(floordiv(in, nin, &out[0]));
    return remainder_of(in, nin, &out[1]);
}

static lz_err *power(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_float(pow(real(in[0]), real(in[1])));
    return NULL;
}

static lz_err *power_int(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t base = in[0].i, r = 1;
    (void)nin;
    if (in[1].i < 0)
        return lz_errf(LZ_ERR_ARG, "an int to a negative power is no int");
    for (int64_t e = in[1].i; e; e >>= 1) {
        if ((e & 1) && __builtin_mul_overflow(r, base, &r))
            return overflow();
        if (e > 1 && __builtin_mul_overflow(base, base, &base))
            return overflow();
    }
    *out = lz_script_value_int(r);
    return NULL;
}

static lz_err *neg(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (in->kind != LZ_SCRIPT_VALUE_FLOAT && whole(*in) == INT64_MIN)
        return overflow();
    *out =
        in->kind == LZ_SCRIPT_VALUE_FLOAT ? lz_script_value_float(-in->f) : lz_script_value_int(-whole(*in));
    return NULL;
}

static lz_err *absolute(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    if (in->kind == LZ_SCRIPT_VALUE_FLOAT ? signbit(in->f) != 0 : whole(*in) < 0)
        return neg(in, nin, out);
    *out = in->kind == LZ_SCRIPT_VALUE_FLOAT ? *in : lz_script_value_int(whole(*in));
    return NULL;
}

/* With an int and a float the result is a float, whichever is picked. */
static lz_err *pick(const lz_script_value *in, bool second, lz_script_value *out)
{
    lz_script_value v = in[second];
    *out = both_whole(in) ? lz_script_value_int(whole(v)) : lz_script_value_float(real(v));
    return NULL;
}

/* If one is nan, the second is returned, as in TorchScript. */
static lz_err *least(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return pick(in, !(both_whole(in) ? whole(in[0]) < whole(in[1]) : real(in[0]) < real(in[1])), out);
}

static lz_err *greatest(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    return pick(in, !(both_whole(in) ? whole(in[0]) > whole(in[1]) : real(in[0]) > real(in[1])), out);
}

/* ---- comparison ---- */

#define COMPARE(name, op)                                                                                    \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        (void)nin;                                                                                           \
        *out = lz_script_value_bool(both_whole(in) ? whole(in[0]) op whole(in[1])                            \
                                                   : real(in[0]) op real(in[1]));                            \
        return NULL;                                                                                         \
    }

COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)

/* ---- bits and truth ---- */

#define BITS(name, op)                                                                                       \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        int64_t r = whole(in[0]) op whole(in[1]);                                                            \
        (void)nin;                                                                                           \
        *out = in[0].kind == LZ_SCRIPT_VALUE_BOOL && in[1].kind == LZ_SCRIPT_VALUE_BOOL                      \
                   ? lz_script_value_bool(r != 0)                                                            \
                   : lz_script_value_int(r);                                                                 \
        return NULL;                                                                                         \
    }

BITS(bit_and, &)
BITS(bit_or, |)
BITS(bit_xor, ^)

static lz_err *bad_shift(void)
{
    return lz_errf(LZ_ERR_ARG, "ValueError: negative shift count");
}

static lz_err *shift_left(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t v = in[0].i, by = in[1].i, r;
    (void)nin;
    if (by < 0)
        return bad_shift();
    if (v && (by > 62 || __builtin_mul_overflow(v, INT64_C(1) << by, &r)))
        return overflow();
    *out = lz_script_value_int(v ? r : 0);
    return NULL;
}

static lz_err *shift_right(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t by = in[1].i > 63 ? 63 : in[1].i;
    (void)nin;
    if (by < 0)
        return bad_shift();
    *out = lz_script_value_int(in[0].i >= 0 ? in[0].i >> by : ~(~in[0].i >> by));
    return NULL;
}

static lz_err *bit_not(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_int(~in->i);
    return NULL;
}

static lz_err *logical_not(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(!in->b);
    return NULL;
}

/* Python's `is`: boxed values by identity; None and numbers by kind and value. */
static bool same_object(const lz_script_value *in)
{
    return in[0].kind >= LZ_SCRIPT_VALUE_BOXED && in[1].kind >= LZ_SCRIPT_VALUE_BOXED
               ? in[0].box == in[1].box
               : lz_script_value_identical(in[0], in[1]);
}

static lz_err *is(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(same_object(in));
    return NULL;
}

static lz_err *is_not(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(!same_object(in));
    return NULL;
}

/* ---- conversion ---- */

static lz_err *float_to_int(double v, lz_script_value *out)
{
    if (isnan(v))
        return lz_errf(LZ_ERR_ARG, "ValueError: cannot convert float NaN to integer");
    if (v < -two_to_63 || v >= two_to_63)
        return overflow();
    *out = lz_script_value_int((int64_t)v);
    return NULL;
}

static lz_err *to_int(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    if (in->kind == LZ_SCRIPT_VALUE_FLOAT)
        return float_to_int(in->f, out);
    *out = lz_script_value_int(whole(*in));
    return NULL;
}

static lz_err *to_float(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_float(real(*in));
    return NULL;
}

static lz_err *to_bool(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_bool(in->kind == LZ_SCRIPT_VALUE_FLOAT ? in->f != 0 : whole(*in) != 0);
    return NULL;
}

static lz_err *not_a_number(const char *function, lz_str s)
{
    return lz_errf(LZ_ERR_ARG, "ValueError: %s: '%.*s' is no such number", function, LZ_FMT(s));
}

static lz_err *str_to_int(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t v;
    (void)nin;
    if (!lz_int64_parse(lz_str_trim(lz_script_value_text(*in)), &v))
        return not_a_number("int", lz_script_value_text(*in));
    *out = lz_script_value_int(v);
    return NULL;
}

static lz_err *str_to_float(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    double v;
    (void)nin;
    if (!lz_double_parse(lz_str_trim(lz_script_value_text(*in)), &v))
        return not_a_number("float", lz_script_value_text(*in));
    *out = lz_script_value_float(v);
    return NULL;
}

#define TO_WHOLE(name, fn)                                                                                   \
    static lz_err *name(const lz_script_value *in, size_t nin, lz_script_value *out)                         \
    {                                                                                                        \
        return in->kind == LZ_SCRIPT_VALUE_FLOAT ? float_to_int(fn(in->f), out) : to_int(in, nin, out);      \
    }

TO_WHOLE(floor_of, floor)
TO_WHOLE(ceil_of, ceil)
TO_WHOLE(trunc_of, trunc)

/* Half to even. */
static lz_err *round_of(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    (void)nin;
    *out = lz_script_value_float(rint(real(*in)));
    return NULL;
}

/* ---- loops ---- */

/* The number of iterations of range(lo, hi, step). */
static lz_err *range_length(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t lo = in[0].i, hi = in[1].i, step = in[2].i;
    (void)nin;
    if (!step)
        return lz_errf(LZ_ERR_ARG, "ValueError: range() arg 3 must not be zero");
    bool runs = step > 0 ? lo < hi : lo > hi;
    uint64_t span = step > 0 ? (uint64_t)hi - (uint64_t)lo : (uint64_t)lo - (uint64_t)hi;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t n = runs ? (span - 1) / by + 1 : 0;
    if (n > INT64_MAX)
        return overflow();
    *out = lz_script_value_int((int64_t)n);
    return NULL;
}

static lz_err *derive_index(const lz_script_value *in, size_t nin, lz_script_value *out)
{
    int64_t r;
    (void)nin;
    if (__builtin_mul_overflow(in[0].i, in[2].i, &r) || __builtin_add_overflow(in[1].i, r, &r))
        return overflow();
    *out = lz_script_value_int(r);
    return NULL;
}

/* ---- the table ---- */

#define NUMBERS(name, fn, int_result)                                                                        \
    { name, "int", "ii", int_result, fn, 0 }, { name, "float", "ff", "f", fn, 0 },                           \
        { name, "int_float", "if", "f", fn, 0 }, { name, "float_int", "fi", "f", fn, 0 },                    \
    {                                                                                                        \
        name, "", "SS", "S", fn, 0                                                                           \
    }
#define COMPARED(name, fn)                                                                                   \
    { name, "int", "ii", "b", fn, 0 }, { name, "float", "ff", "b", fn, 0 },                                  \
        { name, "int_float", "if", "b", fn, 0 }, { name, "float_int", "fi", "b", fn, 0 },                    \
        { name, "bool", "bb", "b", fn, 0 },                                                                  \
    {                                                                                                        \
        name, "", "SS", "b", fn, 0                                                                           \
    }
#define LOGIC(name, fn)                                                                                      \
    { name, "bool", "bb", "b", fn, 0 },                                                                      \
    {                                                                                                        \
        name, "int", "ii", "i", fn, 0                                                                        \
    }
#define ROUNDED(name, fn, result)                                                                            \
    { name, "int", "i", result, fn, 0 }, { name, "float", "f", result, fn, 0 },                              \
    {                                                                                                        \
        name, "Scalar", "S", "S", fn, 0                                                                      \
    }

static const lz_builtin rows[] = {
    { "aten::Bool", "int", "i", "b", to_bool, 0 },
    { "aten::Bool", "float", "f", "b", to_bool, 0 },
    { "aten::Bool", "bool", "b", "b", to_bool, 0 },
    { "aten::Bool", "Scalar", "S", "b", to_bool, 0 },
    { "aten::Float", "int", "i", "f", to_float, 0 },
    { "aten::Float", "bool", "b", "f", to_float, 0 },
    { "aten::Float", "float", "f", "f", to_float, 0 },
    { "aten::Float", "Scalar", "S", "f", to_float, 0 },
    { "aten::Float", "str", "s", "f", str_to_float, 0 },
    { "aten::Int", "float", "f", "i", to_int, 0 },
    { "aten::Int", "bool", "b", "i", to_int, 0 },
    { "aten::Int", "int", "i", "i", to_int, 0 },
    { "aten::Int", "Scalar", "S", "i", to_int, 0 },
    { "aten::Int", "str", "s", "i", str_to_int, 0 },
    LOGIC("aten::__and__", bit_and),
    { "aten::__derive_index", "", "iii", "i", derive_index, 0 },
    { "aten::__is__", "", "AA", "b", is, 0 },
    { "aten::__isnot__", "", "AA", "b", is_not, 0 },
    { "aten::__lshift__", "int", "ii", "i", shift_left, 0 },
    { "aten::__not__", "", "b", "b", logical_not, 0 },
    LOGIC("aten::__or__", bit_or),
    { "aten::__range_length", "", "iii", "i", range_length, 0 },
    { "aten::__round_to_zero_floordiv", "int", "ii", "i", truncdiv, 0 },
    { "aten::__rshift__", "int", "ii", "i", shift_right, 0 },
    LOGIC("aten::__xor__", bit_xor),
    NUMBERS("aten::add", add, "i"),
    { "aten::bitwise_not", "int", "i", "i", bit_not, 0 },
    ROUNDED("aten::ceil", ceil_of, "i"),
    NUMBERS("aten::div", divide, "f"),
    { "aten::divmod", "int", "ii", "ii", divmod, 0 },
    { "aten::divmod", "float", "ff", "ff", divmod, 0 },
    { "aten::divmod", "int_float", "if", "ff", divmod, 0 },
    { "aten::divmod", "float_int", "fi", "ff", divmod, 0 },
    COMPARED("aten::eq", eq),
    ROUNDED("aten::floor", floor_of, "i"),
    NUMBERS("aten::floordiv", floordiv, "i"),
    NUMBERS("aten::fmod", fmod_of, "f"),
    COMPARED("aten::ge", ge),
    COMPARED("aten::gt", gt),
    COMPARED("aten::le", le),
    COMPARED("aten::lt", lt),
    NUMBERS("aten::mul", mul, "i"),
    COMPARED("aten::ne", ne),
    { "aten::neg", "int", "i", "i", neg, 0 },
    { "aten::neg", "float", "f", "f", neg, 0 },
    { "aten::neg", "Scalar", "S", "S", neg, 0 },
    NUMBERS("aten::pow", power, "f"),
    { "aten::pow", "int_to_int", "ii", "i", power_int, 0 },
    NUMBERS("aten::remainder", remainder_of, "i"),
    ROUNDED("aten::round", round_of, "f"),
    NUMBERS("aten::sub", sub, "i"),
    NUMBERS("aten::truediv", divide, "f"),
    ROUNDED("aten::trunc", trunc_of, "i"),
    { "prim::abs", "int", "i", "i", absolute, 0 },
    { "prim::abs", "float", "f", "f", absolute, 0 },
    { "prim::abs", "Scalar", "S", "S", absolute, 0 },
    NUMBERS("prim::max", greatest, "i"),
    NUMBERS("prim::min", least, "i"),
};

const lz_builtin_table lz_builtins_number = LZ_BUILTIN_TABLE(rows);
