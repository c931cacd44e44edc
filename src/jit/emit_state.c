/* What reductions and scans do to their states: the neutral element, one element more, two
 * states to one. The order is that of reduce.h; where states lie is the loops' business. */
#include "jit/emit.h"
#include <string.h>

bool lz_em_has_index(const lz_knode *n)
{
    return n->attr == LZ_K_RARGMAX || n->attr == LZ_K_RARGMIN;
}

int lz_em_state_type(const lz_em *e, const lz_knode *n)
{
    return e->ir->nodes.data[n->in[0]].type;
}

int lz_em_total_type(const lz_em *e, const lz_knode *n)
{
    return (int)lz_kreduce_total((lz_kreduce)n->attr, (lz_ktype)lz_em_state_type(e, n));
}

static int64_t float_bits(int type, double v)
{
    float f = (float)v;
    int64_t bits = 0;
    if (type == LZ_KF32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &v, sizeof v);
    return bits;
}

static int64_t neutral_bits(int kind, int type)
{
    static const uint8_t which[LZ_K_REDUCES] = { 0, 1, 3, 4, 2, 0, 0, 3, 4 };
    static const int64_t i32[] = { 0, 1, -1, INT32_MIN, INT32_MAX };
    static const int64_t i64[] = { 0, 1, -1, INT64_MIN, INT64_MAX };
    static const double real[] = { 0, 1, 0, -__builtin_inf(), __builtin_inf() };
    int w = which[kind];
    if (type == LZ_KBOOL)
        return kind == LZ_K_RMIN || kind == LZ_K_RAND;
    if (type == LZ_KI32 || type == LZ_KI64)
        return type == LZ_KI32 ? i32[w] : i64[w];
    return float_bits(type, real[w]);
}

lz_ebest lz_em_neutral(lz_em *e, const lz_knode *n, int type)
{
    lz_ebest s = { .x = lz_em_const(e, type, neutral_bits(n->attr, type)) };
    s.at = lz_em_has_index(n) ? lz_em_int(e, e->i64, INT64_MAX) : NULL;
    return s;
}

static int combine_op(const lz_knode *n)
{
    static const uint8_t op[LZ_K_REDUCES] = { LZ_K_ADD, LZ_K_MUL, LZ_K_MAX, LZ_K_MIN, LZ_K_AND,
                                              LZ_K_OR,  LZ_K_XOR, LZ_K_MAX, LZ_K_MIN };
    return op[n->attr];
}

static lz_lvalue *either(lz_em *e, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildOr(e->b, x, y, "");
}

static lz_lvalue *both(lz_em *e, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildAnd(e->b, x, y, "");
}

static lz_lvalue *is_nan(lz_em *e, lz_lvalue *x)
{
    return e->l->BuildFCmp(e->b, LZ_L_UNO, x, x, "");
}

static bool is_float(int t)
{
    return t == LZ_KF32 || t == LZ_KF64;
}

/* y beats x. A NaN beats every number. */
static lz_lvalue *beats(lz_em *e, const lz_knode *n, lz_lvalue *x, lz_lvalue *y)
{
    int type = lz_em_state_type(e, n);
    lz_lvalue *r = lz_em_combine(e, n->attr == LZ_K_RARGMAX ? LZ_K_GT : LZ_K_LT, type, y, x);
    if (!is_float(type))
        return r;
    lz_lvalue *number = e->l->BuildFCmp(e->b, LZ_L_ORD, x, x, "");
    return either(e, r, both(e, is_nan(e, y), number));
}

static lz_lvalue *equals(lz_em *e, const lz_knode *n, lz_lvalue *x, lz_lvalue *y)
{
    int type = lz_em_state_type(e, n);
    lz_lvalue *r = lz_em_combine(e, LZ_K_EQ, type, y, x);
    return is_float(type) ? either(e, r, both(e, is_nan(e, y), is_nan(e, x))) : r;
}

static lz_lvalue *unset(lz_em *e, lz_lvalue *at, int how)
{
    return e->l->BuildICmp(e->b, how, at, lz_em_int(e, e->i64, INT64_MAX), "");
}

static lz_ebest pick(lz_em *e, lz_lvalue *better, lz_ebest x, lz_ebest y)
{
    return (lz_ebest){ e->l->BuildSelect(e->b, better, y.x, x.x, ""),
                       e->l->BuildSelect(e->b, better, y.at, x.at, "") };
}

/* y beats or equals the state. Every number equals or beats the neutral element, but not so a bool. */
static lz_lvalue *lasts(lz_em *e, const lz_knode *n, lz_ebest state, lz_lvalue *y)
{
    int type = lz_em_state_type(e, n);
    lz_lvalue *r = lz_em_combine(e, n->attr == LZ_K_RARGMAX ? LZ_K_GE : LZ_K_LE, type, y, state.x);
    if (is_float(type))
        return either(e, r, is_nan(e, y));
    return type == LZ_KBOOL ? either(e, r, unset(e, state.at, LZ_L_EQ)) : r;
}

lz_ebest lz_em_join(lz_em *e, const lz_knode *n, lz_ebest state, lz_ebest x, bool last)
{
    if (!lz_em_has_index(n))
        return (lz_ebest){ lz_em_combine(e, combine_op(n), lz_em_state_type(e, n), state.x, x.x), NULL };
    if (last)
        return pick(e, lasts(e, n, state, x.x), state, x);
    lz_lvalue *better = either(e, beats(e, n, state.x, x.x), unset(e, state.at, LZ_L_EQ));
    return pick(e, better, state, x);
}

lz_ebest lz_em_widen(lz_em *e, const lz_knode *n, lz_ebest lane)
{
    return (lz_ebest){ lz_em_cast(e, lz_em_state_type(e, n), lz_em_total_type(e, n), lane.x), lane.at };
}

lz_ebest lz_em_merge(lz_em *e, const lz_knode *n, int type, lz_ebest x, lz_ebest y)
{
    if (!lz_em_has_index(n))
        return (lz_ebest){ lz_em_combine(e, combine_op(n), type, x.x, y.x), NULL };
    lz_lvalue *better = both(e, beats(e, n, x.x, y.x), unset(e, y.at, LZ_L_NE));
    better = either(e, better, unset(e, x.at, LZ_L_EQ));
    lz_lvalue *earlier = e->l->BuildICmp(e->b, LZ_L_SLT, y.at, x.at, "");
    better = either(e, better, both(e, equals(e, n, x.x, y.x), earlier));
    return pick(e, better, x, y);
}

void lz_em_halve(lz_em *e, const lz_knode *n, int type, lz_ebest *s, int count, int to)
{
    for (int half = count / 2; half >= to; half /= 2) {
        for (int i = 0; i < half; i++)
            s[i] = lz_em_merge(e, n, type, s[i], s[i + half]);
    }
}

static lz_ltype *memory_type(lz_em *e, int type)
{
    return type == LZ_KBOOL ? e->i8 : lz_em_ktype(e, type);
}

/* Whole vectors of a state lie at multiples of their size. */
static unsigned alignment(const lz_em *e, int type)
{
    unsigned bytes = (unsigned)lz_ktype_size((lz_ktype)type) * (unsigned)e->lanes;
    return bytes < 64 ? bytes : 64;
}

static lz_lvalue *element(lz_em *e, lz_ltype *t, lz_lvalue *p, lz_lvalue *i)
{
    return e->l->BuildGEP2(e->b, t, p, &i, 1, "");
}

lz_ebest lz_em_get(lz_em *e, const lz_knode *n, int type, lz_lvalue *x, lz_lvalue *at, lz_lvalue *i)
{
    lz_ltype *t = memory_type(e, type);
    lz_ebest s = { .x = lz_em_load(e, lz_em_shape(e, t), element(e, t, x, i), alignment(e, type)) };
    if (type == LZ_KBOOL)
        s.x = e->l->BuildTrunc(e->b, s.x, lz_em_shape(e, e->i1), "");
    if (lz_em_has_index(n))
        s.at = lz_em_load(e, lz_em_shape(e, e->i64), element(e, e->i64, at, i), alignment(e, LZ_KI64));
    return s;
}

void lz_em_put(lz_em *e, const lz_knode *n, int type, lz_ebest s, lz_lvalue *x, lz_lvalue *at, lz_lvalue *i)
{
    lz_ltype *t = memory_type(e, type);
    lz_lvalue *v = type == LZ_KBOOL ? e->l->BuildZExt(e->b, s.x, lz_em_shape(e, t), "") : s.x;
    lz_em_store(e, v, element(e, t, x, i), alignment(e, type));
    if (lz_em_has_index(n))
        lz_em_store(e, s.at, element(e, e->i64, at, i), alignment(e, LZ_KI64));
}

/* The index of nothing is 0. */
lz_lvalue *lz_em_result(lz_em *e, const lz_knode *n, lz_ebest total)
{
    if (!lz_em_has_index(n))
        return lz_em_cast(e, lz_em_total_type(e, n), n->type, total.x);
    return e->l->BuildSelect(e->b, unset(e, total.at, LZ_L_EQ), lz_em_int(e, e->i64, 0), total.at, "");
}
