/* Whatever library multiplies: the right result, however matrices lie, and the same bits for any
 * number of threads. Libraries that are not there are left out. */
#include "check.h"
#include "core/convert.h"
#include "core/strided_array.h"
#include "kernel/blas.h"
#include "kernel/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape {
    int64_t b, m, n, k;
    bool xt, yt, apart; /* stored transposed; rows apart */
} shape;

static uint64_t seed = 1;
static double some(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(int64_t)(seed >> 40) / (1 << 23) - 1;
}

/* [b, rows, cols] as a view of a larger array. */
static lz_err *make(lz_array *a, lz_dtype d, shape s, int64_t rows, int64_t cols, bool transposed)
{
    int64_t inner = transposed ? rows : cols, outer = transposed ? cols : rows;
    int64_t ld = inner + (s.apart ? 5 : 0);
    lz_buffer *buffer;
    lz_array all = { 0 };
    LZ_TRY(lz_array_init(&all, NULL, d, LZ_DIMS(s.b, outer, ld)));
    for (int64_t i = 0; i < all.numel; i++)
        lz_array_set(&all, i, lz_scalar_float(some()));
    buffer = lz_buffer_retain(all.buffer);
    lz_array_deinit(&all);
    lz_err *e = lz_array_init_view(a, buffer, d, LZ_DIMS(s.b, rows, cols),
                                   LZ_DIMS(outer * ld, transposed ? 1 : ld, transposed ? ld : 1), 0);
    lz_buffer_release(buffer);
    return e;
}

static lz_strided strided(const lz_array *a)
{
    return (lz_strided){ a->buffer->data, a->dtype, a->sizes.n, a->sizes.v, a->strides.v };
}

static double at(const lz_array *a, int64_t b, int64_t i, int64_t j)
{
    return lz_element_get(a->dtype, lz_array_at(a, (int64_t[]){ b, i, j })).re;
}

static double allowed(lz_dtype d, int64_t k)
{
    double eps = d == LZ_F64 ? 0x1p-53 : d == LZ_F32 ? 0x1p-24 : d == LZ_F16 ? 0x1p-11 : 0x1p-8;
    return d == LZ_F64 || d == LZ_F32 ? eps * (double)k * 4 : eps * 4 * sqrt((double)k);
}

/* All elements of small results, some of large ones. */
static void check_result(const lz_array *x, const lz_array *y, const lz_array *out)
{
    int64_t m = out->sizes.v[1], n = out->sizes.v[2], k = x->sizes.v[2], step = out->numel > 20000 ? 997 : 1;
    for (int64_t e = 0; e < out->numel; e += step) {
        int64_t b = e / n / m, i = e / n % m, j = e % n;
        double sum = 0;
        for (int64_t q = 0; q < k; q++)
            sum += at(x, b, i, q) * at(y, b, q, j);
        assert_true(fabs(at(out, b, i, j) - sum) <= allowed(out->dtype, k) + 1e-300);
    }
}

static lz_err *multiply(const lz_array *x, const lz_array *y, lz_array *out, lz_pool *pool)
{
    lz_kernel_call c = { .in = { strided(x), strided(y) }, .out = strided(out), .pool = pool };
    memset(out->buffer->data, 0x7f, out->buffer->size); /* NaN or large: nothing of it is to stay */
    return lz_matmul(&c);
}

static lz_err *check_threads(const lz_array *x, const lz_array *y, const lz_array *first, lz_array *out)
{
    for (int threads = 2; threads < 4; threads++) {
        lz_pool *pool;
        LZ_TRY(lz_pool_create(threads, &pool));
        lz_err *e = multiply(x, y, out, pool);
        lz_pool_destroy(pool);
        LZ_TRY(e);
        assert_memory_equal(out->buffer->data, first->buffer->data,
                            (size_t)out->numel * lz_dtype_size(out->dtype));
    }
    return NULL;
}

static lz_err *check(lz_dtype d, shape s, bool threads)
{
    lz_array x = { 0 }, y = { 0 }, out[2] = { 0 };
    lz_err *e = make(&x, d, s, s.m, s.k, s.xt);
    e = e ? e : make(&y, d, s, s.k, s.n, s.yt);
    for (int i = 0; i < 2 && !e; i++)
        e = lz_array_init(&out[i], NULL, d, LZ_DIMS(s.b, s.m, s.n));
    e = e ? e : multiply(&x, &y, &out[0], NULL);
    if (!e)
        check_result(&x, &y, &out[0]);
    if (!e && threads)
        e = check_threads(&x, &y, &out[0], &out[1]);
    lz_array_deinit(&x);
    lz_array_deinit(&y);
    lz_array_deinit(&out[0]);
    lz_array_deinit(&out[1]);
    return e;
}

static void choose(lz_blas b)
{
    assert_int_equal(setenv("LAZULI_BLAS", lz_blas_name(b), 1), 0);
}

static bool is_there(lz_blas b)
{
    unsetenv("LAZULI_BLAS");
    return b == LZ_BLASES || lz_blas_has(b);
}

static lz_err *test_small(void)
{
    unsetenv("LAZULI_BLAS");
    LZ_TRY(check(LZ_F32, (shape){ .b = 2, .m = 3, .n = 5, .k = 4, .yt = true }, false));
    return check(LZ_BF16, (shape){ .b = 1, .m = 3, .n = 5, .k = 4 }, false);
}

/* Every library, way to lie, and edge; integers and halves are always ours. */
static void test_every_library(void **state)
{
    static const lz_dtype dtypes[] = { LZ_F32, LZ_F64, LZ_F16, LZ_BF16 };
    static const int64_t sizes[][4] = { { 1, 1, 1, 1 },  { 2, 1, 9, 33 },  { 1, 17, 1, 40 },
                                        { 3, 8, 16, 2 }, { 2, 33, 65, 7 }, { 1, 70, 50, 130 } };
    (void)state;
    for (int b = 0; b <= LZ_BLASES; b++)
        for (int way = 0; is_there((lz_blas)b) && way < 32; way++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                shape v = { sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3], way & 1, way & 2, way & 4 };
                choose((lz_blas)b);
                assert_null(check(dtypes[way / 8], v, false));
            }
    unsetenv("LAZULI_BLAS");
}

static void test_threads_change_nothing(void **state)
{
    static const shape shapes[] = { { 1, 300, 520, 70, false, false, false },
                                    { 3, 129, 260, 130, true, true, true } };
    (void)state;
    for (int b = 0; b <= LZ_BLASES; b++)
        for (int i = 0; is_there((lz_blas)b) && i < 4; i++) {
            choose((lz_blas)b);
            assert_null(check(i / 2 ? LZ_F64 : LZ_F32, shapes[i % 2], true));
        }
    unsetenv("LAZULI_BLAS");
}

/* A row that is read again and again is no matrix of any library. */
static void test_repeated_rows_are_ours(void **state)
{
    lz_array row, x, y, out;
    (void)state;
    unsetenv("LAZULI_BLAS");
    assert_null(lz_array_init(&row, NULL, LZ_F32, LZ_DIMS(200)));
    assert_null(lz_array_init_view(&x, row.buffer, LZ_F32, LZ_DIMS(1, 100, 200), LZ_DIMS(0, 0, 1), 0));
    assert_null(lz_array_init(&y, NULL, LZ_F32, LZ_DIMS(1, 200, 90)));
    assert_null(lz_array_init(&out, NULL, LZ_F32, LZ_DIMS(1, 100, 90)));
    for (int64_t i = 0; i < 200; i++)
        lz_array_set(&row, i, lz_scalar_float(some()));
    for (int64_t i = 0; i < y.numel; i++)
        lz_array_set(&y, i, lz_scalar_float(some()));
    assert_null(multiply(&x, &y, &out, NULL));
    check_result(&x, &y, &out);
    lz_array_deinit(&row);
    lz_array_deinit(&x);
    lz_array_deinit(&y);
    lz_array_deinit(&out);
}

static lz_err *test_unknown_names_are_refused(void)
{
    lz_kernel_call c = { 0 };
    assert_int_equal(setenv("LAZULI_BLAS", "mkl", 1), 0);
    lz_err *e = lz_matmul_prepare(&c);
    unsetenv("LAZULI_BLAS");
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_int_equal(lz_err_code(e), LZ_ERR_ARG);
    assert_non_null(strstr(lz_err_text(e), "LAZULI_BLAS=mkl: not one of own, openblas, onednn, auto"));
    lz_err_free(e);
    return NULL;
}

/* Our own, but for large products with a vector. */
static lz_err *test_choice_is_told(void)
{
    enum { N = 1024 };
    static const int64_t square[] = { 1, N, N }, vector[] = { 1, 1, N }, strides[] = { N * N, N, 1 };
    lz_strided s = { NULL, LZ_F32, 3, square, strides }, v = { NULL, LZ_F32, 3, vector, strides };
    lz_kernel_call c = { .in = { s, s }, .out = s }, d = { .in = { v, s }, .out = v };
    unsetenv("LAZULI_BLAS");
    assert_null(lz_matmul_way(&c));
    LZ_TRY(lz_matmul_prepare(&c));
    assert_string_equal(lz_matmul_way(&c), "own");
    LZ_TRY(lz_matmul_prepare(&d));
    assert_string_equal(lz_matmul_way(&d), lz_blas_has(LZ_BLAS_ONEDNN) ? "onednn" : "own");
    choose(LZ_BLAS_OWN);
    lz_err *e = lz_matmul_prepare(&d);
    unsetenv("LAZULI_BLAS");
    LZ_TRY(e);
    assert_string_equal(lz_matmul_way(&d), "own");
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_small),
        cmocka_unit_test(test_every_library),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_repeated_rows_are_ours),
        LZ_TEST(test_unknown_names_are_refused),
        LZ_TEST(test_choice_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
