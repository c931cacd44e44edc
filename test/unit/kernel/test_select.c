/* topk, rank, contains and search against simple versions, for every dtype that has an order. */
#include "check.h"
#include "core/dtype.h"
#include "core/strided_array.h"
#include "kernel/kernels.h"
#include <math.h>

static uint64_t seed = 3;

static int64_t below(int64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (int64_t)(seed >> 33) % n;
}

static const lz_dtype dtypes[] = { LZ_BOOL, LZ_U8,  LZ_I8,   LZ_I16, LZ_I32,
                                   LZ_I64,  LZ_F16, LZ_BF16, LZ_F32, LZ_F64 };

enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static lz_strided strided(const lz_array *a)
{
    return (lz_strided){ a->buffer->data, a->dtype, a->sizes.n, a->sizes.v, a->strides.v };
}

/* Few different numbers, so that many are equal; floats have both zeros, infinities and NaNs. */
static void fill(lz_array *a, int64_t range, bool nans)
{
    static const double odd[] = { -0.0, INFINITY, -INFINITY, NAN };
    for (int64_t i = 0; i < a->numel; i++) {
        double v = a->dtype == LZ_BOOL ? (double)below(2) : (double)below(range);
        if (a->dtype != LZ_BOOL && a->dtype != LZ_U8)
            v -= floor((double)range / 2);
        if (lz_dtype_is_float(a->dtype) && below(7) == 0)
            v = odd[below(nans ? 4 : 3)];
        lz_array_set(a, i, lz_scalar_float(v));
    }
}

static double value(const lz_array *a, int64_t i)
{
    lz_scalar s = lz_array_get(a, i);
    return s.kind == LZ_SCALAR_FLOAT ? s.re : (double)s.i;
}

/* Element i of a row comes before element k: NaN counts as greatest, of equal ones the first. */
static bool before(double a, double b, int64_t i, int64_t k, bool largest)
{
    bool na = isnan(a), nb = isnan(b);
    if ((na && nb) || a == b)
        return i < k;
    return largest ? na || (!nb && a > b) : nb || (!na && a < b);
}

/* How many elements of the row come before that one. */
static int64_t rank_of(const lz_array *x, int64_t row, int64_t n, int64_t at, bool largest)
{
    int64_t rank = 0;
    for (int64_t i = 0; i < n; i++)
        rank += i != at && before(value(x, row * n + i), value(x, row * n + at), i, at, largest);
    return rank;
}

typedef struct arrays {
    lz_array x, y, out;
} arrays;

static void drop(arrays *a)
{
    lz_array_deinit(&a->x);
    lz_array_deinit(&a->y);
    lz_array_deinit(&a->out);
}

static lz_err *topk_one(lz_dtype d, int64_t rows, int64_t n, int64_t k, bool largest, lz_pool *pool)
{
    arrays a = { 0 };
    int64_t params[3] = { k, largest, 1 };
    lz_err *e = lz_array_init(&a.x, NULL, d, LZ_DIMS(rows, n));
    if (!e)
        e = lz_array_init(&a.out, NULL, LZ_I64, LZ_DIMS(rows, k));
    if (!e) {
        fill(&a.x, 50, true);
        lz_kernel_call c = {
            .in = { strided(&a.x) }, .out = strided(&a.out), .params = params, .pool = pool
        };
        e = lz_topk_indices(&c);
    }
    for (int64_t i = 0; !e && i < rows * k; i++)
        assert_int_equal(rank_of(&a.x, i / k, n, lz_array_get(&a.out, i).i, largest), i % k);
    drop(&a);
    return e;
}

static lz_err *test_topk_is_the_start_of_the_order(void)
{
    for (int i = 0; i < DTYPES; i++)
        for (int largest = 0; largest < 2; largest++) {
            LZ_TRY(topk_one(dtypes[i], 2, 90, 5, largest, NULL));
            LZ_TRY(topk_one(dtypes[i], 1, 20, 20, largest, NULL));
        }
    return NULL;
}

static void test_topk_many(void **state)
{
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(2, &pool));
    for (int i = 0; i < DTYPES; i++)
        for (int largest = 0; largest < 2; largest++) {
            assert_null(topk_one(dtypes[i], 3, 3000, 7, largest, pool));
            assert_null(topk_one(dtypes[i], 1, 1500, 300, largest, pool));
            assert_null(topk_one(dtypes[i], 2, 700, 300, largest, NULL));
            assert_null(topk_one(dtypes[i], 9, 5, 1, largest, pool));
        }
    lz_pool_destroy(pool);
}

static lz_err *rank_one(lz_dtype d, int64_t rows, int64_t n, int64_t rank, lz_pool *pool)
{
    arrays a = { 0 };
    lz_err *e = lz_array_init(&a.x, NULL, d, LZ_DIMS(rows, n));
    if (!e)
        e = lz_array_init(&a.out, NULL, LZ_I64, LZ_DIMS(rows, 1));
    if (!e) {
        fill(&a.x, 50, true);
        lz_kernel_call c = { .in = { strided(&a.x) }, .out = strided(&a.out), .params = &rank, .pool = pool };
        e = lz_rank_index(&c);
    }
    for (int64_t r = 0; !e && r < rows; r++)
        assert_int_equal(rank_of(&a.x, r, n, lz_array_get(&a.out, r).i, false), rank);
    drop(&a);
    return e;
}

static lz_err *test_rank_agrees_with_counting(void)
{
    for (int i = 0; i < DTYPES; i++)
        for (int64_t rank = 0; rank < 70; rank += 23)
            LZ_TRY(rank_one(dtypes[i], 3, 70, rank, NULL));
    return rank_one(LZ_F64, 2, 1, 0, NULL);
}

/* Rows of a transposed matrix lie across it. */
static lz_err *test_rows_may_be_strided(void)
{
    float x[6] = { 3, 1, 2, 9, 8, 7 }; /* rows as read: 3 2 8, 1 9 7 */
    int64_t sizes[2] = { 2, 3 }, strides[2] = { 1, 2 }, one[2] = { 1, 1 }, got[6], down = 1, middle = 1;
    static const int64_t order[6] = { 2, 0, 1, 1, 2, 0 }, ranks[2] = { 0, 2 };
    lz_strided in = { x, LZ_F32, 2, sizes, strides }, out = { got, LZ_I64, 2, sizes, NULL };
    lz_kernel_call c = { .in = { in }, .out = out, .params = &down };
    LZ_TRY(lz_sort_indices(&c));
    assert_memory_equal(got, order, sizeof order);
    int64_t each[2] = { 2, 1 };
    c.out = (lz_strided){ got, LZ_I64, 2, each, one };
    c.params = &middle;
    LZ_TRY(lz_rank_index(&c));
    assert_memory_equal(got, ranks, sizeof ranks);
    return NULL;
}

/* ---- sets ---- */

static lz_err *contains_one(lz_dtype d, int64_t rows, int64_t n, int64_t m, lz_pool *pool)
{
    arrays a = { 0 };
    lz_err *e = lz_array_init(&a.x, NULL, d, LZ_DIMS(rows, n));
    if (!e)
        e = lz_array_init(&a.y, NULL, d, LZ_DIMS(m));
    if (!e)
        e = lz_array_init(&a.out, NULL, LZ_BOOL, LZ_DIMS(rows, n));
    if (!e) {
        fill(&a.x, 100, true);
        fill(&a.y, 100, true);
        lz_kernel_call c = { .in = { strided(&a.x), strided(&a.y) }, .out = strided(&a.out), .pool = pool };
        e = lz_contains(&c);
    }
    for (int64_t i = 0; !e && i < rows * n; i++) {
        bool want = false;
        for (int64_t k = 0; k < m; k++)
            want = want || value(&a.x, i) == value(&a.y, k);
        assert_int_equal(lz_array_get(&a.out, i).i, want);
    }
    drop(&a);
    return e;
}

static lz_err *test_contains_agrees_with_comparing(void)
{
    for (int i = 0; i < DTYPES; i++) {
        LZ_TRY(contains_one(dtypes[i], 2, 30, 9, NULL));
        LZ_TRY(contains_one(dtypes[i], 1, 5, 0, NULL));
        LZ_TRY(contains_one(dtypes[i], 300, 1, 40, NULL));
    }
    return NULL;
}

/* UINT64_MAX, the key of the greatest i64, marks free entries. */
static lz_err *test_contains_the_greatest(void)
{
    int64_t x[3] = { INT64_MAX, INT64_MIN, 0 }, set[2] = { INT64_MAX, 5 }, n = 3, m = 2, step = 1;
    uint8_t got[3];
    lz_kernel_call c = { .in = { { x, LZ_I64, 1, &n, &step }, { set, LZ_I64, 1, &m, &step } },
                         .out = { got, LZ_BOOL, 1, &n, &step } };
    LZ_TRY(lz_contains(&c));
    assert_true(got[0] && !got[1] && !got[2]);
    set[0] = 0;
    LZ_TRY(lz_contains(&c));
    assert_true(!got[0] && !got[1] && got[2]);
    return NULL;
}

/* ---- counting ---- */

static lz_err *count_one(int64_t n, int64_t bins, lz_pool *pool)
{
    arrays a = { 0 };
    lz_err *e = lz_array_init(&a.x, NULL, LZ_I64, LZ_DIMS(n));
    if (!e)
        e = lz_array_init(&a.out, NULL, LZ_I64, LZ_DIMS(bins));
    if (!e)
        e = lz_array_init_zero(&a.y, NULL, LZ_I64, LZ_DIMS(bins));
    for (int64_t i = 0; !e && i < n; i++) {
        int64_t v = below(bins);
        lz_array_set(&a.x, i, lz_scalar_int(v));
        lz_array_set(&a.y, v, lz_scalar_int(lz_array_get(&a.y, v).i + 1));
    }
    if (!e) {
        int64_t params[2] = { 0, 0 };
        lz_kernel_call c = {
            .in = { strided(&a.x) }, .out = strided(&a.out), .params = params, .pool = pool
        };
        e = lz_count_numbers(&c);
    }
    for (int64_t i = 0; !e && i < bins; i++)
        assert_int_equal(lz_array_get(&a.out, i).i, lz_array_get(&a.y, i).i);
    drop(&a);
    return e;
}

static lz_err *test_counts(void)
{
    LZ_TRY(count_one(30, 7, NULL));
    return count_one(3, 100, NULL);
}

static void test_counts_of_many(void **state)
{
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    assert_null(count_one(200001, 10, pool));
    assert_null(count_one(140000, 1000, pool));
    assert_null(count_one(140000, 100000, pool));
    lz_pool_destroy(pool);
}

/* ---- searching ---- */

/* The binary search that PyTorch makes, one element at a time. */
static int64_t search(const lz_array *s, double v, bool right)
{
    int64_t begin = 0, end = s->numel;
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        double e = value(s, middle);
        if (right ? !(e > v) : !(e >= v))
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static lz_err *search_one(lz_dtype d, int64_t n, int64_t m, int64_t right)
{
    arrays a = { 0 };
    lz_err *e = lz_array_init(&a.x, NULL, d, LZ_DIMS(n));
    if (!e)
        e = lz_array_init(&a.y, NULL, d, LZ_DIMS(2, m));
    if (!e)
        e = lz_array_init(&a.out, NULL, LZ_I64, LZ_DIMS(2, m));
    if (!e) {
        fill(&a.y, 60, true);
        for (int64_t i = 0; i < n; i++) /* in order, NaNs last, as sort leaves them */
            lz_array_set(&a.x, i,
                         lz_scalar_float(d == LZ_BOOL ? (double)(i > n / 2)
                                         : lz_dtype_is_float(d) && i > n - n / 8
                                             ? (double)NAN
                                             : floor((double)i * 40 / (double)n)));
        lz_kernel_call c = { .in = { strided(&a.x), strided(&a.y) },
                             .out = strided(&a.out),
                             .params = &right };
        e = lz_search_sorted(&c);
    }
    for (int64_t i = 0; !e && i < 2 * m; i++)
        assert_int_equal(lz_array_get(&a.out, i).i, search(&a.x, value(&a.y, i), right));
    drop(&a);
    return e;
}

static lz_err *test_search_is_that_of_pytorch(void)
{
    static const int64_t sizes[] = { 0, 1, 2, 7, 8, 100 };
    for (int i = 0; i < DTYPES; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (int64_t right = 0; right < 2; right++)
                LZ_TRY(search_one(dtypes[i], sizes[k], 11, right));
    return NULL;
}

/* torch.searchsorted(tensor([1, 2, nan]), tensor([5, 1.5, nan])) */
static lz_err *test_search_among_nans(void)
{
    float s[3] = { 1, 2, NAN }, v[3] = { 5, 1.5F, NAN };
    int64_t n = 3, step = 1, right = 0, got[3];
    static const int64_t want[3] = { 3, 1, 3 };
    lz_kernel_call c = { .in = { { s, LZ_F32, 1, &n, &step }, { v, LZ_F32, 1, &n, &step } },
                         .out = { got, LZ_I64, 1, &n, &step },
                         .params = &right };
    LZ_TRY(lz_search_sorted(&c));
    assert_memory_equal(got, want, sizeof want);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_topk_is_the_start_of_the_order),
        cmocka_unit_test(test_topk_many),
        LZ_TEST(test_rank_agrees_with_counting),
        LZ_TEST(test_rows_may_be_strided),
        LZ_TEST(test_contains_agrees_with_comparing),
        LZ_TEST(test_contains_the_greatest),
        LZ_TEST(test_counts),
        cmocka_unit_test(test_counts_of_many),
        LZ_TEST(test_search_is_that_of_pytorch),
        LZ_TEST(test_search_among_nans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
