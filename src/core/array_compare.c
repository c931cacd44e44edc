/* Compares arrays within the tolerance of their dtype. */
#include "core/convert.h"
#include "core/half.h"
#include "core/scalar.h"
#include "core/strided_array.h"
#include <math.h>

lz_tolerance lz_tolerance_of(lz_dtype d)
{
    static const struct {
        double rtol, atol;
        uint64_t ulps;
    } rows[LZ_DTYPE_NUMBERS] = {
        [LZ_F16] = { 0, 0, 2 },        [LZ_BF16] = { 0, 0, 2 }, [LZ_F32] = { 1e-4, 1e-5, 0 },
        [LZ_F64] = { 1e-9, 1e-9, 0 },  [LZ_C32] = { 0, 0, 2 },  [LZ_C64] = { 1e-4, 1e-5, 0 },
        [LZ_C128] = { 1e-9, 1e-9, 0 },
    };
    lz_tolerance t = { .nan_equal = true };
    if (lz_dtype_category(d) != LZ_CATEGORY_NONE) {
        t.rtol = rows[d].rtol;
        t.atol = rows[d].atol;
        t.ulps = rows[d].ulps;
    }
    return t;
}

/* The rank of v among the numbers of a dtype, from the most negative one; both zeros have one rank. */
static int64_t rank_of(lz_dtype d, double v)
{
    int64_t bits = 0, sign;
    if (d == LZ_F64) {
        memcpy(&bits, &v, sizeof v);
        sign = INT64_MIN;
    } else if (d == LZ_F32) {
        bits = lz_f32_bits((float)v);
        sign = INT64_C(1) << 31;
    } else {
        bits = d == LZ_F16 ? lz_f32_to_f16((float)v) : lz_f32_to_bf16((float)v);
        sign = INT64_C(1) << 15;
    }
    return bits & sign ? -(bits & ~sign) : bits;
}

static bool within_ulps(lz_dtype d, double got, double want, uint64_t ulps)
{
    int64_t a = rank_of(d, got), b = rank_of(d, want);
    uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return apart <= ulps;
}

static bool close_enough(lz_dtype d, double got, double want, const lz_tolerance *t)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want) && t->nan_equal;
    if (got == want)
        return true;
    bool finite = isfinite(got) && isfinite(want);
    return (finite && fabs(got - want) <= t->atol + t->rtol * fabs(want))
           || within_ulps(d, got, want, t->ulps);
}

static bool elements_match(lz_dtype d, lz_scalar got, lz_scalar want, const lz_tolerance *t)
{
    if (got.kind <= LZ_SCALAR_INT)
        return got.i == want.i;
    d = lz_dtype_get(d)->part;
    return close_enough(d, got.re, want.re, t) && close_enough(d, got.im, want.im, t);
}

static void explain_kind(const lz_array *got, const lz_array *want, lz_text *why)
{
    char a[LZ_SHAPE_CHARS], b[LZ_SHAPE_CHARS];
    lz_text_printf(why, "got %s%s, expected %s%s", lz_dtype_get(got->dtype)->name,
                   lz_shape_print(lz_array_sizes(got), a), lz_dtype_get(want->dtype)->name,
                   lz_shape_print(lz_array_sizes(want), b));
}

static void explain(const lz_array *got, const lz_array *want, const lz_difference *d, lz_text *why)
{
    int64_t index[LZ_MAX_DIMS];
    char text[LZ_SHAPE_CHARS];
    lz_array_index_of(got, d->first, index);
    lz_text_printf(why, "element %s is ", lz_shape_print((lz_ints){ index, got->sizes.n }, text));
    lz_scalar_print(lz_array_get(got, d->first), why);
    lz_text_puts(why, ", expected ");
    lz_scalar_print(lz_array_get(want, d->first), why);
    if (d->count > 1)
        lz_text_printf(why, "; %lld of %lld elements differ", (long long)d->count, (long long)got->numel);
}

bool lz_array_equal(const lz_array *got, const lz_array *want, const lz_tolerance *t, lz_difference *out,
                    lz_text *why)
{
    lz_difference d = { 0, -1 };
    bool alike = got->dtype == want->dtype && lz_shape_eq(lz_array_sizes(got), lz_array_sizes(want));
    for (int64_t i = 0; alike && i < got->numel; i++)
        if (!elements_match(got->dtype, lz_array_get(got, i), lz_array_get(want, i), t)) {
            d.first = d.count ? d.first : i;
            d.count++;
        }
    if (out)
        *out = d;
    if (why && !alike)
        explain_kind(got, want, why);
    else if (why && d.count)
        explain(got, want, &d, why);
    return alike && d.count == 0;
}
