#include "base/str.h"
#include "check.h"

static lz_err *test_compare(void)
{
    assert_true(lz_str_eq(LZ_STR("abc"), lz_str_of("abc")));
    assert_false(lz_str_eq(LZ_STR("abc"), LZ_STR("abd")));
    assert_false(lz_str_is(LZ_STR("ab"), "abc"));
    assert_true(lz_str_eq(lz_str_of(NULL), LZ_STR("")));
    assert_true(lz_str_cmp(LZ_STR("a"), LZ_STR("b")) < 0);
    assert_true(lz_str_cmp(LZ_STR("ab"), LZ_STR("a")) > 0);
    assert_true(lz_str_cmp(LZ_STR("\xff"), LZ_STR("a")) > 0);
    assert_int_equal(lz_str_cmp(LZ_STR(""), lz_str_of(NULL)), 0);
    return NULL;
}

/* Against the C library, over all short words of a small alphabet. */
static lz_err *test_find_agrees_with_strstr(void)
{
    char hay[7] = { 0 }, needle[3] = { 0 };
    for (int h = 0; h < 729; h++) {
        for (int i = 0, v = h; i < 6; i++, v /= 3)
            hay[i] = (char)('a' + v % 3);
        for (int n = 0; n < 9; n++) {
            needle[0] = (char)('a' + n % 3);
            needle[1] = (char)('a' + n / 3);
            const char *at = strstr(hay, needle), *last = at;
            for (const char *p = at; p; p = strstr(p + 1, needle))
                last = p;
            size_t want = at ? (size_t)(at - hay) : SIZE_MAX,
                   want_last = last ? (size_t)(last - hay) : SIZE_MAX;
            assert_true(lz_str_find(lz_str_of(hay), lz_str_of(needle)) == want);
            assert_true(lz_str_rfind(lz_str_of(hay), lz_str_of(needle)) == want_last);
        }
    }
    return NULL;
}

static lz_err *test_ends(void)
{
    assert_true(lz_str_starts(LZ_STR("foo_out"), LZ_STR("foo")));
    assert_false(lz_str_starts(LZ_STR("fo"), LZ_STR("foo")));
    assert_true(lz_str_ends(LZ_STR("foo_out"), LZ_STR("_out")));
    assert_false(lz_str_ends(LZ_STR("out"), LZ_STR("_out")));
    assert_true(lz_str_ends(LZ_STR(""), LZ_STR("")));
    assert_int_equal(lz_str_find(LZ_STR(""), LZ_STR("")), 0);
    assert_true(lz_str_find(LZ_STR(""), LZ_STR("a")) == SIZE_MAX);
    assert_true(lz_str_is(lz_str_trim(LZ_STR(" \t x y\n")), "x y"));
    assert_int_equal(lz_str_trim(LZ_STR("  ")).len, 0);
    assert_int_equal(lz_str_find_char(LZ_STR("abc"), 'c'), 2);
    assert_true(lz_str_find_char(LZ_STR(""), 'c') == SIZE_MAX);
    assert_true(lz_str_is(lz_str_sub(LZ_STR("hello"), 1, 99), "ello"));
    assert_int_equal(lz_str_sub(LZ_STR("hello"), 9, 3).len, 0);
    return NULL;
}

static lz_err *test_cut(void)
{
    const char *want[] = { "a", "", "b c", "" };
    lz_str rest = LZ_STR("a, , b c, ");
    int i = 0;
    for (bool more = true; more; i++) {
        lz_str part = lz_str_cut(&rest, LZ_STR(", "), &more);
        assert_true(i < 4);
        assert_true(lz_str_is(part, want[i]));
    }
    assert_int_equal(i, 4);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_compare),
        LZ_TEST(test_find_agrees_with_strstr),
        LZ_TEST(test_ends),
        LZ_TEST(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
