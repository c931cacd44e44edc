/* Tensors made from numbers. */
#include "core/scalar.h"
#include "lower/prim_impl.h"
#include <math.h>

static lz_dtype number_dtype(const lz_lower *b, const lz_low_value *number)
{
    lz_dtype d = lz_low_value_number_dtype(number);
    return d == LZ_F64 ? b->default_float : d;
}

lz_err *lz_lower_full(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = lz_prim_dtype(&args[2], number_dtype(b, &args[1]));
    lz_low_value value;
    lz_ints sizes;
    const lz_low_node *n;
    LZ_TRY(lz_low_value_get_ints(b, &args[0], &sizes));
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_low_require_fits(b, &args[1], d));
    LZ_TRY(lz_low_wrap(b, &args[1], &value));
    LZ_TRY(lz_prim_cast(b, &value, d, &n));
    LZ_TRY(lz_low_expand(b, n, sizes, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

/* ---- arange ---- */

static bool is_whole(const lz_low_value *v)
{
    return v->number.kind == LZ_SCALAR_INT || v->number.kind == LZ_SCALAR_BOOL;
}

static lz_err *check_range(double start, double end, double step)
{
    if (step == 0 || isnan(step))
        return lz_errf(LZ_ERR_ARG, "step must be nonzero");
    if (!isfinite(step))
        return lz_errf(LZ_ERR_ARG, "step must be finite but got %s", step > 0 ? "inf" : "-inf");
    if (!isfinite(start) || !isfinite(end))
        return lz_errf(LZ_ERR_ARG, "unsupported range: the bounds must be finite");
    if ((step > 0 && end < start) || (step < 0 && end > start))
        return lz_errf(LZ_ERR_ARG,
                       "upper bound and lower bound inconsistent with step sign"); /* PyTorch's message */
    return NULL;
}

/* Counts integers exactly, for any bounds. */
static lz_err *whole_count(int64_t start, int64_t end, int64_t step, int64_t *out)
{
    uint64_t span = (uint64_t)end - (uint64_t)start, by = (uint64_t)step, n;
    if (step < 0) {
        span = -span;
        by = -by;
    }
    n = span / by + (span % by != 0);
    if (n > INT64_MAX)
        return lz_errf(LZ_ERR_LIMIT, "arange has too many elements");
    *out = (int64_t)n;
    return NULL;
}

static lz_err *float_count(double start, double end, double step, int64_t *out)
{
    double n = ceil((end - start) / step);
    if (!(n >= 0 && n < 0x1p62))
        return lz_errf(LZ_ERR_LIMIT, "invalid size, possible overflow?");
    *out = (int64_t)n;
    return NULL;
}

/* start + step * i, computed in f64. */
static lz_err *float_range(lz_lower *b, double start, double step, int64_t n, const lz_low_node **out)
{
    LZ_TRY(lz_low_iota(b, LZ_INTS(n), 0, LZ_INTS(1), out));
    LZ_TRY(lz_low_cast(b, *out, LZ_F64, out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, *out, step, out));
    return lz_prim_map_number(b, LZ_KERNEL_ADD, *out, start, out);
}

lz_err *lz_lower_arange_start_step(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    bool whole = is_whole(&args[0]) && is_whole(&args[1]) && is_whole(&args[2]);
    lz_dtype d = lz_prim_dtype(&args[3], whole ? LZ_I64 : b->default_float);
    double v[3];
    int64_t n;
    const lz_low_node *x;
    for (int i = 0; i < 3; i++)
        LZ_TRY(lz_low_value_get_double(&args[i], &v[i]));
    LZ_TRY(check_range(v[0], v[1], v[2]));
    if (whole) {
        LZ_TRY(whole_count(args[0].number.i, args[1].number.i, args[2].number.i, &n));
        LZ_TRY(lz_low_iota(b, LZ_INTS(n), args[0].number.i, LZ_INTS(args[2].number.i), &x));
    } else {
        bool cut = lz_dtype_is_whole(d); /* after counting, as in PyTorch */
        LZ_TRY(float_count(v[0], v[1], v[2], &n));
        LZ_TRY(float_range(b, cut ? trunc(v[0]) : v[0], cut ? trunc(v[2]) : v[2], n, &x));
    }
    LZ_TRY(lz_prim_cast(
        b, &(lz_low_value){ .kind = LZ_LOW_VALUE_TENSOR, .dtype = (lz_dtype)x->dtype, .node = x }, d, &x));
    results[0] = lz_prim_tensor(d, x);
    return NULL;
}
