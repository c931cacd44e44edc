/* Operations on nodes: elements of inner expressions, and numbers that are known at run
 * time only. All operands have one dtype and one shape by now. */
#include "lower/lower_impl.h"

typedef lz_err *expand_fn(lz_lower *b, const lz_ln *const *in, bool number, const lz_ln **out);

static lz_err *map2(lz_lower *b, lz_kop op, const lz_ln *x, const lz_ln *y, bool number, const lz_ln **out)
{
    const lz_ln *in[2] = { x, y };
    return lz_low_make_map(b, op, in, number, out);
}

static lz_err *map3(lz_lower *b, lz_kop op, const lz_ln *x, const lz_ln *y, const lz_ln *z, bool number,
                    const lz_ln **out)
{
    const lz_ln *in[3] = { x, y, z };
    return lz_low_make_map(b, op, in, number, out);
}

static lz_err *constant_like(lz_lower *b, double v, const lz_ln *like, const lz_ln **out)
{
    LZ_TRY(lz_low_const(b, lz_scalar_float(v), (lz_dtype)like->dtype, out));
    return lz_low_expand(b, *out, lz_ln_sizes(like), out);
}

static lz_err *same_value(lz_lower *b, const lz_ln *const *in, bool number, const lz_ln **out)
{
    (void)b, (void)number;
    *out = in[0];
    return NULL;
}

/* Rounded down, and right where the quotient of the rounded operands is not: as Python
 * divides floats, x - (x fmod y) is an exact multiple of y. */
static lz_err *floor_divide(lz_lower *b, const lz_ln *const *in, bool number, const lz_ln **out)
{
    const lz_ln *x = in[0], *y = in[1], *zero, *one, *half, *m, *q, *t, *down, *f, *quotient;
    LZ_TRY(constant_like(b, 0, x, &zero));
    LZ_TRY(constant_like(b, 1, x, &one));
    LZ_TRY(constant_like(b, 0.5, x, &half));
    LZ_TRY(map2(b, LZ_K_FMOD, x, y, number, &m));
    LZ_TRY(map2(b, LZ_K_SUB, x, m, number, &q));
    LZ_TRY(map2(b, LZ_K_DIV, q, y, number, &q));
    /* the signs of remainder and divisor differ: one less */
    LZ_TRY(map2(b, LZ_K_LT, y, zero, number, &down));
    LZ_TRY(map2(b, LZ_K_LT, m, zero, number, &t));
    LZ_TRY(map2(b, LZ_K_XOR, down, t, number, &down));
    LZ_TRY(map2(b, LZ_K_NE, m, zero, number, &t));
    LZ_TRY(map2(b, LZ_K_AND, down, t, number, &down));
    LZ_TRY(map2(b, LZ_K_SUB, q, one, number, &t));
    LZ_TRY(map3(b, LZ_K_SELECT, down, t, q, number, &q));
    LZ_TRY(lz_low_make_map(b, LZ_K_FLOOR, &q, number, &f));
    LZ_TRY(map2(b, LZ_K_SUB, q, f, number, &t));
    LZ_TRY(map2(b, LZ_K_LT, half, t, number, &down));
    LZ_TRY(map2(b, LZ_K_ADD, f, one, number, &t));
    LZ_TRY(map3(b, LZ_K_SELECT, down, t, f, number, &f));
    /* a zero has the sign of the quotient; division by zero is that of IEEE */
    LZ_TRY(map2(b, LZ_K_DIV, x, y, number, &quotient));
    LZ_TRY(map2(b, LZ_K_COPYSIGN, zero, quotient, number, &t));
    LZ_TRY(map2(b, LZ_K_EQ, q, zero, number, &down));
    LZ_TRY(map3(b, LZ_K_SELECT, down, t, f, number, &f));
    LZ_TRY(map2(b, LZ_K_EQ, y, zero, number, &down));
    return map3(b, LZ_K_SELECT, down, quotient, f, number, out);
}

/* What an operation is for each kind of operand. */
typedef struct form {
    int16_t op;        /* lz_kop, or NONE */
    expand_fn *expand; /* or this */
} form;

enum { NONE = -1 };
#define OP(name)                                                                                             \
    {                                                                                                        \
        LZ_K_##name, NULL                                                                                    \
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
    [LZ_LOP_ADD] = { OP(OR), OP(ADD), OP(ADD) },
    [LZ_LOP_SUB] = { OP(XOR), OP(SUB), OP(SUB) },
    [LZ_LOP_MUL] = { OP(AND), OP(MUL), OP(MUL) },
    [LZ_LOP_DIV] = FLOATS(DIV),
    [LZ_LOP_FLOORDIV] = { NO, OP(IDIV_FLOOR), { NONE, floor_divide } },
    [LZ_LOP_MOD] = { NO, OP(REMAINDER), OP(REMAINDER) },
    [LZ_LOP_POW] = { NO, OP(POW), OP(POW) },
    [LZ_LOP_EQ] = ALL(EQ),
    [LZ_LOP_NE] = ALL(NE),
    [LZ_LOP_LT] = ALL(LT),
    [LZ_LOP_LE] = ALL(LE),
    [LZ_LOP_GT] = ALL(GT),
    [LZ_LOP_GE] = ALL(GE),
    [LZ_LOP_BITAND] = { OP(AND), OP(AND), NO },
    [LZ_LOP_BITOR] = { OP(OR), OP(OR), NO },
    [LZ_LOP_BITXOR] = { OP(XOR), OP(XOR), NO },
    [LZ_LOP_SHL] = { NO, OP(SHL), NO },
    [LZ_LOP_SHR] = { NO, OP(SHR), NO },
    [LZ_LOP_AND] = { OP(AND), NO, NO },
    [LZ_LOP_OR] = { OP(OR), NO, NO },
    [LZ_LOP_NEG] = { NO, OP(NEG), OP(NEG) },
    [LZ_LOP_NOT] = { OP(NOT), NO, NO },
    [LZ_LOP_BITNOT] = { OP(NOT), OP(NOT), NO },
    [LZ_LOP_ABS] = { KEEP, OP(ABS), OP(ABS) },
    [LZ_LOP_FLOOR] = { KEEP, KEEP, OP(FLOOR) },
    [LZ_LOP_CEIL] = { KEEP, KEEP, OP(CEIL) },
    [LZ_LOP_TRUNC] = { KEEP, KEEP, OP(TRUNC) },
    [LZ_LOP_ROUND] = { KEEP, KEEP, OP(ROUND) },
    [LZ_LOP_MIN] = ALL(MIN),
    [LZ_LOP_MAX] = ALL(MAX),
    [LZ_LOP_FMOD] = { NO, OP(FMOD), OP(FMOD) },
    [LZ_LOP_SQRT] = FLOATS(SQRT),
    [LZ_LOP_EXP] = FLOATS(EXP),
    [LZ_LOP_EXP2] = FLOATS(EXP2),
    [LZ_LOP_EXPM1] = FLOATS(EXPM1),
    [LZ_LOP_LOG] = FLOATS(LOG),
    [LZ_LOP_LOG1P] = FLOATS(LOG1P),
    [LZ_LOP_LOG2] = FLOATS(LOG2),
    [LZ_LOP_LOG10] = FLOATS(LOG10),
    [LZ_LOP_SIN] = FLOATS(SIN),
    [LZ_LOP_COS] = FLOATS(COS),
    [LZ_LOP_TAN] = FLOATS(TAN),
    [LZ_LOP_ASIN] = FLOATS(ASIN),
    [LZ_LOP_ACOS] = FLOATS(ACOS),
    [LZ_LOP_ATAN] = FLOATS(ATAN),
    [LZ_LOP_ATAN2] = FLOATS(ATAN2),
    [LZ_LOP_SINH] = FLOATS(SINH),
    [LZ_LOP_COSH] = FLOATS(COSH),
    [LZ_LOP_TANH] = FLOATS(TANH),
    [LZ_LOP_ASINH] = FLOATS(ASINH),
    [LZ_LOP_ACOSH] = FLOATS(ACOSH),
    [LZ_LOP_ATANH] = FLOATS(ATANH),
    [LZ_LOP_ERF] = FLOATS(ERF),
    [LZ_LOP_ERFC] = FLOATS(ERFC),
    [LZ_LOP_ERFINV] = FLOATS(ERFINV),
    [LZ_LOP_NORMAL_CDF] = FLOATS(NORMAL_CDF),
    [LZ_LOP_LGAMMA] = FLOATS(LGAMMA),
    [LZ_LOP_DIGAMMA] = FLOATS(DIGAMMA),
    [LZ_LOP_SELECT] = ALL(SELECT),
};

static const char *const texts[LZ_LOPS_COUNT] = {
#define X(name, text, n) [LZ_LOP_##name] = text,
    LZ_LOPS(X)
#undef X
};

lz_err *lz_low_node_op(lz_lower *b, lz_lop op, const lz_ln *const *in, bool number, const lz_ln **out)
{
    lz_dtype d = (lz_dtype)in[op == LZ_LOP_SELECT]->dtype;
    bool complex = lz_dtype_is_complex(d);
    const form *f = &forms[op][d == LZ_BOOL ? 0 : lz_dtype_is_whole(d) ? 1 : 2];
    if (!complex && f->expand)
        return f->expand(b, in, number, out);
    if (complex || f->op == NONE)
        return lz_errf(LZ_ERR_UNSUPPORTED, "'%s' is not implemented for %s", texts[op],
                       lz_dtype_get(d)->script);
    return lz_low_make_map(b, (lz_kop)f->op, in, number, out);
}
