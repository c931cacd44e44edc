#include "base/mem.h"
#include "check.h"
#include "kernel/radix.h"

static uint64_t seed = 7;

static uint64_t next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return seed ^ seed >> 29;
}

/* Kinds of keys: of all 64 bits, of 32, few, all equal, on both sides of 2^63, descending, five with equal
 * high bits, UINT64_MAX. */
static uint64_t key_of(int kind, int64_t i)
{
    switch (kind) {
    case 0:
        return next();
    case 1:
        return next() >> 32;
    case 2:
        return next() % 7;
    case 3:
        return 5;
    case 4:
        return (UINT64_C(1) << 63) + next() % 9 - 4;
    case 5:
        return (uint64_t)(1000000 - i);
    case 6:
        return (UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(i / 5) & ~UINT64_C(0xfff)) + next() % 4;
    default:
        return next() % 3 ? UINT64_MAX : next() % 2;
    }
}

enum { KINDS = 8 };

typedef struct arrays {
    uint64_t *keys, *room;
    int64_t *order;
} arrays;

static void drop(arrays *a)
{
    lz_mem_free(a->keys);
    lz_mem_free(a->room);
    lz_mem_free(a->order);
}

static lz_err *take(arrays *a, int64_t n, const lz_pool *pool)
{
    *a = (arrays){ lz_mem_zalloc((size_t)n + 1, 8), lz_mem_alloc(lz_order_room(n, pool) + 8),
                   lz_mem_zalloc((size_t)n + 1, 8) };
    if (a->keys && a->room && a->order)
        return NULL;
    drop(a);
    return lz_err_oom();
}

/* Each number once, and keys in order; of equal keys the smaller number first. */
static void check_order(const arrays *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        assert_true(a->order[i] >= 0 && a->order[i] < n);
    for (int64_t i = 1; i < n; i++) {
        uint64_t p = a->keys[a->order[i - 1]], q = a->keys[a->order[i]];
        assert_true(p < q || (p == q && a->order[i - 1] < a->order[i]));
    }
}

static lz_err *order_one(int64_t n, int kind, lz_pool *pool)
{
    arrays a;
    LZ_TRY(take(&a, n, pool));
    for (int64_t i = 0; i < n; i++)
        a.keys[i] = key_of(kind, i);
    lz_err *e = lz_order_by_keys(a.keys, n, a.room, pool, a.order);
    if (!e)
        check_order(&a, n);
    drop(&a);
    return e;
}

static lz_err *test_order_is_stable(void)
{
    static const int64_t sizes[] = { 0, 1, 2, 3, 47, 48, 49, 50, 255, 256, 257, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < KINDS; kind++)
            LZ_TRY(order_one(sizes[i], kind, NULL));
    return NULL;
}

static void test_long_orders(void **state)
{
    static const int64_t sizes[] = { 8191, 8192, 65535, 65536, 100001 };
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            assert_null(order_one(sizes[i], kind, NULL));
            assert_null(order_one(sizes[i], kind, pool));
        }
    lz_pool_destroy(pool);
}

/* Against the order. */
static lz_err *select_one(int64_t n, int kind, int64_t k)
{
    arrays a;
    int64_t less = -1, below = 0;
    LZ_TRY(take(&a, n, NULL));
    for (int64_t i = 0; i < n; i++)
        a.keys[i] = key_of(kind, i);
    lz_err *e = lz_order_by_keys(a.keys, n, a.room, NULL, a.order);
    if (!e) {
        uint64_t want = a.keys[a.order[k]];
        for (int64_t i = 0; i < n; i++)
            below += a.keys[i] < want;
        assert_true(lz_keys_select(a.keys, n, k, &less) == want);
        assert_int_equal(less, below);
    }
    drop(&a);
    return e;
}

static void test_select_every_rank(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int64_t n = 1; n < 60; n++)
            for (int64_t k = 0; k < n; k++)
                assert_null(select_one(n, kind, k));
        for (int64_t k = 0; k < 20000; k += 1999)
            assert_null(select_one(20000, kind, k));
        assert_null(select_one(20000, kind, 19999));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_order_is_stable),
        cmocka_unit_test(test_long_orders),
        cmocka_unit_test(test_select_every_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
