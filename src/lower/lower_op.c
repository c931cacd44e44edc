/* Operations on nodes: elements of inner expressions, and run-time numbers. Requires operands of one dtype
 * and one shape. */
#include "lower/lower_impl.h"

typedef lz_err *expand_fn(lz_lower *b, const lz_low_node *const *in, bool number, const lz_low_node **out);

static lz_err *map2(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y, bool number,
                    const lz_low_node **out)
{
    const lz_low_node *in[2] = { x, y };
    return lz_low_make_map(b, op, in, number, out);
}

static lz_err *map3(lz_lower *b, lz_kernel_op op, const lz_low_node *x, const lz_low_node *y,
                    const lz_low_node *z, bool number, const lz_low_node **out)
{
    const lz_low_node *in[3] = { x, y, z };
    return lz_low_make_map(b, op, in, number, out);
}

static lz_err *constant_like(lz_lower *b, double v, const lz_low_node *like, const lz_low_node **out)
{
    LZ_TRY(lz_low_const(b, lz_scalar_float(v), (lz_dtype)like->dtype, out));
    return lz_low_expand(b, *out, lz_low_node_sizes(like), out);
}

static lz_err *same_value(lz_lower *b, const lz_low_node *const *in, bool number, const lz_low_node **out)
{
    (void)b, (void)number;
    *out = in[0];
    return NULL;
}

/* As Python divides floats: x - (x fmod y) is an exact multiple of y, so the quotient is correct even
 * where x / y would be rounded to the next integer. */
static lz_err *floor_divide(lz_lower *b, const lz_low_node *const *in, bool number, const lz_low_node **out)
{
    const lz_low_node *x = in[0], *y = in[1], *zero, *one, *half, *m, *q, *t, *down, *f, *quotient;
    LZ_TRY(constant_like(b, 0, x, &zero));
    LZ_TRY(constant_like(b, 1, x, &one));
    LZ_TRY(constant_like(b, 0.5, x, &half));
    LZ_TRY(map2(b, LZ_KERNEL_FMOD, x, y, number, &m));
    LZ_TRY(map2(b, LZ_KERNEL_SUB, x, m, number, &q));
    LZ_TRY(map2(b, LZ_KERNEL_DIV, q, y, number, &q));
    /* if remainder and divisor have different signs, the quotient is one less */
    LZ_TRY(map2(b, LZ_KERNEL_LT, y, zero, number, &down));
    LZ_TRY(map2(b, LZ_KERNEL_LT, m, zero, number, &t));
    LZ_TRY(map2(b, LZ_KERNEL_XOR, down, t, number, &down));
    LZ_TRY(map2(b, LZ_KERNEL_NE, m, zero, number, &t));
    LZ_TRY(map2(b, LZ_KERNEL_AND, down, t, number, &down));
    LZ_TRY(map2(b, LZ_KERNEL_SUB, q, one, number, &t));
    LZ_TRY(map3(b, LZ_KERNEL_SELECT, down, t, q, number, &q));
    LZ_TRY(lz_low_make_map(b, LZ_KERNEL_FLOOR, &q, number, &f));
    LZ_TRY(map2(b, LZ_KERNEL_SUB, q, f, number, &t));
    LZ_TRY(map2(b, LZ_KERNEL_LT, half, t, number, &down));
    LZ_TRY(map2(b, LZ_KERNEL_ADD, f, one, number, &t));
    LZ_TRY(map3(b, LZ_KERNEL_SELECT, down, t, f, number, &f));
    /* a zero gets the sign of the quotient; division by zero follows IEEE */
    LZ_TRY(map2(b, LZ_KERNEL_DIV, x, y, number, &quotient));
    LZ_TRY(map2(b, LZ_KERNEL_COPYSIGN, zero, quotient, number, &t));
    LZ_TRY(map2(b, LZ_KERNEL_EQ, q, zero, number, &down));
    LZ_TRY(map3(b, LZ_KERNEL_SELECT, down, t, f, number, &f));
    LZ_TRY(map2(b, LZ_KERNEL_EQ, y, zero, number, &down));
    return map3(b, LZ_KERNEL_SELECT, down, quotient, f, number, out);
}

/* How an operation is computed for one kind of operand. */
typedef struct form {
    int16_t op;        /* lz_kernel_op, or NONE */
    expand_fn *expand; /* otherwise this function */
} form;

enum { NONE = -1 };
#define OP(name)                                                                                             \
    {                                                                                                        \
        LZ_KERNEL_##name, NULL                                                                               \
    }
#define NO                                                                                                   \
    {                                                                                                        \
        NONE, NULL                                                                                           \
    }
#define KEEP                                                                                                 \
    {                                                                                                        \
        NONE, same_value                                                                                     \
    }
#define FLOATS(name)                                                                                         \
    {                                                                                                        \
        NO, NO, OP(name)                                                                                     \
    }
#define ALL(name)                                                                                            \
    {                                                                                                        \
        OP(name), OP(name), OP(name)                                                                         \
    }

static const form forms[LZ_LOPS_COUNT][3] = {
    /* bool, integers, floats */
    [LZ_LOW_OP_ADD] = { OP(OR), OP(ADD), OP(ADD) },
    [LZ_LOW_OP_SUB] = { OP(XOR), OP(SUB), OP(SUB) },
    [LZ_LOW_OP_MUL] = { OP(AND), OP(MUL), OP(MUL) },
    [LZ_LOW_OP_DIV] = FLOATS(DIV),
    [LZ_LOW_OP_FLOORDIV] = { NO, OP(IDIV_FLOOR), { NONE, floor_divide } },
    [LZ_LOW_OP_MOD] = { NO, OP(REMAINDER), OP(REMAINDER) },
    [LZ_LOW_OP_POW] = { NO, OP(POW), OP(POW) },
    [LZ_LOW_OP_EQ] = ALL(EQ),
    [LZ_LOW_OP_NE] = ALL(NE),
    [LZ_LOW_OP_LT] = ALL(LT),
    [LZ_LOW_OP_LE] = ALL(LE),
    [LZ_LOW_OP_GT] = ALL(GT),
    [LZ_LOW_OP_GE] = ALL(GE),
    [LZ_LOW_OP_BITAND] = { OP(AND), OP(AND), NO },
    [LZ_LOW_OP_BITOR] = { OP(OR), OP(OR), NO },
    [LZ_LOW_OP_BITXOR] = { OP(XOR), OP(XOR), NO },
    [LZ_LOW_OP_SHL] = { NO, OP(SHL), NO },
    [LZ_LOW_OP_SHR] = { NO, OP(SHR), NO },
    [LZ_LOW_OP_AND] = { OP(AND), NO, NO },
    [LZ_LOW_OP_OR] = { OP(OR), NO, NO },
    [LZ_LOW_OP_NEG] = { NO, OP(NEG), OP(NEG) },
    [LZ_LOW_OP_NOT] = { OP(NOT), NO, NO },
    [LZ_LOW_OP_BITNOT] = { OP(NOT), OP(NOT), NO },
    [LZ_LOW_OP_ABS] = { KEEP, OP(ABS), OP(ABS) },
    [LZ_LOW_OP_FLOOR] = { KEEP, KEEP, OP(FLOOR) },
    [LZ_LOW_OP_CEIL] = { KEEP, KEEP, OP(CEIL) },
    [LZ_LOW_OP_TRUNC] = { KEEP, KEEP, OP(TRUNC) },
    [LZ_LOW_OP_ROUND] = { KEEP, KEEP, OP(ROUND) },
    [LZ_LOW_OP_MIN] = ALL(MIN),
    [LZ_LOW_OP_MAX] = ALL(MAX),
    [LZ_LOW_OP_FMOD] = { NO, OP(FMOD), OP(FMOD) },
    [LZ_LOW_OP_SQRT] = FLOATS(SQRT),
    [LZ_LOW_OP_EXP] = FLOATS(EXP),
    [LZ_LOW_OP_EXP2] = FLOATS(EXP2),
    [LZ_LOW_OP_EXPM1] = FLOATS(EXPM1),
    [LZ_LOW_OP_LOG] = FLOATS(LOG),
    [LZ_LOW_OP_LOG1P] = FLOATS(LOG1P),
    [LZ_LOW_OP_LOG2] = FLOATS(LOG2),
    [LZ_LOW_OP_LOG10] = FLOATS(LOG10),
    [LZ_LOW_OP_SIN] = FLOATS(SIN),
    [LZ_LOW_OP_COS] = FLOATS(COS),
    [LZ_LOW_OP_TAN] = FLOATS(TAN),
    [LZ_LOW_OP_ASIN] = FLOATS(ASIN),
    [LZ_LOW_OP_ACOS] = FLOATS(ACOS),
    [LZ_LOW_OP_ATAN] = FLOATS(ATAN),
    [LZ_LOW_OP_ATAN2] = FLOATS(ATAN2),
    [LZ_LOW_OP_SINH] = FLOATS(SINH),
    [LZ_LOW_OP_COSH] = FLOATS(COSH),
    [LZ_LOW_OP_TANH] = FLOATS(TANH),
    [LZ_LOW_OP_ASINH] = FLOATS(ASINH),
    [LZ_LOW_OP_ACOSH] = FLOATS(ACOSH),
    [LZ_LOW_OP_ATANH] = FLOATS(ATANH),
    [LZ_LOW_OP_ERF] = FLOATS(ERF),
    [LZ_LOW_OP_ERFC] = FLOATS(ERFC),
    [LZ_LOW_OP_ERFINV] = FLOATS(ERFINV),
    [LZ_LOW_OP_NORMAL_CDF] = FLOATS(NORMAL_CDF),
    [LZ_LOW_OP_LGAMMA] = FLOATS(LGAMMA),
    [LZ_LOW_OP_DIGAMMA] = FLOATS(DIGAMMA),
    [LZ_LOW_OP_ZETA] = FLOATS(ZETA),
    [LZ_LOW_OP_IGAMMA] = FLOATS(IGAMMA),
    [LZ_LOW_OP_IGAMMAC] = FLOATS(IGAMMAC),
    [LZ_LOW_OP_ORTHOGONAL] = FLOATS(ORTHOGONAL),
    [LZ_LOW_OP_SELECT] = ALL(SELECT),
};

static const char *const texts[LZ_LOPS_COUNT] = {
#define X(name, text, n) [LZ_LOW_OP_##name] = text,
    LZ_LOW_OPERATORS(X)
#undef X
};

lz_err *lz_low_node_op(lz_lower *b, lz_low_operator op, const lz_low_node *const *in, bool number,
                       const lz_low_node **out)
{
    lz_dtype d = (lz_dtype)in[op == LZ_LOW_OP_SELECT]->dtype;
    bool complex = lz_dtype_is_complex(d);
    const form *f = &forms[op][d == LZ_BOOL ? 0 : lz_dtype_is_whole(d) ? 1 : 2];
    if (!complex && f->expand)
        return f->expand(b, in, number, out);
    if (complex || f->op == NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "'%s' is not implemented for %s", texts[op],
                       lz_dtype_get(d)->script);
    return lz_low_make_map(b, (lz_kernel_op)f->op, in, number, out);
}
