/* Random numbers: Philox words, numbered by the element's row-major position. Each call of an operator
 * draws from its own stream. */
#include "core/distribution.h"
#include "core/strides.h"
#include "lower/prim_impl.h"
#include <inttypes.h>

typedef struct source {
    const lz_low_node *seed, *stream, *index;
} source;

static lz_err *open_source(lz_lower *b, lz_ints sizes, source *out)
{
    lz_shape strides;
    LZ_TRY(lz_shape_check(sizes));
    LZ_TRY(lz_strides_contiguous(sizes, &strides));
    out->seed = b->seed;
    if (!b->seed)
        LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, &out->seed));
    LZ_TRY(lz_low_const(b, lz_scalar_int((int64_t)b->next_stream++), LZ_I64, &out->stream));
    return lz_low_iota(b, sizes, 0, (lz_ints){ strides.v, strides.n }, &out->index);
}

static lz_err *word(lz_lower *b, const source *s, int i, const lz_low_node **out)
{
    return lz_low_philox(b, i, s->seed, s->stream, s->index, out);
}

/* 0 <= x < 1: the upper bits of a word, scaled. */
static lz_err *fraction(lz_lower *b, const source *s, int i, int bits, lz_dtype d, const lz_low_node **out)
{
    LZ_TRY(word(b, s, i, out));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHR, *out, 32 - bits, out));
    LZ_TRY(lz_low_cast(b, *out, d, out));
    return lz_prim_map_number(b, LZ_KERNEL_MUL, *out, 1.0 / (double)(INT64_C(1) << bits), out);
}

/* 53 bits from two words: 26 and 27. */
static lz_err *fraction64(lz_lower *b, const source *s, int i, const lz_low_node **out)
{
    const lz_low_node *low;
    LZ_TRY(fraction(b, s, i, 26, LZ_F64, out));
    LZ_TRY(fraction(b, s, i + 1, 27, LZ_F64, &low));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, low, 0x1p-26, &low));
    return lz_prim_map2(b, LZ_KERNEL_ADD, *out, low, out);
}

/* Uses as many bits as the dtype has for a number below 1, so that rounding never gives 1. */
static lz_err *uniform(lz_lower *b, const source *s, lz_dtype d, const lz_low_node **out)
{
    if (d == LZ_F64)
        return fraction64(b, s, 0, out);
    return fraction(b, s, 0, d == LZ_F16 ? 11 : d == LZ_BF16 ? 8 : 24, LZ_F32, out);
}

static lz_err *check_float(const char *name, lz_dtype d)
{
    if (lz_dtype_is_float(d))
        return NULL;
    return lz_err_because(LZ_REASON_DTYPE, "\"%s\" not implemented for '%s'", name, lz_dtype_get(d)->script);
}

lz_err *lz_lower_rand(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = lz_prim_dtype(&args[1], b->default_float);
    lz_ints sizes;
    source s;
    const lz_low_node *n;
    LZ_TRY(check_float("rand", d));
    LZ_TRY(lz_low_value_get_ints(b, &args[0], &sizes));
    LZ_TRY(open_source(b, sizes, &s));
    LZ_TRY(uniform(b, &s, d, &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

/* sqrt(-2 log u) cos(2 pi v), with 0 < u <= 1. */
static lz_err *normal(lz_lower *b, const source *s, lz_dtype d, const lz_low_node **out)
{
    const lz_low_node *u, *v;
    if (d == LZ_F64) {
        LZ_TRY(fraction64(b, s, 0, &u));
        LZ_TRY(fraction64(b, s, 2, &v));
    } else {
        LZ_TRY(fraction(b, s, 0, 24, LZ_F32, &u));
        LZ_TRY(fraction(b, s, 1, 24, LZ_F32, &v));
    }
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_NEG, u, &u));
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_LOG1P, u, &u));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, u, -2, &u));
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_SQRT, u, &u));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, v, 6.28318530717958647692, &v));
    LZ_TRY(lz_prim_map1(b, LZ_KERNEL_COS, v, &v));
    return lz_prim_map2(b, LZ_KERNEL_MUL, u, v, out);
}

lz_err *lz_lower_randn(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = lz_prim_dtype(&args[1], b->default_float);
    lz_ints sizes;
    source s;
    const lz_low_node *n;
    LZ_TRY(lz_low_value_get_ints(b, &args[0], &sizes));
    LZ_TRY(open_source(b, sizes, &s));
    if (s.index->numel > 0) /* PyTorch allows every dtype for nothing */
        LZ_TRY(check_float("normal_kernel_cpu", d));
    LZ_TRY(normal(b, &s, lz_dtype_is_float(d) ? d : LZ_F32, &n));
    LZ_TRY(lz_low_cast(b, n, lz_low_opmath(d), &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

/* ---- whole numbers ---- */

/* The largest whole number that the dtype counts to without a gap. */
static int64_t largest(lz_dtype d)
{
    const lz_dtype_info *row = lz_dtype_get(d);
    int digits = d == LZ_F16 ? 11 : d == LZ_BF16 ? 8 : d == LZ_F32 ? 24 : 53;
    return lz_dtype_is_float(d) ? INT64_C(1) << digits : row->max;
}

static lz_err *check_range(lz_dtype d, int64_t from, bool bounded, int64_t to)
{
    const lz_dtype_info *row = lz_dtype_get(d);
    bool real = lz_dtype_is_float(d);
    double most = row->largest;
    if (bounded && from >= to)
        return lz_err_because(
            LZ_REASON_ARGUMENT,
            "random_ expects 'from' to be less than 'to', but got from=%" PRId64 " >= to=%" PRId64, from, to);
    if (real ? (double)from < -most || (double)from > most : from < row->min || from > row->max)
        return lz_err_because(LZ_REASON_ARGUMENT, "from is out of bounds for %s", row->script);
    if (bounded && (real ? (double)to - 1 > most : to - 1 > row->max))
        return lz_err_because(LZ_REASON_ARGUMENT, "to - 1 is out of bounds for %s", row->script);
    if (!bounded && from > largest(d))
        return lz_err_because(LZ_REASON_ARGUMENT, "from is greater than the largest number of %s",
                              row->script);
    return NULL;
}

static lz_err *low_half(lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    return lz_prim_map_number(b, LZ_KERNEL_AND, x, 4294967295.0, out);
}

static lz_err *high_half(lz_lower *b, const lz_low_node *x, const lz_low_node **out)
{
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHR, x, 32, out));
    return low_half(b, *out, out);
}

/* x * n + more */
static lz_err *product(lz_lower *b, const lz_low_node *x, uint64_t n, const lz_low_node *more,
                       const lz_low_node **out)
{
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_MUL, x, (double)n, out));
    return more ? lz_prim_map2(b, LZ_KERNEL_ADD, *out, more, out) : NULL;
}

/* The upper half of the 128 bits of n times 64 random bits: each number below n has a probability that
 * differs from 1 / n by less than 2^-64. The words are digits of base 2^32. Products wrap around as unsigned
 * ones. */
static lz_err *below(lz_lower *b, const lz_low_node *high, const lz_low_node *low, uint64_t n,
                     const lz_low_node **out)
{
    uint64_t n1 = n >> 32, n0 = n & UINT32_MAX;
    const lz_low_node *t, *carry, *rest;
    LZ_TRY(product(b, low, n0, NULL, &t));
    LZ_TRY(high_half(b, t, &carry));
    LZ_TRY(product(b, high, n0, carry, &t));
    LZ_TRY(high_half(b, t, out));
    if (!n1)
        return NULL;
    LZ_TRY(low_half(b, t, &rest));
    LZ_TRY(product(b, low, n1, rest, &t));
    LZ_TRY(high_half(b, t, &carry));
    LZ_TRY(product(b, high, n1, carry, &t));
    return lz_prim_map2(b, LZ_KERNEL_ADD, t, *out, out);
}

/* n 0: 2^64. */
static lz_err *whole(lz_lower *b, const source *s, uint64_t n, const lz_low_node **out)
{
    const lz_low_node *high, *low;
    LZ_TRY(word(b, s, 0, &high));
    LZ_TRY(word(b, s, 1, &low));
    if (n)
        return below(b, high, low, n, out);
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHL, high, 32, &high));
    return lz_prim_map2(b, LZ_KERNEL_OR, high, low, out);
}

lz_err *lz_lower_random__from(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = args[0].dtype;
    bool bounded = !lz_low_value_is_none(&args[2]);
    int64_t from, to = 0;
    const lz_low_node *n, *start;
    source s;
    LZ_TRY(lz_low_value_get_int(&args[1], &from));
    if (bounded)
        LZ_TRY(lz_low_value_get_int(&args[2], &to));
    if (lz_dtype_is_complex(d))
        return lz_err_because(LZ_REASON_DTYPE, "\"random_kernel_cpu\" not implemented for '%s'",
                              lz_dtype_get(d)->script);
    LZ_TRY(check_range(d, from, bounded, to));
    uint64_t last = bounded ? (uint64_t)to - 1 : (uint64_t)largest(d);
    LZ_TRY(open_source(b, lz_low_value_sizes(&args[0]), &s));
    LZ_TRY(whole(b, &s, last - (uint64_t)from + 1, &n));
    LZ_TRY(lz_low_const(b, lz_scalar_int(from), LZ_I64, &start));
    LZ_TRY(lz_low_expand(b, start, lz_low_value_sizes(&args[0]), &start));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, n, start, &n));
    LZ_TRY(lz_low_cast(b, n, lz_low_opmath(d), &n));
    results[0] = lz_prim_tensor(d, n);
    return NULL;
}

/* ---- distributions of kernel/draw.c ---- */

typedef struct parameters {
    lz_dtype dtype; /* of the result */
    lz_ints sizes;
    const lz_low_node *a, *b; /* NULL: there is none */
} parameters;

/* With a key of 64 bits for each element. */
static lz_err *draw(lz_lower *b, lz_distribution which, const parameters *p, lz_low_value *results)
{
    const int64_t params[] = { which };
    const lz_low_node *in[3], *n;
    source s;
    LZ_TRY(open_source(b, p->sizes, &s));
    LZ_TRY(whole(b, &s, 0, &in[0]));
    LZ_TRY(lz_low_cast(b, p->a, LZ_F64, &in[1]));
    LZ_TRY(lz_low_cast(b, p->b ? p->b : p->a, LZ_F64, &in[2]));
    LZ_TRY(lz_low_kernel(b, LZ_CALL_DRAW, in, 3, LZ_F64, p->sizes, params, 1, &n));
    LZ_TRY(lz_low_cast(b, n, lz_low_opmath(p->dtype), &n));
    results[0] = lz_prim_tensor(p->dtype, n);
    return NULL;
}

static lz_err *not_implemented(const char *name, lz_dtype d)
{
    return lz_err_because(LZ_REASON_DTYPE, "\"%s\" not implemented for '%s'", name, lz_dtype_get(d)->script);
}

lz_err *lz_lower__standard_gamma(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = args[0].dtype;
    parameters p = { d, lz_low_value_sizes(&args[0]), args[0].node, NULL };
    if (d != LZ_F32 && d != LZ_F64)
        return not_implemented("gamma_cpu", d);
    LZ_TRY(draw(b, LZ_DRAW_GAMMA, &p, results));
    /* never 0, so that its logarithm is finite */
    const lz_low_node *least;
    LZ_TRY(lz_prim_full(b, d == LZ_F32 ? 0x1p-126 : 0x1p-1022, d, p.sizes, &least));
    return lz_prim_map2(b, LZ_KERNEL_MAX, results[0].node, least, &results[0].node);
}

lz_err *lz_lower_poisson(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = args[0].dtype;
    parameters p = { d, lz_low_value_sizes(&args[0]), args[0].node, NULL };
    const lz_low_node *zero, *valid;
    if (!lz_dtype_is_float(d))
        return not_implemented("poisson_cpu", d);
    LZ_TRY(lz_prim_full(b, 0, (lz_dtype)p.a->dtype, p.sizes, &zero));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_GE, p.a, zero, &valid));
    LZ_TRY(lz_low_check_rule(b, valid, LZ_STR("invalid Poisson rate, expected rate to be non-negative"), p.a,
                             &p.a));
    return draw(b, LZ_DRAW_POISSON, &p, results);
}

lz_err *lz_lower_binomial(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    lz_dtype d = args[0].dtype;
    parameters p = { .dtype = d };
    lz_low_value shape, shapes[2];
    if (!lz_dtype_is_float(d))
        return lz_err_because(LZ_REASON_DTYPE,
                              "binomial only supports floating-point dtypes for count, got: %s",
                              lz_dtype_get(d)->script);
    if (!lz_dtype_is_float(args[1].dtype))
        return lz_err_because(LZ_REASON_DTYPE,
                              "binomial only supports floating-point dtypes for prob, got: %s",
                              lz_dtype_get(args[1].dtype)->script);
    if (args[1].dtype != d)
        return lz_err_because(LZ_REASON_DTYPE, "Found dtype %s but expected %s",
                              lz_dtype_get(args[1].dtype)->script, lz_dtype_get(d)->script);
    if (d != LZ_F32 && d != LZ_F64)
        return not_implemented("binomial_cpu", d);
    LZ_TRY(lz_low_shape(b, &args[0], &shapes[0]));
    LZ_TRY(lz_low_shape(b, &args[1], &shapes[1]));
    LZ_TRY(lz_low_broadcast_shapes(b, shapes, 2, &shape));
    LZ_TRY(lz_low_value_get_ints(b, &shape, &p.sizes));
    LZ_TRY(lz_low_expand(b, args[0].node, p.sizes, &p.a));
    LZ_TRY(lz_low_expand(b, args[1].node, p.sizes, &p.b));
    return draw(b, LZ_DRAW_BINOMIAL, &p, results);
}

/* Arguments: an int64 key without dimensions, n. */
lz_err *lz_lower__permutation(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *key = args[0].node, *out;
    int64_t n;
    LZ_TRY(lz_low_value_get_int(&args[1], &n));
    if (args[0].dtype != LZ_I64 || key->ndim != 0)
        return lz_err_because(LZ_REASON_DTYPE, "_permutation: the key is one number of dtype int64");
    if (n < 0)
        return lz_err_because(LZ_REASON_ARGUMENT, "n must be non-negative, got %lld", (long long)n);
    LZ_TRY(lz_low_kernel(b, LZ_CALL_SHUFFLE, &key, 1, LZ_I64, LZ_INTS(n), NULL, 0, &out));
    results[0] = lz_prim_tensor(LZ_I64, out);
    return NULL;
}

/* ---- keys ---- */

/* Two of the four words, the first one in the lower half; as a column. */
static lz_err *two_words(lz_lower *b, const source *s, int i, const lz_low_node **out)
{
    const lz_low_node *high;
    LZ_TRY(word(b, s, i, out));
    LZ_TRY(word(b, s, i + 1, &high));
    LZ_TRY(lz_prim_map_number(b, LZ_KERNEL_SHL, high, 32, &high));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_OR, *out, high, out));
    return lz_low_unsqueeze(b, *out, (*out)->ndim, out);
}

/* The words of block `number of the key + data` as a new key. */
lz_err *lz_lower__philox_key_fold_in(lz_lower *b, const lz_low_value *args, lz_low_value *results)
{
    const lz_low_node *key = args[0].node, *more, *halves[2], *n;
    int64_t data, last = key->ndim - 1;
    source s = { 0 };
    LZ_TRY(lz_low_value_get_int(&args[1], &data));
    if (args[0].dtype != LZ_I64)
        return lz_err_because(LZ_REASON_DTYPE, "_philox_key_fold_in: key must have dtype int64, got %s",
                              lz_dtype_get(args[0].dtype)->name);
    if (last < 0 || key->sizes[last] != 2)
        return lz_err_because(LZ_REASON_SHAPE,
                              "_philox_key_fold_in: key must have shape (2,) or (*batch, 2)");
    LZ_TRY(lz_low_select(b, key, last, 0, &s.seed));
    LZ_TRY(lz_low_select(b, key, last, 1, &s.index));
    LZ_TRY(lz_low_const(b, lz_scalar_int(data), LZ_I64, &more));
    LZ_TRY(lz_low_expand(b, more, lz_low_node_sizes(s.index), &more));
    LZ_TRY(lz_prim_map2(b, LZ_KERNEL_ADD, s.index, more, &s.index));
    LZ_TRY(lz_low_const(b, lz_scalar_int(0), LZ_I64, &s.stream));
    const lz_low_node *position = b->stream; /* of the generator, which does not draw here */
    b->stream = NULL;
    lz_err *e = two_words(b, &s, 0, &halves[0]);
    e = e ? e : two_words(b, &s, 2, &halves[1]);
    b->stream = position;
    LZ_TRY(e);
    LZ_TRY(lz_low_cat(b, halves, 2, last, &n));
    results[0] = lz_prim_tensor(LZ_I64, n);
    return NULL;
}
