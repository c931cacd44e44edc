/* Memory: what a plan says it takes is what the pool sees it take; what dies is used again;
 * donated inputs are written to. */
#include "base/hash.h"
#include "dag_random.h"
#include "plan/plan_impl.h"

/* A buffer that was an input may be larger than what lies in it. */
static uint64_t hash_of(const lz_plan *p, lz_buffer *const *out)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < lz_plan_outputs(p); i++) {
        const lz_plan_output *o = lz_plan_output_get(p, i);
        size_t bytes = lz_dtype_size(o->dtype);
        for (int64_t d = 0; d < o->sizes.n; d++)
            bytes *= (size_t)o->sizes.v[d];
        if (o->slot < 0)
            hash = hash * 31 + lz_hash64(out[i]->data, bytes);
    }
    return hash;
}

/* made: buffers; hash: of what came out. */
static lz_err *run_plan(const lz_plan *p, const dag *d, bool donate, size_t *taken, size_t *made,
                        uint64_t *hash)
{
    lz_buffer_pool *pool;
    lz_run_input in[8] = { 0 };
    lz_buffer *out[8] = { NULL };
    LZ_TRY(lz_buffer_pool_create(0, &pool));
    for (int64_t i = 0; i < d->n_inputs; i++)
        in[i] = (lz_run_input){ .buffer = d->inputs[i].buffer, .donate = donate };
    lz_run_args args = { .inputs = in, .scalars = d->scalars, .memory = pool };
    lz_err *e = lz_plan_run(p, &args, out);
    *hash = e ? 0 : hash_of(p, out);
    *taken = lz_buffer_pool_stats(pool).peak;
    *made = lz_buffer_pool_stats(pool).made;
    for (size_t i = 0; i < lz_plan_outputs(p); i++)
        lz_buffer_release(out[i]);
    lz_buffer_pool_release(pool);
    return e;
}

static lz_err *check_peak(const dag *d, const lz_low_node *const *out, size_t n, bool separate)
{
    lz_plan *p;
    size_t taken = 0, made;
    uint64_t plain, donated = 0;
    lz_plan_options o = { .separate = separate };
    LZ_TRY(lz_plan_create(&d->b, out, n, &o, &p));
    lz_err *e = run_plan(p, d, false, &taken, &made, &plain);
    if (!e)
        assert_int_equal(taken, lz_plan_peak(p));
    if (!e && !separate) /* last: inputs are written to */
        e = run_plan(p, d, true, &taken, &made, &donated);
    if (!e && !separate)
        assert_int_equal(taken, lz_plan_peak(p) - p->donated);
    if (!e && !separate && plain != donated)
        fail_msg("other results in the memory of inputs");
    lz_plan_destroy(p);
    return e;
}

static void test_peak_is_predicted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        dag d;
        const lz_low_node *out[DAG_OUTPUTS];
        dag_init(&d);
        lz_err *e = dag_randomise(&d, seed, out);
        e = e ? e : check_peak(&d, out, DAG_OUTPUTS, true);
        e = e ? e : check_peak(&d, out, DAG_OUTPUTS, false);
        if (e)
            fail_msg("seed %llu: %s", (unsigned long long)seed, lz_err_text(e));
        dag_deinit(&d);
    }
}

/* Those in the block of temporaries, not in an output. */
static bool is_placed(const lz_plan *p, size_t i)
{
    return p->buffers[lz_plan_root(p, (uint32_t)i)].kind == LZ_PLAN_BUFFER_TEMP;
}

/* Temporaries never overlap while both are needed, unless one takes the other's place. */
static void check_overlaps(const lz_plan *p)
{
    for (size_t i = 0; i < p->n_buffers; i++)
        for (size_t k = 0; k < i; k++) {
            const lz_plan_buffer *a = &p->buffers[i], *b = &p->buffers[k];
            bool temps = is_placed(p, i) && is_placed(p, k) && a->bytes && b->bytes && a->first != UINT32_MAX
                         && b->first != UINT32_MAX;
            bool apart = a->where + a->bytes <= b->where || b->where + b->bytes <= a->where;
            bool after = a->first > b->last || b->first > a->last;
            bool shared = (a->shares == k && a->first == b->last) || (b->shares == i && b->first == a->last);
            if (temps && !apart && !after && !shared)
                fail_msg("buffers %zu and %zu are in each other's way", k, i);
        }
}

static void test_places_are_free(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        dag d;
        lz_plan *p;
        const lz_low_node *out[DAG_OUTPUTS];
        lz_plan_options o = { .separate = seed % 2 };
        dag_init(&d);
        assert_null(dag_randomise(&d, seed, out));
        assert_null(lz_plan_create(&d.b, out, DAG_OUTPUTS, &o, &p));
        check_overlaps(p);
        lz_plan_destroy(p);
        dag_deinit(&d);
    }
}

/* ---- reuse ---- */

static lz_err *plan_products(dag *d, int n, lz_plan **out)
{
    const lz_low_node *x, *t;
    LZ_TRY(dag_input(d, LZ_F32, D(1, 8, 8), &x));
    t = x;
    for (int i = 0; i < n; i++)
        LZ_TRY(lz_low_matmul(&d->b, t, x, &t));
    return lz_plan_create(&d->b, &t, 1, NULL, out);
}

static lz_err *test_a_chain_needs_two_buffers(void)
{
    enum { BYTES = 8 * 8 * 4 };
    dag d;
    lz_plan *p;
    dag_init(&d);
    lz_err *e = plan_products(&d, 20, &p);
    if (!e) {
        assert_int_equal(lz_plan_launches(p), 20);
        assert_int_equal(p->temp_bytes, 2 * BYTES);
        lz_plan_destroy(p);
    }
    dag_deinit(&d);
    return e;
}

/* Scans do not fuse along different dimensions, but each writes where the last one did. */
static lz_err *test_results_take_the_place_of_operands(void)
{
    enum { BYTES = 16 * 16 * 8 };
    dag d;
    lz_plan *p = NULL;
    const lz_low_node *t;
    dag_init(&d);
    lz_err *e = dag_input(&d, LZ_F64, D(16, 16), &t);
    for (int i = 0; !e && i < 8; i++)
        e = lz_low_scan(&d.b, LZ_KERNEL_RSUM, t, i % 2, &t);
    e = e ? e : lz_plan_create(&d.b, &t, 1, NULL, &p);
    if (!e) {
        assert_int_equal(lz_plan_launches(p), 8);
        assert_true(p->temp_bytes <= 2 * BYTES);
        lz_plan_destroy(p);
    }
    dag_deinit(&d);
    return e;
}

/* A product, and what is computed of it element by element: one buffer for both. */
static lz_err *test_a_temporary_lies_where_the_output_will(void)
{
    dag d;
    lz_plan *p = NULL;
    const lz_low_node *x, *t;
    dag_init(&d);
    lz_err *e = dag_input(&d, LZ_F32, D(1, 8, 8), &x);
    e = e ? e : lz_low_matmul(&d.b, x, x, &t);
    e = e ? e : map1(&d, LZ_KERNEL_TANH, t, &t);
    e = e ? e : lz_plan_create(&d.b, &t, 1, NULL, &p);
    if (!e) {
        assert_int_equal(lz_plan_launches(p), 2);
        assert_int_equal(p->temp_bytes, 0);
        assert_int_equal(lz_plan_peak(p), lz_buffer_capacity(8 * 8 * sizeof(float)));
    }
    lz_plan_destroy(p);
    dag_deinit(&d);
    return e;
}

/* Layers h = h * w, their gradients back again, and the gradient of each w, which nobody waits for:
 * it comes as soon as it frees what it is made of. */
static lz_err *plan_layers(dag *d, int n, lz_plan **out)
{
    const lz_low_node *h[8], *w[8], *packed, *g, *grads[8];
    LZ_TRY(dag_input(d, LZ_F32, D(1, 64, 8), &h[0]));
    for (int i = 0; i < n; i++) {
        LZ_TRY(dag_input(d, LZ_F32, D(1, 8, 8), &w[i]));
        LZ_TRY(lz_low_matmul(&d->b, h[i], w[i], &h[i + 1]));
    }
    g = h[n];
    for (int i = n; i-- > 0;) {
        LZ_TRY(lz_low_permute(&d->b, h[i], (int64_t[]){ 0, 2, 1 }, &packed));
        LZ_TRY(lz_low_matmul(&d->b, packed, g, &grads[i]));
        LZ_TRY(lz_low_permute(&d->b, w[i], (int64_t[]){ 0, 2, 1 }, &packed));
        LZ_TRY(lz_low_matmul(&d->b, g, packed, &g));
    }
    return lz_plan_create(&d->b, grads, (size_t)n, NULL, out);
}

static lz_err *test_what_frees_memory_comes_soon(void)
{
    enum { LAYERS = 6, BYTES = 64 * 8 * 4 };
    dag d;
    lz_plan *p = NULL;
    dag_init(&d);
    lz_err *e = plan_layers(&d, LAYERS, &p);
    if (!e) {
        assert_int_equal(lz_plan_launches(p), 3 * LAYERS - 1);
        assert_true(p->temp_bytes <= (LAYERS + 1) * BYTES); /* all h, and a gradient */
    }
    lz_plan_destroy(p);
    dag_deinit(&d);
    return e;
}

/* ---- donation ---- */

static lz_err *plan_chain(dag *d, lz_plan **out)
{
    const lz_low_node *x, *one, *t;
    LZ_TRY(dag_input(d, LZ_F32, D(6, 50), &x));
    LZ_TRY(lz_low_const(&d->b, lz_scalar_float(1), LZ_F32, &one));
    t = x;
    for (int i = 0; i < 10; i++)
        LZ_TRY(map2(d, LZ_KERNEL_ADD, t, one, &t));
    return lz_plan_create(&d->b, &t, 1, NULL, out);
}

static lz_err *test_a_donated_chain_takes_nothing(void)
{
    dag d;
    lz_plan *p;
    size_t taken = 1, made = 1;
    uint64_t hash;
    dag_init(&d);
    lz_err *e = plan_chain(&d, &p);
    if (!e) {
        double before = rv_get(&d.inputs[0], 7).f;
        assert_int_equal(lz_plan_launches(p), 1);
        e = run_plan(p, &d, true, &taken, &made, &hash);
        if (!e) {
            assert_int_equal(taken, 0);
            assert_int_equal(made, 0);
            assert_true(rv_get(&d.inputs[0], 7).f == before + 10);
        }
        lz_plan_destroy(p);
    }
    dag_deinit(&d);
    return e;
}

/* What is read again later keeps its memory: the sum of x reads x, although x was donated. */
static lz_err *test_a_donated_input_is_kept_while_it_is_read(void)
{
    dag d;
    lz_plan *p = NULL;
    const lz_low_node *x, *y, *out[2];
    dag_init(&d);
    lz_err *e = dag_input(&d, LZ_F32, D(8, 8), &x);
    e = e ? e : map1(&d, LZ_KERNEL_NEG, x, &out[0]);
    e = e ? e : lz_low_reshape(&d.b, x, D(1, 8, 8), &y);
    e = e ? e : lz_low_matmul(&d.b, y, y, &out[1]);
    e = e ? e : lz_plan_create(&d.b, out, 2, NULL, &p);
    lz_array all[16] = { 0 };
    assert_true(d.b.n_nodes <= 16);
    for (uint32_t i = 0; !e && i < d.b.n_nodes; i++)
        e = ref_node(&d, d.b.nodes[i], all);
    lz_buffer *got[2] = { NULL };
    lz_run_input in = { .buffer = d.inputs[0].buffer, .donate = true };
    lz_run_args args = { .inputs = &in };
    e = e ? e : lz_plan_run(p, &args, got);
    if (!e)
        for (int i = 0; i < 64; i++)
            assert_true(fabs(((float *)got[1]->data)[i] - rv_get(&all[out[1]->id], i).f) < 1e-3);
    for (int i = 0; i < 2; i++)
        lz_buffer_release(got[i]);
    for (int i = 0; i < 16; i++)
        lz_array_deinit(&all[i]);
    lz_plan_destroy(p);
    dag_deinit(&d);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak_is_predicted),
        cmocka_unit_test(test_places_are_free),
        LZ_TEST(test_a_chain_needs_two_buffers),
        LZ_TEST(test_results_take_the_place_of_operands),
        LZ_TEST(test_a_temporary_lies_where_the_output_will),
        LZ_TEST(test_what_frees_memory_comes_soon),
        LZ_TEST(test_a_donated_chain_takes_nothing),
        LZ_TEST(test_a_donated_input_is_kept_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
