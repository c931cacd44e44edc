#include "base/text.h"
#include "check.h"
#include "gen/text/pattern.h"
#include <regex.h>
#include <stdio.h>

static lz_err *matches(const char *pattern, const char *text, bool *out)
{
    lz_arena a = { 0 };
    const lzg_pattern *p;
    lz_err *e = lzg_pattern_compile(&a, lz_str_of(pattern), (lz_loc){ 0 }, &p);
    if (!e)
        *out = lzg_pattern_match(p, lz_str_of(text));
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_examples(void)
{
    static const struct {
        const char *pattern, *text;
        bool want;
    } cases[] = {
        { "^.*_backward$", "add_backward", true },
        { "^.*_backward$", "_backward", true },
        { "^.*_backward$", "add_backward_out", false },
        { "^.*_backward_(out|input|weight|bias)$", "conv_backward_weight", true },
        { "^.*_backward_(out|input|weight|bias)$", "conv_backward_", false },
        { "^_?sparse_(coo|csr)_tensor.*$", "sparse_csr_tensor_x", true },
        { "^_?sparse_(coo|csr)_tensor.*$", "__sparse_csr_tensor", false },
        { "^nonzero(_(out|numpy))?$", "nonzero", true },
        { "^nonzero(_(out|numpy))?$", "nonzero_numpy", true },
        { "^nonzero(_(out|numpy))?$", "nonzero_", false },
        { "^fill.Tensor$", "fill.Tensor", true },
        { "^fill.Tensor$", "fillTensor", false },
        { "^to$", "t", false },
        { "", "anything", true },
        { "a", "ab", true }, /* no end demanded */
        { "a", "ba", false },
        { "(a*)*$", "aaaa", true },
        { "(a|)+b", "aab", true },
        { "^a$|^b$", "b", true },
        { "^a$|^b$", "ab", false },
        { "b^", "b", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool got = false;
        LZ_TRY(matches(cases[i].pattern, cases[i].text, &got));
        if (got != cases[i].want)
            fail_msg("'%s' on '%s' says %d", cases[i].pattern, cases[i].text, got);
    }
    return NULL;
}

static lz_err *test_refusals(void)
{
    static const char *const cases[] = { "*a",   "a**", "a|*", "(a",    "a)", "[a]",
                                         "a{2}", "\\d", "^*",  "(?:a)", "$+" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool got;
        LZ_TRY(lz_check_err(matches(cases[i], "", &got), LZ_ERR_SYNTAX, cases[i]));
    }
    return NULL;
}

static lz_err *test_limits(void)
{
    char long_one[LZG_PATTERN_STEPS + 2] = "", deep[64] = "";
    bool got;
    memset(long_one, 'a', LZG_PATTERN_STEPS - 1);
    LZ_TRY(matches(long_one, long_one, &got));
    assert_true(got);
    long_one[LZG_PATTERN_STEPS - 1] = 'a';
    LZ_TRY(lz_check_err(matches(long_one, "", &got), LZ_ERR_LIMIT, "too long"));
    memset(deep, '(', 40);
    return lz_check_err(matches(deep, "", &got), LZ_ERR_SYNTAX, "nested");
}

/* Random patterns against the C library's regexec, anchored as re.match is. */
static void random_pattern(lz_text *t, uint32_t *seed, int depth)
{
    for (int i = 0; i < 3; i++) {
        uint32_t r = (*seed = *seed * 1664525u + 1013904223u) >> 24;
        if (r < 40 && depth < 2) {
            lz_text_putc(t, '(');
            random_pattern(t, seed, depth + 1);
            lz_text_putc(t, '|');
            random_pattern(t, seed, depth + 1);
            lz_text_putc(t, ')');
        } else {
            lz_text_putc(t, "aab."[r & 3]);
        }
        if (r % 5 == 0)
            lz_text_putc(t, "?*+"[r % 3]);
    }
}

static lz_err *compare(const lz_text *pattern, uint32_t *seed)
{
    char posix[256], text[9] = "";
    regex_t re;
    snprintf(posix, sizeof posix, "^(%.*s)", LZ_FMT(lz_text_view(pattern)));
    assert_int_equal(regcomp(&re, posix, REG_EXTENDED | REG_NOSUB), 0);
    for (int i = 0; i < 8; i++)
        text[i] = "ab"[(*seed = *seed * 1664525u + 1013904223u) >> 31];
    bool want = regexec(&re, text, 0, NULL, 0) == 0, got = want;
    snprintf(posix, sizeof posix, "%.*s", LZ_FMT(lz_text_view(pattern)));
    lz_err *e = matches(posix, text, &got);
    regfree(&re);
    if (got != want)
        fail_msg("'%s' on '%s' says %d", posix, text, got);
    return e;
}

static lz_err *test_agrees_with_regexec(void)
{
    uint32_t seed = 7;
    lz_err *e = NULL;
    for (int i = 0; !e && i < (lz_check_failing() ? 3 : 3000); i++) {
        lz_text t = { 0 };
        random_pattern(&t, &seed, 0);
        lz_text_putc(&t, '$');
        e = lz_text_check(&t);
        if (!e)
            e = compare(&t, &seed);
        lz_text_deinit(&t);
    }
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_examples),
        LZ_TEST(test_refusals),
        LZ_TEST(test_limits),
        LZ_TEST(test_agrees_with_regexec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
