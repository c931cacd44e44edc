/* What a new node is replaced by when that is the same to the last bit: folding of
 * constants and identities. The sign of zero and NaN count: x + 0 stays, x - 0 is x. */
#include "jit/kernel_ir.h"
#include "jit/tile.h"
#include <string.h>

static bool divides(const lz_knode *n)
{
    bool integer = n->type == LZ_KI32 || n->type == LZ_KI64;
    return integer
           && (n->op == LZ_K_IDIV || n->op == LZ_K_IDIV_FLOOR || n->op == LZ_K_FMOD
               || n->op == LZ_K_REMAINDER);
}

/* Evaluates a node whose operands are constants; false if it cannot be. */
static bool fold(const lz_kb *b, const lz_knode *n, int64_t *bits)
{
    int count = lz_knode_operands(n);
    int64_t x[3] = { 0, 0, 0 };
    bool constant = count > 0;
    int last = LZ_KBOOL;
    for (int i = 0; i < count; i++) {
        const lz_knode *in = lz_kb_at(b, n->in[i]);
        constant = constant && in->op == LZ_N_CONST;
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

/* Is x the constant v? Zeros are told apart by sign. */
static bool is(const lz_kb *b, lz_kv x, double v)
{
    const lz_knode *n = lz_kb_at(b, x);
    float f = (float)v;
    int32_t i = (int32_t)v;
    int64_t l = (int64_t)v;
    uint8_t t = v != 0;
    const void *same[LZ_KTYPES] = { &t, &i, &l, &f, &v };
    int64_t bits = 0;
    memcpy(&bits, same[n->type], lz_ktype_size((lz_ktype)n->type));
    return n->op == LZ_N_CONST && n->bits == bits;
}

static bool floating(const lz_kb *b, lz_kv x)
{
    return lz_kb_at(b, x)->type >= LZ_KF32;
}

static bool keep(lz_kv v, lz_kv *out)
{
    *out = v;
    return true;
}

typedef bool rule(lz_kb *b, const lz_knode *n, lz_kv *out);

/* x is the negative of *out. */
static bool negated(const lz_kb *b, lz_kv x, lz_kv *out)
{
    const lz_knode *n = lz_kb_at(b, x);
    *out = n->in[0];
    return n->op == LZ_K_NEG;
}

static bool constant(const lz_kb *b, lz_kv x)
{
    return lz_kb_at(b, x)->op == LZ_N_CONST;
}

/* Constants come last in what commutes, so only y has to be looked at. -x + y is y - x, and
 * of integers x + c + d is x + (c + d). */
static bool add(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x = n->in[0], y = n->in[1], positive;
    double none = floating(b, x) ? -0.0 : 0.0;
    if (is(b, y, none))
        return keep(x, out);
    if (negated(b, x, &positive))
        return keep(lz_kb_op2(b, LZ_K_SUB, y, positive), out);
    if (negated(b, y, &positive))
        return keep(lz_kb_op2(b, LZ_K_SUB, x, positive), out);
    const lz_knode *first = lz_kb_at(b, x);
    bool again = first->op == LZ_K_ADD && !floating(b, x) && constant(b, y) && constant(b, first->in[1]);
    if (!again)
        return false;
    lz_kv rest = first->in[0], sum = lz_kb_op2(b, LZ_K_ADD, first->in[1], y);
    return keep(lz_kb_op2(b, LZ_K_ADD, rest, sum), out);
}

/* Integers: x - c is x + (-c). */
static bool sub(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x = n->in[0], y = n->in[1], positive;
    if (is(b, y, 0.0))
        return keep(x, out);
    if (negated(b, y, &positive))
        return keep(lz_kb_op2(b, LZ_K_ADD, x, positive), out);
    if (floating(b, x))
        return false;
    if (x == y)
        return keep(lz_kb_const_i(b, (lz_ktype)n->type, 0), out);
    return constant(b, y) && keep(lz_kb_op2(b, LZ_K_ADD, x, lz_kb_op1(b, LZ_K_NEG, y)), out);
}

/* A negative goes into a constant, and two cancel. */
static bool mul(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x, y;
    if (is(b, n->in[1], 1.0))
        return keep(n->in[0], out);
    if (negated(b, n->in[0], &x) && (constant(b, n->in[1]) || negated(b, n->in[1], &y))) {
        y = lz_kb_op1(b, LZ_K_NEG, n->in[1]);
        return keep(lz_kb_op2(b, LZ_K_MUL, x, y), out);
    }
    return is(b, n->in[1], 0.0) && !floating(b, n->in[0]) && keep(n->in[1], out);
}

static bool fma_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x, y;
    if (!negated(b, n->in[0], &x) || !(constant(b, n->in[1]) || negated(b, n->in[1], &y)))
        return false;
    y = lz_kb_op1(b, LZ_K_NEG, n->in[1]);
    return keep(lz_kb_op3(b, LZ_K_FMA, x, y, n->in[2]), out);
}

/* x / 2^k is x * 2^-k while both are normal numbers. */
static bool div(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    const lz_knode *y = lz_kb_at(b, n->in[1]);
    if (is(b, n->in[1], 1.0))
        return keep(n->in[0], out);
    bool wide = n->type == LZ_KF64;
    int64_t mantissa = wide ? (INT64_C(1) << 52) - 1 : (1 << 23) - 1;
    int64_t exponent = wide ? (y->bits >> 52) & 2047 : (y->bits >> 23) & 255;
    int64_t twice = wide ? 2046 : 254;
    if (y->op != LZ_N_CONST || (y->bits & mantissa) || exponent == 0 || exponent >= twice)
        return false;
    int64_t sign = y->bits & (wide ? INT64_MIN : INT64_C(0x80000000));
    lz_knode inverse = { .op = LZ_N_CONST,
                         .type = n->type,
                         .bits = sign | (twice - exponent) << (wide ? 52 : 23) };
    lz_kv by = lz_kb_node(b, inverse);
    return keep(lz_kb_op2(b, LZ_K_MUL, n->in[0], by), out);
}

static bool idiv(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    return is(b, n->in[1], 1.0) && keep(n->in[0], out);
}

/* Of what is its own inverse, twice is nothing. */
static bool twice(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    const lz_knode *x = lz_kb_at(b, n->in[0]);
    return x->op == n->op && keep(x->in[0], out);
}

static bool idempotent(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    const lz_knode *x = lz_kb_at(b, n->in[0]);
    return x->op == n->op && x->attr == n->attr && keep(n->in[0], out);
}

static bool abs_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x;
    if (negated(b, n->in[0], &x))
        return keep(lz_kb_op1(b, LZ_K_ABS, x), out);
    return idempotent(b, n, out);
}

static bool same_operands(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    (void)b;
    return n->in[0] == n->in[1] && keep(n->in[0], out);
}

static bool and_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    double full = lz_kb_at(b, n->in[0])->type == LZ_KBOOL ? 1 : -1;
    if (is(b, n->in[1], 0))
        return keep(n->in[1], out);
    return (is(b, n->in[1], full) && keep(n->in[0], out)) || same_operands(b, n, out);
}

static bool or_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    double full = lz_kb_at(b, n->in[0])->type == LZ_KBOOL ? 1 : -1;
    if (is(b, n->in[1], full))
        return keep(n->in[1], out);
    return (is(b, n->in[1], 0) && keep(n->in[0], out)) || same_operands(b, n, out);
}

static bool shift(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    return is(b, n->in[1], 0) && keep(n->in[0], out);
}

/* Does x have `fill` wherever `mask` does not hold? */
static bool has_fill(const lz_kb *b, lz_kv x, lz_kv mask, lz_kv fill)
{
    const lz_knode *n = lz_kb_at(b, x);
    bool load = n->op == LZ_N_LOAD_IF && n->in[0] == mask && n->in[1] == fill;
    return load || (n->op == LZ_N_GATHER_IF && n->in[1] == mask && n->in[2] == fill);
}

static bool select_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    const lz_knode *c = lz_kb_at(b, n->in[0]);
    if (c->op == LZ_N_CONST)
        return keep(c->bits ? n->in[1] : n->in[2], out);
    if (n->in[1] == n->in[2] || has_fill(b, n->in[1], n->in[0], n->in[2]))
        return keep(n->in[1], out);
    if (c->op == LZ_K_NOT)
        return keep(lz_kb_op3(b, LZ_K_SELECT, c->in[0], n->in[2], n->in[1]), out);
    bool truth = n->type == LZ_KBOOL && is(b, n->in[1], 1) && is(b, n->in[2], 0);
    return truth && keep(n->in[0], out);
}

/* PyTorch's own special cases: x^2 is x x, x^0.5 is sqrt(x), ... */
static bool pow_(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    lz_kv x = n->in[0], y = n->in[1];
    lz_ktype t = (lz_ktype)n->type;
    if (is(b, y, 1))
        return keep(x, out);
    if (is(b, y, 2))
        return keep(lz_kb_op2(b, LZ_K_MUL, x, x), out);
    if (is(b, y, 3))
        return keep(lz_kb_op2(b, LZ_K_MUL, lz_kb_op2(b, LZ_K_MUL, x, x), x), out);
    if (!floating(b, x))
        return false;
    if (is(b, y, 0.5))
        return keep(lz_kb_op1(b, LZ_K_SQRT, x), out);
    if (is(b, y, -0.5))
        return keep(lz_kb_op1(b, LZ_K_RSQRT, x), out);
    if (is(b, y, -1))
        return keep(lz_kb_op2(b, LZ_K_DIV, lz_kb_const_f(b, t, 1), x), out);
    if (is(b, y, -2))
        return keep(lz_kb_op2(b, LZ_K_DIV, lz_kb_const_f(b, t, 1), lz_kb_op2(b, LZ_K_MUL, x, x)), out);
    return false;
}

/* A cast that lost nothing can be undone: bool to anything, i32 to i64 or f64, f32 to f64. */
static bool cast(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    static const uint8_t kept[LZ_KTYPES] = {
        [LZ_KBOOL] = 30, [LZ_KI32] = 1 << LZ_KI64 | 1 << LZ_KF64, [LZ_KF32] = 1 << LZ_KF64
    };
    const lz_knode *x = lz_kb_at(b, n->in[0]);
    if (x->op != LZ_N_CAST)
        return false;
    lz_kv source = x->in[0];
    const lz_knode *s = lz_kb_at(b, source);
    if (!(kept[s->type] >> x->type & 1))
        return false;
    if (s->type == n->type)
        return keep(source, out);
    lz_knode direct = { .op = LZ_N_CAST, .type = n->type, .in = { source } };
    return keep(lz_kb_node(b, direct), out);
}

bool lz_kb_simplify(lz_kb *b, const lz_knode *n, lz_kv *out)
{
    static rule *const rules[LZ_N_COUNT] = {
        [LZ_K_ADD] = add,
        [LZ_K_SUB] = sub,
        [LZ_K_MUL] = mul,
        [LZ_K_DIV] = div,
        [LZ_K_FMA] = fma_,
        [LZ_K_IDIV] = idiv,
        [LZ_K_IDIV_FLOOR] = idiv,
        [LZ_K_NEG] = twice,
        [LZ_K_NOT] = twice,
        [LZ_K_BITS] = twice,
        [LZ_K_ABS] = abs_,
        [LZ_K_FLOOR] = idempotent,
        [LZ_K_CEIL] = idempotent,
        [LZ_K_TRUNC] = idempotent,
        [LZ_K_ROUND] = idempotent,
        [LZ_N_NARROW] = idempotent,
        [LZ_K_MIN] = same_operands,
        [LZ_K_MAX] = same_operands,
        [LZ_K_FMIN] = same_operands,
        [LZ_K_FMAX] = same_operands,
        [LZ_K_AND] = and_,
        [LZ_K_OR] = or_,
        [LZ_K_SHL] = shift,
        [LZ_K_SHR] = shift,
        [LZ_K_SHRU] = shift,
        [LZ_K_SELECT] = select_,
        [LZ_K_POW] = pow_,
        [LZ_N_CAST] = cast,
    };
    lz_knode c = { .op = LZ_N_CONST, .type = n->type };
    if (fold(b, n, &c.bits))
        return keep(lz_kb_node(b, c), out);
    return rules[n->op] && rules[n->op](b, n, out);
}
