/* Batches of indices: every element once an epoch, in an order that seed and epoch alone decide. */
#include "check.h"
#include <lazuli/lazuli.h>

enum { N = 10 };

/* Reads an epoch; returns how many indices came. */
static int64_t read_epoch(lz_loader *l, int64_t *out)
{
    int64_t n = 0;
    for (lz_tensor *i; (i = lz_loader_next(l)); n += lz_tensor_numel(i))
        assert_true(lz_read(i, out + n, (size_t)lz_tensor_numel(i) * sizeof *out));
    return n;
}

static void expect_permutation(const int64_t *v, int64_t n)
{
    bool seen[N] = { false };
    for (int64_t i = 0; i < n; i++) {
        assert_true(v[i] >= 0 && v[i] < N && !seen[v[i]]);
        seen[v[i]] = true;
    }
}

static void test_in_order(void **state)
{
    (void)state;
    int64_t v[N];
    lz_ctx *c = lz_open(NULL);
    lz_loader *l = lz_loader_create(c, N, .batch = 4);
    assert_int_equal(lz_loader_batches(l), 3);
    for (int epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(read_epoch(l, v), N);
        for (int i = 0; i < N; i++)
            assert_int_equal(v[i], i);
    }
    lz_loader_free(l);
    l = lz_loader_create(c, N, .batch = 4, .drop_last = true);
    assert_int_equal(lz_loader_batches(l), 2);
    assert_int_equal(read_epoch(l, v), 8);
    lz_loader_free(l);
    l = lz_loader_create(c, 0);
    assert_true(lz_loader_batches(l) == 0 && !lz_loader_next(l));
    lz_loader_free(l);
    assert_false(lz_failed(c));
    lz_close(c);
}

static void test_shuffled(void **state)
{
    (void)state;
    int64_t first[N], second[N], other[N], again[N];
    lz_ctx *c = lz_open(NULL);
    lz_loader *l = lz_loader_create(c, N, .batch = 3, .shuffle = true, .seed = 5);
    lz_loader *m = lz_loader_create(c, N, .batch = 3, .shuffle = true, .seed = 6);
    assert_int_equal(read_epoch(l, first), N);
    assert_int_equal(read_epoch(l, second), N);
    assert_int_equal(read_epoch(m, other), N);
    expect_permutation(first, N);
    expect_permutation(second, N);
    assert_true(memcmp(first, second, sizeof first) != 0 && memcmp(first, other, sizeof first) != 0);
    assert_true(lz_loader_seek(m, 0, 1) && lz_loader_epoch(m) == 0 && lz_loader_batch(m) == 1);
    assert_int_equal(read_epoch(m, again), N - 3);
    assert_memory_equal(again, other + 3, (N - 3) * sizeof *again);
    assert_true(lz_loader_seek(l, 1, 0));
    assert_int_equal(read_epoch(l, again), N);
    assert_memory_equal(again, second, sizeof second);
    assert_false(lz_failed(c));
    lz_loader_free(l);
    lz_loader_free(m);
    lz_close(c);
}

/* Over many epochs every element stands equally often at every place: chi-square with 81 degrees of freedom
 * is below 140 but once in 20,000 draws. */
static void test_is_uniform(void **state)
{
    (void)state;
    enum { EPOCHS = 5000 };
    int count[N][N] = { { 0 } };
    int64_t v[N];
    double chi = 0, want = (double)EPOCHS / N;
    lz_ctx *c = lz_open(NULL);
    lz_loader *l = lz_loader_create(c, N, .batch = N, .shuffle = true, .seed = 1);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        lz_scope *s = lz_scope_push(c);
        assert_int_equal(read_epoch(l, v), N);
        lz_scope_pop(s);
        for (int i = 0; i < N; i++)
            count[i][v[i]]++;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            chi += (count[i][j] - want) * (count[i][j] - want) / want;
    assert_true(chi > 40 && chi < 140);
    lz_loader_free(l);
    lz_close(c);
}

static void expect_refused(lz_ctx *c, const char *text)
{
    assert_non_null(strstr(lz_message(c), text));
    lz_clear(c);
}

static void test_refusals(void **state)
{
    (void)state;
    lz_ctx *c = lz_open(NULL);
    assert_null(lz_loader_create(c, -1));
    expect_refused(c, "got -1");
    assert_null(lz_loader_create(c, 4, .batch = 0));
    expect_refused(c, "got 0");
    lz_loader *l = lz_loader_create(c, 4, .batch = 2);
    assert_false(lz_loader_seek(l, 0, 3));
    expect_refused(c, "an epoch has 2 batches");
    lz_loader_free(l);
    lz_loader_free(NULL);
    assert_true(!lz_loader_next(NULL) && lz_loader_batches(NULL) == 0 && !lz_loader_seek(NULL, 0, 0));
    lz_close(c);
}

/* Memory that fails is an error, and nothing is lost. */
static lz_err *test_memory(void)
{
    lz_err *e = NULL;
    lz_ctx *c = lz_open(NULL);
    if (!c)
        return lz_err_oom();
    lz_loader *l = lz_loader_create(c, N, .batch = 4, .shuffle = true);
    while (lz_loader_next(l))
        ;
    if (lz_failed(c))
        e = lz_errf(lz_code_of(c), "%s", lz_message(c));
    lz_loader_free(l);
    lz_close(c);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_is_uniform),
        cmocka_unit_test(test_refusals),
        LZ_TEST(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
