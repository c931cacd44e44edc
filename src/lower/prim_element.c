/* Operations on elements that the kernel IR has and the language of formulas does not have. */
#include "lower/prim_impl.h"
#include <math.h>

static lz_err *apply(lz_lower *b, const char *name, lz_inner_rule rule, lz_kernel_op op,
                     const lz_low_value *args, lz_low_value *results)
{
    lz_low_value x[2], y;
    lz_inner in;
    const lz_low_node *n;
    LZ_TRY(lz_inner_begin(b, name, rule, args, 2, x, &in));
    LZ_TRY(lz_prim_map2(b, op, x[0].node, x[1].node, &n));
    y = lz_prim_tensor(in.type, n);
    return lz_inner_end(b, &in, &y, results);
}

lz_err *lz_lower_gcd(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    if (args[0].dtype == LZ_BOOL && args[1].dtype == LZ_BOOL)
        return lz_err_because(LZ_REASON_DTYPE, "\"gcd\" not implemented for 'Bool'");
    return apply(b, "gcd", LZ_INNER_INT, LZ_KERNEL_GCD, args, results);
}

lz_err *lz_lower_copysign_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    return apply(b, "copysign", LZ_INNER_FLOAT, LZ_KERNEL_COPYSIGN, args, results);
}

/* x moved towards y by more than half of the distance of two neighbours in half precision, and by less than
 * one and a half: the conversion to half precision then rounds to the neighbour. x and y are f32. */
static lz_err *step_half(lz_lower *b, lz_dtype d, const lz_low_node *x, const lz_low_node *y,
                         const lz_low_node **out)
{
    const double part = d == LZ_F16 ? 0x1.4p-11 : 0x1.4p-8, least = d == LZ_F16 ? 0x1.8p-25 : 0x1.8p-134;
    const double most = d == LZ_F16 ? 65504 : 0x1.fep127;
    const lz_low_node *size, *by, *up, *down, *less, *infinite, *largest;
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_ABS, x, &size));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, size, part, &by));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MAX, by, least, &by));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, x, by, &up));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_SUB, x, by, &down));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_LT, x, y, &less));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, less, up, down, out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_EQ, size, INFINITY, &infinite));
    LZ_TRY(lz_prim_full(b, most, LZ_F32, lz_low_node_sizes(x), &largest));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_COPYSIGN, largest, x, &largest));
    return lz_prim_map3(b, LZ_KERNEL_SELECT, infinite, largest, *out, out);
}

static lz_err *next_half(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value x[2], next;
    lz_inner in;
    const lz_low_node *moved, *same, *none;
    LZ_TRY(lz_inner_begin(b, "nextafter", LZ_INNER_POINTWISE, args, 2, x, &in));
    LZ_TRY(step_half(b, in.type, x[0].node, x[1].node, &moved));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_EQ, x[0].node, x[1].node, &same));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_NE, x[1].node, x[1].node, &none));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, same, x[1].node, moved, &moved));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, none, x[1].node, moved, &moved));
    next = lz_prim_tensor(in.type, moved);
    LZ_TRY(lz_low_cast_to(b, &next, in.type, &next));
    return lz_inner_end(b, &in, &next, results);
}

lz_err *lz_lower_nextafter(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d;
    LZ_TRY(lz_low_result_type(b, args, 2, &d));
    if (!lz_dtype_is_float(d))
        return lz_err_because(LZ_REASON_DTYPE, "\"nextafter\" not implemented for '%s'",
                              lz_dtype_get(d)->script);
    if (d == LZ_F16 || d == LZ_BF16)
        return next_half(b, args, results);
    return apply(b, "nextafter", LZ_INNER_POINTWISE, LZ_KERNEL_NEXTAFTER, args, results);
}

/* The exponent of a normal number y as an integer of its width, and y's bits. */
static lz_err *exponent_of(lz_lower *b, const lz_low_node *y, const lz_low_node **bits,
                           const lz_low_node **out)
{
    bool single = y->dtype == LZ_F32;
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_BITS, y, bits));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHR, *bits, single ? 23 : 52, out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_AND, *out, single ? 0xff : 0x7ff, out));
    return lz_prim_map_number(b, LZ_KERNEL_SUB, *out, single ? 126 : 1022, out);
}

/* x = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; zeros, infinities and NaN have the exponent 0. Subnormal
 * numbers are scaled first. */
static lz_err *take_apart(lz_lower *b, const lz_low_node *x, const lz_low_node **mantissa,
                          const lz_low_node **exponent)
{
    bool single = x->dtype == LZ_F32;
    const double least = single ? 0x1p-126 : 0x1p-1022, bits_left = single ? 23 : 52;
    const lz_low_node *size, *tiny, *y, *bits, *e, *up, *zero, *finite, *plain;
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_ABS, x, &size));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_LT, size, least, &tiny));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, x, 0x1p54, &y));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, tiny, y, x, &y));
    LZ_TRY(exponent_of(b, y, &bits, &e));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHL, e, bits_left, &up));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_SUB, bits, up, &bits));
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_BITS, bits, mantissa));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SUB, e, 54, &up));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, tiny, up, e, &e));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, e, 0, &zero));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_LT, size, INFINITY, &finite));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_NE, x, 0, &plain));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_AND, finite, plain, &plain));
    LZ_TRY(lz_prim_map3(b, LZ_KERNEL_SELECT, plain, *mantissa, x, mantissa));
    return lz_prim_map3(b, LZ_KERNEL_SELECT, plain, e, zero, exponent);
}

lz_err *lz_lower_frexp_Tensor(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *x, *mantissa, *exponent;
    lz_dtype d = args[0].dtype;
    if (!lz_dtype_is_float(d))
        return lz_err_because(LZ_REASON_DTYPE, "frexp() only supports floating-point dtypes, not %s",
                              lz_dtype_get(d)->script);
    LZ_TRY(lz_prim_cast(b, &args[0], d, &x));
    LZ_TRY(take_apart(b, x, &mantissa, &exponent));
    LZ_TRY(lz_low_cast(b, exponent, LZ_I32, &exponent));
    results[0] = lz_prim_tensor(d, mantissa);
    results[1] = lz_prim_tensor(LZ_I32, exponent);
    return NULL;
}

/* self + value * tensor1 * tensor2. For floats the last product is not rounded. */
lz_err *lz_lower_addcmul(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_low_value x[4], y;
    lz_inner in;
    const lz_low_node *n;
    LZ_TRY(lz_inner_begin(b, "addcmul", LZ_INNER_POINTWISE, args, 4, x, &in));
    bool floats = lz_dtype_is_float(in.type), truth = in.type == LZ_BOOL;
    LZ_TRY(lz_prim_map2(b, truth ? LZ_KERNEL_AND : LZ_KERNEL_MUL, x[3].node, x[1].node, &n));
    if (floats) {
        LZ_TRY(lz_prim_map3(b, LZ_KERNEL_FMA, n, x[2].node, x[0].node, &n));
    } else {
        LZ_TRY(lz_prim_map2(b, truth ? LZ_KERNEL_AND : LZ_KERNEL_MUL, n, x[2].node, &n));
        LZ_TRY(lz_prim_map2(b, truth ? LZ_KERNEL_OR : LZ_KERNEL_ADD, x[0].node, n, &n));
    }
    y = lz_prim_tensor(in.type, n);
    return lz_inner_end(b, &in, &y, results);
}

/* dep_token. The run fails where an element of self, expanded to the sizes of dep_token, is not true. */
lz_err *lz_lower__functional_assert_async_msg(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *condition, *x = args[2].node;
    if (args[1].kind != LZ_LOW_VALUE_STR)
        return lz_errf(LZ_ERR_ARG, "_functional_assert_async: argument 'assert_msg' must be a string");
    LZ_TRY(lz_prim_cast(b, &args[0], LZ_BOOL, &condition));
    LZ_TRY(lz_low_expand(b, condition, lz_low_node_sizes(x), &condition));
    LZ_TRY(lz_low_check_rule(b, condition, args[1].str, x, &x));
    results[0] = lz_prim_tensor(args[2].dtype, x);
    return NULL;
}
