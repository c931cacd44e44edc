#include "check.h"
#include "gen/text/code_template.h"

static lz_err *fill(lzg_env *env)
{
    LZ_TRY(lzg_env_text(env, "x", LZ_STR("one")));
    LZ_TRY(lzg_env_text(env, "two", LZ_STR("a;\n\n  b;  \n\n")));
    LZ_TRY(lzg_env_text(env, "none", LZ_STR("")));
    LZ_TRY(lzg_env_text(env, "dollar", LZ_STR("$x")));
    LZ_TRY(lzg_env_list(env, "empty"));
    LZ_TRY(lzg_env_add(env, "list", LZ_STR("p")));
    LZ_TRY(lzg_env_add(env, "list", LZ_STR("")));
    return lzg_env_add(env, "list", LZ_STR("q\r\nr\t"));
}

static lz_err *expand(const char *text, lz_text *out)
{
    lz_arena a = { 0 };
    lzg_env env;
    lzg_env_init(&env, &a);
    lz_err *e = fill(&env);
    if (!e)
        e = lzg_template_expand(&(lzg_template){ .text = lz_str_of(text), .file = "t.h" }, &env, out);
    lzg_env_deinit(&env);
    lz_arena_deinit(&a);
    return e;
}

/* The right column is what the rules of the header say, worked out by hand. */
static lz_err *test_rules(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "no hole\n", "no hole\n" },
        { "<$x>", "<one>" },
        { "<${x}y>", "<oney>" },
        { "<$dollar>", "<$x>" },
        { "f($list)", "f(p, , q\r\nr\t)" },
        { "f(a${,list})", "f(a, p, , q\r\nr\t)" },
        { "f(${list,}a)", "f(p, , q\r\nr\t, a)" },
        { "f(a${,empty}${empty,})", "f(a)" },
        { "f(a${,x})", "f(aone)" }, /* a comma is for lists */
        { "  $x;\n", "  one;\n" },
        { "{\n  $two\n}", "{\n  a;\n\n    b;\n}" },
        { "{\n\t$list\n}", "{\n\tp\n\tq\n\tr\n}" },
        { "{\n  $empty\n}", "{\n\n}" },
        { "$none|", "|" },
        { "${,list}\n", "p\nq\nr\n" },
        { "$list $list", "p\nq\nr p, , q\r\nr\t" },
        { "$ $1 ${ x} ${x ${,} $$x $-", "$ $1 ${ x} ${x ${,} $one $-" },
        { "${,,x}${x,,}", "${,,x}${x,,}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lz_text t = { 0 };
        lz_err *e = expand(cases[i].text, &t);
        if (!e && !lz_str_is(lz_text_view(&t), cases[i].want))
            fail_msg("'%s' gave '%.*s'", cases[i].text, LZ_FMT(lz_text_view(&t)));
        lz_text_deinit(&t);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *test_missing_name(void)
{
    lz_text t = { 0 };
    lz_err *e = expand("a\n b ${nope}", &t);
    lz_text_deinit(&t);
    if (lz_err_code(e) == LZ_ERR_NOT_FOUND) {
        assert_string_equal(lz_err_loc(e).file, "t.h");
        assert_int_equal(lz_err_loc(e).line, 2);
        assert_int_equal(lz_err_loc(e).col, 4);
    }
    return lz_check_err(e, LZ_ERR_NOT_FOUND, "'nope'");
}

static lz_err *merge(lzg_env *to, lzg_env *from)
{
    LZ_TRY(lzg_env_add(to, "l", LZ_STR("1")));
    LZ_TRY(lzg_env_text(to, "t", LZ_STR("old")));
    LZ_TRY(lzg_env_add(from, "l", LZ_STR("2")));
    LZ_TRY(lzg_env_text(from, "t", LZ_STR("new")));
    LZ_TRY(lzg_env_list(from, "m"));
    LZ_TRY(lzg_env_merge(to, from));
    return lzg_env_merge(to, from);
}

/* Line ends are those of Python's splitlines, also where a text has but one of them. */
static lz_err *test_line_ends(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "a\nb", "-a\n-b|" },
        { "a\rb", "-a\n-b|" },
        { "a\vb\fc", "-a\n-b\n-c|" },
        { "a\x1c"
          "b\x1d"
          "c\x1e"
          "d",
          "-a\n-b\n-c\n-d|" },
        { "a\x1f"
          "b",
          "-a\x1f"
          "b|" },
        { "a\xC2\x85"
          "b",
          "-a\n-b|" },
        { "a\xE2\x80\xA8"
          "b",
          "-a\n-b|" },
        { "a\xC3\xA9"
          "b",
          "-a\xC3\xA9"
          "b|" },
        { "a  \n\n\n  \t\nlong enough for words of eight bytes\x7f\n",
          "-a\n\n\n\n-long enough for words of eight bytes\x7f|" },
    };
    lz_text t = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        lz_arena a = { 0 };
        lzg_env env;
        lzg_env_init(&env, &a);
        lz_text_clear(&t);
        e = lzg_env_text(&env, "x", lz_str_of(cases[i].text));
        if (!e)
            e = lzg_template_expand(&(lzg_template){ .text = LZ_STR(" $x|") }, &env, &t);
        for (size_t k = 0; !e && k < t.len; k++) /* the indent, made visible */
            if (t.ptr[k] == ' ' && (!k || t.ptr[k - 1] == '\n'))
                t.ptr[k] = '-';
        if (!e && !lz_str_is(lz_text_view(&t), cases[i].want))
            fail_msg("case %zu gave '%.*s'", i, LZ_FMT(lz_text_view(&t)));
        lzg_env_deinit(&env);
        lz_arena_deinit(&a);
    }
    lz_text_deinit(&t);
    return e;
}

static lz_err *build_list(lzg_texts *list, lzg_env *env, lz_text *out)
{
    lz_text_puts(&list->text, "one");
    LZ_TRY(lzg_texts_end(list));
    LZ_TRY(lzg_texts_end_if_any(list)); /* nothing: no item */
    LZ_TRY(lzg_texts_end(list));        /* nothing, but an item */
    lz_text_puts(&list->text, "two");
    LZ_TRY(lzg_texts_end_if_any(list));
    assert_int_equal(lzg_texts_count(list), 3);
    LZ_TRY(lzg_env_texts(env, "list", list));
    return lzg_template_expand(&(lzg_template){ .text = LZ_STR("[$list]") }, env, out);
}

static lz_err *test_texts(void)
{
    lz_arena a = { 0 };
    lz_text t = { 0 };
    lzg_texts list = { 0 };
    lzg_env env;
    lzg_env_init(&env, &a);
    lz_err *e = build_list(&list, &env, &t);
    if (!e)
        assert_true(lz_str_is(lz_text_view(&t), "[one, , two]"));
    lz_text_deinit(&t);
    lzg_texts_deinit(&list);
    lzg_env_deinit(&env);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_merge(void)
{
    lz_arena a = { 0 };
    lz_text t = { 0 };
    lzg_env to, from;
    lzg_env_init(&to, &a);
    lzg_env_init(&from, &a);
    lz_err *e = merge(&to, &from);
    if (!e)
        e = lzg_template_expand(&(lzg_template){ .text = LZ_STR("=$l $t [$m]") }, &to, &t);
    if (!e)
        assert_true(lz_str_is(lz_text_view(&t), "=1, 2, 2 new []"));
    if (!e)
        e = lz_check_err(lzg_env_add(&to, "t", LZ_STR("x")), LZ_ERR_ARG, "'t' is a text");
    lz_text_deinit(&t);
    lzg_env_deinit(&to);
    lzg_env_deinit(&from);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_rules),     LZ_TEST(test_missing_name), LZ_TEST(test_merge),
        LZ_TEST(test_line_ends), LZ_TEST(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
