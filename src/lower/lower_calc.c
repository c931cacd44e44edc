#include "lower/lower_calc.h"
#include <math.h>

lz_err *lz_calc_check(lz_calc_fault fault)
{
    if (!fault)
        return NULL;
    return lz_errf(LZ_ERR_ARG,
                   fault & LZ_FAULT_ZERO ? "an integer is divided by zero" : "an integer overflows");
}

static bool divides(lz_calc_fault *f, int64_t x, int64_t y)
{
    *f |= y == 0 ? LZ_FAULT_ZERO : y == -1 && x == INT64_MIN ? LZ_FAULT_OVERFLOW : 0;
    return y != 0 && !(y == -1 && x == INT64_MIN);
}

int64_t lz_calc_div(lz_calc_fault *f, int64_t x, int64_t y)
{
    if (!divides(f, x, y))
        return 0;
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

int64_t lz_calc_mod(lz_calc_fault *f, int64_t x, int64_t y)
{
    if (!divides(f, x, y))
        return 0;
    int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

int64_t lz_calc_pow(lz_calc_fault *f, int64_t x, int64_t y)
{
    int64_t z = 1;
    if (x == 0 || x == 1)
        return x == 1 || y == 0;
    if (x == -1)
        return y % 2 ? -1 : 1;
    if (y < 0)
        *f |= LZ_FAULT_OVERFLOW;
    for (; y > 0 && !*f; y--)
        z = lz_calc_mul(f, z, x);
    return z;
}

lz_err *lz_calc_get_dtype(const lz_low_value *v, lz_dtype *out)
{
    *out = v->dtype;
    return v->kind == LZ_LOW_VALUE_DTYPE ? NULL : lz_errf(LZ_ERR_ARG, "expected a dtype");
}

lz_err *lz_calc_to_int(const lz_low_value *number, int64_t *out)
{
    double v;
    if (number->kind == LZ_LOW_VALUE_NUMBER && !number->node && number->number.kind != LZ_SCALAR_FLOAT) {
        *out = number->number.i;
        return NULL;
    }
    LZ_TRY(lz_low_value_get_double(number, &v));
    if (!(fabs(v) < 0x1p63))
        return lz_errf(LZ_ERR_ARG, "a number does not fit into a 64-bit integer");
    *out = (int64_t)v;
    return NULL;
}

static lz_err *position(int64_t n, int64_t i, int64_t *out)
{
    *out = i < 0 ? i + n : i;
    if (*out >= 0 && *out < n)
        return NULL;
    return lz_err_because(LZ_REASON_INDEX, "index %lld is out of range for a list of %lld", (long long)i,
                          (long long)n);
}

lz_err *lz_calc_size(const lz_low_value *tensor, int64_t i, int64_t *out)
{
    LZ_TRY(position(lz_low_value_ndim(tensor), i, &i));
    *out = tensor->node->sizes[i];
    return NULL;
}

lz_err *lz_calc_int_at(const lz_low_value *list, int64_t i, int64_t *out)
{
    LZ_TRY(position(lz_calc_len(list), i, &i));
    return lz_low_value_get_int(&list->list.items[i], out);
}

static lz_err *number_as_element(lz_lower *b, const lz_inner *in, lz_low_value *v)
{
    lz_low_value wrapped;
    const lz_low_node *n;
    LZ_TRY(lz_low_wrap(b, v, &wrapped));
    LZ_TRY(lz_low_cast(b, wrapped.node, in->compute, &n));
    LZ_TRY(lz_low_expand(b, n, in->sizes, &n));
    *v = (lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = in->type, .node = n };
    return NULL;
}

lz_err *lz_calc_select(lz_lower *b, const lz_inner *in, const lz_low_value *args, lz_low_value *out)
{
    lz_low_value given[3] = { args[0], args[1], args[2] };
    bool truth = args[1].number.kind == LZ_SCALAR_BOOL && args[2].number.kind == LZ_SCALAR_BOOL;
    if (args[0].kind == LZ_LOW_VALUE_TENSOR && args[1].kind == LZ_LOW_VALUE_NUMBER
        && args[2].kind == LZ_LOW_VALUE_NUMBER && !truth)
        LZ_TRY(number_as_element(b, in, &given[1]));
    return lz_low_op(b, LZ_LOW_OP_SELECT, given, out);
}

lz_err *lz_calc_spread(lz_lower *b, lz_low_value v, int64_t n, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(b, (size_t)n, &items));
    for (int64_t i = 0; i < n; i++)
        items[i] = v;
    *out = lz_low_value_list(items, (size_t)n);
    return NULL;
}

lz_err *lz_calc_floats(lz_lower *b, const lz_low_value *ints, lz_low_value *out)
{
    lz_low_value *items;
    LZ_TRY(lz_low_list_new(b, ints->list.n, &items));
    for (size_t i = 0; i < ints->list.n; i++)
        LZ_TRY(lz_low_convert(b, &ints->list.items[i], LZ_SCALAR_FLOAT, &items[i]));
    *out = lz_low_value_list(items, ints->list.n);
    return NULL;
}
