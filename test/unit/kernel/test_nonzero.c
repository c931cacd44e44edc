#include "base/mem.h"
#include "check.h"
#include "kernel/nonzero.h"

static uint64_t seed = 11;

static uint64_t next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return seed >> 33;
}

/* Indices of x counted up one element after the other. */
static void check_list(const uint8_t *x, lz_ints sizes, int64_t numel, const int64_t *found, int64_t count)
{
    int64_t seen = 0;
    for (int64_t i = 0; i < numel; i++) {
        if (!x[i])
            continue;
        int64_t number = 0;
        for (int64_t d = 0; d < sizes.n; d++)
            number = number * sizes.v[d] + found[seen * sizes.n + d];
        assert_int_equal(number, i);
        seen++;
    }
    assert_int_equal(seen, count);
}

/* many: of 8 elements so many are true. */
static lz_err *list_one(lz_ints sizes, uint64_t many, lz_pool *pool)
{
    int64_t numel = 1, *found = NULL;
    lz_nonzero z;
    for (int64_t d = 0; d < sizes.n; d++)
        numel *= sizes.v[d];
    uint8_t *x = lz_mem_zalloc((size_t)numel + 1, 1);
    if (!x)
        return lz_err_oom();
    for (int64_t i = 0; i < numel; i++)
        x[i] = next() % 8 < many;
    lz_err *e = lz_nonzero_init(&z, x, sizes, pool);
    if (e)
        goto out_x;
    int64_t count = lz_nonzero_count(&z), words = count * sizes.n;
    found = lz_mem_zalloc((size_t)words + 1, sizeof *found);
    if (!found)
        e = lz_err_oom();
    if (!e) {
        found[words] = -7; /* nothing is written behind the last index */
        e = lz_nonzero_list(&z, found);
    }
    if (!e) {
        assert_int_equal(found[words], -7);
        check_list(x, sizes, numel, found, count);
    }
    lz_mem_free(found);
    lz_nonzero_deinit(&z);
out_x:
    lz_mem_free(x);
    return e;
}

static lz_err *test_small_lists(void)
{
    for (uint64_t many = 0; many <= 8; many += 2) {
        LZ_TRY(list_one(LZ_DIMS(7), many, NULL));
        LZ_TRY(list_one(LZ_DIMS(3, 5, 2), many, NULL));
        LZ_TRY(list_one((lz_ints){ NULL, 0 }, many, NULL));
        LZ_TRY(list_one(LZ_DIMS(3, 0, 2), many, NULL));
    }
    return NULL;
}

static void test_long_lists(void **state)
{
    lz_pool *pool;
    (void)state;
    assert_null(lz_pool_create(3, &pool));
    for (uint64_t many = 0; many <= 8; many++) {
        assert_null(list_one(LZ_DIMS(100001), many, pool));
        assert_null(list_one(LZ_DIMS(32768), many, pool));
        assert_null(list_one(LZ_DIMS(333, 301), many, pool));
        assert_null(list_one(LZ_DIMS(2, 3, 50001), many, NULL));
        assert_null(list_one(LZ_DIMS(50001, 2, 1), many, pool));
    }
    lz_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_small_lists), cmocka_unit_test(test_long_lists) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
