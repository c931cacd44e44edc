#include "check.h"
#include "small_numbers.h"

static void check_product(const lz_array *x, const lz_array *y, const lz_array *out)
{
    int64_t i[LZ_MAX_DIMS];
    for (int64_t n = 0; n < out->numel; n++) {
        double sum = 0;
        lz_array_index_of(out, n, i);
        for (int64_t k = 0; k < x->sizes.v[2]; k++)
            sum += at(x, (int64_t[]){ i[0], i[1], k }) * at(y, (int64_t[]){ i[0], k, i[2] });
        assert_true(at(out, i) == sum);
    }
}

/* x as given; y transposed in memory. */
static lz_err *multiply(lz_dtype d, int64_t b, int64_t m, int64_t n, int64_t k, lz_pool *pool)
{
    lz_array x = { 0 }, yt = { 0 }, y = { 0 }, out = { 0 };
    lz_err *e = fill(&x, d, LZ_DIMS(b, m, k));
    if (!e)
        e = fill(&yt, d, LZ_DIMS(b, n, k));
    if (!e)
        e = lz_array_init_view(&y, yt.buffer, d, LZ_DIMS(b, k, n), LZ_DIMS(n * k, 1, k), 0);
    if (!e)
        e = lz_array_init(&out, NULL, d, LZ_DIMS(b, m, n));
    if (!e) {
        lz_kernel_call c = { .in = { strided(&x), strided(&y) }, .out = strided(&out), .pool = pool };
        e = lz_matmul(&c);
    }
    if (!e)
        check_product(&x, &y, &out);
    lz_array_deinit(&x);
    lz_array_deinit(&yt);
    lz_array_deinit(&y);
    lz_array_deinit(&out);
    return e;
}

static lz_err *test_small_products(void)
{
    LZ_TRY(multiply(LZ_F32, 2, 3, 5, 4, NULL));
    LZ_TRY(multiply(LZ_F64, 1, 1, 1, 1, NULL));
    LZ_TRY(multiply(LZ_I64, 1, 2, 3, 0, NULL));
    return multiply(LZ_I32, 1, 0, 3, 2, NULL);
}

static void test_every_dtype_and_edge(void **state)
{
    static const lz_dtype dtypes[] = { LZ_F32, LZ_F64, LZ_I64, LZ_I32, LZ_I16, LZ_F16, LZ_BF16 };
    static const int64_t sizes[][3] = {
        { 64, 128, 16 }, { 65, 129, 17 }, { 3, 200, 9 }, { 130, 7, 300 }, { 1, 17, 260 }
    };
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t s = 0; s < 5; s++) {
            bool exact = dtypes[d] != LZ_BF16 && dtypes[d] != LZ_F16; /* halves: only short sums are exact */
            if (exact || sizes[s][2] < 20)
                assert_null(multiply(dtypes[d], 2, sizes[s][0], sizes[s][1], sizes[s][2], pool));
        }
    lz_pool_destroy(pool);
}

/* A matrix [b, rows, cols] of all 8-bit numbers, or small ones; turned: with its columns contiguous. */
static lz_err *make(lz_array *a, lz_dtype d, int64_t b, int64_t rows, int64_t cols, bool turned)
{
    lz_array dense = { 0 };
    lz_err *e = fill(&dense, d, LZ_DIMS(b, rows, cols));
    for (int64_t i = 0; !e && d != LZ_BF16 && i < dense.numel; i++)
        lz_array_set(&dense, i,
                     lz_scalar_int(d == LZ_I8 ? (i * 37 + some()) % 256 - 128 : (i * 37 + some() + 3) % 256));
    if (!e)
        e = turned ? lz_array_init_view(a, dense.buffer, d, LZ_DIMS(b, rows, cols),
                                        LZ_DIMS(rows * cols, 1, rows), 0)
                   : lz_array_init_view(a, dense.buffer, d, LZ_DIMS(b, rows, cols),
                                        LZ_DIMS(rows * cols, cols, 1), 0);
    lz_array_deinit(&dense);
    return e;
}

static lz_err *multiply_wider(lz_dtype dx, lz_dtype dy, lz_dtype d, const int64_t *sizes, int turned,
                              lz_pool *pool)
{
    lz_array x = { 0 }, y = { 0 }, out = { 0 };
    lz_err *e = make(&x, dx, 2, sizes[0], sizes[2], turned & 1);
    if (!e)
        e = make(&y, dy, 2, sizes[2], sizes[1], turned & 2);
    if (!e)
        e = lz_array_init(&out, NULL, d, LZ_DIMS(2, sizes[0], sizes[1]));
    if (!e) {
        lz_kernel_call c = { .in = { strided(&x), strided(&y) }, .out = strided(&out), .pool = pool };
        e = lz_matmul(&c);
    }
    if (!e)
        check_product(&x, &y, &out);
    lz_array_deinit(&x);
    lz_array_deinit(&y);
    lz_array_deinit(&out);
    return e;
}

/* Sums of another dtype than the operands, with the instructions for pairs where the machine has them: odd
 * and even k, one column, every order of the dimensions. */
static void test_wider_sums(void **state)
{
    static const lz_dtype dtypes[][3] = { { LZ_BF16, LZ_BF16, LZ_F32 },
                                          { LZ_I8, LZ_I8, LZ_I32 },
                                          { LZ_U8, LZ_I8, LZ_I32 } };
    static const int64_t sizes[][3] = {
        { 64, 33, 16 }, { 13, 129, 17 }, { 130, 1, 30 }, { 1, 17, 801 }, { 5, 5, 1 }
    };
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int turned = 0; turned < 4; turned++)
                assert_null(multiply_wider(dtypes[d][0], dtypes[d][1], dtypes[d][2], sizes[s], turned, pool));
    lz_pool_destroy(pool);
}

/* The same bits on any number of threads, also where sums are rounded. */
static void test_threads_change_nothing(void **state)
{
    lz_array x, y, out[2];
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(4, &pool));
    assert_null(lz_array_init(&x, NULL, LZ_F32, LZ_DIMS(1, 150, 400)));
    assert_null(lz_array_init(&y, NULL, LZ_F32, LZ_DIMS(1, 400, 170)));
    for (int64_t i = 0; i < x.numel; i++)
        lz_array_set(&x, i, lz_scalar_float((double)some() / 7));
    for (int64_t i = 0; i < y.numel; i++)
        lz_array_set(&y, i, lz_scalar_float((double)some() / 11));
    for (int i = 0; i < 2; i++) {
        assert_null(lz_array_init(&out[i], NULL, LZ_F32, LZ_DIMS(1, 150, 170)));
        lz_kernel_call c = { .in = { strided(&x), strided(&y) },
                             .out = strided(&out[i]),
                             .pool = i ? pool : NULL };
        assert_null(lz_matmul(&c));
    }
    assert_memory_equal(out[0].buffer->data, out[1].buffer->data, 150 * 170 * sizeof(float));
    for (int i = 0; i < 2; i++)
        lz_array_deinit(&out[i]);
    lz_array_deinit(&x);
    lz_array_deinit(&y);
    lz_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_small_products),
        cmocka_unit_test(test_every_dtype_and_edge),
        cmocka_unit_test(test_wider_sums),
        cmocka_unit_test(test_threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
