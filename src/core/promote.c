#include "core/promote.h"

#define B    LZ_BOOL
#define U8   LZ_U8
#define I8   LZ_I8
#define I16  LZ_I16
#define I32  LZ_I32
#define I64  LZ_I64
#define F16  LZ_F16
#define BF   LZ_BF16
#define F32  LZ_F32
#define F64  LZ_F64
#define C32  LZ_C32
#define C64  LZ_C64
#define C128 LZ_C128

/* Rows and columns in the order of lz_dtypes. Symmetric, so only the upper triangle is filled in. */
static const lz_dtype lattice[LZ_DTYPE_COUNT][LZ_DTYPE_COUNT] = {
    /* clang-format off */
    { B,   U8,  I8,  I16, I32, I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   U8,  I16, I16, I32, I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   0,   I8,  I16, I32, I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   0,   0,   I16, I32, I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   0,   0,   0,   I32, I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   0,   0,   0,   0,   I64, F16, BF,  F32, F64, C32,  C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   F16, F32, F32, F64, C32,  C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   0,   BF,  F32, F64, C64,  C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   0,   0,   F32, F64, C64,  C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   0,   0,   0,   F64, C128, C128, C128 },
    { 0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   C32,  C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,    C64,  C128 },
    { 0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,    0,    C128 },
    /* clang-format on */
};

static bool absent(lz_dtype d)
{
    return lz_dtype_category(d) == LZ_CATEGORY_NONE;
}

lz_dtype lz_dtype_promote(lz_dtype a, lz_dtype b)
{
    if (absent(a) || absent(b))
        return absent(a) ? b : a;
    uint8_t i = lz_dtype_get(a)->order, j = lz_dtype_get(b)->order;
    return i < j ? lattice[i][j] : lattice[j][i];
}

/* A number's category counts, but not its precision. */
static lz_dtype number_type(lz_dtype d, lz_dtype default_float)
{
    lz_category category = lz_dtype_category(d);
    if (category == LZ_CATEGORY_COMPLEX)
        return lz_dtype_complex_of(default_float);
    return category == LZ_CATEGORY_FLOAT ? default_float : d;
}

/* A lower rank raises the category; within the same category it changes nothing, except bool. */
static lz_dtype combine(lz_dtype higher, lz_dtype lower)
{
    lz_category hi = lz_dtype_category(higher), lo = lz_dtype_category(lower);
    if (hi == LZ_CATEGORY_FLOAT && lo == LZ_CATEGORY_COMPLEX)
        return lz_dtype_complex_of(higher);
    return hi >= LZ_CATEGORY_INT && lo <= hi ? higher : lz_dtype_promote(higher, lower);
}

lz_dtype lz_dtype_result(const lz_arg_type *args, size_t n, lz_dtype default_float)
{
    lz_dtype of_rank[LZ_RANKS] = { LZ_DTYPE_NONE, LZ_DTYPE_NONE, LZ_DTYPE_NONE };
    for (size_t i = 0; i < n; i++) {
        lz_arg_rank r = args[i].rank;
        lz_dtype d = args[i].dtype;
        of_rank[r] = lz_dtype_promote(of_rank[r], r == LZ_RANK_NUMBER ? number_type(d, default_float) : d);
    }
    return combine(of_rank[LZ_RANK_TENSOR], combine(of_rank[LZ_RANK_ZERO_DIM], of_rank[LZ_RANK_NUMBER]));
}

static lz_op_types keep(lz_dtype common, lz_dtype default_float)
{
    (void)default_float;
    return (lz_op_types){ common, common };
}

static lz_op_types whole_to_float(lz_dtype common, lz_dtype default_float)
{
    return keep(lz_dtype_is_whole(common) ? default_float : common, default_float);
}

static lz_op_types always_bool(lz_dtype common, lz_dtype default_float)
{
    (void)default_float;
    return (lz_op_types){ common, LZ_BOOL };
}

static lz_op_types to_real(lz_dtype common, lz_dtype default_float)
{
    (void)default_float;
    return (lz_op_types){ common, lz_dtype_get(common)->part };
}

static lz_op_types bool_to_i64(lz_dtype common, lz_dtype default_float)
{
    return keep(common == LZ_BOOL ? LZ_I64 : common, default_float);
}

lz_op_types lz_promote_op(lz_promotion rule, const lz_arg_type *args, size_t n, lz_dtype default_float)
{
    static lz_op_types (*const rules[LZ_PROMOTIONS])(lz_dtype, lz_dtype) = {
        [LZ_PROMOTE_COMMON] = keep,
        [LZ_PROMOTE_WHOLE_TO_FLOAT] = whole_to_float,
        [LZ_PROMOTE_ALWAYS_BOOL] = always_bool,
        [LZ_PROMOTE_TO_REAL] = to_real,
        [LZ_PROMOTE_BOOL_TO_I64] = bool_to_i64,
    };
    return rules[rule](lz_dtype_result(args, n, default_float), default_float);
}

bool lz_dtype_can_cast(lz_dtype from, lz_dtype to)
{
    return lz_dtype_category(from) <= lz_dtype_category(to);
}

lz_err *lz_dtype_check_cast(lz_dtype from, lz_dtype to)
{
    if (lz_dtype_can_cast(from, to))
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, "result type %s can't be cast to the desired output type %s",
                          lz_dtype_get(from)->script, lz_dtype_get(to)->script);
}
