#include "base/mem.h"
#include "check.h"
#include "kernel/kernels.h"
#include "kernel/philox_words.h"

/* Every width gives the words of the blocks, sorted by their place in the block. */
static lz_err *test_groups_consist_of_blocks(void)
{
    lz_philox_fill_fn *const fills[] = { lz_philox_fill_base, lz_philox_fill() };
    const uint64_t key = UINT64_C(0x123456789ABCDEF0);
    for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
        uint32_t words[3 * LZ_PHILOX_WORDS], block[4];
        fills[f](key, 7, 5, 3, words);
        for (int i = 0; i < 3 * LZ_PHILOX_GROUP; i++) {
            lz_philox_block(key, (uint64_t)5 * LZ_PHILOX_GROUP + (uint64_t)i, 7, block);
            for (int w = 0; w < 4; w++)
                assert_int_equal(
                    words[i / LZ_PHILOX_GROUP * LZ_PHILOX_WORDS + w * LZ_PHILOX_GROUP + i % LZ_PHILOX_GROUP],
                    block[w]);
        }
    }
    return NULL;
}

static lz_err *shuffle(int64_t n, uint64_t key, lz_pool *pool, void *out)
{
    const int64_t sizes[] = { n }, strides[] = { 1 };
    lz_kernel_call c = { .pool = pool };
    c.in[0] = (lz_strided){ &key, LZ_I64, 0, sizes, strides };
    c.out = (lz_strided){ out, LZ_I64, 1, sizes, strides };
    return lz_shuffle(&c);
}

static void check_permutation(const int64_t *v, int64_t n, int64_t *seen)
{
    for (int64_t i = 0; i < n; i++)
        seen[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        assert_true(v[i] >= 0 && v[i] < n);
        assert_int_equal(seen[v[i]]++, 0);
    }
}

static lz_err *compare(int64_t n, int64_t *v, lz_pool *pool)
{
    LZ_TRY(shuffle(n, 42, NULL, v));
    check_permutation(v, n, v + n);
    LZ_TRY(shuffle(n, 42, pool, v + n));
    assert_memory_equal(v, v + n, (size_t)n * sizeof *v);
    return NULL;
}

/* Sizes with one bucket, some, and some parts. */
static lz_err *test_a_permutation_on_any_number_of_threads(void)
{
    static const int64_t sizes[] = { 0, 1, 2, 100, 8192, 8193, 20000, 200001 };
    int64_t *v = lz_mem_alloc((size_t)2 * 200001 * sizeof *v);
    lz_pool *pool = NULL;
    lz_err *e = v ? lz_pool_create(3, &pool) : lz_err_oom();
    for (size_t i = 0; !e && i < sizeof sizes / sizeof *sizes; i++)
        e = compare(sizes[i], v, pool);
    lz_pool_destroy(pool);
    lz_mem_free(v);
    return e;
}

/* Of 3 elements, each of the 6 orders is drawn equally often. */
static lz_err *test_orders_are_equally_likely(void)
{
    enum { DRAWS = 6000 };
    int counts[27] = { 0 };
    double chi = 0;
    for (uint64_t key = 0; key < DRAWS; key++) {
        int64_t v[3];
        LZ_TRY(shuffle(3, key * UINT64_C(0x9E3779B97F4A7C15), NULL, v));
        counts[v[0] * 9 + v[1] * 3 + v[2]]++;
    }
    for (int i = 0; i < 27; i++)
        if (counts[i])
            chi += (counts[i] - DRAWS / 6.0) * (counts[i] - DRAWS / 6.0) / (DRAWS / 6.0);
    assert_true(chi < 20.5); /* 0.1 % of uniform draws with 5 degrees of freedom */
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_groups_consist_of_blocks),
        LZ_TEST(test_a_permutation_on_any_number_of_threads),
        LZ_TEST(test_orders_are_equally_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
