/* Replaces a new node by a simpler value that is equal bit for bit: constant folding and identities. The sign
 * of zero and NaN count: x + 0 stays, x - 0 is x. */
#include "jit/kernel_ir.h"
#include "jit/tile.h"
#include <string.h>

static bool divides(const lz_kernel_node *n)
{
    bool integer = n->type == LZ_KERNEL_I32 || n->type == LZ_KERNEL_I64;
    return integer
           && (n->op == LZ_KERNEL_IDIV || n->op == LZ_KERNEL_IDIV_FLOOR || n->op == LZ_KERNEL_FMOD
               || n->op == LZ_KERNEL_REMAINDER);
}

/* Evaluates a node whose operands are constants; false if that is not possible. */
static bool fold(const lz_kernel_builder *b, const lz_kernel_node *n, int64_t *bits)
{
    int count = lz_kernel_node_operands(n);
    int64_t x[3] = { 0, 0, 0 };
    bool constant = count > 0;
    int last = LZ_KERNEL_BOOL;
    for (int i = 0; i < count; i++) {
        const lz_kernel_node *in = lz_kernel_builder_at(b, n->in[i]);
        constant = constant && in->op == LZ_KERNEL_NODE_CONST;
        x[i] = in->bits;
        last = in->type;
    }
    lz_tile_fn *fn = constant ? lz_tile_of(&lz_tile_base, n, last) : NULL;
    if (!fn || (divides(n) && x[1] == 0))
        return false;
    *bits = 0;
    fn(bits, &x[0], &x[1], &x[2], NULL, 1);
    return true;
}

/* Is x the constant v? Distinguishes 0 and -0. */
static bool is(const lz_kernel_builder *b, lz_kernel_value x, double v)
{
    const lz_kernel_node *n = lz_kernel_builder_at(b, x);
    float f = (float)v;
    int32_t i = (int32_t)v;
    int64_t l = (int64_t)v;
    uint8_t t = v != 0;
    const void *same[LZ_KERNEL_TYPES] = { &t, &i, &l, &f, &v };
    int64_t bits = 0;
    memcpy(&bits, same[n->type], lz_kernel_type_size((lz_kernel_type)n->type));
    return n->op == LZ_KERNEL_NODE_CONST && n->bits == bits;
}

static bool floating(const lz_kernel_builder *b, lz_kernel_value x)
{
    return lz_kernel_builder_at(b, x)->type >= LZ_KERNEL_F32;
}

static bool keep(lz_kernel_value v, lz_kernel_value *out)
{
    *out = v;
    return true;
}

typedef bool rule(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out);

/* Is x the negation of *out? */
static bool negated(const lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value *out)
{
    const lz_kernel_node *n = lz_kernel_builder_at(b, x);
    *out = n->in[0];
    return n->op == LZ_KERNEL_NEG;
}

static bool constant(const lz_kernel_builder *b, lz_kernel_value x)
{
    return lz_kernel_builder_at(b, x)->op == LZ_KERNEL_NODE_CONST;
}

/* Commutative operations have constants last, so only y is checked. -x + y becomes y - x, and for integers x
 * + c + d becomes x + (c + d). */
static bool add(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x = n->in[0], y = n->in[1], positive;
    double none = floating(b, x) ? -0.0 : 0.0;
    if (is(b, y, none))
        return keep(x, out);
    if (negated(b, x, &positive))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_SUB, y, positive), out);
    if (negated(b, y, &positive))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_SUB, x, positive), out);
    const lz_kernel_node *first = lz_kernel_builder_at(b, x);
    bool again = first->op == LZ_KERNEL_ADD && !floating(b, x) && constant(b, y) && constant(b, first->in[1]);
    if (!again)
        return false;
    lz_kernel_value rest = first->in[0], sum = lz_kernel_build_op2(b, LZ_KERNEL_ADD, first->in[1], y);
    return keep(lz_kernel_build_op2(b, LZ_KERNEL_ADD, rest, sum), out);
}

/* Integers: x - c becomes x + (-c). */
static bool sub(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x = n->in[0], y = n->in[1], positive;
    if (is(b, y, 0.0))
        return keep(x, out);
    if (negated(b, y, &positive))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, positive), out);
    if (floating(b, x))
        return false;
    if (x == y)
        return keep(lz_kernel_build_const_i(b, (lz_kernel_type)n->type, 0), out);
    return constant(b, y)
           && keep(lz_kernel_build_op2(b, LZ_KERNEL_ADD, x, lz_kernel_build_op1(b, LZ_KERNEL_NEG, y)), out);
}

/* A negation is folded into a constant, and two negations cancel. */
static bool mul(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x, y;
    if (is(b, n->in[1], 1.0))
        return keep(n->in[0], out);
    if (negated(b, n->in[0], &x) && (constant(b, n->in[1]) || negated(b, n->in[1], &y))) {
        y = lz_kernel_build_op1(b, LZ_KERNEL_NEG, n->in[1]);
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, y), out);
    }
    return is(b, n->in[1], 0.0) && !floating(b, n->in[0]) && keep(n->in[1], out);
}

static bool fma_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x, y;
    if (!negated(b, n->in[0], &x) || !(constant(b, n->in[1]) || negated(b, n->in[1], &y)))
        return false;
    y = lz_kernel_build_op1(b, LZ_KERNEL_NEG, n->in[1]);
    return keep(lz_kernel_build_op3(b, LZ_KERNEL_FMA, x, y, n->in[2]), out);
}

/* x / 2^k becomes x * 2^-k if both constants are normal numbers. */
static bool div(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    const lz_kernel_node *y = lz_kernel_builder_at(b, n->in[1]);
    if (is(b, n->in[1], 1.0))
        return keep(n->in[0], out);
    bool wide = n->type == LZ_KERNEL_F64;
    int64_t mantissa = wide ? (INT64_C(1) << 52) - 1 : (1 << 23) - 1;
    int64_t exponent = wide ? (y->bits >> 52) & 2047 : (y->bits >> 23) & 255;
    int64_t twice = wide ? 2046 : 254;
    if (y->op != LZ_KERNEL_NODE_CONST || (y->bits & mantissa) || exponent == 0 || exponent >= twice)
        return false;
    int64_t sign = y->bits & (wide ? INT64_MIN : INT64_C(0x80000000));
    lz_kernel_node inverse = { .op = LZ_KERNEL_NODE_CONST,
                               .type = n->type,
                               .bits = sign | (twice - exponent) << (wide ? 52 : 23) };
    lz_kernel_value by = lz_kernel_build_node(b, inverse);
    return keep(lz_kernel_build_op2(b, LZ_KERNEL_MUL, n->in[0], by), out);
}

static bool idiv(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    return is(b, n->in[1], 1.0) && keep(n->in[0], out);
}

/* Two applications of an operation that is its own inverse cancel. */
static bool twice(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    const lz_kernel_node *x = lz_kernel_builder_at(b, n->in[0]);
    return x->op == n->op && keep(x->in[0], out);
}

static bool idempotent(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    const lz_kernel_node *x = lz_kernel_builder_at(b, n->in[0]);
    return x->op == n->op && x->attr == n->attr && keep(n->in[0], out);
}

static bool abs_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x;
    if (negated(b, n->in[0], &x))
        return keep(lz_kernel_build_op1(b, LZ_KERNEL_ABS, x), out);
    return idempotent(b, n, out);
}

static bool same_operands(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    (void)b;
    return n->in[0] == n->in[1] && keep(n->in[0], out);
}

static bool and_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    double full = lz_kernel_builder_at(b, n->in[0])->type == LZ_KERNEL_BOOL ? 1 : -1;
    if (is(b, n->in[1], 0))
        return keep(n->in[1], out);
    return (is(b, n->in[1], full) && keep(n->in[0], out)) || same_operands(b, n, out);
}

static bool or_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    double full = lz_kernel_builder_at(b, n->in[0])->type == LZ_KERNEL_BOOL ? 1 : -1;
    if (is(b, n->in[1], full))
        return keep(n->in[1], out);
    return (is(b, n->in[1], 0) && keep(n->in[0], out)) || same_operands(b, n, out);
}

/* Of bool: x != false is x, x == false is its negation. */
static bool compare(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    int side = constant(b, n->in[1]);
    lz_kernel_value x = n->in[!side];
    if (!constant(b, n->in[side]) || lz_kernel_builder_at(b, x)->type != LZ_KERNEL_BOOL)
        return false;
    bool same = is(b, n->in[side], n->op == LZ_KERNEL_EQ);
    return keep(same ? x : lz_kernel_build_op1(b, LZ_KERNEL_NOT, x), out);
}

static bool shift(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    return is(b, n->in[1], 0) && keep(n->in[0], out);
}

/* Is x equal to `fill` wherever `mask` is false? */
static bool has_fill(const lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value mask,
                     lz_kernel_value fill)
{
    const lz_kernel_node *n = lz_kernel_builder_at(b, x);
    bool load = n->op == LZ_KERNEL_NODE_LOAD_IF && n->in[0] == mask && n->in[1] == fill;
    return load || (n->op == LZ_KERNEL_NODE_GATHER_IF && n->in[1] == mask && n->in[2] == fill);
}

static bool select_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    const lz_kernel_node *c = lz_kernel_builder_at(b, n->in[0]);
    if (c->op == LZ_KERNEL_NODE_CONST)
        return keep(c->bits ? n->in[1] : n->in[2], out);
    if (n->in[1] == n->in[2] || has_fill(b, n->in[1], n->in[0], n->in[2]))
        return keep(n->in[1], out);
    if (c->op == LZ_KERNEL_NOT)
        return keep(lz_kernel_build_op3(b, LZ_KERNEL_SELECT, c->in[0], n->in[2], n->in[1]), out);
    bool truth = n->type == LZ_KERNEL_BOOL && is(b, n->in[1], 1) && is(b, n->in[2], 0);
    return truth && keep(n->in[0], out);
}

/* PyTorch's special cases: x^2 is x * x, x^0.5 is sqrt(x), ... */
static bool pow_(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    lz_kernel_value x = n->in[0], y = n->in[1];
    lz_kernel_type t = (lz_kernel_type)n->type;
    if (is(b, y, 1))
        return keep(x, out);
    if (is(b, y, 2))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, x), out);
    if (is(b, y, 3))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_MUL, lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, x), x),
                    out);
    if (!floating(b, x))
        return false;
    if (is(b, y, 0.5))
        return keep(lz_kernel_build_op1(b, LZ_KERNEL_SQRT, x), out);
    if (is(b, y, -0.5))
        return keep(lz_kernel_build_op1(b, LZ_KERNEL_RSQRT, x), out);
    if (is(b, y, -1))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_DIV, lz_kernel_build_const_f(b, t, 1), x), out);
    if (is(b, y, -2))
        return keep(lz_kernel_build_op2(b, LZ_KERNEL_DIV, lz_kernel_build_const_f(b, t, 1),
                                        lz_kernel_build_op2(b, LZ_KERNEL_MUL, x, x)),
                    out);
    return false;
}

/* A lossless cast can be undone: bool to anything, i32 to i64 or f64, f32 to f64. */
static bool cast(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    static const uint8_t kept[LZ_KERNEL_TYPES] = { [LZ_KERNEL_BOOL] = 30,
                                                   [LZ_KERNEL_I32] = 1 << LZ_KERNEL_I64 | 1 << LZ_KERNEL_F64,
                                                   [LZ_KERNEL_F32] = 1 << LZ_KERNEL_F64 };
    const lz_kernel_node *x = lz_kernel_builder_at(b, n->in[0]);
    if (x->op != LZ_KERNEL_NODE_CAST)
        return false;
    lz_kernel_value source = x->in[0];
    const lz_kernel_node *s = lz_kernel_builder_at(b, source);
    if (!(kept[s->type] >> x->type & 1))
        return false;
    if (s->type == n->type)
        return keep(source, out);
    lz_kernel_node direct = { .op = LZ_KERNEL_NODE_CAST, .type = n->type, .in = { source } };
    return keep(lz_kernel_build_node(b, direct), out);
}

bool lz_kernel_build_simplify(lz_kernel_builder *b, const lz_kernel_node *n, lz_kernel_value *out)
{
    static rule *const rules[LZ_KERNEL_NODE_COUNT] = {
        [LZ_KERNEL_ADD] = add,
        [LZ_KERNEL_SUB] = sub,
        [LZ_KERNEL_MUL] = mul,
        [LZ_KERNEL_DIV] = div,
        [LZ_KERNEL_FMA] = fma_,
        [LZ_KERNEL_IDIV] = idiv,
        [LZ_KERNEL_IDIV_FLOOR] = idiv,
        [LZ_KERNEL_NEG] = twice,
        [LZ_KERNEL_NOT] = twice,
        [LZ_KERNEL_BITS] = twice,
        [LZ_KERNEL_ABS] = abs_,
        [LZ_KERNEL_FLOOR] = idempotent,
        [LZ_KERNEL_CEIL] = idempotent,
        [LZ_KERNEL_TRUNC] = idempotent,
        [LZ_KERNEL_ROUND] = idempotent,
        [LZ_KERNEL_NODE_NARROW] = idempotent,
        [LZ_KERNEL_MIN] = same_operands,
        [LZ_KERNEL_MAX] = same_operands,
        [LZ_KERNEL_FMIN] = same_operands,
        [LZ_KERNEL_FMAX] = same_operands,
        [LZ_KERNEL_AND] = and_,
        [LZ_KERNEL_OR] = or_,
        [LZ_KERNEL_EQ] = compare,
        [LZ_KERNEL_NE] = compare,
        [LZ_KERNEL_SHL] = shift,
        [LZ_KERNEL_SHR] = shift,
        [LZ_KERNEL_SHRU] = shift,
        [LZ_KERNEL_SELECT] = select_,
        [LZ_KERNEL_POW] = pow_,
        [LZ_KERNEL_NODE_CAST] = cast,
    };
    lz_kernel_node c = { .op = LZ_KERNEL_NODE_CONST, .type = n->type };
    if (fold(b, n, &c.bits))
        return keep(lz_kernel_build_node(b, c), out);
    return rules[n->op] && rules[n->op](b, n, out);
}
