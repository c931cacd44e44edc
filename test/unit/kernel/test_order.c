#include "check.h"
#include "core/convert.h"
#include "core/strided_array.h"
#include "kernel/kernels.h"
#include <math.h>
#include <string.h>

static uint64_t seed = 5;
static int64_t below(int64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int64_t)(seed >> 33) % n;
}

static lz_strided strided(const lz_array *a)
{
    return (lz_strided){ a->buffer->data, a->dtype, a->sizes.n, a->sizes.v, a->strides.v };
}

/* ---- sort ---- */

static double value(const lz_array *a, int64_t i)
{
    lz_scalar s = lz_array_get(a, i);
    return s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i;
}

/* a comes before b, or they are equal and a was first. */
static bool in_order(double a, double b, int64_t i, int64_t k, bool down)
{
    bool na = isnan(a), nb = isnan(b);
    if ((na && nb) || a == b)
        return i < k;
    return down ? na || a > b : nb || a < b;
}

static lz_err *sort_one(lz_dtype d, int64_t rows, int64_t n, bool down, lz_pool *pool)
{
    lz_array x = { 0 }, out = { 0 };
    int64_t params[1] = { down };
    lz_err *e = lz_array_init(&x, NULL, d, LZ_DIMS(rows, n));
    if (!e)
        e = lz_array_init(&out, NULL, LZ_I64, LZ_DIMS(rows, n));
    for (int64_t i = 0; !e && i < x.numel; i++) {
        double v = (double)(below(9) - 4);
        bool odd = lz_dtype_is_float(d) && below(6) == 0;
        lz_array_set(&x, i, lz_scalar_float(odd ? (below(2) ? (double)NAN : -0.0) : v));
    }
    if (!e) {
        lz_kernel_call c = { .in = { strided(&x) }, .out = strided(&out), .params = params, .pool = pool };
        e = lz_sort_indices(&c);
    }
    for (int64_t r = 0; !e && r < rows; r++)
        for (int64_t i = 1; i < n; i++) {
            int64_t p = lz_array_get(&out, r * n + i - 1).i, q = lz_array_get(&out, r * n + i).i;
            assert_true(p >= 0 && p < n && q >= 0 && q < n);
            assert_true(in_order(value(&x, r * n + p), value(&x, r * n + q), p, q, down));
        }
    lz_array_deinit(&x);
    lz_array_deinit(&out);
    return e;
}

static lz_err *test_sort_is_stable_with_nan_greatest(void)
{
    LZ_TRY(sort_one(LZ_F32, 2, 7, false, NULL));
    LZ_TRY(sort_one(LZ_F64, 1, 1, true, NULL));
    LZ_TRY(sort_one(LZ_I8, 3, 0, true, NULL));
    return sort_one(LZ_BOOL, 1, 9, true, NULL);
}

static void test_sort_many(void **state)
{
    static const lz_dtype dtypes[] = { LZ_F32, LZ_F64, LZ_F16, LZ_BF16, LZ_I64, LZ_U8, LZ_BOOL };
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int down = 0; down < 2; down++) {
            assert_null(sort_one(dtypes[d], 40, 33, down, pool));
            assert_null(sort_one(dtypes[d], 1, 5000, down, NULL));
        }
    lz_pool_destroy(pool);
}

/* ---- search ---- */

static lz_err *test_search_agrees_with_counting(void)
{
    lz_array s = { 0 }, v = { 0 }, out = { 0 };
    lz_err *e = lz_array_init(&s, NULL, LZ_F32, LZ_DIMS(2, 6));
    if (!e)
        e = lz_array_init(&v, NULL, LZ_F32, LZ_DIMS(2, 9));
    if (!e)
        e = lz_array_init(&out, NULL, LZ_I64, LZ_DIMS(2, 9));
    for (int64_t i = 0; !e && i < s.numel; i++) {
        int64_t pair = i % 6 / 2;
        lz_array_set(&s, i, lz_scalar_float((double)pair));
    }
    for (int64_t i = 0; !e && i < v.numel; i++)
        lz_array_set(&v, i, lz_scalar_float((double)(i % 9) / 2 - 1));
    for (int64_t right = 0; !e && right < 2; right++) {
        lz_kernel_call c = { .in = { strided(&s), strided(&v) }, .out = strided(&out), .params = &right };
        e = lz_search_sorted(&c);
        for (int64_t i = 0; !e && i < v.numel; i++) {
            int64_t count = 0;
            for (int64_t k = 0; k < 6; k++)
                count += right ? value(&s, i / 9 * 6 + k) <= value(&v, i)
                               : value(&s, i / 9 * 6 + k) < value(&v, i);
            assert_int_equal(lz_array_get(&out, i).i, count);
        }
    }
    lz_array_deinit(&s);
    lz_array_deinit(&v);
    lz_array_deinit(&out);
    return e;
}

/* ---- scatter ---- */

enum { SET, ADD, MUL, MIN, MAX };

static double combine(int64_t mode, double old, double v)
{
    return mode == SET   ? v
           : mode == ADD ? old + v
           : mode == MUL ? old * v
           : mode == MIN ? fmin(old, v)
                         : fmax(old, v);
}

static lz_err *scatter_one(lz_dtype d, int64_t mode, int64_t dim)
{
    lz_array base = { 0 }, index = { 0 }, src = { 0 }, out = { 0 }, want = { 0 };
    lz_ints wide = LZ_DIMS(3, 4, 2), narrow = LZ_DIMS(3, 3, 2);
    int64_t params[5] = { mode, dim }, at[LZ_MAX_DIMS];
    lz_err *e = lz_array_init(&base, NULL, d, wide);
    e = e ? e : lz_array_init(&index, NULL, LZ_I64, narrow);
    e = e ? e : lz_array_init(&src, NULL, d, narrow);
    e = e ? e : lz_array_init(&out, NULL, d, wide);
    e = e ? e : lz_array_init(&want, NULL, d, wide);
    for (int64_t i = 0; !e && i < base.numel; i++) {
        lz_array_set(&base, i, lz_scalar_int(below(5)));
        lz_array_set(&want, i, lz_array_get(&base, i));
    }
    for (int64_t i = 0; !e && i < src.numel; i++) {
        lz_array_set(&src, i, lz_scalar_int(below(5)));
        lz_array_set(&index, i, lz_scalar_int(below(wide.v[dim])));
    }
    for (int64_t i = 0; !e && i < src.numel; i++) {
        lz_array_index_of(&src, i, at);
        at[dim] = lz_array_get(&index, i).i;
        lz_scalar old = lz_element_get(d, lz_array_at(&want, at));
        double v = combine(mode, old.kind == LZ_SCALAR_FLOAT ? old.re : (double)old.i, value(&src, i));
        lz_element_set(d, lz_scalar_float(v), lz_array_at(&want, at));
    }
    if (!e) {
        lz_kernel_call c = { .in = { strided(&base), strided(&index), strided(&src) },
                             .out = strided(&out),
                             .params = params };
        e = lz_scatter_into(&c);
    }
    if (!e)
        assert_memory_equal(out.buffer->data, want.buffer->data, (size_t)out.numel * lz_dtype_size(d));
    lz_array_deinit(&base);
    lz_array_deinit(&index);
    lz_array_deinit(&src);
    lz_array_deinit(&out);
    lz_array_deinit(&want);
    return e;
}

static lz_err *test_scatter_in_every_mode(void)
{
    for (int64_t mode = SET; mode <= MAX; mode++) {
        LZ_TRY(scatter_one(LZ_F32, mode, mode % 3));
        LZ_TRY(scatter_one(LZ_I64, mode, (mode + 1) % 3));
    }
    return NULL;
}

static void test_scatter_every_dtype(void **state)
{
    static const lz_dtype dtypes[] = {
        LZ_F32, LZ_F64, LZ_F16, LZ_BF16, LZ_I64, LZ_I32, LZ_I16, LZ_I8, LZ_U8
    };
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int64_t mode = SET; mode <= MAX; mode++)
            for (int64_t dim = 0; dim < 3; dim++)
                assert_null(scatter_one(dtypes[d], mode, dim));
}

/* One index for a row, with threads: each element is the sum in the order of the index, to the bit. The
 * source is multiplied by `times`, unless that is 0. */
static lz_err *scatter_rows(lz_pool *pool, float times)
{
    enum { ROWS = 64, KINDS = 5, WIDTH = 200 };
    static float base[KINDS][WIDTH], src[ROWS][WIDTH], out[KINDS][WIDTH], want[KINDS][WIDTH];
    int64_t index[ROWS], params[5] = { ADD, 0 };
    for (int64_t i = 0; i < KINDS; i++)
        for (int64_t k = 0; k < WIDTH; k++)
            want[i][k] = base[i][k] = (float)below(1000) / 7;
    for (int64_t i = 0; i < ROWS; i++) {
        index[i] = below(KINDS);
        for (int64_t k = 0; k < WIDTH; k++) {
            src[i][k] = (float)below(1000) / 3;
            float product = times == 0 ? src[i][k] : src[i][k] * times;
            want[index[i]][k] += product;
        }
    }
    int64_t few[] = { KINDS, WIDTH }, many[] = { ROWS, WIDTH }, dense[] = { WIDTH, 1 }, same[] = { 1, 0 };
    lz_kernel_call c = { .in = { { base, LZ_F32, 2, few, dense },
                                 { index, LZ_I64, 2, many, same },
                                 { src, LZ_F32, 2, many, dense },
                                 { times == 0 ? NULL : &times, LZ_F32, 0, few, dense } },
                         .out = { out, LZ_F32, 2, few, dense },
                         .params = params,
                         .pool = pool };
    LZ_TRY(lz_scatter_into(&c));
    assert_memory_equal(out, want, sizeof want);
    return NULL;
}

/* Of rows of every dtype and mode, forward and backward in memory: what one element after the other gives. */
static lz_err *rows_like_elements(lz_dtype d, int64_t mode)
{
    enum { ROWS = 9, KINDS = 4, WIDTH = 70 };
    _Alignas(8) static char base[KINDS * WIDTH * 8], src[ROWS * WIDTH * 8], out[2][KINDS * WIDTH * 8];
    int64_t index[ROWS], spread[ROWS * WIDTH], params[5] = { mode, 0 };
    size_t size = lz_dtype_size(d);
    for (size_t i = 0; i < KINDS * WIDTH; i++)
        lz_element_set(d, lz_scalar_int(below(3)), base + i * size);
    for (int64_t i = 0; i < ROWS * WIDTH; i++) {
        lz_element_set(d, lz_scalar_int(below(3)), src + (size_t)i * size);
        index[i / WIDTH] = i % WIDTH ? index[i / WIDTH] : below(KINDS);
        spread[i] = index[i / WIDTH];
    }
    int64_t few[] = { KINDS, WIDTH }, many[] = { ROWS, WIDTH }, dense[] = { WIDTH, 1 }, same[] = { 1, 0 };
    for (int rows = 0; rows < 2; rows++) {
        lz_kernel_call c = { .in = { { base, d, 2, few, dense },
                                     { rows ? index : spread, LZ_I64, 2, many, rows ? same : dense },
                                     { src, d, 2, many, dense } },
                             .out = { out[rows], d, 2, few, dense },
                             .params = params };
        LZ_TRY(lz_scatter_into(&c));
    }
    assert_memory_equal(out[0], out[1], KINDS * WIDTH * size);
    return NULL;
}

static void test_scatter_rows_like_elements(void **state)
{
    static const lz_dtype dtypes[] = { LZ_F32, LZ_F64, LZ_F16, LZ_BF16, LZ_I64,
                                       LZ_I32, LZ_I16, LZ_I8,  LZ_U8,   LZ_BOOL };
    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int64_t mode = SET; mode <= MAX; mode++)
            assert_null(rows_like_elements(dtypes[d], mode));
}

/* An index that the kernel checks: what is wrong is named, and the base is unchanged. */
static lz_err *scatter_checked(int64_t bad, bool wrap, const char *message)
{
    float base[3] = { 1, 2, 3 }, src[4] = { 10, 20, 30, 40 }, out[3] = { -1, -1, -1 };
    float want[3] = { wrap ? 11 : 31, 2 + 20 + (wrap ? 0 : 10), 3 + 40 + (wrap ? 30 : 0) };
    int64_t index[4] = { wrap ? -3 : 1, wrap ? -2 : 1, wrap ? 2 : 0, 2 }, three = 3, four = 4, one = 1;
    int64_t params[5] = { ADD, 0, 1, 5, wrap };
    index[1] = bad ? bad : index[1];
    lz_kernel_call c = { .in = { { base, LZ_F32, 1, &three, &one },
                                 { index, LZ_I64, 1, &four, &one },
                                 { src, LZ_F32, 1, &four, &one } },
                         .out = { out, LZ_F32, 1, &three, &one },
                         .params = params };
    lz_err *e = lz_scatter_into(&c);
    if (lz_err_code(e) == LZ_ERR_MEMORY || (e && !message))
        return e;
    if (message)
        assert_string_equal(lz_err_text(e), message);
    for (int i = 0; i < 3; i++)
        assert_true(base[i] == (float)(i + 1) && (message || out[i] == want[i]));
    lz_err_free(e);
    return NULL;
}

static lz_err *test_scatter_checks(void)
{
    LZ_TRY(scatter_checked(0, false, NULL));
    LZ_TRY(scatter_checked(0, true, NULL));
    LZ_TRY(scatter_checked(3, false, "index 3 is out of bounds for dimension 5 with size 3"));
    LZ_TRY(scatter_checked(-1, false, "index -1 is out of bounds for dimension 5 with size 3"));
    return scatter_checked(-4, true, "index -4 is out of bounds for dimension 5 with size 3");
}

/* Numbers that the kernel counts and checks, those of an array and every second one. */
static lz_err *count_checked(lz_pool *pool, int64_t step, int64_t bad, const char *message)
{
    enum { N = 70000, BINS = 37, BAD_AT = 69001 };
    static int64_t numbers[2 * N], out[BINS], want[BINS];
    int64_t n = N, bins = BINS, one = 1, params[2] = { 1, 5 };
    memset(want, 0, sizeof want);
    for (int64_t i = 0; i < N; i++) {
        numbers[i * step] = i * i % 101 % BINS;
        want[numbers[i * step]]++;
    }
    if (message)
        numbers[BAD_AT * step] = bad;
    lz_kernel_call c = { .in = { { numbers, LZ_I64, 1, &n, &step } },
                         .out = { out, LZ_I64, 1, &bins, &one },
                         .params = params,
                         .pool = pool };
    lz_err *e = lz_count_numbers(&c);
    if (lz_err_code(e) == LZ_ERR_MEMORY || (e && !message))
        return e;
    if (message)
        assert_string_equal(lz_err_text(e), message);
    else
        assert_memory_equal(out, want, sizeof out);
    lz_err_free(e);
    return NULL;
}

static lz_err *count_all(lz_pool *pool)
{
    for (int64_t step = 1; step <= 2; step++) {
        LZ_TRY(count_checked(pool, step, 0, NULL));
        LZ_TRY(count_checked(pool, step, 37, "index 37 is out of bounds for dimension 5 with size 37"));
        LZ_TRY(count_checked(pool, step, -1, "index -1 is out of bounds for dimension 5 with size 37"));
        LZ_TRY(count_checked(pool, step, INT64_MIN,
                             "index -9223372036854775808 is out of bounds for dimension 5 with size 37"));
        LZ_TRY(count_checked(pool, step, INT64_MAX,
                             "index 9223372036854775807 is out of bounds for dimension 5 with size 37"));
    }
    return NULL;
}

static lz_err *test_count_checks(void)
{
    lz_pool *pool;
    LZ_TRY(lz_pool_create(2, &pool));
    lz_err *e = count_all(pool);
    e = e ? e : count_all(NULL);
    lz_pool_destroy(pool);
    return e;
}

static lz_err *test_scatter_whole_rows(void)
{
    lz_pool *pool;
    LZ_TRY(lz_pool_create(2, &pool));
    lz_err *e = scatter_rows(pool, 0);
    e = e ? e : scatter_rows(NULL, 0);
    e = e ? e : scatter_rows(pool, 0.3f);
    lz_pool_destroy(pool);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_sort_is_stable_with_nan_greatest),
        cmocka_unit_test(test_sort_many),
        LZ_TEST(test_search_agrees_with_counting),
        LZ_TEST(test_scatter_in_every_mode),
        cmocka_unit_test(test_scatter_every_dtype),
        LZ_TEST(test_scatter_whole_rows),
        LZ_TEST(test_scatter_checks),
        LZ_TEST(test_count_checks),
        cmocka_unit_test(test_scatter_rows_like_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
