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

/* Rows and columns in the order of lz_dtypes; only from the diagonal on, it is symmetric. */
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

static const uint8_t place[LZ_DTYPE_NUMBERS] = {
    [B] = 0,  [U8] = 1,  [I8] = 2,  [I16] = 3,  [I32] = 4,  [I64] = 5,   [F16] = 6,
    [BF] = 7, [F32] = 8, [F64] = 9, [C32] = 10, [C64] = 11, [C128] = 12,
};

static bool absent(lz_dtype d)
{
    return lz_dtype_kind(d) == LZ_KIND_NONE;
}

lz_dtype lz_promote(lz_dtype a, lz_dtype b)
{
    if (absent(a) || absent(b))
        return absent(a) ? b : a;
    uint8_t i = place[a], j = place[b];
    return i < j ? lattice[i][j] : lattice[j][i];
}

lz_arg_type lz_arg_of_scalar(lz_scalar v)
{
    static const lz_dtype own[] = { [LZ_SCALAR_NONE] = LZ_DTYPE_NONE,
                                    [LZ_SCALAR_BOOL] = LZ_BOOL,
                                    [LZ_SCALAR_INT] = LZ_I64,
                                    [LZ_SCALAR_FLOAT] = LZ_F64,
                                    [LZ_SCALAR_COMPLEX] = LZ_C128 };
    return (lz_arg_type){ own[v.kind], LZ_ARG_NUMBER };
}

/* Numbers have a kind, and no precision of their own. */
static lz_dtype number_type(lz_dtype d, lz_dtype default_float)
{
    lz_kind kind = lz_dtype_kind(d);
    if (kind == LZ_KIND_COMPLEX)
        return lz_dtype_complex_of(default_float);
    return kind == LZ_KIND_FLOAT ? default_float : d;
}

/* A lower rank adds its kind; of the same kind it adds nothing, but to bool. */
static lz_dtype combine(lz_dtype higher, lz_dtype lower)
{
    lz_kind hi = lz_dtype_kind(higher), lo = lz_dtype_kind(lower);
    if (hi == LZ_KIND_FLOAT && lo == LZ_KIND_COMPLEX)
        return lz_dtype_complex_of(higher);
    return hi >= LZ_KIND_INT && lo <= hi ? higher : lz_promote(higher, lower);
}

lz_dtype lz_result_type(const lz_arg_type *args, size_t n, lz_dtype default_float)
{
    lz_dtype of_rank[LZ_ARG_RANKS] = { LZ_DTYPE_NONE, LZ_DTYPE_NONE, LZ_DTYPE_NONE };
    for (size_t i = 0; i < n; i++) {
        lz_arg_rank r = args[i].rank;
        lz_dtype d = args[i].dtype;
        of_rank[r] = lz_promote(of_rank[r], r == LZ_ARG_NUMBER ? number_type(d, default_float) : d);
    }
    return combine(of_rank[LZ_ARG_TENSOR], combine(of_rank[LZ_ARG_ZERO_DIM], of_rank[LZ_ARG_NUMBER]));
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
    return rules[rule](lz_result_type(args, n, default_float), default_float);
}

bool lz_can_cast(lz_dtype from, lz_dtype to)
{
    return lz_dtype_kind(from) <= lz_dtype_kind(to);
}

lz_err *lz_check_cast(lz_dtype from, lz_dtype to)
{
    if (lz_can_cast(from, to))
        return NULL;
    return lz_errf(LZ_ERR_ARG, "result type %s can't be cast to the desired output type %s",
                   lz_dtype_get(from)->script, lz_dtype_get(to)->script);
}
