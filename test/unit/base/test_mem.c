#include "base/mem.h"
#include "check.h"

static lz_err *test_allocation_keeps_content(void)
{
    unsigned char *p = lz_mem_alloc(100);
    if (!p)
        return lz_err_oom();
    for (unsigned i = 0; i < 100; i++)
        p[i] = (unsigned char)i;
    unsigned char *q = lz_mem_resize(p, 100000);
    for (unsigned i = 0; q && i < 100; i++)
        assert_int_equal(q[i], i);
    lz_mem_free(q ? q : p);
    return q ? NULL : lz_err_oom();
}

static lz_err *test_zero_is_a_size(void)
{
    void *p = lz_mem_alloc(0);
    void *q = lz_mem_zalloc(0, 8);
    bool both = p && q;
    if (both)
        assert_ptr_not_equal(p, q);
    lz_mem_free(p);
    lz_mem_free(q);
    lz_mem_free(NULL);
    return both ? NULL : lz_err_oom();
}

static lz_err *test_aligned(void)
{
    for (size_t align = 1; align <= 4096; align *= 2) {
        void *p = lz_mem_alloc_aligned(100, align);
        if (!p)
            return lz_err_oom();
        assert_int_equal((uintptr_t)p % align, 0);
        memset(p, 1, 100);
        lz_mem_free(p);
    }
    return NULL;
}

static lz_err *test_overflow(void)
{
    size_t out;
    assert_null(lz_mem_zalloc(SIZE_MAX / 2, 3));
    assert_false(lz_size_mul(SIZE_MAX, 2, &out));
    assert_false(lz_size_add(SIZE_MAX, 1, &out));
    assert_true(lz_size_mul(3, 5, &out) && out == 15);
    assert_true(lz_size_add(3, 5, &out) && out == 8);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_allocation_keeps_content),
        LZ_TEST(test_zero_is_a_size),
        LZ_TEST(test_aligned),
        LZ_TEST(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
