/* slow_eval.h - kernels evaluated the plain way: one thread, one element after the other,
 * every value a double or an int64_t. What the tile interpreter is compared with.
 *
 * It knows primitive operations only: functions are written out first, by
 * lz_kernel_expand. f32 is kept in a double and rounded after each operation, which for
 * everything IEEE 754 defines is the same as computing in f32. A reduction collects its
 * row and adds it up as reduce.h says. */
#ifndef LZ_TEST_SLOW_EVAL_H
#define LZ_TEST_SLOW_EVAL_H

#include "check.h"
#include "jit/kernel_ir.h"
#include "jit/trig_reduce.h"
#include <math.h>
#include <stdlib.h>

typedef union num {
    double f;
    int64_t i;
} num;

typedef struct slow {
    const lz_kernel_ir *ir;
    const lz_kernel_args *args;
    num *vals, *scans; /* per node */
    int64_t *scan_at;
    num **rows; /* per node: what a reduction has collected */
    int64_t index[LZ_KERNEL_DIMS], element, length;
    bool failed;
} slow;

static bool slow_float(int type)
{
    return type == LZ_KERNEL_F32 || type == LZ_KERNEL_F64;
}

static num slow_f(int type, double v)
{
    return (num){ .f = type == LZ_KERNEL_F32 ? (double)(float)v : v };
}

static num slow_i(int type, uint64_t v)
{
    int64_t wide = (int64_t)v;
    return (num){ .i = type == LZ_KERNEL_BOOL ? wide & 1 : type == LZ_KERNEL_I32 ? (int32_t)wide : wide };
}

/* Half precision by arithmetic rather than by bits. */
static uint16_t slow_half(double x)
{
    unsigned sign = signbit(x) ? 0x8000u : 0, bits;
    double a = fabs(x);
    int e = 0;
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

static double slow_of_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double a = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -a : a;
}

/* 8 bits of mantissa: to the nearest multiple of the last place. */
static float slow_to_brain(double x)
{
    int e;
    if (!isfinite(x) || x == 0)
        return (float)x;
    frexp(x, &e);
    int place = e - 8 < -133 ? -133 : e - 8;
    return (float)ldexp(rint(ldexp(x, -place)), place);
}

static num slow_get(int dtype, const void *base, int64_t at)
{
    uint16_t h;
    uint32_t w;
    float f;
    switch (dtype) {
    case LZ_BOOL:
    case LZ_U8:
        return (num){ .i = ((const uint8_t *)base)[at] };
    case LZ_I8:
        return (num){ .i = ((const int8_t *)base)[at] };
    case LZ_I16:
        return (num){ .i = ((const int16_t *)base)[at] };
    case LZ_I32:
        return (num){ .i = ((const int32_t *)base)[at] };
    case LZ_I64:
        return (num){ .i = ((const int64_t *)base)[at] };
    case LZ_F32:
        return (num){ .f = (double)((const float *)base)[at] };
    case LZ_F64:
        return (num){ .f = ((const double *)base)[at] };
    case LZ_F16:
        return (num){ .f = slow_of_half(((const uint16_t *)base)[at]) };
    default:
        memcpy(&h, (const uint16_t *)base + at, sizeof h);
        w = (uint32_t)h << 16;
        memcpy(&f, &w, sizeof f);
        return (num){ .f = (double)f };
    }
}

static void slow_put(int dtype, void *base, int64_t at, num v)
{
    uint32_t w;
    float f = slow_to_brain(v.f);
    memcpy(&w, &f, sizeof w);
    switch (dtype) {
    case LZ_BOOL:
    case LZ_U8:
    case LZ_I8:
        ((uint8_t *)base)[at] = (uint8_t)v.i;
        return;
    case LZ_I16:
        ((int16_t *)base)[at] = (int16_t)v.i;
        return;
    case LZ_I32:
        ((int32_t *)base)[at] = (int32_t)v.i;
        return;
    case LZ_I64:
        ((int64_t *)base)[at] = v.i;
        return;
    case LZ_F32:
        ((float *)base)[at] = (float)v.f;
        return;
    case LZ_F64:
        ((double *)base)[at] = v.f;
        return;
    case LZ_F16:
        ((uint16_t *)base)[at] = slow_half(v.f);
        return;
    default:
        ((uint16_t *)base)[at] = isnan(v.f) ? 0x7fc0 : (uint16_t)(w >> 16);
    }
}

static int64_t slow_whole(int type, double x)
{
    if (type == LZ_KERNEL_I32)
        return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
    return fabs(x) < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static num slow_cast(int from, int to, num x)
{
    if (to == LZ_KERNEL_BOOL)
        return (num){ .i = slow_float(from) ? x.f != 0 : x.i != 0 };
    if (!slow_float(to)) {
        num whole = { .i = slow_whole(to, x.f) };
        return slow_float(from) ? whole : slow_i(to, (uint64_t)x.i);
    }
    if (slow_float(from))
        return slow_f(to, x.f);
    return (num){ .f = to == LZ_KERNEL_F32 ? (double)(float)x.i : (double)x.i };
}

static num slow_narrow(int dtype, num x)
{
    int64_t space = 0;
    slow_put(dtype, &space, 0, x);
    return slow_get(dtype, &space, 0);
}

static double slow_float_op(int op, bool single, const num *x)
{
    double a = x[0].f, b = x[1].f;
    switch (op) {
    case LZ_KERNEL_ADD:
        return a + b;
    case LZ_KERNEL_SUB:
        return a - b;
    case LZ_KERNEL_MUL:
        return a * b;
    case LZ_KERNEL_DIV:
        return a / b;
    case LZ_KERNEL_FMA:
        return single ? (double)fmaf((float)a, (float)b, (float)x[2].f) : fma(a, b, x[2].f);
    case LZ_KERNEL_FMOD:
        return fmod(a, b);
    case LZ_KERNEL_REMAINDER:
        a = fmod(a, b);
        return a != 0 && (a < 0) != (b < 0) ? a + b : a;
    case LZ_KERNEL_NEG:
        return -a;
    case LZ_KERNEL_ABS:
        return fabs(a);
    case LZ_KERNEL_MIN:
        return isnan(a) || a < b ? a : b;
    case LZ_KERNEL_MAX:
        return isnan(a) || a > b ? a : b;
    case LZ_KERNEL_FMIN:
        return isnan(b) || a <= b ? a : b;
    case LZ_KERNEL_FMAX:
        return isnan(b) || a >= b ? a : b;
    case LZ_KERNEL_FLOOR:
        return floor(a);
    case LZ_KERNEL_CEIL:
        return ceil(a);
    case LZ_KERNEL_TRUNC:
        return trunc(a);
    case LZ_KERNEL_ROUND:
        return rint(a);
    case LZ_KERNEL_SQRT:
        return sqrt(a);
    case LZ_KERNEL_COPYSIGN:
        return copysign(a, b);
    case LZ_KERNEL_NEXTAFTER:
        return single ? (double)nextafterf((float)a, (float)b) : nextafter(a, b);
    case LZ_KERNEL_TURN_HI:
        return lz_trig_hi(a);
    case LZ_KERNEL_TURN_LO:
        return lz_trig_lo(a);
    default:
        fail_msg("no %s here", lz_kernel_op_text((lz_kernel_op)op));
        return 0;
    }
}

static uint64_t slow_magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static uint64_t slow_gcd(int64_t x, int64_t y)
{
    uint64_t a = slow_magnitude(x), b = slow_magnitude(y);
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static uint64_t slow_pow(int64_t x, int64_t y)
{
    if (y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? UINT64_MAX : 1) : 0;
    uint64_t p = 1, base = (uint64_t)x;
    for (; y; y >>= 1, base *= base)
        p *= y & 1 ? base : 1;
    return p;
}

static uint64_t slow_shift(int op, int type, int64_t x, int64_t n)
{
    bool out = n < 0 || n >= (type == LZ_KERNEL_I32 ? 32 : 64);
    uint64_t u = type == LZ_KERNEL_I32 ? (uint32_t)x : (uint64_t)x;
    if (op == LZ_KERNEL_SHR)
        return !out ? (uint64_t)(x >> n) : x < 0 ? UINT64_MAX : 0;
    return out ? 0 : op == LZ_KERNEL_SHL ? u << n : u >> n;
}

static uint64_t slow_divide(int op, int64_t x, int64_t y) /* y is not 0 */
{
    int64_t q = y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y, r = y == -1 ? 0 : x % y;
    bool down = r != 0 && (r < 0) != (y < 0);
    return op == LZ_KERNEL_IDIV         ? (uint64_t)q
           : op == LZ_KERNEL_IDIV_FLOOR ? (uint64_t)(q - down)
           : op == LZ_KERNEL_FMOD       ? (uint64_t)r
                                        : (uint64_t)(down ? r + y : r);
}

static bool slow_divides(int op)
{
    return op == LZ_KERNEL_IDIV || op == LZ_KERNEL_IDIV_FLOOR || op == LZ_KERNEL_FMOD
           || op == LZ_KERNEL_REMAINDER;
}

static uint64_t slow_int_op(int op, int type, int64_t x, int64_t y)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case LZ_KERNEL_ADD:
        return a + b;
    case LZ_KERNEL_SUB:
        return a - b;
    case LZ_KERNEL_MUL:
        return a * b;
    case LZ_KERNEL_NEG:
        return 0 - a;
    case LZ_KERNEL_ABS:
        return slow_magnitude(x);
    case LZ_KERNEL_MIN:
        return x < y ? a : b;
    case LZ_KERNEL_MAX:
        return x > y ? a : b;
    case LZ_KERNEL_AND:
        return a & b;
    case LZ_KERNEL_OR:
        return a | b;
    case LZ_KERNEL_XOR:
        return a ^ b;
    case LZ_KERNEL_NOT:
        return ~a;
    case LZ_KERNEL_GCD:
        return slow_gcd(x, y);
    case LZ_KERNEL_POW:
        return slow_pow(x, y);
    default:
        return slow_shift(op, type, x, y);
    }
}

static bool slow_compare(int op, int type, num x, num y)
{
    bool lt = slow_float(type) ? x.f < y.f : x.i < y.i;
    bool eq = slow_float(type) ? x.f == y.f : x.i == y.i;
    return op == LZ_KERNEL_EQ ? eq : op == LZ_KERNEL_NE ? !eq : op == LZ_KERNEL_LT ? lt : lt || eq;
}

static num slow_bits(int type, num x)
{
    float f = (float)x.f;
    int32_t i = (int32_t)x.i;
    if (type == LZ_KERNEL_F32) {
        memcpy(&i, &f, sizeof i);
        return (num){ .i = i };
    }
    if (type == LZ_KERNEL_I32) {
        memcpy(&f, &i, sizeof f);
        return (num){ .f = (double)f };
    }
    return x; /* 64 bits either way: the union's */
}

static num slow_op(slow *s, int op, int type, const num *x)
{
    if (op == LZ_KERNEL_SELECT)
        return x[0].i ? x[1] : x[2];
    if (op >= LZ_KERNEL_EQ && op <= LZ_KERNEL_GE)
        return (num){ .i = slow_compare(op, type, x[0], x[1]) };
    if (op == LZ_KERNEL_BITS)
        return slow_bits(type, x[0]);
    if (op == LZ_KERNEL_SIGNBIT)
        return (num){ .i = signbit(x[0].f) != 0 };
    if (op == LZ_KERNEL_TURN_COUNT)
        return (num){ .i = lz_trig_count(x[0].f) };
    if (slow_float(type))
        return slow_f(type, slow_float_op(op, type == LZ_KERNEL_F32, x));
    if (slow_divides(op) && x[1].i == 0) {
        s->failed = true;
        return x[0];
    }
    uint64_t v = slow_divides(op) ? slow_divide(op, x[0].i, x[1].i) : slow_int_op(op, type, x[0].i, x[1].i);
    return slow_i(type, v);
}

static num slow_philox(int word, num seed, num stream, num index)
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

static const int slow_combiners[LZ_KERNEL_REDUCES] = { LZ_KERNEL_ADD, LZ_KERNEL_MUL, LZ_KERNEL_MAX,
                                                       LZ_KERNEL_MIN, LZ_KERNEL_AND, LZ_KERNEL_OR,
                                                       LZ_KERNEL_XOR };

static num slow_combine(slow *s, int kind, int type, num x, num y)
{
    return slow_op(s, slow_combiners[kind], type, (const num[3]){ x, y });
}

static num slow_neutral(int kind, int type)
{
    static const int64_t lowest[LZ_KERNEL_TYPES] = { 0, INT32_MIN, INT64_MIN };
    static const int64_t highest[LZ_KERNEL_TYPES] = { 1, INT32_MAX, INT64_MAX };
    const double f[LZ_KERNEL_REDUCES] = { 0, 1, (double)-INFINITY, (double)INFINITY };
    const int64_t i[LZ_KERNEL_REDUCES] = { 0, 1, lowest[type], highest[type], -1, 0, 0 };
    num number = { .f = f[kind] };
    return slow_float(type) ? number : slow_i(type, (uint64_t)i[kind]);
}

/* Is x the one to remember instead of best? `ties`: also if it is as good. */
static bool slow_better(int kind, int type, num x, num best, bool ties)
{
    if (slow_float(type) && (isnan(x.f) || isnan(best.f)))
        return isnan(x.f) && (ties || !isnan(best.f));
    if (slow_compare(LZ_KERNEL_EQ, type, x, best))
        return ties;
    return slow_compare(LZ_KERNEL_LT, type, x, best) == (kind == LZ_KERNEL_RARGMIN);
}

static bool slow_arg(int kind)
{
    return kind == LZ_KERNEL_RARGMAX || kind == LZ_KERNEL_RARGMIN;
}

static num slow_first_best(int kind, int type, const num *x, int64_t length)
{
    int64_t at = 0;
    for (int64_t i = 1; i < length; i++)
        at = slow_better(kind, type, x[i], x[at], false) ? i : at;
    return (num){ .i = at };
}

/* `from` numbers to `to`, by halves. */
static void slow_halve(slow *s, int kind, int type, num *x, int64_t from, int64_t to)
{
    for (int64_t half = from / 2; half >= to; half /= 2) {
        for (int64_t j = 0; j < half; j++)
            x[j] = slow_combine(s, kind, type, x[j], x[j + half]);
    }
}

/* The chunk of x that begins at c, as far as `end`, into as many sums as a block has. */
static void slow_chunk(slow *s, int kind, int type, const num *x, int64_t c, int64_t end, num *sums)
{
    bool rows = s->ir->mode == LZ_KERNEL_ROWS;
    int64_t lanes = rows ? 64 : 4, chunk = rows ? 1024 : 128, many = rows ? 16 : 1;
    int wide = kind == LZ_KERNEL_RSUM && type == LZ_KERNEL_F32 ? LZ_KERNEL_F64 : type;
    num lane[64];
    for (int64_t j = 0; j < lanes; j++) {
        lane[j] = slow_neutral(kind, type);
        for (int64_t i = c + j; i < end && i < c + chunk; i += lanes)
            lane[j] = slow_combine(s, kind, type, lane[j], x[i]);
    }
    slow_halve(s, kind, type, lane, lanes, many);
    for (int64_t j = 0; j < many; j++)
        sums[j] = slow_combine(s, kind, wide, sums[j], lane[j]);
}

/* Blocks of chunks of lanes, as reduce.h has it. */
static num slow_sum(slow *s, int kind, int type, const num *x, int64_t length)
{
    bool rows = s->ir->mode == LZ_KERNEL_ROWS;
    int64_t chunk = rows ? 1024 : 128, many = rows ? 16 : 1;
    int64_t chunks = (length + chunk - 1) / chunk, block = chunk * ((chunks + 63) / 64);
    int wide = kind == LZ_KERNEL_RSUM && type == LZ_KERNEL_F32 ? LZ_KERNEL_F64 : type;
    num total = slow_neutral(kind, wide);
    for (int64_t from = 0; from < length; from += block) {
        int64_t end = from + block < length ? from + block : length;
        num sums[16];
        for (int64_t j = 0; j < many; j++)
            sums[j] = slow_neutral(kind, wide);
        for (int64_t c = from; c < end; c += chunk)
            slow_chunk(s, kind, type, x, c, end, sums);
        slow_halve(s, kind, wide, sums, many, 1);
        total = slow_combine(s, kind, wide, total, sums[0]);
    }
    return slow_float(type) ? slow_f(type, total.f) : total;
}

static num slow_reduce(slow *s, uint32_t v)
{
    const lz_kernel_node *n = &s->ir->nodes.data[v];
    int type = s->ir->nodes.data[n->in[0]].type;
    return slow_arg(n->attr) ? slow_first_best(n->attr, type, s->rows[v], s->length)
                             : slow_sum(s, n->attr, type, s->rows[v], s->length);
}

static num slow_scan(slow *s, uint32_t v)
{
    const lz_kernel_node *n = &s->ir->nodes.data[v];
    int type = s->ir->nodes.data[n->in[0]].type;
    num x = s->vals[n->in[0]];
    if (slow_arg(n->attr)) {
        if (s->element == 0 || slow_better(n->attr, type, x, s->scans[v], true)) {
            s->scans[v] = x;
            s->scan_at[v] = s->element;
        }
        return (num){ .i = s->scan_at[v] };
    }
    num so_far = s->element ? s->scans[v] : slow_neutral(n->attr, type);
    return s->scans[v] = slow_combine(s, n->attr, type, so_far, x);
}

static int64_t slow_position(const slow *s, int access)
{
    const lz_kernel_access *a = &s->args->access[access];
    int dims = s->ir->n_outer + (s->ir->access.data[access].vary == LZ_KERNEL_ELEMENT ? s->ir->n_row : 0);
    int64_t at = a->offset;
    for (int d = 0; d < dims; d++)
        at += a->strides[d] * s->index[d];
    return at;
}

static num slow_load(const slow *s, const lz_kernel_node *n, int64_t extra)
{
    int dtype = s->ir->access.data[n->attr].dtype;
    return slow_get(dtype, s->args->access[n->attr].base, slow_position(s, n->attr) + extra);
}

static num slow_check(slow *s, const lz_kernel_node *n, int64_t index, int64_t size)
{
    int64_t at = index < 0 && n->attr & 1 ? index + size : index;
    s->failed = s->failed || at < 0 || at >= size;
    return (num){ .i = s->failed ? 0 : at };
}

static num slow_const(const lz_kernel_node *n)
{
    float f;
    int32_t i;
    num x = { .i = n->bits };
    memcpy(&f, &n->bits, sizeof f);
    memcpy(&i, &n->bits, sizeof i);
    if (n->type == LZ_KERNEL_F32)
        x.f = (double)f;
    if (n->type == LZ_KERNEL_I32)
        x.i = i;
    return x;
}

static num slow_param(const slow *s, const lz_kernel_node *n)
{
    lz_kernel_scalar x = s->args->params[n->attr];
    if (n->type == LZ_KERNEL_BOOL)
        return (num){ .i = x.i != 0 };
    return slow_float(n->type) ? slow_f(n->type, x.f) : slow_i(n->type, (uint64_t)x.i);
}

static void slow_value(slow *s, uint32_t v)
{
    const lz_kernel_node *n = &s->ir->nodes.data[v];
    num x[3] = { { 0 } }, *out = &s->vals[v];
    int count = lz_kernel_node_operands(n), last = n->type;
    for (int i = 0; i < count; i++) {
        x[i] = s->vals[n->in[i]];
        last = s->ir->nodes.data[n->in[i]].type;
    }
    switch (n->op) {
    case LZ_KERNEL_NODE_CONST:
        *out = slow_const(n);
        return;
    case LZ_KERNEL_NODE_PARAM:
        *out = slow_param(s, n);
        return;
    case LZ_KERNEL_NODE_CAST:
        *out = slow_cast(last, n->type, x[0]);
        return;
    case LZ_KERNEL_NODE_NARROW:
        *out = slow_narrow(n->attr, x[0]);
        return;
    case LZ_KERNEL_NODE_LOAD:
        *out = slow_load(s, n, 0);
        return;
    case LZ_KERNEL_NODE_LOAD_IF:
        *out = x[0].i ? slow_load(s, n, 0) : x[1];
        return;
    case LZ_KERNEL_NODE_GATHER:
        *out = s->failed ? x[0] : slow_load(s, n, x[0].i);
        return;
    case LZ_KERNEL_NODE_GATHER_IF:
        *out = x[1].i && !s->failed ? slow_load(s, n, x[0].i) : x[2];
        return;
    case LZ_KERNEL_NODE_AFFINE:
        out->i = slow_position(s, n->attr);
        return;
    case LZ_KERNEL_NODE_CHECK:
        *out = slow_check(s, n, x[0].i, x[1].i);
        return;
    case LZ_KERNEL_NODE_PHILOX:
        *out = slow_philox(n->attr, x[0], x[1], x[2]);
        return;
    case LZ_KERNEL_NODE_REDUCE:
        *out = slow_reduce(s, v);
        return;
    case LZ_KERNEL_NODE_SCAN:
        *out = slow_scan(s, v);
        return;
    default:
        *out = slow_op(s, n->op, last, x);
    }
}

/* Values of one level that this stage can have first, and stores of them. */
static void slow_stage(slow *s, int level, int stage)
{
    const lz_kernel_ir *ir = s->ir;
    for (uint32_t v = 0; v < ir->nodes.len; v++) {
        const lz_kernel_node *n = &ir->nodes.data[v];
        bool mine = level == LZ_LEVEL_ELEMENT ? n->stage <= stage : n->stage == stage;
        if (n->level == level && mine)
            slow_value(s, v);
    }
}

static void slow_stores(slow *s, lz_kernel_vary vary, int stage)
{
    for (size_t i = 0; i < s->ir->stores.len; i++) {
        lz_kernel_store t = s->ir->stores.data[i];
        const lz_kernel_use *u = &s->ir->access.data[t.access];
        if (u->vary == vary && s->ir->nodes.data[t.value].stage == stage)
            slow_put(u->dtype, s->args->access[t.access].base, slow_position(s, t.access), s->vals[t.value]);
    }
}

static void slow_advance(slow *s, int from, int to)
{
    for (int d = to; d-- > from;) {
        if (++s->index[d] < s->args->extents[d])
            return;
        s->index[d] = 0;
    }
}

static void slow_walk(slow *s, int stage)
{
    for (s->element = 0; s->element < s->length; s->element++) {
        slow_stage(s, LZ_LEVEL_ELEMENT, stage);
        for (uint32_t v = 0; v < s->ir->nodes.len; v++) {
            const lz_kernel_node *n = &s->ir->nodes.data[v];
            if (n->op == LZ_KERNEL_NODE_REDUCE && n->stage == stage + 1)
                s->rows[v][s->element] = s->vals[n->in[0]];
        }
        slow_stores(s, LZ_KERNEL_ELEMENT, stage);
        slow_advance(s, s->ir->n_outer, s->ir->n_outer + s->ir->n_row);
    }
}

static int64_t slow_product(const int64_t *extents, int n)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= extents[i];
    return p;
}

/* False if an index was out of range or an integer divided by zero. */
static bool slow_run(const lz_kernel_ir *ir, const lz_kernel_args *args)
{
    slow s = { .ir = ir, .args = args, .length = slow_product(args->extents + ir->n_outer, ir->n_row) };
    int64_t rows = slow_product(args->extents, ir->n_outer);
    size_t n = ir->nodes.len + 1;
    s.vals = calloc(n, sizeof *s.vals);
    s.scans = calloc(n, sizeof *s.scans);
    s.scan_at = calloc(n, sizeof *s.scan_at);
    s.rows = calloc(n, sizeof *s.rows);
    int last = 0;
    for (size_t v = 0; v < ir->nodes.len; v++) {
        last = ir->nodes.data[v].stage > last ? ir->nodes.data[v].stage : last;
        if (ir->nodes.data[v].op == LZ_KERNEL_NODE_REDUCE)
            s.rows[v] = calloc((size_t)s.length + 1, sizeof **s.rows);
    }
    for (int64_t row = 0; row < rows && !s.failed; row++) {
        for (int stage = 0; stage <= last; stage++) {
            slow_stage(&s, LZ_LEVEL_UNIFORM, stage);
            slow_stage(&s, LZ_LEVEL_OUTER, stage);
            slow_stores(&s, LZ_KERNEL_OUTER, stage);
            slow_walk(&s, stage);
        }
        slow_advance(&s, 0, ir->n_outer);
    }
    for (size_t v = 0; v < ir->nodes.len; v++)
        free(s.rows[v]);
    free(s.rows);
    free(s.vals);
    free(s.scans);
    free(s.scan_at);
    return !s.failed;
}

#endif
