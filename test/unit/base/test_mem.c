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

/* Whether n places of a workspace can be taken at once, each written to its end. */
static bool take_places(char **p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = 10 + 100 * i;
        p[i] = lz_temporary_take(size, i % 2 ? 64 : 16);
        if (!p[i])
            return false;
        assert_int_equal((uintptr_t)p[i] % (i % 2 ? 64 : 16), 0);
        memset(p[i], (int)i, size);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 10 + 100 * i; k++)
            assert_int_equal(p[i][k], i);
    return true;
}

/* The second time all places lie in the block, whatever the order in which they are given back. */
static lz_err *test_workspace_has_room_for_what_was_taken_before(void)
{
    enum { PLACES = 6 };
    lz_workspace w = { 0 };
    bool good = true;
    for (int run = 0; good && run < 4; run++) {
        char *p[PLACES] = { NULL };
        lz_workspace_enter(&w);
        good = take_places(p, PLACES);
        assert_true(run == 0 || !w.room || !good || !w.outside);
        for (size_t i = 0; i < PLACES; i++)
            lz_temporary_give(p[run % 2 ? i : PLACES - 1 - i]);
        assert_true(w.top == 0 && w.outside == 0 && w.live == 0);
        lz_workspace_leave(&w);
    }
    lz_workspace_deinit(&w);
    return good ? NULL : lz_err_oom();
}

static lz_err *test_workspaces_nest(void)
{
    lz_workspace outer = { 0 }, inner = { 0 };
    assert_false(lz_workspace_is_entered());
    lz_workspace_enter(&outer);
    lz_workspace_enter(&inner);
    int *p = lz_temporary_zeroed(25, sizeof *p);
    assert_true(!p || (p[24] == 0 && inner.most >= 100 && outer.most == 0));
    assert_null(lz_temporary_zeroed(SIZE_MAX, 2));
    lz_temporary_give(p);
    lz_temporary_give(NULL);
    lz_workspace_leave(&inner);
    assert_true(lz_workspace_is_entered());
    lz_workspace_leave(&outer);
    assert_false(lz_workspace_is_entered());
    lz_workspace_deinit(&outer);
    lz_workspace_deinit(&inner);
    return p ? NULL : lz_err_oom();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_allocation_keeps_content),
        LZ_TEST(test_zero_is_a_size),
        LZ_TEST(test_aligned),
        LZ_TEST(test_workspace_has_room_for_what_was_taken_before),
        LZ_TEST(test_workspaces_nest),
        LZ_TEST(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
