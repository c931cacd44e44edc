/* The states of reductions and scans: the neutral element, adding one element, merging two states. The order
 * is that of reduce.h. The loops decide where states are stored. */
#include "jit/emitter.h"
#include <string.h>

bool lz_emit_has_index(const lz_kernel_node *n)
{
    return n->attr == LZ_KERNEL_RARGMAX || n->attr == LZ_KERNEL_RARGMIN;
}

int lz_emit_state_type(const lz_emitter *e, const lz_kernel_node *n)
{
    return e->ir->nodes.data[n->in[0]].type;
}

int lz_emit_total_type(const lz_emitter *e, const lz_kernel_node *n)
{
    return (int)lz_kernel_reduction_total((lz_kernel_reduction)n->attr,
                                          (lz_kernel_type)lz_emit_state_type(e, n));
}

static int64_t float_bits(int type, double v)
{
    float f = (float)v;
    int64_t bits = 0;
    if (type == LZ_KERNEL_F32)
        memcpy(&bits, &f, sizeof f);
    else
        memcpy(&bits, &v, sizeof v);
    return bits;
}

static int64_t neutral_bits(int kind, int type)
{
    static const uint8_t which[LZ_KERNEL_REDUCES] = { 0, 1, 3, 4, 2, 0, 0, 3, 4 };
    static const int64_t i32[] = { 0, 1, -1, INT32_MIN, INT32_MAX };
    static const int64_t i64[] = { 0, 1, -1, INT64_MIN, INT64_MAX };
    static const double real[] = { 0, 1, 0, -__builtin_inf(), __builtin_inf() };
    int w = which[kind];
    if (type == LZ_KERNEL_BOOL)
        return kind == LZ_KERNEL_RMIN || kind == LZ_KERNEL_RAND;
    if (type == LZ_KERNEL_I32 || type == LZ_KERNEL_I64)
        return type == LZ_KERNEL_I32 ? i32[w] : i64[w];
    return float_bits(type, real[w]);
}

lz_emit_state lz_emit_neutral(lz_emitter *e, const lz_kernel_node *n, int type)
{
    lz_emit_state s = { .x = lz_emit_const(e, type, neutral_bits(n->attr, type)) };
    s.at = lz_emit_has_index(n) ? lz_emit_int(e, e->i64, INT64_MAX) : NULL;
    return s;
}

static int combine_op(const lz_kernel_node *n)
{
    static const uint8_t op[LZ_KERNEL_REDUCES] = { LZ_KERNEL_ADD, LZ_KERNEL_MUL, LZ_KERNEL_MAX,
                                                   LZ_KERNEL_MIN, LZ_KERNEL_AND, LZ_KERNEL_OR,
                                                   LZ_KERNEL_XOR, LZ_KERNEL_MAX, LZ_KERNEL_MIN };
    return op[n->attr];
}

static lz_llvm_value *either(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildOr(e->b, x, y, "");
}

static lz_llvm_value *both(lz_emitter *e, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildAnd(e->b, x, y, "");
}

static lz_llvm_value *is_nan(lz_emitter *e, lz_llvm_value *x)
{
    return e->l->BuildFCmp(e->b, LZ_LLVM_UNO, x, x, "");
}

static bool is_float(int t)
{
    return t == LZ_KERNEL_F32 || t == LZ_KERNEL_F64;
}

/* Does y beat x? A NaN beats every number. */
static lz_llvm_value *beats(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value *x, lz_llvm_value *y)
{
    int type = lz_emit_state_type(e, n);
    lz_llvm_value *r =
        lz_emit_combine(e, n->attr == LZ_KERNEL_RARGMAX ? LZ_KERNEL_GT : LZ_KERNEL_LT, type, y, x);
    if (!is_float(type))
        return r;
    lz_llvm_value *number = e->l->BuildFCmp(e->b, LZ_LLVM_ORD, x, x, "");
    return either(e, r, both(e, is_nan(e, y), number));
}

static lz_llvm_value *equals(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value *x, lz_llvm_value *y)
{
    int type = lz_emit_state_type(e, n);
    lz_llvm_value *r = lz_emit_combine(e, LZ_KERNEL_EQ, type, y, x);
    return is_float(type) ? either(e, r, both(e, is_nan(e, y), is_nan(e, x))) : r;
}

static lz_llvm_value *unset(lz_emitter *e, lz_llvm_value *at, int how)
{
    return e->l->BuildICmp(e->b, how, at, lz_emit_int(e, e->i64, INT64_MAX), "");
}

static lz_emit_state pick(lz_emitter *e, lz_llvm_value *better, lz_emit_state x, lz_emit_state y)
{
    return (lz_emit_state){ e->l->BuildSelect(e->b, better, y.x, x.x, ""),
                            e->l->BuildSelect(e->b, better, y.at, x.at, "") };
}

/* Does y beat or equal the state? Every number beats or equals the neutral element; a bool need not, so an
 * unset index counts too. */
static lz_llvm_value *lasts(lz_emitter *e, const lz_kernel_node *n, lz_emit_state state, lz_llvm_value *y)
{
    int type = lz_emit_state_type(e, n);
    lz_llvm_value *r =
        lz_emit_combine(e, n->attr == LZ_KERNEL_RARGMAX ? LZ_KERNEL_GE : LZ_KERNEL_LE, type, y, state.x);
    if (is_float(type))
        return either(e, r, is_nan(e, y));
    return type == LZ_KERNEL_BOOL ? either(e, r, unset(e, state.at, LZ_LLVM_EQ)) : r;
}

/* The next step waits for the state's value, so it should take no longer than necessary: of floats it is a
 * maximum or minimum, where a test of the element for NaN does not wait for the state. The sign of a zero may
 * differ from the element's, which no comparison sees. */
static lz_emit_state pick_last(lz_emitter *e, const lz_kernel_node *n, lz_emit_state state, lz_emit_state y)
{
    int type = lz_emit_state_type(e, n);
    lz_emit_state r = pick(e, lasts(e, n, state, y.x), state, y);
    if (is_float(type))
        r.x = lz_emit_combine(e, combine_op(n), type, y.x, state.x);
    return r;
}

lz_emit_state lz_emit_join(lz_emitter *e, const lz_kernel_node *n, lz_emit_state state, lz_emit_state x,
                           bool last)
{
    if (!lz_emit_has_index(n))
        return (lz_emit_state){ lz_emit_combine(e, combine_op(n), lz_emit_state_type(e, n), state.x, x.x),
                                NULL };
    if (last)
        return pick_last(e, n, state, x);
    lz_llvm_value *better = either(e, beats(e, n, state.x, x.x), unset(e, state.at, LZ_LLVM_EQ));
    return pick(e, better, state, x);
}

lz_emit_state lz_emit_widen(lz_emitter *e, const lz_kernel_node *n, lz_emit_state lane)
{
    return (lz_emit_state){ lz_emit_cast(e, lz_emit_state_type(e, n), lz_emit_total_type(e, n), lane.x),
                            lane.at };
}

lz_emit_state lz_emit_merge(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state x,
                            lz_emit_state y)
{
    if (!lz_emit_has_index(n))
        return (lz_emit_state){ lz_emit_combine(e, combine_op(n), type, x.x, y.x), NULL };
    lz_llvm_value *better = both(e, beats(e, n, x.x, y.x), unset(e, y.at, LZ_LLVM_NE));
    better = either(e, better, unset(e, x.at, LZ_LLVM_EQ));
    lz_llvm_value *earlier = e->l->BuildICmp(e->b, LZ_LLVM_SLT, y.at, x.at, "");
    better = either(e, better, both(e, equals(e, n, x.x, y.x), earlier));
    return pick(e, better, x, y);
}

void lz_emit_halve(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state *s, int count, int to)
{
    for (int half = count / 2; half >= to; half /= 2) {
        for (int i = 0; i < half; i++)
            s[i] = lz_emit_merge(e, n, type, s[i], s[i + half]);
    }
}

static lz_llvm_type *memory_type(lz_emitter *e, int type)
{
    return type == LZ_KERNEL_BOOL ? e->i8 : lz_emit_ktype(e, type);
}

/* Whole vectors of a state are aligned to their size, at most 64 bytes. */
static unsigned alignment(const lz_emitter *e, int type)
{
    unsigned bytes = (unsigned)lz_kernel_type_size((lz_kernel_type)type) * (unsigned)e->lanes;
    return bytes < 64 ? bytes : 64;
}

static lz_llvm_value *element(lz_emitter *e, lz_llvm_type *t, lz_llvm_value *p, lz_llvm_value *i)
{
    return e->l->BuildGEP2(e->b, t, p, &i, 1, "");
}

lz_emit_state lz_emit_get(lz_emitter *e, const lz_kernel_node *n, int type, lz_llvm_value *x,
                          lz_llvm_value *at, lz_llvm_value *i)
{
    lz_llvm_type *t = memory_type(e, type);
    lz_emit_state s = { .x = lz_emit_load(e, lz_emit_shape(e, t), element(e, t, x, i), alignment(e, type)) };
    if (type == LZ_KERNEL_BOOL)
        s.x = e->l->BuildTrunc(e->b, s.x, lz_emit_shape(e, e->i1), "");
    if (lz_emit_has_index(n))
        s.at =
            lz_emit_load(e, lz_emit_shape(e, e->i64), element(e, e->i64, at, i), alignment(e, LZ_KERNEL_I64));
    return s;
}

void lz_emit_put(lz_emitter *e, const lz_kernel_node *n, int type, lz_emit_state s, lz_llvm_value *x,
                 lz_llvm_value *at, lz_llvm_value *i)
{
    lz_llvm_type *t = memory_type(e, type);
    lz_llvm_value *v = type == LZ_KERNEL_BOOL ? e->l->BuildZExt(e->b, s.x, lz_emit_shape(e, t), "") : s.x;
    lz_emit_store(e, v, element(e, t, x, i), alignment(e, type));
    if (lz_emit_has_index(n))
        lz_emit_store(e, s.at, element(e, e->i64, at, i), alignment(e, LZ_KERNEL_I64));
}

/* The index in an empty row is 0. */
lz_llvm_value *lz_emit_result(lz_emitter *e, const lz_kernel_node *n, lz_emit_state total)
{
    if (!lz_emit_has_index(n))
        return lz_emit_cast(e, lz_emit_total_type(e, n), n->type, total.x);
    return e->l->BuildSelect(e->b, unset(e, total.at, LZ_LLVM_EQ), lz_emit_int(e, e->i64, 0), total.at, "");
}
