/* Operations on elements that the kernel IR has and the language of formulas has not. */
#include "lower/prim_impl.h"
#include <math.h>

static lz_err *apply(lz_lower *b, const char *name, lz_inner_rule rule, lz_kop op, const lz_lv *args,
                     lz_lv *results)
{
    lz_lv x[2], y;
    lz_inner in;
    const lz_ln *n;
    LZ_TRY(lz_inner_begin(b, name, rule, args, 2, x, &in));
    LZ_TRY(lz_prim_map2(b, op, x[0].node, x[1].node, &n));
    y = lz_prim_tensor(in.type, n);
    return lz_inner_end(b, &in, &y, results);
}

lz_err *lz_lower_gcd(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    if (args[0].dtype == LZ_BOOL && args[1].dtype == LZ_BOOL)
        return lz_errf(LZ_ERR_ARG, "\"gcd\" not implemented for 'Bool'");
    return apply(b, "gcd", LZ_INNER_INT, LZ_K_GCD, args, results);
}

lz_err *lz_lower_copysign_Tensor(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    return apply(b, "copysign", LZ_INNER_FLOAT, LZ_K_COPYSIGN, args, results);
}

/* x moved towards y by more than half of the distance of two neighbours in half precision, and by less than
 * one and a half: the conversion to half precision then rounds to the neighbour. x and y are f32. */
static lz_err *step_half(lz_lower *b, lz_dtype d, const lz_ln *x, const lz_ln *y, const lz_ln **out)
{
    const double part = d == LZ_F16 ? 0x1.4p-11 : 0x1.4p-8, least = d == LZ_F16 ? 0x1.8p-25 : 0x1.8p-134;
    const double most = d == LZ_F16 ? 65504 : 0x1.fep127;
    const lz_ln *size, *by, *up, *down, *less, *infinite, *largest;
    LZ_TRY(lz_prim_map1(b, LZ_K_ABS, x, &size));
    LZ_TRY(lz_prim_map_number(b, LZ_K_MUL, size, part, &by));
    LZ_TRY(lz_prim_map_number(b, LZ_K_MAX, by, least, &by));
    LZ_TRY(lz_prim_map2(b, LZ_K_ADD, x, by, &up));
    LZ_TRY(lz_prim_map2(b, LZ_K_SUB, x, by, &down));
    LZ_TRY(lz_prim_map2(b, LZ_K_LT, x, y, &less));
    LZ_TRY(lz_prim_map3(b, LZ_K_SELECT, less, up, down, out));
    LZ_TRY(lz_prim_map_number(b, LZ_K_EQ, size, INFINITY, &infinite));
    LZ_TRY(lz_prim_full(b, most, LZ_F32, lz_ln_sizes(x), &largest));
    LZ_TRY(lz_prim_map2(b, LZ_K_COPYSIGN, largest, x, &largest));
    return lz_prim_map3(b, LZ_K_SELECT, infinite, largest, *out, out);
}

static lz_err *next_half(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_lv x[2], next;
    lz_inner in;
    const lz_ln *moved, *same, *none;
    LZ_TRY(lz_inner_begin(b, "nextafter", LZ_INNER_POINTWISE, args, 2, x, &in));
    LZ_TRY(step_half(b, in.type, x[0].node, x[1].node, &moved));
    LZ_TRY(lz_prim_map2(b, LZ_K_EQ, x[0].node, x[1].node, &same));
    LZ_TRY(lz_prim_map2(b, LZ_K_NE, x[1].node, x[1].node, &none));
    LZ_TRY(lz_prim_map3(b, LZ_K_SELECT, same, x[1].node, moved, &moved));
    LZ_TRY(lz_prim_map3(b, LZ_K_SELECT, none, x[1].node, moved, &moved));
    next = lz_prim_tensor(in.type, moved);
    LZ_TRY(lz_low_cast_to(b, &next, in.type, &next));
    return lz_inner_end(b, &in, &next, results);
}

lz_err *lz_lower_nextafter(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_dtype d;
    LZ_TRY(lz_low_result_type(b, args, 2, &d));
    if (!lz_dtype_is_float(d))
        return lz_errf(LZ_ERR_ARG, "\"nextafter\" not implemented for '%s'", lz_dtype_get(d)->script);
    if (d == LZ_F16 || d == LZ_BF16)
        return next_half(b, args, results);
    return apply(b, "nextafter", LZ_INNER_POINTWISE, LZ_K_NEXTAFTER, args, results);
}

/* self + value * tensor1 * tensor2; of floats the last product is not rounded. */
lz_err *lz_lower_addcmul(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    lz_lv x[4], y;
    lz_inner in;
    const lz_ln *n;
    LZ_TRY(lz_inner_begin(b, "addcmul", LZ_INNER_POINTWISE, args, 4, x, &in));
    bool floats = lz_dtype_is_float(in.type), truth = in.type == LZ_BOOL;
    LZ_TRY(lz_prim_map2(b, truth ? LZ_K_AND : LZ_K_MUL, x[3].node, x[1].node, &n));
    if (floats) {
        LZ_TRY(lz_prim_map3(b, LZ_K_FMA, n, x[2].node, x[0].node, &n));
    } else {
        LZ_TRY(lz_prim_map2(b, truth ? LZ_K_AND : LZ_K_MUL, n, x[2].node, &n));
        LZ_TRY(lz_prim_map2(b, truth ? LZ_K_OR : LZ_K_ADD, x[0].node, n, &n));
    }
    y = lz_prim_tensor(in.type, n);
    return lz_inner_end(b, &in, &y, results);
}

/* dep_token; the run fails where self, expanded to its sizes, is not true. */
lz_err *lz_lower__functional_assert_async_msg(lz_lower *b, const lz_lv *args, lz_lv *results)
{
    const lz_ln *condition, *x = args[2].node;
    if (args[1].kind != LZ_LV_STR)
        return lz_errf(LZ_ERR_ARG, "_functional_assert_async: argument 'assert_msg' must be a string");
    LZ_TRY(lz_prim_cast(b, &args[0], LZ_BOOL, &condition));
    LZ_TRY(lz_low_expand(b, condition, lz_ln_sizes(x), &condition));
    LZ_TRY(lz_low_check_rule(b, condition, args[1].str, x, &x));
    results[0] = lz_prim_tensor(args[2].dtype, x);
    return NULL;
}
