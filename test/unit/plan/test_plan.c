#include "dag_random.h"
#include "plan/plan_impl.h"

/* Builds with `make`, checks the result and how many launches it takes. */
typedef lz_err *make_fn(dag *d, const lz_low_node **out, size_t *n);

static lz_err *check(make_fn *make, size_t launches)
{
    dag d;
    const lz_low_node *out[8];
    size_t n = 0, got = 0;
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

static lz_err *make_chain(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *y, *s, *t;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(5, 7), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(7), &y));
    LZ_TRY(dag_scalar(d, 0.75, &s));
    LZ_TRY(lz_low_cast(&d->b, s, LZ_F32, &s));
    LZ_TRY(map2(d, LZ_KERNEL_MUL, x, y, &t));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, s, &t));
    LZ_TRY(map1(d, LZ_KERNEL_TANH, t, &t));
    return map2(d, LZ_KERNEL_SUB, t, x, out);
}

static lz_err *test_pointwise_chain_is_one_launch(void)
{
    return check(make_chain, 1);
}

/* Two stores, from nodes that are made and asked for in one order or the other. */
static lz_err *make_pair(dag *d, int64_t size, bool other, const lz_low_node **out)
{
    const lz_low_node *in[2], *off, *pair[2];
    LZ_TRY(dag_input(d, LZ_F32, D(size), &in[other]));
    LZ_TRY(dag_input(d, LZ_F32, D(size), &in[!other]));
    LZ_TRY(map2(d, LZ_KERNEL_SUB, in[0], in[1], &off));
    for (int i = 0; i < 2; i++)
        LZ_TRY(i == other ? map2(d, LZ_KERNEL_MUL, off, in[0], &pair[0])
                          : map1(d, LZ_KERNEL_EXP, off, &pair[1]));
    out[0] = pair[other];
    out[1] = pair[!other];
    return NULL;
}

static lz_err *test_the_same_update_is_the_same_kernel(void)
{
    dag d;
    lz_plan *p = NULL;
    const lz_low_node *out[4];
    dag_init(&d);
    lz_err *e = make_pair(&d, 100, false, &out[0]);
    e = e ? e : make_pair(&d, 30, true, &out[2]);
    e = e ? e : lz_plan_create(&d.b, out, 4, NULL, &p);
    if (!e) {
        assert_int_equal(lz_plan_launches(p), 2);
        assert_ptr_equal(p->launches[0].kernel, p->launches[1].kernel);
    }
    lz_plan_destroy(p);
    dag_deinit(&d);
    return e;
}

static lz_err *make_views(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *y, *t;
    static const int64_t swap[] = { 0, 2, 1 };
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 6, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(4, 12), &y));
    LZ_TRY(lz_low_permute(&d->b, x, swap, &t));    /* 2 4 6 */
    LZ_TRY(lz_low_reshape(&d->b, t, D(8, 6), &t)); /* 8 6 */
    LZ_TRY(map1(d, LZ_KERNEL_NEG, t, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(4, 12), &t));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, y, &t));
    LZ_TRY(lz_low_slice(&d->b, t, 0, 3, -1, 4, out)); /* backwards */
    return NULL;
}

static lz_err *test_views_become_addresses(void)
{
    return check(make_views, 1);
}

/* [2, 3] to [3, 2] of a transposed input is no affine map of whole loops. */
static lz_err *make_odd_reshape(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *t;
    static const int64_t swap[] = { 1, 0 };
    *n = 1;
    LZ_TRY(dag_input(d, LZ_I32, D(3, 2), &x));
    LZ_TRY(map1(d, LZ_KERNEL_NEG, x, &t));
    LZ_TRY(lz_low_permute(&d->b, t, swap, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(3, 2), &t));
    return map2(d, LZ_KERNEL_ADD, t, x, out);
}

static lz_err *test_odd_reshape_is_stored(void)
{
    return check(make_odd_reshape, 2);
}

static lz_err *make_pad_cat(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *fill, *p, *q, *parts[5];
    static const int64_t before[] = { 1, 2 };
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F64, D(3, 4), &x));
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(-1.5), LZ_F64, &fill));
    LZ_TRY(map1(d, LZ_KERNEL_ABS, x, &q));
    LZ_TRY(lz_low_pad(&d->b, q, before, D(5, 7), fill, &p));
    LZ_TRY(lz_low_slice(&d->b, p, 0, 0, 1, 2, &parts[0]));
    LZ_TRY(map1(d, LZ_KERNEL_NEG, p, &parts[1]));
    LZ_TRY(lz_low_cat(&d->b, parts, 2, 0, &p));
    LZ_TRY(map1(d, LZ_KERNEL_NEG, p, &parts[0]));
    for (int i = 1; i < 5; i++)
        parts[i] = parts[0];
    LZ_TRY(lz_low_cat(&d->b, parts, 5, 1, &out[0]));
    return NULL;
}

static lz_err *test_pad_and_cat(void)
{
    return check(make_pad_cat, 0);
}

static lz_err *make_update(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *y, *t;
    static const int64_t strides[] = { 4, 2 };
    LZ_TRY(dag_input(d, LZ_F32, D(4, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(2, 2), &y));
    LZ_TRY(map1(d, LZ_KERNEL_NEG, x, &t));
    LZ_TRY(map1(d, LZ_KERNEL_EXP, y, &y));
    LZ_TRY(lz_low_update(&d->b, t, y, 5, strides, &out[0]));
    LZ_TRY(lz_low_update(&d->b, x, y, 0, strides, &t));
    LZ_TRY(map2(d, LZ_KERNEL_MUL, t, out[0], &out[1]));
    *n = 2;
    return NULL;
}

static lz_err *test_update_through_a_view(void)
{
    return check(make_update, 0);
}

static lz_err *make_gather(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *index, *t;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(9, 3), &x));
    LZ_TRY(dag_input(d, LZ_I64, D(4, 3), &index)); /* -4 to 4 */
    LZ_TRY(lz_low_check_index(&d->b, index, 9, 0, true, &t));
    LZ_TRY(lz_low_gather(&d->b, x, t, 0, &t));
    return map1(d, LZ_KERNEL_EXP, t, out);
}

static lz_err *test_gather_fuses(void)
{
    return check(make_gather, 1);
}

/* ---- reductions ---- */

static lz_err *softmax(dag *d, const lz_low_node *x, int64_t dim, const lz_low_node **out)
{
    const lz_low_node *m, *e, *s;
    uint64_t dims = UINT64_C(1) << dim;
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RMAX, x, dims, true, &m));
    LZ_TRY(map2(d, LZ_KERNEL_SUB, x, m, &e));
    LZ_TRY(map1(d, LZ_KERNEL_EXP, e, &e));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, e, dims, true, &s));
    return map2(d, LZ_KERNEL_DIV, e, s, out);
}

static lz_err *make_softmax(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(4, 10), &x));
    return softmax(d, x, 1, out);
}

static lz_err *make_softmax_columns(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 5, 6), &x));
    LZ_TRY(softmax(d, x, 1, &x));
    return map2(d, LZ_KERNEL_MUL, x, x, out);
}

static lz_err *test_softmax_is_one_launch(void)
{
    LZ_TRY(check(make_softmax, 1));
    return check(make_softmax_columns, 1);
}

static lz_err *layer_norm(dag *d, const lz_low_node *x, const lz_low_node **out)
{
    const lz_low_node *k, *eps, *m, *v, *c, *t;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float((double)x->sizes[1]), LZ_F32, &k));
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(1e-5), LZ_F32, &eps));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, x, 2, true, &m));
    LZ_TRY(map2(d, LZ_KERNEL_DIV, m, k, &m));
    LZ_TRY(map2(d, LZ_KERNEL_SUB, x, m, &c));
    LZ_TRY(map2(d, LZ_KERNEL_MUL, c, c, &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, t, 2, true, &v));
    LZ_TRY(map2(d, LZ_KERNEL_DIV, v, k, &v));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, v, eps, &v));
    LZ_TRY(map1(d, LZ_KERNEL_SQRT, v, &v));
    LZ_TRY(map2(d, LZ_KERNEL_DIV, c, v, &out[0]));
    out[1] = m;
    out[2] = v;
    return NULL;
}

static lz_err *make_layer_norm(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x;
    *n = 3;
    LZ_TRY(dag_input(d, LZ_F32, D(6, 9), &x));
    return layer_norm(d, x, out);
}

static lz_err *test_layer_norm_with_statistics_is_one_launch(void)
{
    return check(make_layer_norm, 1);
}

/* [N, C, HW] in groups of channels: the row is split from the loops of the result. */
static lz_err *make_group_norm(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *w, *t, *m;
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 6, 5), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(6, 1), &w));
    LZ_TRY(lz_low_reshape(&d->b, x, D(4, 15), &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, t, 2, true, &m));
    LZ_TRY(map2(d, LZ_KERNEL_SUB, t, m, &t));
    LZ_TRY(lz_low_reshape(&d->b, t, D(2, 6, 5), &t));
    LZ_TRY(map2(d, LZ_KERNEL_MUL, t, w, out));
    return NULL;
}

static lz_err *test_group_norm_is_one_launch(void)
{
    return check(make_group_norm, 1);
}

static lz_err *make_reductions(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *t;
    *n = 5;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 4, 5), &x));
    LZ_TRY(map2(d, LZ_KERNEL_MUL, x, x, &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, t, 7, false, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RARGMAX, x, 2, false, &out[1]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RMAX, x, 5, false, &out[2]));
    LZ_TRY(lz_low_scan(&d->b, LZ_KERNEL_RSUM, t, 1, &out[3]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RPROD, x, 1, true, &out[4]));
    return NULL;
}

static lz_err *test_reductions_over_any_dimensions(void)
{
    return check(make_reductions, 0);
}

static lz_err *make_siblings(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x;
    *n = 3;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 20), &x));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RMAX, x, 2, false, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, x, 2, false, &out[1]));
    return map1(d, LZ_KERNEL_EXP, x, &out[2]);
}

static lz_err *test_siblings_are_one_launch(void)
{
    return check(make_siblings, 1);
}

static lz_err *make_empty(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *t;
    *n = 4;
    LZ_TRY(dag_input(d, LZ_F32, D(3, 0), &x));
    LZ_TRY(map1(d, LZ_KERNEL_EXP, x, &out[0]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, x, 2, false, &out[1]));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RPROD, x, 3, false, &out[2]));
    LZ_TRY(lz_low_reshape(&d->b, x, D(0, 7), &t));
    return map1(d, LZ_KERNEL_NEG, t, &out[3]);
}

static lz_err *test_empty_tensors(void)
{
    return check(make_empty, 0);
}

static lz_err *make_matmul(dag *d, const lz_low_node **out, size_t *n)
{
    const lz_low_node *x, *y, *t;
    static const int64_t swap[] = { 0, 2, 1 };
    *n = 1;
    LZ_TRY(dag_input(d, LZ_F32, D(2, 3, 4), &x));
    LZ_TRY(dag_input(d, LZ_F32, D(2, 5, 4), &y));
    LZ_TRY(lz_low_permute(&d->b, y, swap, &y));
    LZ_TRY(map1(d, LZ_KERNEL_EXP, x, &x));
    LZ_TRY(lz_low_matmul(&d->b, x, y, &t));
    return softmax(d, t, 2, out);
}

static lz_err *test_matmul_takes_strided_operands(void)
{
    return check(make_matmul, 3);
}

/* ---- all sorts ---- */

static lz_err *random_dag(uint64_t seed)
{
    dag d;
    const lz_low_node *out[DAG_OUTPUTS];
    size_t launches;
    dag_init(&d);
    lz_err *e = dag_randomise(&d, seed, out);
    if (!e)
        e = dag_check(&d, out, DAG_OUTPUTS, &launches);
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

static lz_err *make_long_chain(dag *d, int n, const lz_low_node **out)
{
    const lz_low_node *x;
    LZ_TRY(dag_input(d, LZ_F32, D(4), &x));
    *out = x;
    for (int i = 0; i < n; i++)
        LZ_TRY(map2(d, i % 2 ? LZ_KERNEL_SUB : LZ_KERNEL_ADD, *out, x, out));
    return NULL;
}

static void test_long_chain(void **state)
{
    enum { N = 20000 };
    dag d;
    const lz_low_node *t = NULL;
    lz_array got = { 0 };
    size_t launches = 0;
    (void)state;
    dag_init(&d);
    assert_null(make_long_chain(&d, N, &t));
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
        LZ_TEST(test_pointwise_chain_is_one_launch),
        LZ_TEST(test_the_same_update_is_the_same_kernel),
        LZ_TEST(test_views_become_addresses),
        LZ_TEST(test_odd_reshape_is_stored),
        LZ_TEST(test_pad_and_cat),
        LZ_TEST(test_update_through_a_view),
        LZ_TEST(test_gather_fuses),
        LZ_TEST(test_softmax_is_one_launch),
        LZ_TEST(test_layer_norm_with_statistics_is_one_launch),
        LZ_TEST(test_group_norm_is_one_launch),
        LZ_TEST(test_reductions_over_any_dimensions),
        LZ_TEST(test_siblings_are_one_launch),
        LZ_TEST(test_empty_tensors),
        LZ_TEST(test_matmul_takes_strided_operands),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
