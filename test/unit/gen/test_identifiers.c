#include "check.h"
#include "gen/text/identifiers.h"
#include <regex.h>
#include <stdio.h>

/* The definition as a POSIX regular expression, for comparison. */
static size_t regex_count(const char *formula, const char *name, size_t *first)
{
    char pattern[64];
    regex_t re;
    regmatch_t m[3];
    size_t n = 0, from = 0;
    snprintf(pattern, sizeof pattern, "(^|[^A-Za-z0-9_])%s($|[^A-Za-z0-9_])", name);
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED), 0);
    *first = SIZE_MAX;
    while (from <= strlen(formula) && regexec(&re, formula + from, 3, m, from ? REG_NOTBOL : 0) == 0) {
        if (n++ == 0)
            *first = from + (size_t)m[1].rm_eo;
        from += (size_t)m[0].rm_eo;
    }
    regfree(&re);
    return n;
}

static const char *const formulas[] = {
    "",
    "grad",
    "grads",
    "grad * grad",
    "grad*grad",
    "grad,grad,grad",
    " grad grad grad grad ",
    "grad.grad->grad(grad)",
    "my_grad + grad_input * grad1 + 1grad",
    "((grad))",
    "gradgrad grad",
    "self.size(grad) / (grad)",
    "grad_grad_grad",
    "grad + self*grad*self",
    "g gr gra grad",
};

static lz_err *test_names_are_found_as_the_definition_says(void)
{
    const char *const names[] = { "grad", "self", "g", "grad_grad" };
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            size_t first, n = regex_count(formulas[i], names[k], &first);
            lz_str formula = lz_str_of(formulas[i]), name = lz_str_of(names[k]);
            assert_int_equal(lzg_ident_count(formula, name), n);
            assert_int_equal(lzg_ident_find(formula, name), first);
            assert_int_equal(lzg_ident_used(formula, name), n > 0);
        }
    return NULL;
}

typedef lz_err *replacer(lz_arena *a, lz_str formula, lz_str name, lz_str with, lz_str *out);

static const struct {
    replacer *replace;
    const char *from, *name, *with, *to;
} replacements[] = {
    { lzg_ident_replace, "grad * self", "grad", "x", "x * self" },
    { lzg_ident_replace, "grad * self", "other", "x", "grad * self" },
    /* the first match consumes the character between the two */
    { lzg_ident_replace, "grad*grad", "grad", "x", "x*grad" },
    { lzg_ident_replace, "grad * grad", "grad", "x", "x * x" },
    { lzg_ident_replace, "grad,grad,grad", "grad", "xyzzy", "xyzzy,grad,xyzzy" },
    { lzg_ident_replace, "grads grad_x xgrad", "grad", "x", "grads grad_x xgrad" },
    { lzg_word_replace, "grad*grad", "grad", "x", "x*x" },
    { lzg_word_replace, "(a).a(ab, ba)", "a", "a.v(a)", "(a.v(a)).a.v(a)(ab, ba)" },
    { lzg_replace_all, "grad_input(grad)", "grad", "grads[i]", "grads[i]_input(grads[i])" },
    { lzg_replace_all, "aaa", "aa", "b", "ba" },
    { lzg_replace_all, "abc", "", "x", "abc" },
    { lzg_replace_all, "", "a", "x", "" },
    { lzg_replace_all, "abab", "ab", "", "" },
};

static lz_err *test_names_are_replaced(void)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof replacements / sizeof *replacements; i++) {
        lz_str out = { 0 };
        e = replacements[i].replace(&a, lz_str_of(replacements[i].from), lz_str_of(replacements[i].name),
                                    lz_str_of(replacements[i].with), &out);
        if (!e && !lz_str_is(out, replacements[i].to))
            fail_msg("%s gave %.*s", replacements[i].from, LZ_FMT(out));
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_runs_stop_at_what_is_not_theirs(void)
{
    lz_str s = LZ_STR("-12ab_3)");
    assert_int_equal(lzg_word_run(s, 0), 0);
    assert_int_equal(lzg_word_run(s, 1), 6);
    assert_int_equal(lzg_digit_run(s, 1), 2);
    assert_int_equal(lzg_digit_run(s, 3), 0);
    assert_int_equal(lzg_word_run(s, 8), 0);
    assert_int_equal(lzg_word_run(s, 99), 0);
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_names_are_found_as_the_definition_says),
        LZ_TEST(test_names_are_replaced),
        LZ_TEST(test_runs_stop_at_what_is_not_theirs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
