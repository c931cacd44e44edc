/* Casts between the computing types, and conversions to and from the types in memory. */
#include "jit/emitter.h"

typedef lz_llvm_value *cast_fn(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to);

#define CAST(fn, name)                                                                                       \
    static lz_llvm_value *fn(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)                              \
    {                                                                                                        \
        return e->l->Build##name(e->b, x, to, "");                                                           \
    }
CAST(cut, Trunc)
CAST(widen, SExt)
CAST(widen_bool, ZExt)
CAST(whole_to_float, SIToFP)
CAST(bool_to_float, UIToFP)
CAST(to_f64, FPExt) /* also from f16 */
CAST(to_f32, FPTrunc)
CAST(bits, BitCast)

static lz_llvm_value *same(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    (void)e;
    (void)to;
    return x;
}

static lz_llvm_value *not_zero(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    (void)to;
    return e->l->BuildICmp(e->b, LZ_LLVM_NE, x, e->l->ConstNull(e->l->TypeOf(x)), "");
}

static lz_llvm_value *float_not_zero(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    (void)to;
    return e->l->BuildFCmp(e->b, LZ_LLVM_UNE, x, e->l->ConstNull(e->l->TypeOf(x)), "");
}

/* NaN and values out of range become the least integer. */
static lz_llvm_value *to_whole(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to, lz_llvm_type *from, int low,
                               double least, double most)
{
    lz_llvm_value *bound[2] = { lz_emit_splat(e, e->l->ConstReal(from, least)),
                                lz_emit_splat(e, e->l->ConstReal(from, most)) };
    lz_llvm_value *in = e->l->BuildAnd(e->b, e->l->BuildFCmp(e->b, low, x, bound[0], ""),
                                       e->l->BuildFCmp(e->b, LZ_LLVM_OLT, x, bound[1], ""), "");
    lz_llvm_value *safe = e->l->BuildSelect(e->b, in, x, e->l->ConstNull(lz_emit_shape(e, from)), "");
    lz_llvm_type *one = to == lz_emit_shape(e, e->i32) ? e->i32 : e->i64;
    lz_llvm_value *otherwise = lz_emit_int(e, one, one == e->i32 ? INT32_MIN : INT64_MIN);
    return e->l->BuildSelect(e->b, in, e->l->BuildFPToSI(e->b, safe, to, ""), otherwise, "");
}

static lz_llvm_value *f32_to_i32(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    return to_whole(e, x, to, e->f32, LZ_LLVM_OGE, -2147483648.0, 2147483648.0);
}

static lz_llvm_value *f64_to_i32(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    return to_whole(e, x, to, e->f64, LZ_LLVM_OGT, -2147483649.0, 2147483648.0);
}

static lz_llvm_value *f32_to_i64(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    return to_whole(e, x, to, e->f32, LZ_LLVM_OGE, -0x1p63, 0x1p63);
}

static lz_llvm_value *f64_to_i64(lz_emitter *e, lz_llvm_value *x, lz_llvm_type *to)
{
    return to_whole(e, x, to, e->f64, LZ_LLVM_OGE, -0x1p63, 0x1p63);
}

static cast_fn *const casts[LZ_KERNEL_TYPES][LZ_KERNEL_TYPES] = {
    [LZ_KERNEL_BOOL] = { same, widen_bool, widen_bool, bool_to_float, bool_to_float },
    [LZ_KERNEL_I32] = { not_zero, same, widen, whole_to_float, whole_to_float },
    [LZ_KERNEL_I64] = { not_zero, cut, same, whole_to_float, whole_to_float },
    [LZ_KERNEL_F32] = { float_not_zero, f32_to_i32, f32_to_i64, same, to_f64 },
    [LZ_KERNEL_F64] = { float_not_zero, f64_to_i32, f64_to_i64, to_f32, same },
};

lz_llvm_value *lz_emit_cast(lz_emitter *e, int from, int to, lz_llvm_value *x)
{
    return casts[from][to](e, x, lz_emit_shape(e, lz_emit_ktype(e, to)));
}

/* ---- memory ---- */

#define I32(v)        lz_emit_int(e, e->i32, v)
#define B(name, x, y) e->l->Build##name(e->b, x, y, "")

static lz_llvm_value *select_less(lz_emitter *e, lz_llvm_value *x, int64_t bound, lz_llvm_value *yes,
                                  lz_llvm_value *no)
{
    return e->l->BuildSelect(e->b, e->l->BuildICmp(e->b, LZ_LLVM_SLT, x, I32(bound), ""), yes, no, "");
}

static lz_llvm_value *as_f32(lz_emitter *e, lz_llvm_value *x)
{
    return bits(e, x, lz_emit_shape(e, e->f32));
}

static lz_llvm_value *as_i32(lz_emitter *e, lz_llvm_value *x)
{
    return bits(e, x, lz_emit_shape(e, e->i32));
}

static lz_llvm_value *real(lz_emitter *e, double v)
{
    return lz_emit_splat(e, e->l->ConstReal(e->f32, v));
}

/* With the F16C instruction. It would make NaNs quiet; their bits are kept here. */
static lz_llvm_value *from_f16_machine(lz_emitter *e, lz_llvm_value *x)
{
    lz_llvm_type *half = lz_emit_shape(e, e->l->HalfTypeInContext(e->ctx));
    lz_llvm_value *f = to_f64(e, bits(e, x, half), lz_emit_shape(e, e->f32)), *i = as_i32(e, f);
    lz_llvm_value *fraction = B(Shl, B(And, widen_bool(e, x, lz_emit_shape(e, e->i32)), I32(0x3ff)), I32(13));
    lz_llvm_value *kept = B(Or, B(And, i, I32(-(1 << 23))), fraction);
    return as_f32(e, e->l->BuildSelect(e->b, e->l->BuildFCmp(e->b, LZ_LLVM_UNO, f, f, ""), kept, i, ""));
}

/* All NaNs become one quiet NaN of their sign. */
static lz_llvm_value *to_f16_machine(lz_emitter *e, lz_llvm_value *x)
{
    lz_llvm_type *half = lz_emit_shape(e, e->l->HalfTypeInContext(e->ctx)), *i16 = lz_emit_shape(e, e->i16);
    lz_llvm_value *h = bits(e, to_f32(e, x, half), i16);
    lz_llvm_value *sign = B(And, B(LShr, as_i32(e, x), I32(16)), I32(0x8000));
    lz_llvm_value *none = cut(e, B(Or, sign, I32(0x7e00)), i16);
    return e->l->BuildSelect(e->b, e->l->BuildFCmp(e->b, LZ_LLVM_UNO, x, x, ""), none, h, "");
}

/* As in tile_prim.h. */
static lz_llvm_value *from_f16(lz_emitter *e, lz_llvm_value *x)
{
    if (e->t->half)
        return from_f16_machine(e, x);
    lz_llvm_value *h = widen_bool(e, x, lz_emit_shape(e, e->i32));
    lz_llvm_value *magnitude = B(Shl, B(And, h, I32(0x7fff)), I32(13));
    lz_llvm_value *sign = B(Shl, B(And, h, I32(0x8000)), I32(16));
    lz_llvm_value *normal = B(Add, magnitude, I32(112 << 23));
    lz_llvm_value *small = as_f32(e, B(Add, magnitude, I32(113 << 23)));
    lz_llvm_value *tiny = as_i32(e, B(FSub, small, real(e, 0x1p-14)));
    lz_llvm_value *big = B(Add, magnitude, I32(224 << 23));
    lz_llvm_value *r =
        select_less(e, magnitude, 1 << 23, tiny, select_less(e, magnitude, 31 << 23, normal, big));
    return as_f32(e, B(Or, r, sign));
}

static lz_llvm_value *to_f16(lz_emitter *e, lz_llvm_value *x)
{
    if (e->t->half)
        return to_f16_machine(e, x);
    lz_llvm_value *i = as_i32(e, x), *a = B(And, i, I32(INT32_MAX));
    lz_llvm_value *sign = B(And, B(LShr, i, I32(16)), I32(0x8000));
    lz_llvm_value *odd = B(And, B(LShr, a, I32(13)), I32(1));
    lz_llvm_value *normal = B(AShr, B(Add, B(Add, a, I32(0xfff - (112 << 23))), odd), I32(13));
    lz_llvm_value *tiny = B(Sub, as_i32(e, B(FAdd, as_f32(e, a), real(e, 0.5))), I32(126 << 23));
    lz_llvm_value *big = select_less(e, a, (255 << 23) + 1, I32(0x7c00), I32(0x7e00));
    lz_llvm_value *r = select_less(e, a, 113 << 23, tiny, select_less(e, a, 143 << 23, normal, big));
    return cut(e, B(Or, r, sign), lz_emit_shape(e, e->i16));
}

static lz_llvm_value *from_bf16(lz_emitter *e, lz_llvm_value *x)
{
    return as_f32(e, B(Shl, widen_bool(e, x, lz_emit_shape(e, e->i32)), I32(16)));
}

static lz_llvm_value *to_bf16(lz_emitter *e, lz_llvm_value *x)
{
    lz_llvm_value *i = as_i32(e, x), *odd = B(And, B(LShr, i, I32(16)), I32(1));
    lz_llvm_value *r = B(LShr, B(Add, B(Add, i, I32(0x7fff)), odd), I32(16));
    lz_llvm_value *nan = e->l->BuildFCmp(e->b, LZ_LLVM_UNO, x, x, "");
    return cut(e, e->l->BuildSelect(e->b, nan, I32(0x7fc0), r, ""), lz_emit_shape(e, e->i16));
}

static lz_llvm_value *as_it_is(lz_emitter *e, lz_llvm_value *x)
{
    (void)e;
    return x;
}

static lz_llvm_value *from_bool(lz_emitter *e, lz_llvm_value *x)
{
    return not_zero(e, x, NULL);
}

static lz_llvm_value *from_unsigned(lz_emitter *e, lz_llvm_value *x)
{
    return widen_bool(e, x, lz_emit_shape(e, e->i32));
}

static lz_llvm_value *from_signed(lz_emitter *e, lz_llvm_value *x)
{
    return widen(e, x, lz_emit_shape(e, e->i32));
}

static lz_llvm_value *bool_to_byte(lz_emitter *e, lz_llvm_value *x)
{
    return widen_bool(e, x, lz_emit_shape(e, e->i8));
}

static lz_llvm_value *to_byte(lz_emitter *e, lz_llvm_value *x)
{
    return cut(e, x, lz_emit_shape(e, e->i8));
}

static lz_llvm_value *to_i16(lz_emitter *e, lz_llvm_value *x)
{
    return cut(e, x, lz_emit_shape(e, e->i16));
}

typedef struct conversion {
    lz_llvm_value *(*from)(lz_emitter *e, lz_llvm_value *x);
    lz_llvm_value *(*to)(lz_emitter *e, lz_llvm_value *x);
} conversion;

static const conversion conversions[LZ_DTYPE_SLOTS] = {
    [LZ_BOOL] = { from_bool, bool_to_byte }, [LZ_U8] = { from_unsigned, to_byte },
    [LZ_I8] = { from_signed, to_byte },      [LZ_I16] = { from_signed, to_i16 },
    [LZ_I32] = { as_it_is, as_it_is },       [LZ_I64] = { as_it_is, as_it_is },
    [LZ_F16] = { from_f16, to_f16 },         [LZ_BF16] = { from_bf16, to_bf16 },
    [LZ_F32] = { as_it_is, as_it_is },       [LZ_F64] = { as_it_is, as_it_is },
};

lz_llvm_value *lz_emit_from_memory(lz_emitter *e, int dtype, lz_llvm_value *x)
{
    return conversions[dtype].from(e, x);
}

lz_llvm_value *lz_emit_to_memory(lz_emitter *e, int dtype, lz_llvm_value *x)
{
    return conversions[dtype].to(e, x);
}
