/* Casts between the types that are computed in, and to and from what lies in memory. */
#include "jit/emit.h"

typedef lz_lvalue *cast_fn(lz_em *e, lz_lvalue *x, lz_ltype *to);

#define CAST(fn, name)                                                                                       \
    static lz_lvalue *fn(lz_em *e, lz_lvalue *x, lz_ltype *to)                                               \
    {                                                                                                        \
        return e->l->Build##name(e->b, x, to, "");                                                           \
    }
CAST(cut, Trunc)
CAST(widen, SExt)
CAST(widen_bool, ZExt)
CAST(whole_to_float, SIToFP)
CAST(bool_to_float, UIToFP)
CAST(to_f64, FPExt) /* or from f16 */
CAST(to_f32, FPTrunc)
CAST(bits, BitCast)

static lz_lvalue *same(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    (void)e;
    (void)to;
    return x;
}

static lz_lvalue *not_zero(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    (void)to;
    return e->l->BuildICmp(e->b, LZ_L_NE, x, e->l->ConstNull(e->l->TypeOf(x)), "");
}

static lz_lvalue *float_not_zero(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    (void)to;
    return e->l->BuildFCmp(e->b, LZ_L_UNE, x, e->l->ConstNull(e->l->TypeOf(x)), "");
}

/* Out of range and NaN become the least integer. */
static lz_lvalue *to_whole(lz_em *e, lz_lvalue *x, lz_ltype *to, lz_ltype *from, int low, double least,
                           double most)
{
    lz_lvalue *bound[2] = { lz_em_splat(e, e->l->ConstReal(from, least)),
                            lz_em_splat(e, e->l->ConstReal(from, most)) };
    lz_lvalue *in = e->l->BuildAnd(e->b, e->l->BuildFCmp(e->b, low, x, bound[0], ""),
                                   e->l->BuildFCmp(e->b, LZ_L_OLT, x, bound[1], ""), "");
    lz_lvalue *safe = e->l->BuildSelect(e->b, in, x, e->l->ConstNull(lz_em_shape(e, from)), "");
    lz_ltype *one = to == lz_em_shape(e, e->i32) ? e->i32 : e->i64;
    lz_lvalue *otherwise = lz_em_int(e, one, one == e->i32 ? INT32_MIN : INT64_MIN);
    return e->l->BuildSelect(e->b, in, e->l->BuildFPToSI(e->b, safe, to, ""), otherwise, "");
}

static lz_lvalue *f32_to_i32(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    return to_whole(e, x, to, e->f32, LZ_L_OGE, -2147483648.0, 2147483648.0);
}

static lz_lvalue *f64_to_i32(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    return to_whole(e, x, to, e->f64, LZ_L_OGT, -2147483649.0, 2147483648.0);
}

static lz_lvalue *f32_to_i64(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    return to_whole(e, x, to, e->f32, LZ_L_OGE, -0x1p63, 0x1p63);
}

static lz_lvalue *f64_to_i64(lz_em *e, lz_lvalue *x, lz_ltype *to)
{
    return to_whole(e, x, to, e->f64, LZ_L_OGE, -0x1p63, 0x1p63);
}

static cast_fn *const casts[LZ_KTYPES][LZ_KTYPES] = {
    [LZ_KBOOL] = { same, widen_bool, widen_bool, bool_to_float, bool_to_float },
    [LZ_KI32] = { not_zero, same, widen, whole_to_float, whole_to_float },
    [LZ_KI64] = { not_zero, cut, same, whole_to_float, whole_to_float },
    [LZ_KF32] = { float_not_zero, f32_to_i32, f32_to_i64, same, to_f64 },
    [LZ_KF64] = { float_not_zero, f64_to_i32, f64_to_i64, to_f32, same },
};

lz_lvalue *lz_em_cast(lz_em *e, int from, int to, lz_lvalue *x)
{
    return casts[from][to](e, x, lz_em_shape(e, lz_em_ktype(e, to)));
}

/* ---- memory ---- */

#define I32(v)        lz_em_int(e, e->i32, v)
#define B(name, x, y) e->l->Build##name(e->b, x, y, "")

static lz_lvalue *select_less(lz_em *e, lz_lvalue *x, int64_t bound, lz_lvalue *yes, lz_lvalue *no)
{
    return e->l->BuildSelect(e->b, e->l->BuildICmp(e->b, LZ_L_SLT, x, I32(bound), ""), yes, no, "");
}

static lz_lvalue *as_f32(lz_em *e, lz_lvalue *x)
{
    return bits(e, x, lz_em_shape(e, e->f32));
}

static lz_lvalue *as_i32(lz_em *e, lz_lvalue *x)
{
    return bits(e, x, lz_em_shape(e, e->i32));
}

static lz_lvalue *real(lz_em *e, double v)
{
    return lz_em_splat(e, e->l->ConstReal(e->f32, v));
}

/* By instruction; but NaNs keep their bits, which it would make quiet. */
static lz_lvalue *from_f16_machine(lz_em *e, lz_lvalue *x)
{
    lz_ltype *half = lz_em_shape(e, e->l->HalfTypeInContext(e->ctx));
    lz_lvalue *f = to_f64(e, bits(e, x, half), lz_em_shape(e, e->f32)), *i = as_i32(e, f);
    lz_lvalue *fraction = B(Shl, B(And, widen_bool(e, x, lz_em_shape(e, e->i32)), I32(0x3ff)), I32(13));
    lz_lvalue *kept = B(Or, B(And, i, I32(-(1 << 23))), fraction);
    return as_f32(e, e->l->BuildSelect(e->b, e->l->BuildFCmp(e->b, LZ_L_UNO, f, f, ""), kept, i, ""));
}

/* There is one NaN of each sign. */
static lz_lvalue *to_f16_machine(lz_em *e, lz_lvalue *x)
{
    lz_ltype *half = lz_em_shape(e, e->l->HalfTypeInContext(e->ctx)), *i16 = lz_em_shape(e, e->i16);
    lz_lvalue *h = bits(e, to_f32(e, x, half), i16);
    lz_lvalue *sign = B(And, B(LShr, as_i32(e, x), I32(16)), I32(0x8000));
    lz_lvalue *none = cut(e, B(Or, sign, I32(0x7e00)), i16);
    return e->l->BuildSelect(e->b, e->l->BuildFCmp(e->b, LZ_L_UNO, x, x, ""), none, h, "");
}

/* As prim.h has it. */
static lz_lvalue *from_f16(lz_em *e, lz_lvalue *x)
{
    if (e->t->half)
        return from_f16_machine(e, x);
    lz_lvalue *h = widen_bool(e, x, lz_em_shape(e, e->i32));
    lz_lvalue *magnitude = B(Shl, B(And, h, I32(0x7fff)), I32(13));
    lz_lvalue *sign = B(Shl, B(And, h, I32(0x8000)), I32(16));
    lz_lvalue *normal = B(Add, magnitude, I32(112 << 23));
    lz_lvalue *small = as_f32(e, B(Add, magnitude, I32(113 << 23)));
    lz_lvalue *tiny = as_i32(e, B(FSub, small, real(e, 0x1p-14)));
    lz_lvalue *big = B(Add, magnitude, I32(224 << 23));
    lz_lvalue *r = select_less(e, magnitude, 1 << 23, tiny, select_less(e, magnitude, 31 << 23, normal, big));
    return as_f32(e, B(Or, r, sign));
}

static lz_lvalue *to_f16(lz_em *e, lz_lvalue *x)
{
    if (e->t->half)
        return to_f16_machine(e, x);
    lz_lvalue *i = as_i32(e, x), *a = B(And, i, I32(INT32_MAX));
    lz_lvalue *sign = B(And, B(LShr, i, I32(16)), I32(0x8000));
    lz_lvalue *odd = B(And, B(LShr, a, I32(13)), I32(1));
    lz_lvalue *normal = B(AShr, B(Add, B(Add, a, I32(0xfff - (112 << 23))), odd), I32(13));
    lz_lvalue *tiny = B(Sub, as_i32(e, B(FAdd, as_f32(e, a), real(e, 0.5))), I32(126 << 23));
    lz_lvalue *big = select_less(e, a, (255 << 23) + 1, I32(0x7c00), I32(0x7e00));
    lz_lvalue *r = select_less(e, a, 113 << 23, tiny, select_less(e, a, 143 << 23, normal, big));
    return cut(e, B(Or, r, sign), lz_em_shape(e, e->i16));
}

static lz_lvalue *from_bf16(lz_em *e, lz_lvalue *x)
{
    return as_f32(e, B(Shl, widen_bool(e, x, lz_em_shape(e, e->i32)), I32(16)));
}

static lz_lvalue *to_bf16(lz_em *e, lz_lvalue *x)
{
    lz_lvalue *i = as_i32(e, x), *odd = B(And, B(LShr, i, I32(16)), I32(1));
    lz_lvalue *r = B(LShr, B(Add, B(Add, i, I32(0x7fff)), odd), I32(16));
    lz_lvalue *nan = e->l->BuildFCmp(e->b, LZ_L_UNO, x, x, "");
    return cut(e, e->l->BuildSelect(e->b, nan, I32(0x7fc0), r, ""), lz_em_shape(e, e->i16));
}

static lz_lvalue *as_it_is(lz_em *e, lz_lvalue *x)
{
    (void)e;
    return x;
}

static lz_lvalue *from_bool(lz_em *e, lz_lvalue *x)
{
    return not_zero(e, x, NULL);
}

static lz_lvalue *from_unsigned(lz_em *e, lz_lvalue *x)
{
    return widen_bool(e, x, lz_em_shape(e, e->i32));
}

static lz_lvalue *from_signed(lz_em *e, lz_lvalue *x)
{
    return widen(e, x, lz_em_shape(e, e->i32));
}

static lz_lvalue *bool_to_byte(lz_em *e, lz_lvalue *x)
{
    return widen_bool(e, x, lz_em_shape(e, e->i8));
}

static lz_lvalue *to_byte(lz_em *e, lz_lvalue *x)
{
    return cut(e, x, lz_em_shape(e, e->i8));
}

static lz_lvalue *to_i16(lz_em *e, lz_lvalue *x)
{
    return cut(e, x, lz_em_shape(e, e->i16));
}

typedef struct conversion {
    lz_lvalue *(*from)(lz_em *e, lz_lvalue *x);
    lz_lvalue *(*to)(lz_em *e, lz_lvalue *x);
} conversion;

static const conversion conversions[LZ_DTYPE_SLOTS] = {
    [LZ_BOOL] = { from_bool, bool_to_byte }, [LZ_U8] = { from_unsigned, to_byte },
    [LZ_I8] = { from_signed, to_byte },      [LZ_I16] = { from_signed, to_i16 },
    [LZ_I32] = { as_it_is, as_it_is },       [LZ_I64] = { as_it_is, as_it_is },
    [LZ_F16] = { from_f16, to_f16 },         [LZ_BF16] = { from_bf16, to_bf16 },
    [LZ_F32] = { as_it_is, as_it_is },       [LZ_F64] = { as_it_is, as_it_is },
};

lz_lvalue *lz_em_from_memory(lz_em *e, int dtype, lz_lvalue *x)
{
    return conversions[dtype].from(e, x);
}

lz_lvalue *lz_em_to_memory(lz_em *e, int dtype, lz_lvalue *x)
{
    return conversions[dtype].to(e, x);
}
