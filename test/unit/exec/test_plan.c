#include "dag_ref.h"

#define D(...) LZ_DIMS(__VA_ARGS__)

static lz_err *map1(dag *d, lz_kop op, const lz_ln *x, const lz_ln **out)
{
    return lz_low_map(&d->b, op, &x, out);
}

static lz_err *map2(dag *d, lz_kop op, const lz_ln *x, const lz_ln *y, const lz_ln **out)
{
    const lz_ln *in[2] = { x, y };
    LZ_TRY(lz_low_expand(&d->b, x, lz_ln_sizes(x->ndim >= y->ndim ? x : y), &in[0]));
    LZ_TRY(lz_low_expand(&d->b, y, lz_ln_sizes(in[0]), &in[1]));
    return lz_low_map(&d->b, op, in, out);
}

/* Builds with `make`, checks the result and how many launches it takes. */
typedef lz_err *make_fn(dag *d, const lz_ln **out, size_t *n);

static lz_err *check(make_fn *make, size_t launches)
{
    dag d;
    const lz_ln *out[8];
    size_t n = 1, got = 0;
    dag_init(&d);
    lz_err *e = make(&d, out, &n);
    if (!e)
        e = dag_check(&d, out, n, &got);
    if (!e && launches)
        assert_int_equal(got, launches);
    dag_deinit(&d);
    return e;
}

/* ---- pointwise ---- */

static lz_err *make_chain(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *y, *s, *t;
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(5, 7), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(7), &y));
    LZ_TRY(dag_scalar(d, 0.75, &s));
    LZ_TRY(lz_low_cast(&d->b, s, LZ_F32, &s));
    LZ_TRY(map2(d, LZ_K_MUL, x, y, &t));
    LZ_TRY(map2(d, LZ_K_ADD, t, s, &t));
    LZ_TRY(map1(d, LZ_K_TANH, t, &t));
    return map2(d, LZ_K_SUB, t, x, out);
}

static lz_err *test_pointwise_chain_is_one_launch(void)
{
    return check(make_chain, 1);
}

static lz_err *make_views(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *y, *t;
    static const int64_t swap[] = { 0, 2, 1 };
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 6, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(4, 12), &y));
    LZ_TRY(lz_low_permute(&d->b, x, swap, &t));    /* 2 4 6 */
    LZ_TRY(lz_low_reshape(&d->b, t, D(8, 6), &t)); /* 8 6 */
    LZ_TRY(map1(d, LZ_K_NEG, t, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(4, 12), &t));
    LZ_TRY(map2(d, LZ_K_ADD, t, y, &t));
    LZ_TRY(lz_low_slice(&d->b, t, 0, 3, -1, 4, out)); /* backwards */
    return NULL;
}

static lz_err *test_views_become_addresses(void)
{
    return check(make_views, 1);
}

/* [2, 3] to [3, 2] of a transposed input is no affine map of whole loops. */
static lz_err *make_odd_reshape(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *t;
    static const int64_t swap[] = { 1, 0 };
    (void)n;
    LZ_TRY(dag_input(d, LZ_I32, D(3, 2), &x));
    LZ_TRY(map1(d, LZ_K_NEG, x, &t));
    LZ_TRY(lz_low_permute(&d->b, t, swap, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(3, 2), &t));
    return map2(d, LZ_K_ADD, t, x, out);
}

static lz_err *test_odd_reshape_is_stored(void)
{
    return check(make_odd_reshape, 2);
}

static lz_err *make_pad_cat(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *fill, *p, *q, *parts[5];
    static const int64_t before[] = { 1, 2 };
    (void)n;
    LZ_TRY(dag_input(d, LZ_F64, D(3, 4), &x));
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(-1.5), LZ_F64, &fill));
    LZ_TRY(map1(d, LZ_K_ABS, x, &q));
    LZ_TRY(lz_low_pad(&d->b, q, before, D(5, 7), fill, &p));
    LZ_TRY(lz_low_slice(&d->b, p, 0, 0, 1, 2, &parts[0]));
    LZ_TRY(map1(d, LZ_K_NEG, p, &parts[1]));
    LZ_TRY(lz_low_cat(&d->b, parts, 2, 0, &p));
    LZ_TRY(map1(d, LZ_K_NEG, p, &parts[0]));
    for (int i = 1; i < 5; i++)
        parts[i] = parts[0];
    LZ_TRY(lz_low_cat(&d->b, parts, 5, 1, &out[0]));
    return NULL;
}

static lz_err *test_pad_and_cat(void)
{
    return check(make_pad_cat, 0);
}

static lz_err *make_update(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *y, *t;
    static const int64_t strides[] = { 4, 2 };
    LZ_TRY(dag_input(d, LZ_F32, D(4, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(2, 2), &y));
    LZ_TRY(map1(d, LZ_K_NEG, x, &t));
    LZ_TRY(map1(d, LZ_K_EXP, y, &y));
    LZ_TRY(lz_low_update(&d->b, t, y, 5, strides, &out[0]));
    LZ_TRY(lz_low_update(&d->b, x, y, 0, strides, &t));
    LZ_TRY(map2(d, LZ_K_MUL, t, out[0], &out[1]));
    *n = 2;
    return NULL;
}

static lz_err *test_update_through_a_view(void)
{
    return check(make_update, 0);
}

static lz_err *make_gather(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *index, *t;
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(9, 3), &x));
    LZ_TRY(dag_input(d, LZ_I64, D(4, 3), &index)); /* -4 to 4 */
    LZ_TRY(lz_low_check_index(&d->b, index, 9, 0, true, &t));
    LZ_TRY(lz_low_gather(&d->b, x, t, 0, &t));
    return map1(d, LZ_K_EXP, t, out);
}

static lz_err *test_gather_fuses(void)
{
    return check(make_gather, 1);
}

/* ---- reductions ---- */

static lz_err *softmax(dag *d, const lz_ln *x, int64_t dim, const lz_ln **out)
{
    const lz_ln *m, *e, *s;
    uint64_t dims = UINT64_C(1) << dim;
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RMAX, x, dims, true, &m));
    LZ_TRY(map2(d, LZ_K_SUB, x, m, &e));
    LZ_TRY(map1(d, LZ_K_EXP, e, &e));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, e, dims, true, &s));
    return map2(d, LZ_K_DIV, e, s, out);
}

static lz_err *make_softmax(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x;
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(4, 10), &x));
    return softmax(d, x, 1, out);
}

static lz_err *make_softmax_columns(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x;
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 5, 6), &x));
    LZ_TRY(softmax(d, x, 1, &x));
    return map2(d, LZ_K_MUL, x, x, out);
}

static lz_err *test_softmax_is_one_launch(void)
{
    LZ_TRY(check(make_softmax, 1));
    return check(make_softmax_columns, 1);
}

static lz_err *layer_norm(dag *d, const lz_ln *x, const lz_ln **out)
{
    const lz_ln *k, *eps, *m, *v, *c, *t;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float((double)x->sizes[1]), LZ_F32, &k));
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(1e-5), LZ_F32, &eps));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, x, 2, true, &m));
    LZ_TRY(map2(d, LZ_K_DIV, m, k, &m));
    LZ_TRY(map2(d, LZ_K_SUB, x, m, &c));
    LZ_TRY(map2(d, LZ_K_MUL, c, c, &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, t, 2, true, &v));
    LZ_TRY(map2(d, LZ_K_DIV, v, k, &v));
    LZ_TRY(map2(d, LZ_K_ADD, v, eps, &v));
    LZ_TRY(map1(d, LZ_K_SQRT, v, &v));
    LZ_TRY(map2(d, LZ_K_DIV, c, v, &out[0]));
    out[1] = m;
    out[2] = v;
    return NULL;
}

static lz_err *make_layer_norm(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x;
    *n = 3;
    LZ_TRY(dag_input(d, LZ_F32, D(6, 9), &x));
    return layer_norm(d, x, out);
}

static lz_err *test_layer_norm_with_statistics_is_one_launch(void)
{
    return check(make_layer_norm, 1);
}

/* [N, C, HW] in groups of channels: the row is split from the loops of the result. */
static lz_err *make_group_norm(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *w, *t, *m;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 6, 5), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(6, 1), &w));
    LZ_TRY(lz_low_reshape(&d->b, x, D(4, 15), &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, t, 2, true, &m));
    LZ_TRY(map2(d, LZ_K_SUB, t, m, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(2, 6, 5), &t));
    LZ_TRY(map2(d, LZ_K_MUL, t, w, out));
    return NULL;
}

static lz_err *test_group_norm_is_one_launch(void)
{
    return check(make_group_norm, 1);
}

static lz_err *make_reductions(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *t;
    *n = 5;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 4, 5), &x));
    LZ_TRY(map2(d, LZ_K_MUL, x, x, &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, t, 7, false, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RARGMAX, x, 2, false, &out[1]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RMAX, x, 5, false, &out[2]));
    LZ_TRY(lz_low_scan(&d->b, LZ_K_RSUM, t, 1, &out[3]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RPROD, x, 1, true, &out[4]));
    return NULL;
}

static lz_err *test_reductions_over_any_dimensions(void)
{
    return check(make_reductions, 0);
}

static lz_err *make_siblings(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x;
    *n = 3;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 20), &x));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RMAX, x, 2, false, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, x, 2, false, &out[1]));
    return map1(d, LZ_K_EXP, x, &out[2]);
}

static lz_err *test_siblings_are_one_launch(void)
{
    return check(make_siblings, 1);
}

static lz_err *make_empty(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *t;
    *n = 4;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 0), &x));
    LZ_TRY(map1(d, LZ_K_EXP, x, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RSUM, x, 2, false, &out[1]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_K_RPROD, x, 3, false, &out[2]));
    LZ_TRY(lz_low_reshape(&d->b, x, D(0, 7), &t));
    return map1(d, LZ_K_NEG, t, &out[3]);
}

static lz_err *test_empty_tensors(void)
{
    return check(make_empty, 0);
}

static lz_err *make_matmul(dag *d, const lz_ln **out, size_t *n)
{
    const lz_ln *x, *y, *t;
    static const int64_t swap[] = { 0, 2, 1 };
    (void)n;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 3, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(2, 5, 4), &y));
    LZ_TRY(lz_low_permute(&d->b, y, swap, &y));
    LZ_TRY(map1(d, LZ_K_EXP, x, &x));
    LZ_TRY(lz_low_matmul(&d->b, x, y, &t));
    return softmax(d, t, 2, out);
}

static lz_err *test_matmul_takes_strided_operands(void)
{
    return check(make_matmul, 3);
}

/* ---- all sorts ---- */

typedef lz_err *random_fn(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out);

static lz_err *some_unary(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    static const lz_kop ops[] = { LZ_K_NEG, LZ_K_ABS, LZ_K_TANH };
    (void)y, (void)dim;
    return map1(d, ops[dag_random() % 3], x, out);
}

static bool fits(const lz_ln *x, const lz_ln *y)
{
    for (int64_t i = 1; i <= x->ndim && i <= y->ndim; i++) {
        int64_t a = x->sizes[x->ndim - i], b = y->sizes[y->ndim - i];
        if (a != b && a != 1 && b != 1)
            return false;
    }
    return true;
}

static lz_err *some_binary(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    static const lz_kop ops[] = { LZ_K_ADD, LZ_K_SUB, LZ_K_MIN, LZ_K_MAX };
    const lz_ln *in[2];
    lz_shape s;
    if (!fits(x, y))
        return some_unary(d, x, y, dim, out);
    LZ_TRY(lz_shape_broadcast((lz_ints[]){ lz_ln_sizes(x), lz_ln_sizes(y) }, 2, &s));
    LZ_TRY(lz_low_expand(&d->b, x, lz_shape_ints(&s), &in[0]));
    LZ_TRY(lz_low_expand(&d->b, y, lz_shape_ints(&s), &in[1]));
    return lz_low_map(&d->b, ops[dag_random() % 4], in, out);
}

static lz_err *some_permute(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    int64_t perm[LZ_MAX_DIMS];
    (void)y, (void)dim;
    for (int64_t i = 0; i < x->ndim; i++)
        perm[i] = (i + 1) % x->ndim;
    return lz_low_permute(&d->b, x, perm, out);
}

static lz_err *some_flip(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    (void)y;
    return lz_low_slice(&d->b, x, dim, x->sizes[dim] - 1, -1, x->sizes[dim], out);
}

static lz_err *some_reduce(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    (void)y;
    return lz_low_reduce(&d->b, dag_random() % 2 ? LZ_K_RMAX : LZ_K_RSUM, x, UINT64_C(1) << dim, true, out);
}

static lz_err *some_reshape(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    int64_t k = dag_random() % 2 ? 1 : x->numel % 4 == 0 ? 4 : x->numel % 3 == 0 ? 3 : 1;
    (void)y, (void)dim;
    return k == 1 ? lz_low_reshape(&d->b, x, LZ_DIMS(x->numel), out)
                  : lz_low_reshape(&d->b, x, LZ_DIMS(k, x->numel / k), out);
}

static lz_err *some_cat(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    const lz_ln *parts[2] = { x, x };
    return x->numel > 2000 ? some_unary(d, x, y, dim, out) : lz_low_cat(&d->b, parts, 2, dim, out);
}

static lz_err *some_scan(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    (void)y;
    return lz_low_scan(&d->b, LZ_K_RSUM, x, dim, out);
}

static lz_err *some_pad(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    const lz_ln *fill;
    int64_t before[LZ_MAX_DIMS] = { 0 };
    lz_shape s = { .n = x->ndim };
    for (int64_t i = 0; i < x->ndim; i++)
        s.v[i] = x->sizes[i];
    before[dim] = 1;
    s.v[dim] += 2;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(-1), (lz_dtype)x->dtype, &fill));
    return x->numel > 2000 ? some_unary(d, x, y, dim, out)
                           : lz_low_pad(&d->b, x, before, lz_shape_ints(&s), fill, out);
}

/* The index is made of the elements themselves: |x| cut to an integer within bounds. */
static lz_err *some_gather(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    const lz_ln *i, *last;
    (void)y;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float((double)x->sizes[dim] - 1), LZ_F64, &last));
    LZ_TRY(map1(d, LZ_K_ABS, x, &i));
    LZ_TRY(map2(d, LZ_K_MIN, i, last, &i));
    LZ_TRY(lz_low_check_index(&d->b, i, x->sizes[dim], dim, true, &i));
    return lz_low_gather(&d->b, x, i, dim, out);
}

static lz_err *some_update(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    const lz_ln *part;
    int64_t strides[LZ_MAX_DIMS], s = 1;
    (void)y;
    for (int64_t i = x->ndim; i-- > 0; s *= x->sizes[i])
        strides[i] = s;
    LZ_TRY(lz_low_slice(&d->b, x, dim, 0, 1, 1, &part));
    LZ_TRY(map1(d, LZ_K_TANH, part, &part));
    return lz_low_update(&d->b, x, part, (x->sizes[dim] - 1) * strides[dim], strides, out);
}

static lz_err *some_product(dag *d, const lz_ln *x, const lz_ln *y, int64_t dim, const lz_ln **out)
{
    const lz_ln *a, *b;
    (void)y, (void)dim;
    LZ_TRY(map1(d, LZ_K_TANH, x, &a)); /* keeps numbers small */
    LZ_TRY(lz_low_reshape(&d->b, a, LZ_DIMS(1, x->sizes[0], x->numel / x->sizes[0]), &a));
    LZ_TRY(lz_low_permute(&d->b, a, (int64_t[]){ 0, 2, 1 }, &b));
    return lz_low_matmul(&d->b, a, b, out);
}

static lz_err *random_node(dag *d, const lz_ln **pool, size_t n, const lz_ln **out)
{
    static random_fn *const makers[] = { some_unary,  some_binary,  some_permute, some_flip,
                                         some_reduce, some_reshape, some_cat,     some_scan,
                                         some_pad,    some_gather,  some_update,  some_product };
    const lz_ln *x = pool[dag_random() % n], *y = pool[dag_random() % n];
    int64_t dim = x->ndim ? (int64_t)(dag_random() % x->ndim) : 0;
    size_t k = x->ndim ? dag_random() % (sizeof makers / sizeof *makers) : 0;
    return makers[k](d, x, y, dim, out);
}

static lz_err *random_dag(uint64_t seed)
{
    enum { NODES = 24 };
    dag d;
    const lz_ln *pool[NODES + 3], *out[3];
    size_t n = 0, launches;
    lz_err *e;
    dag_seed = seed * 2654435761 + 1;
    dag_init(&d);
    e = dag_input(&d, LZ_F64, D(4, 3, 2), &pool[n++]);
    if (!e)
        e = dag_input(&d, LZ_F64, D(12, 2), &pool[n++]);
    if (!e)
        e = dag_input(&d, LZ_F64, D(3, 1), &pool[n++]);
    for (int i = 0; !e && i < NODES; i++, n++)
        e = random_node(&d, pool, n, &pool[n]);
    for (int i = 0; i < 3; i++)
        out[i] = pool[n - 1 - (size_t)i * 5];
    if (!e)
        e = dag_check(&d, out, 3, &launches);
    dag_deinit(&d);
    return e;
}

static void test_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2500; seed++) {
        lz_err *e = random_dag(seed);
        if (e)
            fail_msg("seed %llu: %s", (unsigned long long)seed, lz_err_text(e));
    }
}

/* ---- long chains ---- */

static void test_long_chain(void **state)
{
    enum { N = 20000 };
    dag d;
    const lz_ln *x, *t;
    lz_array got = { 0 };
    size_t launches;
    (void)state;
    dag_init(&d);
    assert_null(dag_input(&d, LZ_F32, D(4), &x));
    t = x;
    for (int i = 0; i < N; i++)
        assert_null(map2(&d, i % 2 ? LZ_K_SUB : LZ_K_ADD, t, x, &t));
    assert_null(dag_run(&d, &t, 1, false, &got, &launches));
    assert_true(launches < N / 20);
    for (int64_t i = 0; i < 4; i++)
        assert_true(rv_get(&got, i).f == rv_get(&d.inputs[0], i).f);
    lz_array_deinit(&got);
    dag_deinit(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_pointwise_chain_is_one_launch), LZ_TEST(test_views_become_addresses),
        LZ_TEST(test_odd_reshape_is_stored),         LZ_TEST(test_pad_and_cat),
        LZ_TEST(test_update_through_a_view),         LZ_TEST(test_gather_fuses),
        LZ_TEST(test_softmax_is_one_launch),         LZ_TEST(test_layer_norm_with_statistics_is_one_launch),
        LZ_TEST(test_group_norm_is_one_launch),      LZ_TEST(test_reductions_over_any_dimensions),
        LZ_TEST(test_siblings_are_one_launch),       LZ_TEST(test_empty_tensors),
        LZ_TEST(test_matmul_takes_strided_operands), cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
