/* ref_run.c - the slow evaluator of kernels, the one that the fast one is compared with.
 *
 * One thread, one element after the other, every value of a walk computed anew. f32
 * is kept in a double and rounded after each operation, which is the same as computing
 * in f32 for everything IEEE 754 defines; functions come from the C library in double.
 * Reductions go element i to lane i mod 64, lanes being combined by halving; in both
 * modes, so in columns a float sum may differ from the fast one's in its last bits. */
#include "base/mem.h"
#include "jit/ref.h"
#include <math.h>

enum { LANES = 64 };

typedef lz_kscalar num;

/* A reduction or a scan under way. */
typedef struct state {
    num lane[LANES]; /* a scan has one */
    num best;        /* of argmax and argmin */
    int64_t at;      /* its index; -1: nothing seen yet */
} state;

typedef struct run {
    const lz_kernel *k;
    const lz_kernel_args *args;
    num *vals;
    state *states;
    int64_t index[LZ_KERNEL_DIMS];
    int64_t element; /* number within the row */
} run;

static bool is_float(int type)
{
    return type == LZ_KF32 || type == LZ_KF64;
}

static num of_f(int type, double v)
{
    return (num){ .f = type == LZ_KF32 ? (double)(float)v : v };
}

static num of_i(int type, uint64_t v)
{
    int64_t wide = (int64_t)v;
    return (num){ .i = type == LZ_KBOOL ? wide & 1 : type == LZ_KI32 ? (int32_t)wide : wide };
}

/* Numbers in memory. */

static uint16_t half_of(double x)
{
    unsigned sign = signbit(x) ? 0x8000u : 0, bits;
    double a = fabs(x);
    int e;
    double fraction = isfinite(a) ? frexp(a, &e) : 0;
    if (isnan(x))
        bits = 0x7e00;
    else if (a >= 65520)
        bits = 0x7c00;
    else if (a < 0x1p-14)
        bits = (unsigned)rint(ldexp(a, 24));
    else
        bits = ((unsigned)(e + 14) << 10) + (unsigned)rint(ldexp(fraction, 11)) - 1024;
    return (uint16_t)(sign | bits);
}

static double of_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double a = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -a : a;
}

static uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint16_t brain_of(double x)
{
    uint32_t u = float_bits((float)x);
    if (isnan(x))
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static double of_brain(uint16_t h)
{
    return (double)float_of((uint32_t)h << 16);
}

typedef num get_fn(const void *base, int64_t i);
typedef void put_fn(void *base, int64_t i, num v);

/* By bytes: a cast goes through memory that is declared as something else. */
#define MEMORY(name, T, field, from, to)                                                                     \
    static num get_##name(const void *base, int64_t i)                                                       \
    {                                                                                                        \
        T m;                                                                                                 \
        memcpy(&m, (const T *)base + i, sizeof m);                                                           \
        return (num){ .field = from };                                                                       \
    }                                                                                                        \
    static void put_##name(void *base, int64_t i, num v)                                                     \
    {                                                                                                        \
        T m = (T)(to);                                                                                       \
        memcpy((T *)base + i, &m, sizeof m);                                                                 \
    }

MEMORY(u8, uint8_t, i, m, v.i)
MEMORY(i8, int8_t, i, m, v.i)
MEMORY(i16, int16_t, i, m, v.i)
MEMORY(i32, int32_t, i, m, v.i)
MEMORY(i64, int64_t, i, m, v.i)
MEMORY(f16, uint16_t, f, of_half(m), half_of(v.f))
MEMORY(f32, float, f, (double)m, v.f)
MEMORY(f64, double, f, m, v.f)
MEMORY(bool, uint8_t, i, m != 0, v.i)
MEMORY(bf16, uint16_t, f, of_brain(m), brain_of(v.f))

typedef struct memory {
    get_fn *get;
    put_fn *put;
} memory;

static const memory memories[] = {
    [LZ_U8] = { get_u8, put_u8 },       [LZ_I8] = { get_i8, put_i8 },    [LZ_I16] = { get_i16, put_i16 },
    [LZ_I32] = { get_i32, put_i32 },    [LZ_I64] = { get_i64, put_i64 }, [LZ_F16] = { get_f16, put_f16 },
    [LZ_F32] = { get_f32, put_f32 },    [LZ_F64] = { get_f64, put_f64 }, [LZ_BOOL] = { get_bool, put_bool },
    [LZ_BF16] = { get_bf16, put_bf16 },
};

/* Towards zero; what does not fit, and a NaN, is the least integer. */
static int64_t whole(int type, double x)
{
    if (type == LZ_KI32)
        return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static num cast(int from, lz_dtype to, num x)
{
    int type = (int)lz_ktype_of(to);
    num v;
    if (type == LZ_KBOOL)
        v.i = is_float(from) ? x.f != 0 : x.i != 0;
    else if (is_float(type))
        v = is_float(from) ? of_f(type, x.f)
                           : (num){ .f = type == LZ_KF32 ? (double)(float)x.i : (double)x.i };
    else
        v = is_float(from) ? (num){ .i = whole(type, x.f) } : of_i(type, (uint64_t)x.i);
    int64_t space;
    memories[to].put(&space, 0, v);
    return memories[to].get(&space, 0);
}

/* Functions that the C library does not have. */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double rsqrt32(double x)
{
    return 1 / (double)sqrtf((float)x);
}

static double rsqrt64(double x)
{
    return 1 / sqrt(x);
}

static double lgamma_pure(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* Bisection on erfc, which keeps its digits where erf is close to 1, then Newton. */
static double erfinv(double y)
{
    double a = fabs(y), low = 0, high = 6;
    if (!(a < 1))
        return a == 1 ? copysign((double)INFINITY, y) : (double)NAN;
    if (a < 1e-8)
        return y * 0.88622692545275801365;
    for (int i = 0; i < 60; i++) {
        double mid = (low + high) / 2;
        bool below = a < 0.5 ? erf(mid) < a : erfc(mid) > 1 - a;
        *(below ? &low : &high) = mid;
    }
    double x = low;
    for (int i = 0; i < 2; i++) {
        double off = a < 0.5 ? erf(x) - a : (1 - a) - erfc(x);
        x -= off / (1.1283791670955125739 * exp(-x * x));
    }
    return copysign(x, y);
}

static double digamma_above(double x) /* x > 0 */
{
    double sum = 0;
    for (; x < 16; x++)
        sum -= 1 / x;
    double z = 1 / (x * x);
    double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
    return sum + log(x) - 0.5 / x - tail;
}

static double digamma(double x)
{
    const double pi = 3.14159265358979323846;
    if (x == 0)
        return copysign((double)INFINITY, -x);
    if (x > 0 || isnan(x))
        return isinf(x) ? x : digamma_above(x);
    if (isinf(x) || x == floor(x))
        return (double)NAN;
    return digamma_above(1 - x) - pi / tan(pi * fmod(x, 1));
}

typedef double fn1(double x);
typedef double fn2(double x, double y);

static double negate(double x)
{
    return -x;
}

static double add(double x, double y)
{
    return x + y;
}

static double subtract(double x, double y)
{
    return x - y;
}

static double multiply(double x, double y)
{
    return x * y;
}

static double divide(double x, double y)
{
    return x / y;
}

static double remainder_of(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static double least(double x, double y)
{
    return isnan(x) || x < y ? x : y;
}

static double greatest(double x, double y)
{
    return isnan(x) || x > y ? x : y;
}

static fn1 *const fns1[LZ_KOP_COUNT] = {
    [LZ_K_NEG] = negate,      [LZ_K_ABS] = fabs,    [LZ_K_FLOOR] = floor,   [LZ_K_CEIL] = ceil,
    [LZ_K_TRUNC] = trunc,     [LZ_K_ROUND] = rint,  [LZ_K_SQRT] = sqrt,     [LZ_K_RSQRT] = rsqrt64,
    [LZ_K_EXP] = exp,         [LZ_K_EXP2] = exp2,   [LZ_K_EXPM1] = expm1,   [LZ_K_LOG] = log,
    [LZ_K_LOG2] = log2,       [LZ_K_LOG10] = log10, [LZ_K_LOG1P] = log1p,   [LZ_K_SIN] = sin,
    [LZ_K_COS] = cos,         [LZ_K_TAN] = tan,     [LZ_K_ASIN] = asin,     [LZ_K_ACOS] = acos,
    [LZ_K_ATAN] = atan,       [LZ_K_SINH] = sinh,   [LZ_K_COSH] = cosh,     [LZ_K_TANH] = tanh,
    [LZ_K_ASINH] = asinh,     [LZ_K_ACOSH] = acosh, [LZ_K_ATANH] = atanh,   [LZ_K_SIGMOID] = sigmoid,
    [LZ_K_ERF] = erf,         [LZ_K_ERFC] = erfc,   [LZ_K_ERFINV] = erfinv, [LZ_K_LGAMMA] = lgamma_pure,
    [LZ_K_DIGAMMA] = digamma,
};

static fn2 *const fns2[LZ_KOP_COUNT] = {
    [LZ_K_ADD] = add,    [LZ_K_SUB] = subtract,      [LZ_K_MUL] = multiply,
    [LZ_K_DIV] = divide, [LZ_K_FMOD] = fmod,         [LZ_K_REMAINDER] = remainder_of,
    [LZ_K_MIN] = least,  [LZ_K_MAX] = greatest,      [LZ_K_FMIN] = fmin,
    [LZ_K_FMAX] = fmax,  [LZ_K_COPYSIGN] = copysign, [LZ_K_NEXTAFTER] = nextafter,
    [LZ_K_POW] = pow,    [LZ_K_ATAN2] = atan2,
};

static num float_op(lz_kop op, int type, const num *x)
{
    bool single = type == LZ_KF32;
    if (op == LZ_K_FMA)
        return (num){ .f = single ? (double)fmaf((float)x[0].f, (float)x[1].f, (float)x[2].f)
                                  : fma(x[0].f, x[1].f, x[2].f) };
    if (op == LZ_K_NEXTAFTER && single)
        return (num){ .f = (double)nextafterf((float)x[0].f, (float)x[1].f) };
    if (op == LZ_K_RSQRT && single)
        return of_f(type, rsqrt32(x[0].f));
    return of_f(type, fns1[op] ? fns1[op](x[0].f) : fns2[op](x[0].f, x[1].f));
}

/* Integers. Sums and products wrap by being unsigned. */

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static uint64_t gcd(int64_t x, int64_t y)
{
    uint64_t a = magnitude(x), b = magnitude(y);
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uint64_t int_pow(int64_t x, int64_t y)
{
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? UINT64_MAX : 1) : 0;
    uint64_t p = 1, base = (uint64_t)x;
    for (; y; y >>= 1, base *= base)
        p *= y & 1 ? base : 1;
    return p;
}

static uint64_t shift(lz_kop op, int type, int64_t x, int64_t n)
{
    bool out = n < 0 || n >= (type == LZ_KI32 ? 32 : 64);
    uint64_t u = type == LZ_KI32 ? (uint32_t)x : (uint64_t)x;
    if (op == LZ_K_SHR)
        return (uint64_t)(x >> (out ? 63 : n));
    return out ? 0 : op == LZ_K_SHL ? u << n : u >> n;
}

/* y is not 0 */
static uint64_t int_divide(lz_kop op, int64_t x, int64_t y)
{
    int64_t q = y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y, r = y == -1 ? 0 : x % y;
    bool down = r != 0 && (r < 0) != (y < 0);
    switch (op) {
    case LZ_K_IDIV:
        return (uint64_t)q;
    case LZ_K_IDIV_FLOOR:
        return (uint64_t)(q - down);
    case LZ_K_FMOD:
        return (uint64_t)r;
    default:
        return (uint64_t)(down ? r + y : r);
    }
}

static uint64_t int_op(lz_kop op, int type, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case LZ_K_ADD:
        return a + b;
    case LZ_K_SUB:
        return a - b;
    case LZ_K_MUL:
        return a * b;
    case LZ_K_NEG:
        return 0 - a;
    case LZ_K_ABS:
        return magnitude(x);
    case LZ_K_MIN:
        return x < y ? a : b;
    case LZ_K_MAX:
        return x > y ? a : b;
    case LZ_K_AND:
        return a & b;
    case LZ_K_OR:
        return a | b;
    case LZ_K_XOR:
        return a ^ b;
    case LZ_K_NOT:
        return ~a;
    case LZ_K_GCD:
        return gcd(x, y);
    case LZ_K_POW:
        return int_pow(x, y);
    default:
        return shift(op, type, x, y);
    }
}

static bool divides(lz_kop op)
{
    return op == LZ_K_IDIV || op == LZ_K_IDIV_FLOOR || op == LZ_K_FMOD || op == LZ_K_REMAINDER;
}

static bool compare(lz_kop op, int type, num x, num y)
{
    bool lt = is_float(type) ? x.f < y.f : x.i < y.i;
    bool eq = is_float(type) ? x.f == y.f : x.i == y.i;
    return op == LZ_K_EQ ? eq : op == LZ_K_NE ? !eq : op == LZ_K_LT ? lt : lt || eq;
}

static num bits(int type, num x)
{
    if (type == LZ_KF32)
        return (num){ .i = (int32_t)float_bits((float)x.f) };
    if (type == LZ_KI32)
        return (num){ .f = (double)float_of((uint32_t)x.i) };
    return x; /* 64 bits either way: the union's */
}

static lz_err *apply(const ref_value *v, int type, const num *x, num *out)
{
    lz_kop op = (lz_kop)v->attr;
    if (op == LZ_K_SELECT)
        *out = x[0].i ? x[1] : x[2];
    else if (op >= LZ_K_EQ && op <= LZ_K_GE)
        out->i = compare(op, type, x[0], x[1]);
    else if (op == LZ_K_BITS)
        *out = bits(type, x[0]);
    else if (op == LZ_K_SIGNBIT)
        out->i = signbit(x[0].f) != 0;
    else if (is_float(type))
        *out = float_op(op, type, x);
    else if (divides(op) && x[1].i == 0)
        return lz_errf(LZ_ERR_ARG, "integer division by zero");
    else
        *out = of_i(type, divides(op) ? int_divide(op, x[0].i, x[1].i) : int_op(op, type, x[0].i, x[1].i));
    return NULL;
}

static num philox(int word, num seed, num stream, num index)
{
    uint64_t low = (uint64_t)index.i, high = (uint64_t)stream.i, key = (uint64_t)seed.i;
    uint32_t c[4] = { (uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32) };
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < 10; i++) {
        uint64_t p0 = UINT64_C(0xD2511F53) * c[0], p1 = UINT64_C(0xCD9E8D57) * c[2];
        uint32_t next[4] = { (uint32_t)(p1 >> 32) ^ c[1] ^ k0, (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k1,
                             (uint32_t)p0 };
        memcpy(c, next, sizeof c);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    return (num){ .i = c[word] };
}

/* Reductions and scans. */

static bool is_arg(int reduce)
{
    return reduce == LZ_K_RARGMAX || reduce == LZ_K_RARGMIN;
}

static const lz_kop combiners[LZ_K_REDUCES] = { LZ_K_ADD, LZ_K_MUL, LZ_K_MAX, LZ_K_MIN,
                                                LZ_K_AND, LZ_K_OR,  LZ_K_XOR };

static num combine(int reduce, int type, num x, num y)
{
    lz_kop op = combiners[reduce];
    const num both[3] = { x, y };
    return is_float(type) ? float_op(op, type, both) : of_i(type, int_op(op, type, x.i, y.i));
}

static const int64_t lowest[LZ_KTYPES] = { 0, INT32_MIN, INT64_MIN };
static const int64_t highest[LZ_KTYPES] = { 1, INT32_MAX, INT64_MAX };

static num neutral(int reduce, int type)
{
    const double f[LZ_K_REDUCES] = { 0, 1, (double)-INFINITY, (double)INFINITY };
    const int64_t i[LZ_K_REDUCES] = { 0, 1, lowest[type], highest[type], -1, 0, 0 };
    return is_float(type) ? (num){ .f = f[reduce] } : of_i(type, (uint64_t)i[reduce]);
}

/* Is x the one to remember instead of best? `ties`: also if it is as good. */
static bool better(int reduce, int type, num x, num best, bool ties)
{
    if (is_float(type) && (isnan(x.f) || isnan(best.f)))
        return isnan(x.f) && (ties || !isnan(best.f));
    if (compare(LZ_K_EQ, type, x, best))
        return ties;
    return compare(LZ_K_LT, type, x, best) == (reduce == LZ_K_RARGMIN);
}

static void see_arg(state *s, int reduce, int type, num x, int64_t at, bool ties)
{
    if (s->at < 0 || better(reduce, type, x, s->best, ties)) {
        s->best = x;
        s->at = at;
    }
}

static void begin(run *r, const ref_value *v)
{
    state *s = &r->states[v->more];
    int type = r->k->values[v->in[0]].type;
    s->at = -1;
    for (int i = 0; i < LANES; i++)
        s->lane[i] = neutral(v->attr, type);
}

static void take(run *r, const ref_value *v)
{
    state *s = &r->states[v->more];
    int type = r->k->values[v->in[0]].type;
    num x = r->vals[v->in[0]], *lane = &s->lane[r->element % LANES];
    if (is_arg(v->attr))
        see_arg(s, v->attr, type, x, r->element, false);
    else
        *lane = combine(v->attr, type, *lane, x);
}

/* The result of a reduction; of nothing: what is neutral, index 0. */
static num result(run *r, const ref_value *v)
{
    state *s = &r->states[v->more];
    if (is_arg(v->attr))
        return (num){ .i = s->at < 0 ? 0 : s->at };
    for (int half = LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            s->lane[i] = combine(v->attr, v->type, s->lane[i], s->lane[i + half]);
    return s->lane[0];
}

static num scan(run *r, const ref_value *v)
{
    state *s = &r->states[v->more];
    int type = r->k->values[v->in[0]].type;
    num x = r->vals[v->in[0]];
    if (is_arg(v->attr)) {
        see_arg(s, v->attr, type, x, r->element, true);
        return (num){ .i = s->at };
    }
    s->lane[0] = r->element ? combine(v->attr, type, s->lane[0], x) : x;
    return s->lane[0];
}

/* Values. */

static int64_t position(const run *r, int access)
{
    const lz_kaccess *a = &r->args->access[access];
    int dims = r->k->n_outer + (r->k->accesses[access].vary == LZ_K_ELEMENT ? r->k->n_row : 0);
    int64_t at = a->offset;
    for (int d = 0; d < dims; d++)
        at += a->strides[d] * r->index[d];
    return at;
}

static num load(const run *r, const ref_value *v)
{
    const num mask = v->n > 1 ? r->vals[v->in[v->n - 2]] : (num){ .i = 1 };
    if (!mask.i)
        return r->vals[v->in[v->n - 1]];
    int64_t extra = v->kind == REF_GATHER ? r->vals[v->in[0]].i : 0;
    return memories[r->k->accesses[v->attr].dtype].get(r->args->access[v->attr].base,
                                                       position(r, v->attr) + extra);
}

static lz_err *check(const ref_value *v, int64_t index, int64_t size, num *out)
{
    int64_t at = index < 0 && v->more ? index + size : index;
    if (at < 0 || at >= size)
        return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %d with size %lld",
                       (long long)index, v->attr, (long long)size);
    out->i = at;
    return NULL;
}

static num param(const run *r, const ref_value *v)
{
    num x = r->args->params[v->attr];
    if (v->type == LZ_KBOOL)
        return (num){ .i = x.i != 0 };
    return is_float(v->type) ? of_f(v->type, x.f) : of_i(v->type, (uint64_t)x.i);
}

static lz_err *evaluate(run *r, int number)
{
    const ref_value *v = &r->k->values[number];
    num x[3] = { { 0 } }, *out = &r->vals[number];
    for (int i = 0; i < v->n; i++)
        x[i] = r->vals[v->in[i]];
    int type = v->n ? r->k->values[v->in[v->n - 1]].type : v->type;
    switch ((ref_kind)v->kind) {
    case REF_PARAM:
        *out = param(r, v);
        return NULL;
    case REF_LOAD:
    case REF_GATHER:
        *out = load(r, v);
        return NULL;
    case REF_AFFINE:
        out->i = position(r, v->attr);
        return NULL;
    case REF_CHECK:
        return check(v, x[0].i, x[1].i, out);
    case REF_OP:
        return apply(v, type, x, out);
    case REF_CAST:
        *out = cast(type, (lz_dtype)v->attr, x[0]);
        return NULL;
    case REF_PHILOX:
        *out = philox(v->attr, x[0], x[1], x[2]);
        return NULL;
    case REF_REDUCE:
        *out = result(r, v);
        return NULL;
    case REF_SCAN:
        *out = scan(r, v);
        return NULL;
    default:
        *out = v->c;
        return NULL;
    }
}

static void store(run *r, lz_kvary vary)
{
    for (int i = 0; i < r->k->n_accesses; i++) {
        const ref_access *a = &r->k->accesses[i];
        if (a->use == REF_WRITE && a->vary == (int32_t)vary)
            memories[a->dtype].put(r->args->access[i].base, position(r, i), r->vals[a->stored]);
    }
}

/* The next index of dimensions [from, to), the last fastest; all 0 again after the last. */
static void advance(run *r, int from, int to)
{
    for (int d = to; d-- > from;) {
        if (++r->index[d] < r->args->extents[d])
            return;
        r->index[d] = 0;
    }
}

static lz_err *element(run *r, uint32_t stage)
{
    const lz_kernel *k = r->k;
    for (int i = 0; i < k->n_values; i++)
        if (k->values[i].level == REF_ELEMENT && k->values[i].stage <= stage)
            LZ_TRY(evaluate(r, i));
    for (int i = 0; i < k->n_values; i++)
        if (k->values[i].kind == REF_REDUCE && k->values[i].stage == stage + 1)
            take(r, &k->values[i]);
    if (stage == k->last)
        store(r, LZ_K_ELEMENT);
    return NULL;
}

static lz_err *walk(run *r, uint32_t stage, int64_t length)
{
    const lz_kernel *k = r->k;
    for (int i = 0; i < k->n_values; i++) {
        const ref_value *v = &k->values[i];
        if (v->level != REF_ELEMENT && v->stage == stage)
            LZ_TRY(evaluate(r, i));
    }
    for (int i = 0; i < k->n_values; i++) {
        const ref_value *v = &k->values[i];
        if (v->kind == REF_SCAN || (v->kind == REF_REDUCE && v->stage == stage + 1))
            begin(r, v);
    }
    for (r->element = 0; r->element < length; r->element++) {
        LZ_TRY(element(r, stage));
        advance(r, k->n_outer, k->n_outer + k->n_row);
    }
    return NULL;
}

static int64_t product(const int64_t *extents, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        if (extents[i] == 0)
            return 0;
    for (int i = 0; i < n; i++)
        p *= extents[i];
    return p;
}

static lz_err *run_all(run *r)
{
    const lz_kernel *k = r->k;
    int64_t rows = product(r->args->extents, k->n_outer);
    int64_t length = product(r->args->extents + k->n_outer, k->n_row);
    for (int64_t row = 0; row < rows; row++) {
        for (uint32_t stage = 0; stage <= k->last; stage++)
            LZ_TRY(walk(r, stage, length));
        store(r, LZ_K_OUTER);
        advance(r, 0, k->n_outer);
    }
    return NULL;
}

lz_err *lz_kernel_run(const lz_kernel *k, const lz_kernel_args *args, lz_pool *pool)
{
    (void)pool;
    run r = { .k = k, .args = args };
    r.vals = lz_mem_zalloc((size_t)k->n_values, sizeof *r.vals);
    r.states = lz_mem_zalloc((size_t)k->n_reductions, sizeof *r.states);
    lz_err *e = r.vals && r.states ? run_all(&r) : lz_err_oom();
    lz_mem_free(r.vals);
    lz_mem_free(r.states);
    return e;
}
