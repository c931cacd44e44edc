/* The operations of kop.h as LLVM IR. They give the same bits as tile_prim.h, which has the reasons. Rare
 * operations are calls of a tile function. */
#include "jit/emitter.h"
#include <stddef.h>

/* ---- calls ---- */

static lz_llvm_value *slot(lz_emitter *e, int i)
{
    return lz_emit_move(e, e->spill, lz_emit_i64(e, (int64_t)i * LZ_EMIT_SLOT));
}

static lz_llvm_type *tile_type(lz_emitter *e, int ktype)
{
    return lz_emit_shape(e, ktype == LZ_KERNEL_BOOL ? e->i8 : lz_emit_ktype(e, ktype));
}

lz_llvm_value *lz_emit_tile(lz_emitter *e, size_t offset, int result, int n, lz_llvm_value **in,
                            const uint8_t *types)
{
    lz_llvm_type *takes[6] = { e->ptr, e->ptr, e->ptr, e->ptr, e->ptr, e->i64 };
    lz_llvm_type *fn_type = e->l->FunctionType(e->l->VoidTypeInContext(e->ctx), takes, 6, 0);
    lz_llvm_value *args[6] = { slot(e, 0), slot(e, 1), slot(e, 2),
                               slot(e, 3), slot(e, 4), lz_emit_i64(e, e->lanes) };
    for (int i = 0; i < n; i++) {
        lz_llvm_value *x = in[i];
        x = types[i] == LZ_KERNEL_BOOL ? e->l->BuildZExt(e->b, x, tile_type(e, LZ_KERNEL_BOOL), "") : x;
        lz_emit_store(e, x, args[i + 1], 64);
    }
    e->l->BuildCall2(e->b, fn_type, lz_emit_field(e, e->tiles, e->ptr, offset), args, 6, "");
    lz_llvm_value *r = lz_emit_load(e, tile_type(e, result), args[0], 64);
    return result == LZ_KERNEL_BOOL ? e->l->BuildTrunc(e->b, r, lz_emit_shape(e, e->i1), "") : r;
}

size_t lz_emit_op_offset(int op, int type)
{
    return offsetof(lz_tile_table, op) + ((size_t)op * LZ_KERNEL_TYPES + (size_t)type) * sizeof(lz_tile_fn *);
}

/* ---- operations ---- */

/* t: the type of the operands (of the last one if they differ) */
typedef lz_llvm_value *op_fn(lz_emitter *e, int t, lz_llvm_value **in);

static bool is_float(int t)
{
    return t == LZ_KERNEL_F32 || t == LZ_KERNEL_F64;
}

#define BUILD2(x, y, name) e->l->Build##name(e->b, x, y, "")

#define ARITHMETIC(fn, whole, floating)                                                                      \
    static lz_llvm_value *fn(lz_emitter *e, int t, lz_llvm_value **in)                                       \
    {                                                                                                        \
        return is_float(t) ? BUILD2(in[0], in[1], floating) : BUILD2(in[0], in[1], whole);                   \
    }
ARITHMETIC(op_add, Add, FAdd)
ARITHMETIC(op_sub, Sub, FSub)
ARITHMETIC(op_mul, Mul, FMul)

#define BITWISE(fn, name)                                                                                    \
    static lz_llvm_value *fn(lz_emitter *e, int t, lz_llvm_value **in)                                       \
    {                                                                                                        \
        (void)t;                                                                                             \
        return BUILD2(in[0], in[1], name);                                                                   \
    }
BITWISE(op_div, FDiv)
BITWISE(op_and, And)
BITWISE(op_or, Or)
BITWISE(op_xor, Xor)

static lz_llvm_value *op_not(lz_emitter *e, int t, lz_llvm_value **in)
{
    (void)t;
    return e->l->BuildNot(e->b, in[0], "");
}

static lz_llvm_value *op_neg(lz_emitter *e, int t, lz_llvm_value **in)
{
    return is_float(t) ? e->l->BuildFNeg(e->b, in[0], "") : e->l->BuildNeg(e->b, in[0], "");
}

static lz_llvm_value *intrinsic(lz_emitter *e, const char *name, int n, lz_llvm_value **in)
{
    lz_llvm_type *t = e->l->TypeOf(in[0]);
    return lz_emit_call(e, name, 1, &t, n, in);
}

static lz_llvm_value *icmp(lz_emitter *e, int how, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildICmp(e->b, how, x, y, "");
}

static lz_llvm_value *fcmp(lz_emitter *e, int how, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildFCmp(e->b, how, x, y, "");
}

static lz_llvm_value *choose(lz_emitter *e, lz_llvm_value *c, lz_llvm_value *x, lz_llvm_value *y)
{
    return e->l->BuildSelect(e->b, c, x, y, "");
}

static lz_llvm_value *op_abs(lz_emitter *e, int t, lz_llvm_value **in)
{
    if (is_float(t))
        return intrinsic(e, "llvm.fabs", 1, in);
    lz_llvm_value *negative = icmp(e, LZ_LLVM_SLT, in[0], e->l->ConstNull(e->l->TypeOf(in[0])));
    return choose(e, negative, e->l->BuildNeg(e->b, in[0], ""), in[0]);
}

#define INTRINSIC(fn, name, n)                                                                               \
    static lz_llvm_value *fn(lz_emitter *e, int t, lz_llvm_value **in)                                       \
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

static lz_llvm_value *op_fma(lz_emitter *e, int t, lz_llvm_value **in)
{
    const uint8_t types[3] = { (uint8_t)t, (uint8_t)t, (uint8_t)t };
    if (e->t->fma)
        return intrinsic(e, "llvm.fma", 3, in);
    return lz_emit_tile(e, lz_emit_op_offset(LZ_KERNEL_FMA, t), t, 3, in, types);
}

static lz_llvm_value *op_rsqrt(lz_emitter *e, int t, lz_llvm_value **in)
{
    lz_llvm_value *one =
        t == LZ_KERNEL_F32 ? lz_emit_const(e, t, 0x3f800000) : lz_emit_const(e, t, 0x3ff0000000000000);
    return e->l->BuildFDiv(e->b, one, intrinsic(e, "llvm.sqrt", 1, in), "");
}

typedef struct comparison {
    uint8_t whole, truth, floating;
} comparison;

static lz_llvm_value *compare(lz_emitter *e, int t, lz_llvm_value **in, comparison c)
{
    int how = t == LZ_KERNEL_BOOL ? c.truth : c.whole;
    return is_float(t) ? fcmp(e, c.floating, in[0], in[1]) : icmp(e, how, in[0], in[1]);
}

#define COMPARISON(fn, whole, truth, floating)                                                               \
    static lz_llvm_value *fn(lz_emitter *e, int t, lz_llvm_value **in)                                       \
    {                                                                                                        \
        return compare(e, t, in, (comparison){ whole, truth, floating });                                    \
    }
COMPARISON(op_eq, LZ_LLVM_EQ, LZ_LLVM_EQ, LZ_LLVM_OEQ)
COMPARISON(op_ne, LZ_LLVM_NE, LZ_LLVM_NE, LZ_LLVM_UNE)
COMPARISON(op_lt, LZ_LLVM_SLT, LZ_LLVM_ULT, LZ_LLVM_OLT)
COMPARISON(op_le, LZ_LLVM_SLE, LZ_LLVM_ULE, LZ_LLVM_OLE)
COMPARISON(op_gt, LZ_LLVM_SGT, LZ_LLVM_UGT, LZ_LLVM_OGT)
COMPARISON(op_ge, LZ_LLVM_SGE, LZ_LLVM_UGE, LZ_LLVM_OGE)

/* x where the comparison holds, else y; but a NaN in x stays. The first select compiles to the CPU's minimum
 * or maximum instruction. */
static lz_llvm_value *extreme(lz_emitter *e, int t, lz_llvm_value **in, comparison c)
{
    lz_llvm_value *r = choose(e, compare(e, t, in, c), in[0], in[1]);
    return is_float(t) ? choose(e, fcmp(e, LZ_LLVM_UNO, in[0], in[0]), in[0], r) : r;
}

static lz_llvm_value *op_min(lz_emitter *e, int t, lz_llvm_value **in)
{
    return t == LZ_KERNEL_BOOL ? op_and(e, t, in)
                               : extreme(e, t, in, (comparison){ LZ_LLVM_SLT, 0, LZ_LLVM_OLT });
}

static lz_llvm_value *op_max(lz_emitter *e, int t, lz_llvm_value **in)
{
    return t == LZ_KERNEL_BOOL ? op_or(e, t, in)
                               : extreme(e, t, in, (comparison){ LZ_LLVM_SGT, 0, LZ_LLVM_OGT });
}

static lz_llvm_value *op_fmin(lz_emitter *e, int t, lz_llvm_value **in)
{
    (void)t;
    lz_llvm_value *r = choose(e, fcmp(e, LZ_LLVM_OLE, in[0], in[1]), in[0], in[1]);
    return choose(e, fcmp(e, LZ_LLVM_UNO, in[1], in[1]), in[0], r);
}

static lz_llvm_value *op_fmax(lz_emitter *e, int t, lz_llvm_value **in)
{
    (void)t;
    lz_llvm_value *r = choose(e, fcmp(e, LZ_LLVM_OGE, in[0], in[1]), in[0], in[1]);
    return choose(e, fcmp(e, LZ_LLVM_UNO, in[1], in[1]), in[0], r);
}

static int64_t width(int t)
{
    return t == LZ_KERNEL_I32 ? 32 : 64;
}

/* The shift count masked to the width; *within: whether it was in range. */
static lz_llvm_value *bounded(lz_emitter *e, int t, lz_llvm_value *n, lz_llvm_value **within)
{
    lz_llvm_type *type = lz_emit_ktype(e, t);
    *within = icmp(e, LZ_LLVM_ULT, n, lz_emit_int(e, type, width(t)));
    return e->l->BuildAnd(e->b, n, lz_emit_int(e, type, width(t) - 1), "");
}

static lz_llvm_value *op_shl(lz_emitter *e, int t, lz_llvm_value **in)
{
    lz_llvm_value *within, *n = bounded(e, t, in[1], &within);
    return choose(e, within, BUILD2(in[0], n, Shl), lz_emit_int(e, lz_emit_ktype(e, t), 0));
}

static lz_llvm_value *op_shru(lz_emitter *e, int t, lz_llvm_value **in)
{
    lz_llvm_value *within, *n = bounded(e, t, in[1], &within);
    return choose(e, within, BUILD2(in[0], n, LShr), lz_emit_int(e, lz_emit_ktype(e, t), 0));
}

static lz_llvm_value *op_shr(lz_emitter *e, int t, lz_llvm_value **in)
{
    lz_llvm_value *within, *n = bounded(e, t, in[1], &within);
    return BUILD2(in[0], choose(e, within, n, lz_emit_int(e, lz_emit_ktype(e, t), width(t) - 1)), AShr);
}

static lz_llvm_value *op_select(lz_emitter *e, int t, lz_llvm_value **in)
{
    (void)t;
    return choose(e, in[0], in[1], in[2]);
}

static lz_llvm_type *bits_type(lz_emitter *e, int t)
{
    lz_llvm_type *const types[LZ_KERNEL_TYPES] = { e->i1, e->f32, e->f64, e->i32, e->i64 };
    return lz_emit_shape(e, types[t]);
}

static lz_llvm_value *op_bits(lz_emitter *e, int t, lz_llvm_value **in)
{
    return e->l->BuildBitCast(e->b, in[0], bits_type(e, t), "");
}

static lz_llvm_value *op_signbit(lz_emitter *e, int t, lz_llvm_value **in)
{
    lz_llvm_value *bits = op_bits(e, t, in);
    return icmp(e, LZ_LLVM_SLT, bits, e->l->ConstNull(bits_type(e, t)));
}

static lz_llvm_value *op_scale(lz_emitter *e, int t, lz_llvm_value **in)
{
    return e->t->scale(e, t, in[0], in[1]);
}

static op_fn *const ops[LZ_KERNEL_OP_COUNT] = {
    [LZ_KERNEL_ADD] = op_add,         [LZ_KERNEL_SUB] = op_sub,
    [LZ_KERNEL_MUL] = op_mul,         [LZ_KERNEL_DIV] = op_div,
    [LZ_KERNEL_FMA] = op_fma,         [LZ_KERNEL_NEG] = op_neg,
    [LZ_KERNEL_ABS] = op_abs,         [LZ_KERNEL_MIN] = op_min,
    [LZ_KERNEL_MAX] = op_max,         [LZ_KERNEL_FMIN] = op_fmin,
    [LZ_KERNEL_FMAX] = op_fmax,       [LZ_KERNEL_EQ] = op_eq,
    [LZ_KERNEL_NE] = op_ne,           [LZ_KERNEL_LT] = op_lt,
    [LZ_KERNEL_LE] = op_le,           [LZ_KERNEL_GT] = op_gt,
    [LZ_KERNEL_GE] = op_ge,           [LZ_KERNEL_AND] = op_and,
    [LZ_KERNEL_OR] = op_or,           [LZ_KERNEL_XOR] = op_xor,
    [LZ_KERNEL_NOT] = op_not,         [LZ_KERNEL_SHL] = op_shl,
    [LZ_KERNEL_SHR] = op_shr,         [LZ_KERNEL_SHRU] = op_shru,
    [LZ_KERNEL_SELECT] = op_select,   [LZ_KERNEL_FLOOR] = op_floor,
    [LZ_KERNEL_CEIL] = op_ceil,       [LZ_KERNEL_TRUNC] = op_trunc,
    [LZ_KERNEL_ROUND] = op_round,     [LZ_KERNEL_SQRT] = op_sqrt,
    [LZ_KERNEL_RSQRT] = op_rsqrt,     [LZ_KERNEL_COPYSIGN] = op_copysign,
    [LZ_KERNEL_SIGNBIT] = op_signbit, [LZ_KERNEL_BITS] = op_bits,
    [LZ_KERNEL_SCALE] = op_scale,
};

lz_llvm_value *lz_emit_combine(lz_emitter *e, int kop, int ktype, lz_llvm_value *x, lz_llvm_value *y)
{
    lz_llvm_value *in[2] = { x, y };
    return ops[kop](e, ktype, in);
}

static bool divides(const lz_kernel_node *n)
{
    bool integer = n->type == LZ_KERNEL_I32 || n->type == LZ_KERNEL_I64;
    return integer
           && (n->op == LZ_KERNEL_IDIV || n->op == LZ_KERNEL_IDIV_FLOOR || n->op == LZ_KERNEL_FMOD
               || n->op == LZ_KERNEL_REMAINDER);
}

/* Leaves the function if the divisor of an active lane is zero; zeros in other lanes become 1. */
static lz_llvm_value *divisor(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value *y)
{
    lz_llvm_type *t = lz_emit_ktype(e, n->type);
    lz_llvm_value *zero = icmp(e, LZ_LLVM_EQ, y, lz_emit_int(e, t, 0));
    lz_llvm_block *fine = lz_emit_block(e, "divide");
    lz_emit_branch(e, lz_emit_any(e, lz_emit_active(e, zero)), e->divided, fine);
    lz_emit_at(e, fine);
    return choose(e, zero, lz_emit_int(e, t, 1), y);
}

static lz_llvm_value *called(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    uint8_t types[3] = { 0 };
    int count = lz_kernel_node_operands(n);
    for (int i = 0; i < count; i++)
        types[i] = e->ir->nodes.data[n->in[i]].type;
    return lz_emit_tile(e, lz_emit_op_offset(n->op, types[count - 1]), n->type, count, in, types);
}

lz_llvm_value *lz_emit_op(lz_emitter *e, const lz_kernel_node *n, lz_llvm_value **in)
{
    int count = lz_kernel_node_operands(n), last = e->ir->nodes.data[n->in[count - 1]].type;
    if (ops[n->op])
        return ops[n->op](e, last, in);
    if (divides(n))
        in[1] = divisor(e, n, in[1]);
    return called(e, n, in);
}
