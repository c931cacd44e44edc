#include "base/text.h"
#include "check.h"
#include "gen/text/yaml_utils.h"
#include <math.h>
#include <stdio.h>

static lz_err *parse(lz_arena *a, const char *text, const lzg_yaml **out)
{
    return lzg_yaml_parse(a, lz_str_of(text), "file.yaml", out);
}

/* A tree in one line, to be compared with what is written beside it. */
static void show(const lzg_yaml *n, lz_text *t)
{
    static const char brackets[] = "[]{}";
    if (n->kind == LZG_YAML_LIST || n->kind == LZG_YAML_MAP) {
        bool map = n->kind == LZG_YAML_MAP;
        lz_text_putc(t, brackets[2 * map]);
        for (size_t i = 0; i < n->len << map; i++) {
            lz_text_puts(t, i == 0 ? "" : map && i % 2 ? ": " : ", ");
            show(n->items[i], t);
        }
        lz_text_putc(t, brackets[2 * map + 1]);
    } else if (n->kind == LZG_YAML_INT) {
        lz_text_int(t, n->integer);
    } else if (n->kind == LZG_YAML_FLOAT) {
        lz_text_double(t, n->real);
    } else if (n->kind == LZG_YAML_STR) {
        lz_text_printf(t, "'%.*s'", LZ_FMT(n->text));
    } else {
        lz_text_puts(t, n->kind == LZG_YAML_BOOL   ? n->truth ? "true" : "false"
                        : n->kind == LZG_YAML_NULL ? "null"
                                                   : "date");
    }
}

static lz_err *check_tree(const char *text, const char *want)
{
    lz_arena a = { 0 };
    lz_text got = { 0 };
    const lzg_yaml *n;
    lz_err *e = parse(&a, text, &n);
    if (!e) {
        show(n, &got);
        e = lz_text_check(&got);
    }
    if (!e && !lz_str_is(lz_text_view(&got), want))
        fail_msg("'%s' is %.*s, not %s", text, LZ_FMT(lz_text_view(&got)), want);
    lz_text_deinit(&got);
    lz_arena_deinit(&a);
    return e;
}

typedef struct pair {
    const char *text, *want;
} pair;

static lz_err *check_trees(const pair *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        LZ_TRY(check_tree(cases[i].text, cases[i].want));
    return NULL;
}
#define CHECK_TREES(cases) check_trees((cases), sizeof(cases) / sizeof *(cases))

static lz_err *test_collections(void)
{
    static const pair cases[] = {
        { "", "null" },
        { "# nothing", "null" },
        { "---\n...\n", "null" },
        { "- a\n- [b, c]\n- {d: e}\n-\n", "['a', ['b', 'c'], {'d': 'e'}, null]" },
        { "f: add(Tensor a) -> Tensor\nk:\n  CPU, CUDA: x\n",
          "{'f': 'add(Tensor a) -> Tensor', 'k': {'CPU, CUDA': 'x'}}" },
        { "a: |\n  x\n  y\nb: >-\n  x\n  y\n", "{'a': 'x\ny\n', 'b': 'x y'}" },
        { "a: b\n  c", "{'a': 'b c'}" },
        { "[&x [1], *x, *x]", "[[1], [1], [1]]" },
        { "a: &x b\n*x : c", "{'a': 'b', 'b': 'c'}" },
        { "%YAML 1.1\n--- 1\n", "1" },
        { "\xEF\xBB\xBFx", "'x'" },
        { "{}", "{}" },
        { "[]", "[]" },
    };
    return CHECK_TREES(cases);
}

/* Beside each text what Python's yaml.safe_load answers. */
static lz_err *test_words(void)
{
    static const pair cases[] = {
        { "[yes, No, TRUE, false, on, Off]", "[true, false, true, false, true, false]" },
        { "[y, n, oN, tRue, nULL, none]", "['y', 'n', 'oN', 'tRue', 'nULL', 'none']" },
        { "[~, null, Null, NULL]", "[null, null, null, null]" },
        { "['yes', \"1\", '', '~']", "['yes', '1', '', '~']" },
        { "[! 5, ! '5', !!str 5, !!int '12', !!float 3, !!null x, !!bool ON]",
          "[5, 5, '5', 12, 3.0, null, true]" },
        { "[!!str , !!seq [a], !!map {a: b}]", "['', ['a'], {'a': 'b'}]" },
    };
    return CHECK_TREES(cases);
}

static lz_err *test_numbers(void)
{
    static const pair cases[] = {
        { "[0, 7, +12, -3, 1_000, 017, 0_7, 0x1F, -0x1f, 0b101, 190:20:30]",
          "[0, 7, 12, -3, 1000, 15, 7, 31, -31, 5, 685230]" },
        { "[08, 0o7, 1:60, 0b2, 0xg, 1__, +, -, 12a]",
          "['08', '0o7', '1:60', '0b2', '0xg', 1, '+', '-', '12a']" },
        { "[1., 0.5, -1_0.5, .5, 1.e+5, 1.5E-3, 12:30:45.5, 0:2.5]",
          "[1.0, 0.5, -10.5, 0.5, 100000.0, 0.0015, 45045.5, 2.5]" },
        { "[+.5, 1e5, 1.0e5, .e+5, '.']", "['+.5', '1e5', '1.0e5', '.e+5', '.']" },
        { "[.inf, -.INF, +.Inf, .nan, -.nan]", "[inf, -inf, inf, nan, '-.nan']" },
        { "[9223372036854775807, -9223372036854775808, 99999999999999999999]",
          "[9223372036854775807, -9223372036854775808, 9223372036854775807]" },
        { "[!!int 1:99, !!float 1e5, !!int '1__0', !!int ' 5 ', !!float nan]",
          "[159, 100000.0, 10, 5, nan]" },
    };
    return CHECK_TREES(cases);
}

static lz_err *test_dates(void)
{
    static const pair cases[] = {
        { "[2001-01-01, 2000-02-29, 2001-1-1, 20011-01-01]", "[date, date, '2001-1-1', '20011-01-01']" },
        { "[2001-1-1 1:00:00, 2001-01-01T23:59:59.5Z, '2001-01-01']", "[date, date, '2001-01-01']" },
        { "[2001-1-1 1:00:00 +9:30, 2001-1-1t1:00:00-1, 2001-1-1 1:0:00]",
          "[date, date, '2001-1-1 1:0:00']" },
        { "[!!timestamp 2001-1-1]", "[date]" },
    };
    return CHECK_TREES(cases);
}

static lz_err *check_refused(const char *text, lz_code code, int line, int col, const char *part)
{
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = parse(&a, text, &n);
    lz_loc loc = lz_err_loc(e);
    if (lz_err_code(e) != LZ_ERR_MEMORY && (loc.line != line || loc.col != col))
        fail_msg("'%s' is refused at %d:%d (%s), not at %d:%d", text, loc.line, loc.col, lz_err_text(e), line,
                 col);
    e = lz_check_err(e, code, part);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_refusals(void)
{
    static const struct {
        const char *text;
        lz_code code;
        int line, col;
        const char *part;
    } cases[] = {
        { "a: 1\nb: 2\na: 3", LZ_ERR_SYNTAX, 3, 1, "'a' occurs twice" },
        { "- x: {q: 1, \"q\": 2}", LZ_ERR_SYNTAX, 1, 13, "'q' occurs twice" },
        { "1: a\ntrue: b", LZ_ERR_SYNTAX, 2, 1, "occurs twice" },
        { "1: a\n1.0: b", LZ_ERR_SYNTAX, 2, 1, "occurs twice" },
        { "~: a\nnull: b", LZ_ERR_SYNTAX, 2, 1, "occurs twice" },
        { ".nan: a\n.nan: b", LZ_ERR_SYNTAX, 2, 1, "occurs twice" },
        { "? [a]\n: b", LZ_ERR_SYNTAX, 1, 3, "a list cannot be a key" },
        { "? {a: b}\n: b", LZ_ERR_SYNTAX, 1, 3, "a mapping cannot be a key" },
        { "a: *b", LZ_ERR_SYNTAX, 1, 4, "no anchor 'b'" },
        { "&a [*a]", LZ_ERR_SYNTAX, 1, 5, "inside the node of its own anchor" },
        { "[&a 1, &a 2]", LZ_ERR_SYNTAX, 1, 8, "second anchor" },
        { "--- 1\n--- 2", LZ_ERR_SYNTAX, 2, 1, "second document" },
        { "a: [1, 2", LZ_ERR_SYNTAX, 2, 1, "flow sequence" },
        { "a: 'x", LZ_ERR_SYNTAX, 1, 6, "quoted scalar" },
        { "a: b: c", LZ_ERR_SYNTAX, 1, 5, "mapping values" },
        { "a:\n\tb: c", LZ_ERR_SYNTAX, 2, 1, "token" },
        { "<<: {a: b}", LZ_ERR_UNSUPPORTED, 1, 1, "<<" },
        { "a: =", LZ_ERR_UNSUPPORTED, 1, 4, "=" },
        { "- !!binary aGk=", LZ_ERR_UNSUPPORTED, 1, 3, "binary" },
        { "- !!set {a, b}", LZ_ERR_UNSUPPORTED, 1, 3, "set" },
        { "- !own x", LZ_ERR_UNSUPPORTED, 1, 3, "!own" },
        { "!!int [1]", LZ_ERR_UNSUPPORTED, 1, 1, "a list cannot" },
        { "- !!int 3.5", LZ_ERR_SYNTAX, 1, 3, "'3.5' is not an integer" },
        { "- !!bool y", LZ_ERR_SYNTAX, 1, 3, "not a boolean" },
        { "- !!float x", LZ_ERR_SYNTAX, 1, 3, "not a number" },
        { "- 0x_", LZ_ERR_SYNTAX, 1, 3, "not an integer" },
        { "- 2020-13-01", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "- 2001-02-29", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "- 1900-02-29", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "- 0000-01-01", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "- 2001-01-01T24:00:00", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "- 2001-01-01 1:00:00-24", LZ_ERR_SYNTAX, 1, 3, "not a possible date" },
        { "ab: c\nd\xC3\xA4: \xff", LZ_ERR_SYNTAX, 2, 5, "UTF-8" },
        { "a: \x01", LZ_ERR_SYNTAX, 1, 4, "control" },
        { "%YAML 2.0\n---\na", LZ_ERR_SYNTAX, 1, 1, "incompatible" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        LZ_TRY(check_refused(cases[i].text, cases[i].code, cases[i].line, cases[i].col, cases[i].part));
    return NULL;
}

static lz_err *test_many_keys(void)
{
    lz_text t = { 0 };
    for (int i = 0; i < 40; i++)
        lz_text_printf(&t, "k%d: %d\n%d: x\n", i * 7 % 40, i, i);
    lz_err *e = lz_text_check(&t);
    lz_arena a = { 0 };
    const lzg_yaml *n;
    if (!e)
        e = lzg_yaml_parse(&a, lz_text_view(&t), "file.yaml", &n);
    if (!e)
        assert_int_equal(n->len, 80);
    lz_text_puts(&t, "z: 1\nk5: 2\n3: 1\n");
    lz_text_putc(&t, '\0');
    if (!e)
        e = lz_text_check(&t);
    if (!e)
        e = check_refused(t.ptr, LZ_ERR_SYNTAX, 82, 1, "'k5' occurs twice");
    lz_arena_deinit(&a);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_places(void)
{
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = parse(&a, "- func: add(Tensor self)\n  tags: [\"\xC3\xA4 b\", 'it''s']\n  n:\n", &n);
    if (!e) {
        const lzg_yaml *entry = n->items[0], *func = lzg_yaml_get(entry, LZ_STR("func"));
        const lzg_yaml *tags = lzg_yaml_get(entry, LZ_STR("tags"));
        assert_string_equal(func->loc.file, "file.yaml");
        assert_int_equal(entry->loc.line, 1);
        assert_int_equal(entry->loc.col, 3);
        assert_int_equal(func->loc.col, 9);
        assert_true(func->one_line && !func->quoted);
        assert_int_equal(lzg_yaml_at(func, 4).col, 13);
        assert_true(tags->items[0]->quoted && tags->items[0]->one_line);
        assert_int_equal(lzg_yaml_at(tags->items[0], 3).col,
                         13); /* past the quote, a letter of two bytes and a blank */
        assert_int_equal(lzg_yaml_at(tags->items[0], 3).line, 2);
        assert_false(tags->items[1]->one_line);
        assert_int_equal(lzg_yaml_at(tags->items[1], 4).col, tags->items[1]->loc.col);
        assert_int_equal(lzg_yaml_get(entry, LZ_STR("n"))->kind, LZG_YAML_NULL);
        assert_null(lzg_yaml_get(entry, LZ_STR("none")));
        assert_null(lzg_yaml_get(func, LZ_STR("none")));
    }
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_aliases_are_shared(void)
{
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = parse(&a, "[&x {a: b}, *x]", &n);
    if (!e)
        assert_ptr_equal(n->items[0], n->items[1]);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_depth_is_bounded(void)
{
    char deep[2 * LZG_YAML_DEPTH + 3] = "";
    memset(deep, '[', LZG_YAML_DEPTH);
    memset(deep + LZG_YAML_DEPTH, ']', LZG_YAML_DEPTH);
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = parse(&a, deep, &n);
    lz_arena_deinit(&a);
    LZ_TRY(e);
    memset(deep, '[', LZG_YAML_DEPTH + 1);
    return check_refused(deep, LZ_ERR_LIMIT, 1, LZG_YAML_DEPTH + 1, "deep");
}

/* Ten levels of ten aliases each would be 10^10 nodes. */
static lz_err *test_expansion_is_bounded(void)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "- &a0 x\n");
    for (int i = 1; i <= 10; i++) {
        lz_text_printf(&t, "- &a%d [", i);
        for (int k = 0; k < 10; k++)
            lz_text_printf(&t, "*a%d,", i - 1);
        lz_text_puts(&t, "]\n");
    }
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_check_err(lzg_yaml_parse(&a, lz_text_view(&t), "file.yaml", &n), LZ_ERR_LIMIT, "nodes");
    lz_arena_deinit(&a);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_aliases_count_towards_depth(void)
{
    lz_text t = { 0 };
    lz_text_puts(&t, "- &a0 x\n");
    for (int i = 1; i <= LZG_YAML_DEPTH; i++)
        lz_text_printf(&t, "- &a%d [*a%d]\n", i, i - 1);
    lz_arena a = { 0 };
    const lzg_yaml *n;
    lz_err *e = lz_text_check(&t);
    if (!e)
        e = lz_check_err(lzg_yaml_parse(&a, lz_text_view(&t), "file.yaml", &n), LZ_ERR_LIMIT, "deep");
    lz_arena_deinit(&a);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_load(void)
{
    char path[4096];
    lz_arena a = { 0 };
    const lzg_yaml *n;
    snprintf(path, sizeof path, "%s/x.yaml", lz_check_dir());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("a: [1]\n", f);
    fclose(f);
    lz_err *e = lzg_yaml_load(&a, path, &n);
    if (!e) {
        assert_string_equal(n->loc.file, path);
        assert_int_equal(lzg_yaml_get(n, LZ_STR("a"))->len, 1);
    }
    lz_arena_deinit(&a);
    LZ_TRY(e);
    return lz_check_err(lzg_yaml_load(&a, "/nowhere/x.yaml", &n), LZ_ERR_NOT_FOUND, "x.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_collections),
        LZ_TEST(test_words),
        LZ_TEST(test_numbers),
        LZ_TEST(test_dates),
        LZ_TEST(test_refusals),
        LZ_TEST(test_many_keys),
        LZ_TEST(test_places),
        LZ_TEST(test_aliases_are_shared),
        LZ_TEST(test_depth_is_bounded),
        LZ_TEST(test_expansion_is_bounded),
        LZ_TEST(test_aliases_count_towards_depth),
        LZ_TEST(test_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
