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

/* A slow and simple version: * stands for each length in turn. */
static bool matches_slowly(lz_str s, lz_str p)
{
    if (!p.len)
        return !s.len;
    lz_str rest = lz_str_sub(p, 1, p.len);
    if (p.ptr[0] != '*')
        return s.len && s.ptr[0] == p.ptr[0] && matches_slowly(lz_str_sub(s, 1, s.len), rest);
    for (size_t n = 0; n <= s.len; n++)
        if (matches_slowly(lz_str_sub(s, n, s.len), rest))
            return true;
    return false;
}

/* Every text of up to five letters a and b with every pattern of up to four of a, b and *. */
static lz_err *test_matches(void)
{
    size_t found = 0;
    char s[6] = "", p[5] = "";
    for (unsigned text = 0; text < 6 * 32; text++) {
        size_t n = text / 32;
        for (size_t i = 0; i < n; i++)
            s[i] = "ab"[text >> i & 1];
        for (unsigned pattern = 0; pattern < 5 * 256; pattern++) {
            size_t m = pattern / 256;
            for (size_t i = 0; i < m; i++)
                p[i] = "ab**"[pattern >> 2 * i & 3];
            lz_str a = { s, n }, b = { p, m };
            assert_int_equal(lz_str_matches(a, b), matches_slowly(a, b));
            found += lz_str_matches(a, b);
        }
    }
    assert_true(found > 1000);
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
        LZ_TEST(test_compare), LZ_TEST(test_find_agrees_with_strstr),
        LZ_TEST(test_ends),    LZ_TEST(test_matches),
        LZ_TEST(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
