/* The operations of kop.h, casts, and what lies in memory, as LLVM IR: the same bits as
 * prim.h, which says why each is as it is. What is rare is called: a tile function. */
#include "jit/emit.h"
#include <stddef.h>

/* ---- calls ---- */

static lz_lvalue *slot(lz_em *e, int i)
{
    return lz_em_move(e, e->spill, lz_em_i64(e, (int64_t)i * LZ_EM_SLOT));
}

static lz_ltype *tile_type(lz_em *e, int ktype)
{
    return lz_em_shape(e, ktype == LZ_KBOOL ? e->i8 : lz_em_ktype(e, ktype));
}

lz_lvalue *lz_em_tile(lz_em *e, size_t offset, int result, int n, lz_lvalue **in, const uint8_t *types)
{
    lz_ltype *takes[6] = { e->ptr, e->ptr, e->ptr, e->ptr, e->ptr, e->i64 };
    lz_ltype *fn_type = e->l->FunctionType(e->l->VoidTypeInContext(e->ctx), takes, 6, 0);
    lz_lvalue *args[6] = {
        slot(e, 0), slot(e, 1), slot(e, 2), slot(e, 3), slot(e, 4), lz_em_i64(e, e->lanes)
    };
    for (int i = 0; i < n; i++) {
        lz_lvalue *x = in[i];
        x = types[i] == LZ_KBOOL ? e->l->BuildZExt(e->b, x, tile_type(e, LZ_KBOOL), "") : x;
        lz_em_store(e, x, args[i + 1], 64);
    }
    e->l->BuildCall2(e->b, fn_type, lz_em_field(e, e->tiles, e->ptr, offset), args, 6, "");
    lz_lvalue *r = lz_em_load(e, tile_type(e, result), args[0], 64);
    return result == LZ_KBOOL ? e->l->BuildTrunc(e->b, r, lz_em_shape(e, e->i1), "") : r;
}

size_t lz_em_op_offset(int op, int type)
{
    return offsetof(lz_tile_table, op) + ((size_t)op * LZ_KTYPES + (size_t)type) * sizeof(lz_tile_fn *);
}

/* ---- operations ---- */

/* t: the type of the operands (of the last, where they differ) */
typedef lz_lvalue *op_fn(lz_em *e, int t, lz_lvalue **in);

static bool is_float(int t)
{
    return t == LZ_KF32 || t == LZ_KF64;
}

#define BUILD2(x, y, name) e->l->Build##name(e->b, x, y, "")

#define ARITHMETIC(fn, whole, floating)                                                                      \
    static lz_lvalue *fn(lz_em *e, int t, lz_lvalue **in)                                                    \
    {                                                                                                        \
        return is_float(t) ? BUILD2(in[0], in[1], floating) : BUILD2(in[0], in[1], whole);                   \
    }
ARITHMETIC(op_add, Add, FAdd)
ARITHMETIC(op_sub, Sub, FSub)
ARITHMETIC(op_mul, Mul, FMul)

#define BITWISE(fn, name)                                                                                    \
    static lz_lvalue *fn(lz_em *e, int t, lz_lvalue **in)                                                    \
    {                                                                                                        \
        (void)t;                                                                                             \
        return BUILD2(in[0], in[1], name);                                                                   \
    }
BITWISE(op_div, FDiv)
BITWISE(op_and, And)
BITWISE(op_or, Or)
BITWISE(op_xor, Xor)

static lz_lvalue *op_not(lz_em *e, int t, lz_lvalue **in)
{
    (void)t;
    return e->l->BuildNot(e->b, in[0], "");
}

static lz_lvalue *op_neg(lz_em *e, int t, lz_lvalue **in)
{
    return is_float(t) ? e->l->BuildFNeg(e->b, in[0], "") : e->l->BuildNeg(e->b, in[0], "");
}

static lz_lvalue *intrinsic(lz_em *e, const char *name, int n, lz_lvalue **in)
{
    lz_ltype *t = e->l->TypeOf(in[0]);
    return lz_em_call(e, name, 1, &t, n, in);
}

static lz_lvalue *icmp(lz_em *e, int how, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildICmp(e->b, how, x, y, "");
}

static lz_lvalue *fcmp(lz_em *e, int how, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildFCmp(e->b, how, x, y, "");
}

static lz_lvalue *choose(lz_em *e, lz_lvalue *c, lz_lvalue *x, lz_lvalue *y)
{
    return e->l->BuildSelect(e->b, c, x, y, "");
}

static lz_lvalue *op_abs(lz_em *e, int t, lz_lvalue **in)
{
    if (is_float(t))
        return intrinsic(e, "llvm.fabs", 1, in);
    lz_lvalue *negative = icmp(e, LZ_L_SLT, in[0], e->l->ConstNull(e->l->TypeOf(in[0])));
    return choose(e, negative, e->l->BuildNeg(e->b, in[0], ""), in[0]);
}

#define INTRINSIC(fn, name, n)                                                                               \
    static lz_lvalue *fn(lz_em *e, int t, lz_lvalue **in)                                                    \
    {                                                                                                        \
        (void)t;                                                                                             \
        return intrinsic(e, name, n, in);                                                                    \
    }
INTRINSIC(op_floor, "llvm.floor", 1)
INTRINSIC(op_ceil, "llvm.ceil", 1)
INTRINSIC(op_trunc, "llvm.trunc", 1)
INTRINSIC(op_round, "llvm.rint", 1)
INTRINSIC(op_sqrt, "llvm.sqrt", 1)
INTRINSIC(op_copysign, "llvm.copysign", 2)

static lz_lvalue *op_fma(lz_em *e, int t, lz_lvalue **in)
{
    const uint8_t types[3] = { (uint8_t)t, (uint8_t)t, (uint8_t)t };
    if (e->t->fma)
        return intrinsic(e, "llvm.fma", 3, in);
    return lz_em_tile(e, lz_em_op_offset(LZ_K_FMA, t), t, 3, in, types);
}

static lz_lvalue *op_rsqrt(lz_em *e, int t, lz_lvalue **in)
{
    lz_lvalue *one = t == LZ_KF32 ? lz_em_const(e, t, 0x3f800000) : lz_em_const(e, t, 0x3ff0000000000000);
    return e->l->BuildFDiv(e->b, one, intrinsic(e, "llvm.sqrt", 1, in), "");
}

typedef struct comparison {
    uint8_t whole, truth, floating;
} comparison;

static lz_lvalue *compare(lz_em *e, int t, lz_lvalue **in, comparison c)
{
    int how = t == LZ_KBOOL ? c.truth : c.whole;
    return is_float(t) ? fcmp(e, c.floating, in[0], in[1]) : icmp(e, how, in[0], in[1]);
}

#define COMPARISON(fn, whole, truth, floating)                                                               \
    static lz_lvalue *fn(lz_em *e, int t, lz_lvalue **in)                                                    \
    {                                                                                                        \
        return compare(e, t, in, (comparison){ whole, truth, floating });                                    \
    }
COMPARISON(op_eq, LZ_L_EQ, LZ_L_EQ, LZ_L_OEQ)
COMPARISON(op_ne, LZ_L_NE, LZ_L_NE, LZ_L_UNE)
COMPARISON(op_lt, LZ_L_SLT, LZ_L_ULT, LZ_L_OLT)
COMPARISON(op_le, LZ_L_SLE, LZ_L_ULE, LZ_L_OLE)
COMPARISON(op_gt, LZ_L_SGT, LZ_L_UGT, LZ_L_OGT)
COMPARISON(op_ge, LZ_L_SGE, LZ_L_UGE, LZ_L_OGE)

/* x where the comparison holds, else y; but a NaN in x stays. The first select is the
 * machine's own minimum. */
static lz_lvalue *extreme(lz_em *e, int t, lz_lvalue **in, comparison c)
{
    lz_lvalue *r = choose(e, compare(e, t, in, c), in[0], in[1]);
    return is_float(t) ? choose(e, fcmp(e, LZ_L_UNO, in[0], in[0]), in[0], r) : r;
}

static lz_lvalue *op_min(lz_em *e, int t, lz_lvalue **in)
{
    return t == LZ_KBOOL ? op_and(e, t, in) : extreme(e, t, in, (comparison){ LZ_L_SLT, 0, LZ_L_OLT });
}

static lz_lvalue *op_max(lz_em *e, int t, lz_lvalue **in)
{
    return t == LZ_KBOOL ? op_or(e, t, in) : extreme(e, t, in, (comparison){ LZ_L_SGT, 0, LZ_L_OGT });
}

static lz_lvalue *op_fmin(lz_em *e, int t, lz_lvalue **in)
{
    (void)t;
    lz_lvalue *r = choose(e, fcmp(e, LZ_L_OLE, in[0], in[1]), in[0], in[1]);
    return choose(e, fcmp(e, LZ_L_UNO, in[1], in[1]), in[0], r);
}

static lz_lvalue *op_fmax(lz_em *e, int t, lz_lvalue **in)
{
    (void)t;
    lz_lvalue *r = choose(e, fcmp(e, LZ_L_OGE, in[0], in[1]), in[0], in[1]);
    return choose(e, fcmp(e, LZ_L_UNO, in[1], in[1]), in[0], r);
}

static int64_t width(int t)
{
    return t == LZ_KI32 ? 32 : 64;
}

/* The count within bounds, and whether it was. */
static lz_lvalue *bounded(lz_em *e, int t, lz_lvalue *n, lz_lvalue **within)
{
    lz_ltype *type = lz_em_ktype(e, t);
    *within = icmp(e, LZ_L_ULT, n, lz_em_int(e, type, width(t)));
    return e->l->BuildAnd(e->b, n, lz_em_int(e, type, width(t) - 1), "");
}

static lz_lvalue *op_shl(lz_em *e, int t, lz_lvalue **in)
{
    lz_lvalue *within, *n = bounded(e, t, in[1], &within);
    return choose(e, within, BUILD2(in[0], n, Shl), lz_em_int(e, lz_em_ktype(e, t), 0));
}

static lz_lvalue *op_shru(lz_em *e, int t, lz_lvalue **in)
{
    lz_lvalue *within, *n = bounded(e, t, in[1], &within);
    return choose(e, within, BUILD2(in[0], n, LShr), lz_em_int(e, lz_em_ktype(e, t), 0));
}

static lz_lvalue *op_shr(lz_em *e, int t, lz_lvalue **in)
{
    lz_lvalue *within, *n = bounded(e, t, in[1], &within);
    return BUILD2(in[0], choose(e, within, n, lz_em_int(e, lz_em_ktype(e, t), width(t) - 1)), AShr);
}

static lz_lvalue *op_select(lz_em *e, int t, lz_lvalue **in)
{
    (void)t;
    return choose(e, in[0], in[1], in[2]);
}

static lz_ltype *bits_type(lz_em *e, int t)
{
    lz_ltype *const types[LZ_KTYPES] = { e->i1, e->f32, e->f64, e->i32, e->i64 };
    return lz_em_shape(e, types[t]);
}

static lz_lvalue *op_bits(lz_em *e, int t, lz_lvalue **in)
{
    return e->l->BuildBitCast(e->b, in[0], bits_type(e, t), "");
}

static lz_lvalue *op_signbit(lz_em *e, int t, lz_lvalue **in)
{
    lz_lvalue *bits = op_bits(e, t, in);
    return icmp(e, LZ_L_SLT, bits, e->l->ConstNull(bits_type(e, t)));
}

static lz_lvalue *op_scale(lz_em *e, int t, lz_lvalue **in)
{
    return e->t->scale(e, t, in[0], in[1]);
}

static op_fn *const ops[LZ_KOP_COUNT] = {
    [LZ_K_ADD] = op_add,         [LZ_K_SUB] = op_sub,
    [LZ_K_MUL] = op_mul,         [LZ_K_DIV] = op_div,
    [LZ_K_FMA] = op_fma,         [LZ_K_NEG] = op_neg,
    [LZ_K_ABS] = op_abs,         [LZ_K_MIN] = op_min,
    [LZ_K_MAX] = op_max,         [LZ_K_FMIN] = op_fmin,
    [LZ_K_FMAX] = op_fmax,       [LZ_K_EQ] = op_eq,
    [LZ_K_NE] = op_ne,           [LZ_K_LT] = op_lt,
    [LZ_K_LE] = op_le,           [LZ_K_GT] = op_gt,
    [LZ_K_GE] = op_ge,           [LZ_K_AND] = op_and,
    [LZ_K_OR] = op_or,           [LZ_K_XOR] = op_xor,
    [LZ_K_NOT] = op_not,         [LZ_K_SHL] = op_shl,
    [LZ_K_SHR] = op_shr,         [LZ_K_SHRU] = op_shru,
    [LZ_K_SELECT] = op_select,   [LZ_K_FLOOR] = op_floor,
    [LZ_K_CEIL] = op_ceil,       [LZ_K_TRUNC] = op_trunc,
    [LZ_K_ROUND] = op_round,     [LZ_K_SQRT] = op_sqrt,
    [LZ_K_RSQRT] = op_rsqrt,     [LZ_K_COPYSIGN] = op_copysign,
    [LZ_K_SIGNBIT] = op_signbit, [LZ_K_BITS] = op_bits,
    [LZ_K_SCALE] = op_scale,
};

lz_lvalue *lz_em_combine(lz_em *e, int kop, int ktype, lz_lvalue *x, lz_lvalue *y)
{
    lz_lvalue *in[2] = { x, y };
    return ops[kop](e, ktype, in);
}

static bool divides(const lz_knode *n)
{
    bool integer = n->type == LZ_KI32 || n->type == LZ_KI64;
    return integer
           && (n->op == LZ_K_IDIV || n->op == LZ_K_IDIV_FLOOR || n->op == LZ_K_FMOD
               || n->op == LZ_K_REMAINDER);
}

/* Leaves the function if a divisor that counts is zero; others become 1. */
static lz_lvalue *divisor(lz_em *e, const lz_knode *n, lz_lvalue *y)
{
    lz_ltype *t = lz_em_ktype(e, n->type);
    lz_lvalue *zero = icmp(e, LZ_L_EQ, y, lz_em_int(e, t, 0));
    lz_lblock *fine = lz_em_block(e, "divide");
    lz_em_branch(e, lz_em_any(e, lz_em_active(e, zero)), e->divided, fine);
    lz_em_at(e, fine);
    return choose(e, zero, lz_em_int(e, t, 1), y);
}

static lz_lvalue *called(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    uint8_t types[3] = { 0 };
    int count = lz_knode_operands(n);
    for (int i = 0; i < count; i++)
        types[i] = e->ir->nodes.data[n->in[i]].type;
    return lz_em_tile(e, lz_em_op_offset(n->op, types[count - 1]), n->type, count, in, types);
}

lz_lvalue *lz_em_op(lz_em *e, const lz_knode *n, lz_lvalue **in)
{
    int count = lz_knode_operands(n), last = e->ir->nodes.data[n->in[count - 1]].type;
    if (ops[n->op])
        return ops[n->op](e, last, in);
    if (divides(n))
        in[1] = divisor(e, n, in[1]);
    return called(e, n, in);
}
