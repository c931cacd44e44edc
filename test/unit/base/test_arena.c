#include "base/arena.h"
#include "base/mem.h"
#include "base/poison.h"
#include "check.h"

#ifdef LZ_ASAN
#define POISONED(p) __asan_address_is_poisoned(p)
#else
#define POISONED(p) ((void)(p), true)
#endif

static lz_err *fill(lz_arena *a, unsigned char **blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        LZ_TRY(lz_arena_new(a, &blocks[i], i * 7 % 300));
        assert_int_equal((uintptr_t)blocks[i] % LZ_MEM_ALIGN, 0);
        for (size_t k = 0; k < i * 7 % 300; k++) {
            assert_int_equal(blocks[i][k], 0);
            blocks[i][k] = (unsigned char)i;
        }
    }
    for (size_t i = 0; i < n; i++) /* nobody wrote into anybody else's */
        for (size_t k = 0; k < i * 7 % 300; k++)
            assert_int_equal(blocks[i][k], (unsigned char)i);
    return NULL;
}

static lz_err *test_blocks_are_zero_aligned_and_apart(void)
{
    lz_arena a;
    unsigned char *blocks[500];
    lz_arena_init(&a);
    lz_err *e = fill(&a, blocks, 500);
    lz_arena_deinit(&a);
    assert_int_equal(a.total, 0);
    return e;
}

static lz_err *rewind_gives_back(lz_arena *a)
{
    char *keep, *again;
    unsigned char *blocks[200];
    LZ_TRY(lz_arena_new(a, &keep, 10));
    memcpy(keep, "unharmed", 9);
    lz_arena_mark mark = lz_arena_save(a);
    size_t total = a->total;
    LZ_TRY(lz_arena_new(a, &again, 32));
    const char *first = again;
    LZ_TRY(fill(a, blocks, 200));
    lz_arena_rewind(a, mark);
    assert_int_equal(a->total, total);
    assert_true(POISONED(first));
    LZ_TRY(lz_arena_new(a, &again, 32));
    assert_ptr_equal(again, first);
    for (int i = 0; i < 32; i++)
        assert_int_equal(again[i], 0);
    assert_string_equal(keep, "unharmed");
    return NULL;
}

static lz_err *test_rewind_gives_back(void)
{
    lz_arena a = { 0 };
    lz_err *e = rewind_gives_back(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_rewind_to_the_very_beginning(void)
{
    lz_arena a = { 0 };
    lz_arena_mark mark = lz_arena_save(&a);
    char *p;
    lz_err *e = lz_arena_new(&a, &p, 100000);
    lz_arena_rewind(&a, mark);
    assert_null(a.chunk);
    assert_int_equal(a.total, 0);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_clear_keeps_the_first_chunk(void)
{
    lz_arena a = { 0 };
    char *first, *more, *again;
    lz_arena_clear(&a);
    assert_null(a.chunk);
    lz_err *e = lz_arena_new(&a, &first, 100);
    e = e ? e : lz_arena_new(&a, &more, 100000);
    if (!e) {
        memset(first, 1, 100);
        lz_arena_clear(&a);
        size_t kept = a.total;
        assert_in_range(kept, 100, 99999);
        e = lz_arena_new(&a, &again, 100);
        assert_ptr_equal(again, first);
        assert_int_equal(again[99], 0);
        assert_int_equal(a.total, kept);
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_red_zone_behind_a_block(void)
{
    lz_arena a = { 0 };
    char *p, *q;
    lz_err *e = lz_arena_new(&a, &p, 16);
    e = e ? e : lz_arena_new(&a, &q, 16);
    if (!e)
        assert_true(POISONED(p + 16));
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_overflow_is_refused(void)
{
    lz_arena a = { 0 };
    uint64_t *p = NULL;
    assert_int_equal(lz_err_code(lz_arena_new(&a, &p, SIZE_MAX / 4)), LZ_ERR_MEMORY);
    assert_int_equal(lz_err_code(lz_arena_array(&a, 1, SIZE_MAX - 3, &p)), LZ_ERR_MEMORY);
    assert_null(p);
    assert_null(lz_arena_zalloc(&a, SIZE_MAX));
    lz_arena_deinit(&a);
    return NULL;
}

static lz_err *test_text_helpers(void)
{
    lz_arena a = { 0 };
    lz_str s = { 0 }, t = { 0 };
    lz_err *e = lz_arena_printf(&a, &s, "%s-%d", "long enough to be copied", 42);
    e = e ? e : lz_arena_copy(&a, s, &t);
    if (!e) {
        assert_string_equal(s.ptr, "long enough to be copied-42");
        assert_int_equal(s.len, strlen(s.ptr));
        assert_string_equal(t.ptr, s.ptr);
        assert_ptr_not_equal(t.ptr, s.ptr);
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_blocks_are_zero_aligned_and_apart),
        LZ_TEST(test_rewind_gives_back),
        LZ_TEST(test_rewind_to_the_very_beginning),
        LZ_TEST(test_clear_keeps_the_first_chunk),
        LZ_TEST(test_red_zone_behind_a_block),
        LZ_TEST(test_overflow_is_refused),
        LZ_TEST(test_text_helpers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
