/* Kernels that go over a product while it is made give what they give behind it, to the last bit. */
#include "dag_random.h"
#include "plan/plan_impl.h"
#include <math.h>
#include <string.h>

typedef struct shape {
    int64_t b, m, n, k;
} shape;

typedef lz_err *make_fn(dag *d, shape s, const lz_low_node **out);

static lz_err *product(dag *d, shape s, const lz_low_node **x, const lz_low_node **out)
{
    const lz_low_node *y;
    LZ_TRY(dag_input(d, LZ_F32, D(s.b, s.m, s.k), x));
    LZ_TRY(dag_input(d, LZ_F32, D(s.b, s.k, s.n), &y));
    LZ_TRY(map1(d, LZ_KERNEL_TANH, *x, x)); /* a temporary */
    return lz_low_matmul(&d->b, *x, y, out);
}

static lz_err *relu(dag *d, const lz_low_node *x, const lz_low_node **out)
{
    const lz_low_node *zero;
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(0), LZ_F32, &zero));
    return map2(d, LZ_KERNEL_MAX, x, zero, out);
}

static lz_err *make_bias(dag *d, shape s, const lz_low_node **out)
{
    const lz_low_node *x, *t, *bias;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(dag_input(d, LZ_F32, D(s.n), &bias));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, bias, &t));
    return relu(d, t, out);
}

/* One loop over everything; the row of a product is nowhere to be seen. */
static lz_err *make_residual(dag *d, shape s, const lz_low_node **out)
{
    const lz_low_node *x, *t, *r;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(dag_input(d, LZ_F32, D(s.b, s.m, s.n), &r));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, r, &t));
    return relu(d, t, out);
}

/* What the kernel adds is what the product reads: it cannot be written over before the end. */
static lz_err *make_own_residual(dag *d, shape s, const lz_low_node **out)
{
    const lz_low_node *x, *t;
    s.k = s.n;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, x, &t));
    return relu(d, t, out);
}

static lz_err *make_rows(dag *d, shape s, const lz_low_node **out)
{
    const lz_low_node *x, *t, *sum;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(map1(d, LZ_KERNEL_EXP, t, &t));
    LZ_TRY(lz_low_reduce(&d->b, LZ_KERNEL_RSUM, t, 4, true, &sum));
    LZ_TRY(lz_low_expand(&d->b, sum, lz_low_node_sizes(t), &sum));
    return map2(d, LZ_KERNEL_DIV, t, sum, out);
}

/* Reads the product the other way round. */
static lz_err *make_transposed(dag *d, shape s, const lz_low_node **out)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const lz_low_node *x, *t, *u;
    s.n = s.m;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(lz_low_permute(&d->b, t, swap, &u));
    LZ_TRY(map2(d, LZ_KERNEL_ADD, t, u, &t));
    return relu(d, t, out);
}

/* The only view of the product shows it transposed: it is made so. */
static lz_err *make_turned(dag *d, shape s, const lz_low_node **out)
{
    static const int64_t swap[] = { 0, 2, 1 };
    const lz_low_node *x, *t, *r;
    LZ_TRY(product(d, s, &x, &t));
    LZ_TRY(lz_low_permute(&d->b, t, swap, &t));
    LZ_TRY(dag_input(d, LZ_F32, D(s.b, s.n, s.m), &r));
    return map2(d, LZ_KERNEL_ADD, r, t, out);
}

static const struct {
    make_fn *make;
    bool tail;
} cases[] = { { make_bias, true }, { make_residual, true },    { make_own_residual, true },
              { make_rows, true }, { make_transposed, false }, { make_turned, true } };

static size_t tails(const lz_plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_launches; i++)
        n += p->launches[i].tail;
    return n;
}

static lz_err *run(const dag *d, lz_plan *p, lz_pool *threads, lz_buffer **out)
{
    lz_run_input in[8] = { 0 };
    for (int64_t i = 0; i < d->n_inputs; i++)
        in[i].buffer = d->inputs[i].buffer;
    lz_run_args args = { .inputs = in, .scalars = d->scalars, .threads = threads };
    return lz_plan_run(p, &args, out);
}

static lz_err *compare(const dag *d, lz_plan *p, lz_pool *threads)
{
    lz_buffer *with = NULL, *without = NULL;
    lz_err *e = run(d, p, threads, &with);
    for (size_t i = 0; i < p->n_launches; i++)
        p->launches[i].tail = false;
    e = e ? e : run(d, p, NULL, &without);
    if (!e)
        assert_memory_equal(with->data, without->data, with->size);
    lz_buffer_release(with);
    lz_buffer_release(without);
    return e;
}

static lz_err *check(size_t which, shape s, lz_pool *threads)
{
    dag d;
    lz_plan *p;
    const lz_low_node *out;
    dag_init(&d);
    lz_err *e = cases[which].make(&d, s, &out);
    e = e ? e : lz_plan_create(&d.b, &out, 1, NULL, &p);
    if (!e) {
        assert_int_equal(tails(p), cases[which].tail);
        e = compare(&d, p, threads);
        lz_plan_destroy(p);
    }
    dag_deinit(&d);
    return e;
}

static float turned_element(const dag *d, shape s, int64_t b, int64_t i, int64_t j)
{
    const float *x = d->inputs[0].buffer->data, *y = d->inputs[1].buffer->data,
                *r = d->inputs[2].buffer->data;
    double sum = 0;
    for (int64_t k = 0; k < s.k; k++)
        sum += (double)tanhf(x[(b * s.m + j) * s.k + k]) * (double)y[(b * s.k + k) * s.n + i];
    return r[(b * s.n + i) * s.m + j] + (float)sum;
}

static lz_err *test_turned_values(void)
{
    dag d;
    lz_plan *p = NULL;
    lz_buffer *got = NULL;
    const lz_low_node *out;
    shape s = { 2, 5, 7, 3 };
    dag_init(&d);
    lz_err *e = make_turned(&d, s, &out);
    e = e ? e : lz_plan_create(&d.b, &out, 1, NULL, &p);
    e = e ? e : run(&d, p, NULL, &got);
    for (int64_t b = 0; !e && b < s.b; b++)
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t j = 0; j < s.m; j++)
                assert_true(fabsf(((const float *)got->data)[(b * s.n + i) * s.m + j]
                                  - turned_element(&d, s, b, i, j))
                            < 1e-4F);
    lz_buffer_release(got);
    lz_plan_destroy(p);
    dag_deinit(&d);
    return e;
}

static lz_err *test_small(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        LZ_TRY(check(i, (shape){ 2, 5, 7, 3 }, NULL));
    return NULL;
}

/* Several tiles, of our own product and of a library's; more bands than are counted singly. */
static void test_many_tiles(void **state)
{
    static const shape shapes[] = { { 1, 600, 700, 16 }, { 2, 300, 530, 40 }, { 300, 3, 4, 5 } };
    lz_pool *threads;
    (void)state;
    for (int n = 1; n < 4; n++) {
        assert_null(lz_pool_create(n, &threads));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (size_t s = 0; s < 3; s++)
                assert_null(check(i, shapes[s], threads));
        lz_pool_destroy(threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_small), LZ_TEST(test_turned_values),
                                        cmocka_unit_test(test_many_tiles) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
