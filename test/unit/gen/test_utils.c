#include "check.h"
#include "gen/text/sha1.h"
#include "gen/text/utils.h"
#include <stdio.h>

typedef void put_fn(lz_text *out, lz_str s);

static lz_err *check_put(put_fn *put, const char *from, const char *want)
{
    lz_text t = { 0 };
    put(&t, lz_str_of(from));
    lz_err *e = lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("'%s' became '%.*s', not '%s'", from, LZ_FMT(lz_text_view(&t)), want);
    lz_text_deinit(&t);
    return e;
}

/* The right columns are Python's title() and capitalize() of the parts. */
static lz_err *test_names(void)
{
    static const struct {
        const char *name, *title, *camel;
    } cases[] = {
        { "add", "Add", "Add" },
        { "conv2d_backward", "Conv2DBackward", "Conv2dBackward" },
        { "_fft_c2c", "FftC2C", "FftC2c" },
        { "linalg_LU", "LinalgLu", "LinalgLu" },
        { "a__b_", "AB", "AB" },
        { "", "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LZ_TRY(check_put(lzg_put_title, cases[i].name, cases[i].title));
        LZ_TRY(check_put(lzg_put_camel, cases[i].name, cases[i].camel));
    }
    LZ_TRY(check_put(lzg_put_lower, "aB_1\xC3\x84", "ab_1\xC3\x84"));
    return check_put(lzg_put_upper, "aB_1", "AB_1");
}

static lz_err *test_lines(void)
{
    const lz_str items[] = { LZ_STR("a"), LZ_STR(""), LZ_STR("b") };
    lz_text t = { 0 };
    lzg_put_joined(&t, items, 3, ", ");
    lz_text_putc(&t, '|');
    lzg_put_joined(&t, items, 0, ", ");
    lzg_put_indented(&t, LZ_STR("x\n\n \n y\n"), 2);
    lzg_put_indented(&t, LZ_STR("z"), 1);
    lz_err *e = lz_text_check(&t);
    if (!e)
        assert_true(lz_str_is(lz_text_view(&t), "a, , b|  x\n\n \n   y\n z"));
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_words(void)
{
    lz_str s = LZ_STR("grad_x*grad + grads(grad)");
    assert_int_equal(lzg_find_word(s, LZ_STR("grad"), 0), 7);
    assert_int_equal(lzg_find_word(s, LZ_STR("grad"), 8), 20);
    assert_int_equal(lzg_find_word(s, LZ_STR("grad"), 21), SIZE_MAX);
    assert_int_equal(lzg_find_word(s, LZ_STR("grad_x"), 0), 0);
    assert_int_equal(lzg_find_word(LZ_STR("x"), LZ_STR("x"), 5), SIZE_MAX);
    assert_true(lzg_is_identifier(LZ_STR("_a1")) && !lzg_is_identifier(LZ_STR("1a")));
    assert_false(lzg_is_identifier(LZ_STR("")) || lzg_is_identifier(LZ_STR("a.b")));
    return NULL;
}

static lz_err *test_namespaces(void)
{
    lzg_namespaced n;
    lz_loc loc = { "f.yaml", 3, 4 };
    LZ_TRY(lzg_namespace_split(LZ_STR("torch::lazy::add"), 2, loc, &n));
    assert_true(lz_str_is(n.ns, "torch::lazy") && lz_str_is(n.entity, "add"));
    LZ_TRY(lzg_namespace_split(LZ_STR("add"), 1, loc, &n));
    assert_true(n.ns.len == 0 && lz_str_is(n.entity, "add"));
    assert_true(lz_str_is(lzg_namespace_or(n.ns, LZ_STR("aten")), "aten"));
    assert_true(lz_str_is(lzg_namespace_or(LZ_STR("own"), LZ_STR("aten")), "own"));
    lz_err *e = lzg_namespace_split(LZ_STR("a::b::c::add"), 2, loc, &n);
    if (lz_err_code(e) == LZ_ERR_MODEL)
        assert_int_equal(lz_err_loc(e).line, 3);
    LZ_TRY(lz_check_err(e, LZ_ERR_MODEL, "3 levels"));
    LZ_TRY(lzg_namespace_check(LZ_STR("a::b"), 2, loc));
    LZ_TRY(check_put(lzg_namespace_open, "torch::lazy", "namespace torch {\nnamespace lazy {"));
    LZ_TRY(check_put(lzg_namespace_close, "torch::lazy", "} // namespace lazy\n} // namespace torch"));
    return check_put(lzg_namespace_close, "at", "} // namespace at");
}

/* FIPS 180-4 examples, and lengths around the block size against sha1sum's digests. */
static lz_err *test_sha1(void)
{
    static const struct {
        size_t n; /* that many 'a' */
        const char *digest;
    } cases[] = {
        { 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
        { 1, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8" },
        { 55, "c1c8bbdc22796e28c0e15163d20899b65621d65a" },
        { 56, "c2db330f6083854c99d4b5bfb6e8f29f201be699" },
        { 64, "0098ba824b5c16427bd7a1122a5a442a25ec644d" },
        { 119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56" },
        { 120, "f34c1488385346a55709ba056ddd08280dd4c6d6" },
    };
    char text[128], hex[41];
    unsigned char digest[LZG_SHA1_BYTES];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lzg_sha1((lz_str){ text, cases[i].n }, digest);
        for (int k = 0; k < LZG_SHA1_BYTES; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(hex, cases[i].digest);
    }
    return NULL;
}

/* int.from_bytes(sha1(key), "little") % n, from Python. */
static lz_err *test_sha1_mod(void)
{
    assert_int_equal(lzg_sha1_mod(LZ_STR("add"), 5), 2);
    assert_int_equal(lzg_sha1_mod(LZ_STR("aten::add"), 10), 5);
    assert_int_equal(lzg_sha1_mod(LZ_STR("relu_"), 1), 0);
    assert_int_equal(lzg_sha1_mod(LZ_STR("mul"), 4294967291u), 1369605924);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_names),      LZ_TEST(test_lines), LZ_TEST(test_words),
        LZ_TEST(test_namespaces), LZ_TEST(test_sha1),  LZ_TEST(test_sha1_mod),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
