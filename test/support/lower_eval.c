#include "lower_eval.h"
#include "core/convert.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "core/strides.h"
#include "jit/tile.h"
#include "kernel/kernels.h"
#include "plan/lowered_call.h"
#include <math.h>
#include <string.h>

static bool is_float(const lz_low_node *n)
{
    return lz_dtype_is_float((lz_dtype)n->dtype);
}

/* ---- cells ---- */

static lz_scalar to_scalar(lz_dtype d, lz_cell c)
{
    return d == LZ_BOOL           ? lz_scalar_bool(c.i != 0)
           : lz_dtype_is_float(d) ? lz_scalar_float(c.f)
                                  : lz_scalar_int(c.i);
}

static lz_cell from_scalar(lz_scalar v)
{
    if (v.kind == LZ_SCALAR_FLOAT)
        return (lz_cell){ .f = v.re };
    return (lz_cell){ .i = v.i };
}

/* As an element of the dtype holds it. */
static lz_cell held(lz_dtype from, lz_cell c, lz_dtype to)
{
    char room[16];
    lz_element_set(to, to_scalar(from, c), room);
    return from_scalar(lz_element_get(to, room));
}

void lz_eval_store(lz_dtype d, const lz_cell *cells, int64_t n, void *out)
{
    for (int64_t i = 0; i < n; i++)
        lz_element_set(d, to_scalar(d, cells[i]), (char *)out + (size_t)i * lz_dtype_size(d));
}

/* ---- indices ---- */

static void unflatten(int64_t at, const int64_t *sizes, int64_t n, int64_t *out)
{
    for (int64_t d = n; d-- > 0; at /= sizes[d])
        out[d] = at % sizes[d];
}

static int64_t flatten(const int64_t *index, const int64_t *sizes, int64_t n)
{
    int64_t at = 0;
    for (int64_t d = 0; d < n; d++)
        at = at * sizes[d] + index[d];
    return at;
}

/* ---- scalar operations ---- */

static double digamma(double x)
{
    double r = 0;
    if (x == 0)
        return copysign(INFINITY, -x);
    if (x < 0 && x == floor(x))
        return NAN;
    if (x < 0)
        return digamma(1 - x) - M_PI / tan(M_PI * x);
    int steps = x < 12 ? (int)ceil(12 - x) : 0;
    for (int i = 0; i < steps; i++)
        r -= 1 / (x + i);
    x += steps;
    double y = 1 / (x * x);
    return r + log(x) - 0.5 / x
           - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132)))));
}

/* Bisection on erfc, which keeps its digits where erf is near 1. */
static double erfinv(double y)
{
    double low = 0, high = 6.5, size = fabs(y);
    if (!(size < 1))
        return size == 1 ? copysign(INFINITY, y) : NAN;
    for (int i = 0; i < 200 && low < high; i++) {
        double x = (low + high) / 2;
        bool below = size < 0.5 ? erf(x) < size : erfc(x) > 1 - size;
        if (below)
            low = x;
        else
            high = x;
    }
    return copysign(low, y);
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(x * -sqrt(0.5));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

typedef double one(double x);
static one *const functions[LZ_KERNEL_OP_COUNT] = {
    [LZ_KERNEL_ABS] = fabs,        [LZ_KERNEL_FLOOR] = floor,
    [LZ_KERNEL_CEIL] = ceil,       [LZ_KERNEL_TRUNC] = trunc,
    [LZ_KERNEL_ROUND] = rint,      [LZ_KERNEL_SQRT] = sqrt,
    [LZ_KERNEL_EXP] = exp,         [LZ_KERNEL_EXP2] = exp2,
    [LZ_KERNEL_EXPM1] = expm1,     [LZ_KERNEL_LOG] = log,
    [LZ_KERNEL_LOG2] = log2,       [LZ_KERNEL_LOG10] = log10,
    [LZ_KERNEL_LOG1P] = log1p,     [LZ_KERNEL_SIN] = sin,
    [LZ_KERNEL_COS] = cos,         [LZ_KERNEL_TAN] = tan,
    [LZ_KERNEL_ASIN] = asin,       [LZ_KERNEL_ACOS] = acos,
    [LZ_KERNEL_ATAN] = atan,       [LZ_KERNEL_SINH] = sinh,
    [LZ_KERNEL_COSH] = cosh,       [LZ_KERNEL_TANH] = tanh,
    [LZ_KERNEL_ASINH] = asinh,     [LZ_KERNEL_ACOSH] = acosh,
    [LZ_KERNEL_ATANH] = atanh,     [LZ_KERNEL_ERF] = erf,
    [LZ_KERNEL_ERFC] = erfc,       [LZ_KERNEL_ERFINV] = erfinv,
    [LZ_KERNEL_LGAMMA] = lgamma,   [LZ_KERNEL_DIGAMMA] = digamma,
    [LZ_KERNEL_SIGMOID] = sigmoid, [LZ_KERNEL_NORMAL_CDF] = normal_cdf,
};

static double float_remainder(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static double float_op(lz_kernel_op op, double x, double y, double z)
{
    switch (op) {
    case LZ_KERNEL_ADD:
        return x + y;
    case LZ_KERNEL_SUB:
        return x - y;
    case LZ_KERNEL_MUL:
        return x * y;
    case LZ_KERNEL_DIV:
        return x / y;
    case LZ_KERNEL_FMA:
        return fma(x, y, z);
    case LZ_KERNEL_FMOD:
        return fmod(x, y);
    case LZ_KERNEL_REMAINDER:
        return float_remainder(x, y);
    case LZ_KERNEL_NEG:
        return -x;
    case LZ_KERNEL_MIN:
        return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
    case LZ_KERNEL_MAX:
        return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
    case LZ_KERNEL_FMIN:
        return fmin(x, y);
    case LZ_KERNEL_FMAX:
        return fmax(x, y);
    case LZ_KERNEL_RSQRT:
        return 1 / sqrt(x);
    case LZ_KERNEL_COPYSIGN:
        return copysign(x, y);
    case LZ_KERNEL_POW:
        return pow(x, y);
    case LZ_KERNEL_ATAN2:
        return atan2(x, y);
    case LZ_KERNEL_ZETA:
    case LZ_KERNEL_IGAMMA:
    case LZ_KERNEL_IGAMMAC:
    case LZ_KERNEL_ORTHOGONAL: /* libm has none of these */
        lz_tile_base.op[op][LZ_KERNEL_F64](&x, &x, &y, &z, NULL, 1);
        return x;
    default:
        return functions[op](x);
    }
}

static int64_t power(int64_t x, int64_t y)
{
    uint64_t r = 1, base = (uint64_t)x;
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
    for (; y; y >>= 1, base *= base)
        r *= y & 1 ? base : 1;
    return (int64_t)r;
}

static int64_t greatest_divisor(int64_t x, int64_t y)
{
    while (y) {
        int64_t r = y == -1 ? 0 : x % y;
        x = y;
        y = r;
    }
    return x < 0 ? -x : x;
}

static lz_err *int_op(lz_kernel_op op, int bits, int64_t x, int64_t y, int64_t *out)
{
    uint64_t a = (uint64_t)x, c = (uint64_t)y;
    bool far = y < 0 || y >= bits;
    if ((op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
         || op == LZ_KERNEL_REMAINDER)
        && y == 0)
        return lz_errf(LZ_ERR_ARG, "ZeroDivisionError");
    int64_t r = y == -1 || y == 0 ? 0 : x % y, q = y == -1 ? (int64_t)-a : y == 0 ? 0 : x / y;
    bool apart = r != 0 && (r < 0) != (y < 0);
    switch (op) {
    case LZ_KERNEL_ADD:
        *out = (int64_t)(a + c);
        break;
    case LZ_KERNEL_SUB:
        *out = (int64_t)(a - c);
        break;
    case LZ_KERNEL_MUL:
        *out = (int64_t)(a * c);
        break;
    case LZ_KERNEL_IDIV:
        *out = q;
        break;
    case LZ_KERNEL_IDIV_FLOOR:
        *out = q - apart;
        break;
    case LZ_KERNEL_FMOD:
        *out = r;
        break;
    case LZ_KERNEL_REMAINDER:
        *out = apart ? r + y : r;
        break;
    case LZ_KERNEL_NEG:
        *out = (int64_t)-a;
        break;
    case LZ_KERNEL_ABS:
        *out = x < 0 ? (int64_t)-a : x;
        break;
    case LZ_KERNEL_MIN:
        *out = x < y ? x : y;
        break;
    case LZ_KERNEL_MAX:
        *out = x > y ? x : y;
        break;
    case LZ_KERNEL_AND:
        *out = x & y;
        break;
    case LZ_KERNEL_OR:
        *out = x | y;
        break;
    case LZ_KERNEL_XOR:
        *out = x ^ y;
        break;
    case LZ_KERNEL_NOT:
        *out = ~x;
        break;
    case LZ_KERNEL_SHL:
        *out = far ? 0 : (int64_t)(a << y);
        break;
    case LZ_KERNEL_SHR:
        *out = x >> (far ? bits - 1 : y);
        break;
    case LZ_KERNEL_SHRU:
        *out = far ? 0 : (int64_t)((bits == 64 ? a : a & ((UINT64_C(1) << bits) - 1)) >> y);
        break;
    case LZ_KERNEL_GCD:
        *out = greatest_divisor(x, y);
        break;
    case LZ_KERNEL_POW:
        *out = power(x, y);
        break;
    default:
        return lz_errf(LZ_ERR_INTERNAL, "no operation %d of integers", op);
    }
    return NULL;
}

static bool compare(lz_kernel_op op, bool floats, lz_cell x, lz_cell y)
{
    bool less = floats ? x.f < y.f : x.i < y.i, equal = floats ? x.f == y.f : x.i == y.i;
    bool greater = floats ? x.f > y.f : x.i > y.i;
    switch (op) {
    case LZ_KERNEL_EQ:
        return equal;
    case LZ_KERNEL_NE:
        return !equal;
    case LZ_KERNEL_LT:
        return less;
    case LZ_KERNEL_LE:
        return less || equal;
    case LZ_KERNEL_GT:
        return greater;
    default:
        return greater || equal;
    }
}

static lz_cell bits_cell(lz_dtype from, lz_cell c, lz_dtype to)
{
    char room[16] = { 0 };
    lz_element_set(from, to_scalar(from, c), room);
    return from_scalar(lz_element_get(to, room));
}

static double next_after(lz_dtype d, double x, double y)
{
    return d == LZ_F32 ? (double)nextafterf((float)x, (float)y) : nextafter(x, y);
}

static lz_err *map_cell(const lz_low_node *n, const lz_cell *x, lz_cell *out)
{
    lz_kernel_op op = (lz_kernel_op)n->op;
    lz_dtype in = (lz_dtype)n->in[0]->dtype, d = (lz_dtype)n->dtype;
    if (op == LZ_KERNEL_SELECT) {
        *out = x[0].i ? x[1] : x[2];
    } else if (op >= LZ_KERNEL_EQ && op <= LZ_KERNEL_GE) {
        *out = (lz_cell){ .i = compare(op, lz_dtype_is_float(in), x[0], x[1]) };
    } else if (op == LZ_KERNEL_SIGNBIT) {
        *out = (lz_cell){ .i = signbit(x[0].f) != 0 };
    } else if (op == LZ_KERNEL_BITS) {
        *out = bits_cell(in, x[0], d);
    } else if (op == LZ_KERNEL_NEXTAFTER) {
        *out = (lz_cell){ .f = next_after(d, x[0].f, x[1].f) };
    } else if (is_float(n)) {
        *out = held(LZ_F64, (lz_cell){ .f = float_op(op, x[0].f, x[1].f, x[2].f) }, d);
    } else {
        LZ_TRY(int_op(op, (int)lz_dtype_size(d) * 8, x[0].i, x[1].i, &out->i));
        *out = held(LZ_I64, (lz_cell){ .i = d == LZ_BOOL ? out->i & 1 : out->i }, d);
    }
    return NULL;
}

/* ---- kinds of nodes ---- */

typedef lz_err *eval_fn(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out);

static lz_err *eval_input(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_input_attr *a = n->attr;
    const char *base = e->inputs[a->slot];
    int64_t at[LZ_MAX_DIMS];
    (void)in;
    for (int64_t i = 0; i < n->numel; i++) {
        int64_t where = a->offset;
        unflatten(i, n->sizes, n->ndim, at);
        for (int64_t d = 0; d < n->ndim; d++)
            where += at[d] * a->strides[d];
        out[i] = from_scalar(
            lz_element_get((lz_dtype)n->dtype, base + where * (int64_t)lz_dtype_size((lz_dtype)n->dtype)));
    }
    return NULL;
}

static lz_err *eval_scalar(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)in;
    *out = from_scalar(e->scalars[((const lz_low_scalar_attr *)n->attr)->slot]);
    return NULL;
}

static lz_err *eval_const(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    lz_scalar v = *(const lz_scalar *)n->attr;
    (void)e, (void)in;
    *out = from_scalar(v);
    if (is_float(n) && v.kind != LZ_SCALAR_FLOAT)
        out->f = (double)v.i;
    return NULL;
}

static lz_err *eval_iota(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_iota_attr *a = n->attr;
    int64_t at[LZ_MAX_DIMS];
    (void)e, (void)in;
    for (int64_t i = 0; i < n->numel; i++) {
        unflatten(i, n->sizes, n->ndim, at);
        out[i].i = a->offset;
        for (int64_t d = 0; d < n->ndim; d++)
            out[i].i += at[d] * a->strides[d];
    }
    return NULL;
}

static lz_err *eval_map(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        lz_cell x[3] = { { 0 } };
        for (int k = 0; k < n->nin; k++)
            x[k] = in[k][i];
        LZ_TRY(map_cell(n, x, &out[i]));
    }
    return NULL;
}

static lz_err *eval_cast(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)e;
    for (int64_t i = 0; i < n->numel; i++)
        out[i] = held((lz_dtype)n->in[0]->dtype, in[0][i], (lz_dtype)n->dtype);
    return NULL;
}

static void philox(uint32_t *c, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * c[0], q = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = { (uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k1,
                             (uint32_t)p };
        memcpy(c, next, sizeof next);
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

static lz_err *eval_philox(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        uint64_t seed = (uint64_t)in[0][i].i, stream = (uint64_t)in[1][i].i, at = (uint64_t)in[2][i].i;
        uint32_t c[4] = { (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)stream, (uint32_t)(stream >> 32) };
        philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
        out[i].i = c[n->op];
    }
    return NULL;
}

static lz_err *eval_check(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_check_attr *a = n->attr;
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        int64_t v = in[0][i].i;
        if (v >= a->size || v < (a->wrap ? -a->size : 0))
            return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %lld with size %lld",
                           (long long)v, (long long)a->dim, (long long)a->size);
        out[i].i = v < 0 ? v + a->size : v;
    }
    return NULL;
}

static lz_err *eval_index(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_index_attr *a = n->attr;
    const lz_low_node *x = n->in[0];
    int64_t at[LZ_MAX_DIMS], from[LZ_MAX_DIMS];
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        bool inside = true;
        unflatten(i, n->sizes, n->ndim, at);
        for (int64_t r = 0; r < x->ndim; r++) {
            from[r] = a->v[r];
            for (int64_t c = 0; c < n->ndim; c++)
                from[r] += a->v[x->ndim + r * n->ndim + c] * at[c];
            if (from[r] < 0 || from[r] >= x->sizes[r]) {
                if (!(a->bounded >> r & 1))
                    return lz_errf(LZ_ERR_INTERNAL, "an index map leaves its input");
                inside = false;
            }
        }
        out[i] = inside ? in[0][flatten(from, x->sizes, x->ndim)] : in[1][0];
    }
    return NULL;
}

static lz_err *eval_reshape(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)e;
    memcpy(out, in[0], (size_t)n->numel * sizeof *out);
    return NULL;
}

/* x joins what was found so far; index: of x. */
static void join(lz_kernel_reduction op, const lz_low_node *x, lz_cell v, int64_t index, bool first,
                 lz_cell *best, lz_cell *out)
{
    bool floats = is_float(x);
    bool better = op == LZ_KERNEL_RMAX || op == LZ_KERNEL_RARGMAX ? (floats ? v.f > best->f : v.i > best->i)
                                                                  : (floats ? v.f < best->f : v.i < best->i);
    better = first || (floats && isnan(v.f) && !isnan(best->f)) || (better && !(floats && isnan(best->f)));
    switch (op) {
    case LZ_KERNEL_RSUM:
        if (floats)
            best->f = first ? v.f : best->f + v.f;
        else
            best->i = first ? v.i : (int64_t)((uint64_t)best->i + (uint64_t)v.i);
        break;
    case LZ_KERNEL_RPROD:
        if (floats)
            best->f = first ? v.f : best->f * v.f;
        else
            best->i = first ? v.i : (int64_t)((uint64_t)best->i * (uint64_t)v.i);
        break;
    case LZ_KERNEL_RAND:
        best->i = first ? v.i : best->i & v.i;
        break;
    case LZ_KERNEL_ROR:
        best->i = first ? v.i : best->i | v.i;
        break;
    case LZ_KERNEL_RXOR:
        best->i = first ? v.i : best->i ^ v.i;
        break;
    default:
        if (better) {
            *best = v;
            out->i = index;
        }
    }
    if (op != LZ_KERNEL_RARGMAX && op != LZ_KERNEL_RARGMIN)
        *out = *best;
}

static lz_cell neutral(lz_kernel_reduction op)
{
    return op == LZ_KERNEL_RPROD  ? (lz_cell){ 1, 1 }
           : op == LZ_KERNEL_RAND ? (lz_cell){ 0, -1 }
                                  : (lz_cell){ 0, 0 };
}

static lz_err *eval_reduce(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    uint64_t dims = ((const lz_low_reduce_attr *)n->attr)->dims;
    const lz_low_node *x = n->in[0];
    int64_t at[LZ_MAX_DIMS], kept[LZ_MAX_DIMS], *seen;
    lz_cell *best;
    LZ_TRY(lz_arena_new(e->arena, &best, (size_t)n->numel + 1));
    LZ_TRY(lz_arena_new(e->arena, &seen, (size_t)n->numel + 1));
    for (int64_t i = 0; i < n->numel; i++)
        out[i] = neutral((lz_kernel_reduction)n->op);
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t k = 0;
        unflatten(i, x->sizes, x->ndim, at);
        for (int64_t d = 0; d < x->ndim; d++)
            if (!(dims >> d & 1))
                kept[k++] = at[d];
        k = flatten(kept, n->sizes, n->ndim);
        join((lz_kernel_reduction)n->op, x, in[0][i], seen[k], seen[k] == 0, &best[k], &out[k]);
        seen[k]++;
    }
    for (int64_t i = 0; i < n->numel; i++)
        if (n->op == LZ_KERNEL_RSUM || n->op == LZ_KERNEL_RPROD)
            out[i] = held(is_float(n) ? LZ_F64 : LZ_I64, out[i], (lz_dtype)n->dtype);
        else if (n->dtype == LZ_BOOL)
            out[i].i &= 1;
    return NULL;
}

static lz_err *eval_scan(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, inner = 1;
    const lz_low_node *x = n->in[0];
    (void)e;
    for (int64_t d = dim + 1; d < n->ndim; d++)
        inner *= n->sizes[d];
    for (int64_t i = 0; i < n->numel; i++) {
        int64_t k = i / inner % n->sizes[dim];
        if (k)
            continue;
        lz_cell best = { 0 }, found = { 0 };
        for (int64_t j = 0; j < n->sizes[dim]; j++) {
            lz_cell v = in[0][i + j * inner];
            bool tie = n->op >= LZ_KERNEL_RARGMAX && (is_float(x) ? v.f == best.f : v.i == best.i);
            join((lz_kernel_reduction)n->op, x, v, j, j == 0 || tie, &best, &found);
            if (is_float(x))
                best = held(LZ_F64, best, (lz_dtype)x->dtype);
            out[i + j * inner] = n->op >= LZ_KERNEL_RARGMAX ? found : best;
        }
    }
    return NULL;
}

static lz_err *eval_gather(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, at[LZ_MAX_DIMS];
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        unflatten(i, n->sizes, n->ndim, at);
        at[dim] = in[1][i].i;
        if (at[dim] < 0 || at[dim] >= n->in[0]->sizes[dim])
            return lz_errf(LZ_ERR_INTERNAL, "gather out of bounds");
        out[i] = in[0][flatten(at, n->in[0]->sizes, n->ndim)];
    }
    return NULL;
}

static lz_err *eval_cat(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    int64_t dim = ((const lz_low_dim_attr *)n->attr)->dim, at[LZ_MAX_DIMS];
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        int k = 0;
        unflatten(i, n->sizes, n->ndim, at);
        for (; at[dim] >= n->in[k]->sizes[dim]; k++)
            at[dim] -= n->in[k]->sizes[dim];
        out[i] = in[k][flatten(at, n->in[k]->sizes, n->ndim)];
    }
    return NULL;
}

static lz_err *eval_update(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_update_attr *a = n->attr;
    const lz_low_node *part = n->in[1];
    int64_t at[LZ_MAX_DIMS];
    (void)e;
    memcpy(out, in[0], (size_t)n->numel * sizeof *out);
    for (int64_t i = 0; i < part->numel; i++) {
        int64_t where = a->offset;
        unflatten(i, part->sizes, part->ndim, at);
        for (int64_t d = 0; d < part->ndim; d++)
            where += at[d] * a->strides[d];
        out[where] = in[1][i];
    }
    return NULL;
}

/* ---- kernels ---- */

static lz_cell product(const lz_low_node *n, lz_cell sum, lz_cell x, lz_cell y)
{
    if (is_float(n))
        return (lz_cell){ .f = sum.f + x.f * y.f };
    return (lz_cell){ .i = (int64_t)((uint64_t)sum.i + (uint64_t)x.i * (uint64_t)y.i) };
}

static lz_cell rounded(const lz_low_node *n, lz_cell c)
{
    return held(is_float(n) ? LZ_F64 : LZ_I64, c, (lz_dtype)n->dtype);
}

static lz_err *eval_matmul(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    int64_t rows = n->sizes[1], cols = n->sizes[2], depth = n->in[0]->sizes[2];
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        int64_t batch = i / (rows * cols), r = i / cols % rows, c = i % cols;
        lz_cell sum = { 0 };
        for (int64_t k = 0; k < depth; k++)
            sum =
                product(n, sum, in[0][(batch * rows + r) * depth + k], in[1][(batch * depth + k) * cols + c]);
        out[i] = rounded(n, sum);
    }
    return NULL;
}

/* All three convolutions are one sum over (image, output channel, input channel of the
 * group, output position, window position); they differ in where it goes. */
static lz_err *eval_conv(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const int64_t *p = n->attr, d = p[0], *stride = p + 1, *pad = stride + d, *dil = pad + d, groups = dil[d];
    bool forward = n->op == LZ_CALL_CONV, to_input = n->op == LZ_CALL_CONV_INPUT;
    const lz_low_node *y = forward ? n : n->in[0], *w = forward || to_input ? n->in[1] : n;
    const lz_low_node *x = forward ? n->in[0] : to_input ? n : n->in[1];
    int64_t yi[LZ_MAX_DIMS], wi[LZ_MAX_DIMS], xi[LZ_MAX_DIMS], per = w->sizes[0] / groups;
    (void)e;
    memset(out, 0, (size_t)n->numel * sizeof *out);
    for (int64_t a = 0; a < y->numel; a++)
        for (int64_t c = 0; c < w->numel; c++) {
            bool inside = true;
            unflatten(a, y->sizes, y->ndim, yi);
            unflatten(c, w->sizes, w->ndim, wi);
            if (yi[1] != wi[0])
                continue;
            xi[0] = yi[0];
            xi[1] = wi[0] / per * w->sizes[1] + wi[1];
            for (int64_t k = 0; k < d; k++) {
                xi[2 + k] = yi[2 + k] * stride[k] - pad[k] + wi[2 + k] * dil[k];
                inside = inside && xi[2 + k] >= 0 && xi[2 + k] < x->sizes[2 + k];
            }
            if (!inside)
                continue;
            int64_t xa = flatten(xi, x->sizes, x->ndim);
            if (forward)
                out[a] = product(n, out[a], in[0][xa], in[1][c]);
            else if (to_input)
                out[xa] = product(n, out[xa], in[0][a], in[1][c]);
            else
                out[c] = product(n, out[c], in[0][a], in[1][xa]);
        }
    for (int64_t i = 0; i < n->numel; i++)
        out[i] = rounded(n, out[i]);
    return NULL;
}

/* Greatest elements of windows, or where they are; out of bounds counts for nothing. */
static lz_err *eval_pool(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const int64_t *p = n->attr, *x = n->in[0]->sizes + n->ndim - 2, *y = n->sizes + n->ndim - 2;
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        const lz_cell *plane = in[0] + i / (y[0] * y[1]) * x[0] * x[1];
        int64_t top = i / y[1] % y[0] * p[2] - p[4], left = i % y[1] * p[3] - p[5], best = -1;
        for (int64_t k = 0; k < p[0] * p[1]; k++) {
            int64_t r = top + k / p[1] * p[6], c = left + k % p[1] * p[7];
            bool inside = r >= 0 && r < x[0] && c >= 0 && c < x[1];
            if (inside
                && (best < 0 || plane[r * x[1] + c].f > plane[best].f
                    || (isnan(plane[r * x[1] + c].f) && !isnan(plane[best].f))))
                best = r * x[1] + c;
        }
        if (n->op == LZ_CALL_POOL_AT)
            out[i].i = best;
        else
            out[i] = plane[best];
    }
    return NULL;
}

/* NaN is the greatest. */
static bool before(const lz_low_node *x, lz_cell a, lz_cell b)
{
    return is_float(x) ? a.f < b.f || (isnan(b.f) && !isnan(a.f)) : a.i < b.i;
}

/* The first k by selection; equal ones keep their order. */
static lz_err *eval_sort(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const int64_t *p = n->attr;
    const lz_low_node *x = n->in[0];
    int64_t len = x->ndim ? x->sizes[x->ndim - 1] : 1, k = n->ndim ? n->sizes[n->ndim - 1] : 1;
    bool down = n->op == LZ_CALL_SORT ? p[0] : p[1];
    bool *taken;
    if (!k || !n->numel)
        return NULL;
    LZ_TRY(lz_arena_new(e->arena, &taken, (size_t)len));
    for (int64_t row = 0; row < n->numel / k; row++) {
        const lz_cell *v = in[0] + row * len;
        memset(taken, 0, (size_t)len);
        for (int64_t j = 0; j < k; j++) {
            int64_t best = -1;
            for (int64_t i = 0; i < len; i++)
                if (!taken[i] && (best < 0 || (down ? before(x, v[best], v[i]) : before(x, v[i], v[best]))))
                    best = i;
            taken[best] = true;
            out[row * k + j].i = best;
        }
    }
    return NULL;
}

/* The element that so many others come before. */
static lz_err *eval_rank(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_node *x = n->in[0];
    int64_t len = x->ndim ? x->sizes[x->ndim - 1] : 1, rank = ((const int64_t *)n->attr)[0];
    (void)e;
    for (int64_t row = 0; row < n->numel; row++)
        for (int64_t i = 0; i < len; i++) {
            const lz_cell *v = in[0] + row * len;
            int64_t found = 0;
            for (int64_t k = 0; k < len; k++)
                found += before(x, v[k], v[i]) || (k < i && !before(x, v[i], v[k]));
            if (found == rank)
                out[row].i = i;
        }
    return NULL;
}

static lz_err *eval_contains(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_node *x = n->in[0], *set = n->in[1];
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        out[i].i = 0;
        for (int64_t k = 0; k < set->numel; k++)
            out[i].i |= is_float(x) ? in[0][i].f == in[1][k].f : in[0][i].i == in[1][k].i;
    }
    return NULL;
}

static lz_err *eval_draw(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    (void)e;
    for (int64_t i = 0; i < n->numel; i++)
        out[i].f = lz_draw_one((lz_distribution) * (const int64_t *)n->attr, (uint64_t)in[0][i].i, in[1][i].f,
                               in[2][i].f);
    return NULL;
}

static lz_err *eval_count(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const int64_t *p = n->attr;
    (void)e;
    for (int64_t i = 0; i < n->numel; i++)
        out[i].i = 0;
    for (int64_t i = 0; i < n->in[0]->numel; i++) {
        int64_t k = in[0][i].i;
        if (p[0] && (k < 0 || k >= n->numel))
            return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %lld with size %lld",
                           (long long)k, (long long)p[1], (long long)n->numel);
        out[k].i++;
    }
    return NULL;
}

/* Whether a binary search goes on behind that element. */
static bool is_behind(const lz_low_node *x, lz_cell element, lz_cell v, bool right)
{
    if (is_float(x))
        return right ? !(element.f > v.f) : !(element.f >= v.f);
    return right ? element.i <= v.i : element.i < v.i;
}

static lz_err *eval_search(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const lz_low_node *seq = n->in[0], *v = n->in[1];
    bool right = ((const int64_t *)n->attr)[0];
    int64_t len = seq->sizes[seq->ndim - 1], cols = n->ndim ? n->sizes[n->ndim - 1] : 1;
    (void)e;
    for (int64_t i = 0; i < n->numel; i++) {
        const lz_cell *row = in[0] + (seq->ndim == 1 ? 0 : i / cols * len);
        int64_t begin = 0, end = len;
        while (begin < end) {
            int64_t middle = begin + (end - begin) / 2;
            bool behind = is_behind(v, row[middle], in[1][i], right);
            begin = behind ? middle + 1 : begin;
            end = behind ? end : middle;
        }
        out[i].i = begin;
    }
    return NULL;
}

static lz_err *eval_scatter(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    const int64_t *p = n->attr;
    const lz_low_node *index = n->in[1];
    int64_t at[LZ_MAX_DIMS];
    (void)e;
    memcpy(out, in[0], (size_t)n->numel * sizeof *out);
    for (int64_t i = 0; i < index->numel; i++) {
        unflatten(i, index->sizes, index->ndim, at);
        int64_t size = n->ndim ? n->sizes[p[1]] : 1, k = in[1][i].i;
        if (p[2] && (k < (p[4] ? -size : 0) || k >= size))
            return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %lld with size %lld",
                           (long long)k, (long long)p[3], (long long)size);
        at[p[1]] = k < 0 ? k + size : k;
        lz_cell *to = &out[flatten(at, n->sizes, n->ndim)], v = in[2][i];
        if (n->nin == 4)
            v = rounded(n, (lz_cell){ .f = v.f * in[3][0].f });
        static const lz_kernel_op ops[] = { LZ_KERNEL_ADD, LZ_KERNEL_ADD, LZ_KERNEL_MUL, LZ_KERNEL_MIN,
                                            LZ_KERNEL_MAX };
        if (p[0] == LZ_SCATTER_SET) {
            *to = v;
        } else if (n->dtype == LZ_BOOL) {
            to->i = p[0] == LZ_SCATTER_ADD || p[0] == LZ_SCATTER_MAX ? to->i | v.i : to->i & v.i;
        } else if (is_float(n)) {
            to->f = rounded(n, (lz_cell){ .f = float_op(ops[p[0]], to->f, v.f, 0) }).f;
        } else {
            LZ_TRY(int_op(ops[p[0]], 64, to->i, v.i, &to->i));
            *to = rounded(n, *to);
        }
    }
    return NULL;
}

/* Runs the kernel on dense operands. What routines compute has a test of its own (kernel/matrices). */
static lz_err *run_routine(lz_eval *e, const lz_low_node *call, char **results)
{
    lz_kernel_call k = { .params = call->attr };
    for (int i = 0; i < call->nin; i++) {
        const lz_low_node *x = call->in[i];
        lz_shape strides;
        int64_t *copy;
        char *data;
        LZ_TRY(lz_strides_contiguous(lz_low_node_sizes(x), &strides));
        LZ_TRY(lz_arena_new(e->arena, &copy, (size_t)x->ndim + 1));
        LZ_TRY(lz_arena_new(e->arena, &data, (size_t)x->numel * sizeof(double) + 1));
        memcpy(copy, strides.v, (size_t)x->ndim * sizeof *copy);
        lz_eval_store((lz_dtype)x->dtype, e->cells[x->id], x->numel, data);
        k.in[i] = (lz_strided){ data, (lz_dtype)x->dtype, x->ndim, x->sizes, copy };
    }
    LZ_TRY(lz_arena_new(e->arena, results, lz_low_buffer_bytes(call) + 1));
    k.out = (lz_strided){ *results, (lz_dtype)call->dtype, call->ndim, call->sizes, NULL };
    return lz_matrices(&k);
}

static lz_err *read_result(const lz_low_node *n, const char *from, lz_cell *out)
{
    for (int64_t i = 0; i < n->numel; i++)
        out[i] = from_scalar(
            lz_element_get((lz_dtype)n->dtype, from + (size_t)i * lz_dtype_size((lz_dtype)n->dtype)));
    return NULL;
}

static lz_err *eval_matrices(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    char *results;
    (void)in;
    LZ_TRY(run_routine(e, n, &results));
    return read_result(n, results, out);
}

static lz_err *eval_beside(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    char *results;
    (void)in;
    LZ_TRY(run_routine(e, n->in[0], &results));
    return read_result(n, results + *(const int64_t *)n->attr, out);
}

static lz_err *eval_call(lz_eval *e, const lz_low_node *n, const lz_cell *const *in, lz_cell *out)
{
    static eval_fn *const calls[LZ_CALLS] = {
        [LZ_CALL_MATMUL] = eval_matmul,     [LZ_CALL_CONV] = eval_conv,
        [LZ_CALL_CONV_INPUT] = eval_conv,   [LZ_CALL_CONV_WEIGHT] = eval_conv,
        [LZ_CALL_SORT] = eval_sort,         [LZ_CALL_TOPK] = eval_sort,
        [LZ_CALL_SEARCH] = eval_search,     [LZ_CALL_SCATTER] = eval_scatter,
        [LZ_CALL_POOL_MAX] = eval_pool,     [LZ_CALL_POOL_AT] = eval_pool,
        [LZ_CALL_RANK] = eval_rank,         [LZ_CALL_CONTAINS] = eval_contains,
        [LZ_CALL_COUNT] = eval_count,       [LZ_CALL_DRAW] = eval_draw,
        [LZ_CALL_MATRICES] = eval_matrices, [LZ_CALL_BESIDE] = eval_beside,
    };
    return calls[n->op](e, n, in, out);
}

static eval_fn *const kinds[LZ_LOW_KINDS] = {
    [LZ_LOW_INPUT] = eval_input,     [LZ_LOW_SCALAR] = eval_scalar, [LZ_LOW_CONST] = eval_const,
    [LZ_LOW_IOTA] = eval_iota,       [LZ_LOW_MAP] = eval_map,       [LZ_LOW_CAST] = eval_cast,
    [LZ_LOW_PHILOX] = eval_philox,   [LZ_LOW_CHECK] = eval_check,   [LZ_LOW_INDEX] = eval_index,
    [LZ_LOW_RESHAPE] = eval_reshape, [LZ_LOW_REDUCE] = eval_reduce, [LZ_LOW_SCAN] = eval_scan,
    [LZ_LOW_GATHER] = eval_gather,   [LZ_LOW_CAT] = eval_cat,       [LZ_LOW_UPDATE] = eval_update,
    [LZ_LOW_CALL] = eval_call,
};

/* ---- all of them ---- */

static lz_err *grow(lz_eval *e, size_t n)
{
    lz_cell **cells;
    if (n <= e->cap)
        return NULL;
    LZ_TRY(lz_arena_new(e->arena, &cells, 2 * n));
    for (size_t i = 0; i < e->cap; i++)
        cells[i] = e->cells[i];
    e->cells = cells;
    e->cap = 2 * n;
    return NULL;
}

static lz_err *eval_one(lz_eval *e, const lz_low_node *n)
{
    const lz_cell **in;
    LZ_TRY(lz_arena_new(e->arena, &in, (size_t)n->nin + 1));
    for (int i = 0; i < n->nin; i++)
        in[i] = e->cells[n->in[i]->id];
    LZ_TRY(lz_arena_new(e->arena, &e->cells[n->id], (size_t)n->numel + 1));
    return kinds[n->kind](e, n, in, e->cells[n->id]);
}

lz_err *lz_eval_node(lz_eval *e, const lz_lower *b, const lz_low_node *n, const lz_cell **out)
{
    bool *wanted;
    LZ_TRY(grow(e, b->n_nodes));
    LZ_TRY(lz_arena_new(e->arena, &wanted, b->n_nodes));
    wanted[n->id] = true;
    for (uint32_t i = n->id + 1; i-- > 0;)
        for (int k = 0; wanted[i] && !e->cells[i] && k < b->nodes[i]->nin; k++)
            wanted[b->nodes[i]->in[k]->id] = true;
    for (uint32_t i = 0; i <= n->id; i++)
        if (wanted[i] && !e->cells[i])
            LZ_TRY(eval_one(e, b->nodes[i]));
    *out = e->cells[n->id];
    return NULL;
}
