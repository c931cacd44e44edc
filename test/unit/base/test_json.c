#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "check.h"
#include "json_tree.h"
#include <pthread.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Parses, writes compactly, compares. */
static lz_err *expect_compact(lz_str text, const char *want)
{
    lz_arena a;
    lz_text t = { 0 };
    lz_json_writer w;
    const lz_json *v = NULL;
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, "t.json", text, &v);
    if (!e) {
        lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
        json_put_tree(&w, v);
        e = lz_json_finish(&w);
    }
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("%.*s became %.*s, not %s", LZ_FMT(text), LZ_FMT(lz_text_view(&t)), want);
    lz_text_deinit(&t);
    lz_arena_deinit(&a);
    return e;
}

/* What Python's json.dumps(json.loads(text), separators=(",", ":")) gives. */
static const struct {
    const char *text, *compact;
} good[] = {
    { "null", "null" },
    { " true\n", "true" },
    { "\t\r\n false ", "false" },
    { "0", "0" },
    { "-0", "0" },
    { "-1", "-1" },
    { "123456789012345678", "123456789012345678" },
    { "1234567890123456789", "1234567890123456789" },
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "9223372036854775808", "9223372036854775808" },
    { "18446744073709551615", "18446744073709551615" },
    { "0.0", "0.0" },
    { "-0.0", "-0.0" },
    { "0e0", "0.0" },
    { "0E+5", "0.0" },
    { "1.0", "1.0" },
    { "1.5", "1.5" },
    { "1e5", "100000.0" },
    { "1E5", "100000.0" },
    { "1e+16", "1e+16" },
    { "1e-5", "1e-05" },
    { "-12.25e-3", "-0.01225" },
    { "1e-400", "0.0" },
    { "0.1234567890123456789", "0.12345678901234568" },
    { "18446744073709551616.0", "1.8446744073709552e+19" },
    { "\"\"", "\"\"" },
    { "\"a\"", "\"a\"" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\"" },
    { "\"\\u0041\\u00e9\\u20AC\"", "\"A\\u00e9\\u20ac\"" },
    { "\"\\uD83D\\uDE00\"", "\"\\ud83d\\ude00\"" },
    { "\"\\uDBFF\\uDFFF\\uD800\\uDC00\"", "\"\\udbff\\udfff\\ud800\\udc00\"" },
    { "\"\\u0000x\\u001f\\u007f\"", "\"\\u0000x\\u001f\\u007f\"" },
    { "\"\x7f\"", "\"\\u007f\"" },
    { "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "\"\\u00e9 \\u20ac \\ud83d\\ude00\"" },
    { "\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"", "\"\\ud7ff\\ue000\\uffff\\udbff\\udfff\"" },
    { "\"\\ufeff\"", "\"\\ufeff\"" },
    { "[]", "[]" },
    { "[ ]", "[]" },
    { "{}", "{}" },
    { "{ \n}", "{}" },
    { "[1]", "[1]" },
    { "[1, 2 ,3]", "[1,2,3]" },
    { "[[],[[]],{}]", "[[],[[]],{}]" },
    { "[null,true,false,\"x\",-1.5]", "[null,true,false,\"x\",-1.5]" },
    { "{\"a\":1}", "{\"a\":1}" },
    { "{ \"b\" : [ { \"c\" : { } } ] , \"a\" : \"\" }", "{\"b\":[{\"c\":{}}],\"a\":\"\"}" },
    { "{\"\":1,\" \":2,\"\\n\":3,\"\\u0000\":4}", "{\"\":1,\" \":2,\"\\n\":3,\"\\u0000\":4}" },
    { "{\"a\":{\"a\":{\"a\":1}},\"A\":1}", "{\"a\":{\"a\":{\"a\":1}},\"A\":1}" },
};

static lz_err *test_good_texts(void)
{
    for (size_t i = 0; i < COUNT(good); i++)
        LZ_TRY(expect_compact(lz_str_of(good[i].text), good[i].compact));
    return NULL;
}

static const struct {
    const char *text;
    int line, col;
    const char *part;
    lz_code code; /* 0 stands for LZ_ERR_SYNTAX */
} bad[] = {
    { "", 1, 1, "expected a value, found the end", 0 },
    { " \n ", 2, 2, "expected a value, found the end", 0 },
    { "x", 1, 1, "expected a value, found 'x'", 0 },
    { "nul", 1, 1, "expected a value", 0 },
    { "tru", 1, 1, "expected a value", 0 },
    { "True", 1, 1, "expected a value, found 'T'", 0 },
    { "NaN", 1, 1, "expected a value, found 'N'", 0 },
    { "Infinity", 1, 1, "expected a value", 0 },
    { "-Infinity", 1, 2, "expected a digit, found 'I'", 0 },
    { "nullx", 1, 5, "expected the end, found 'x'", 0 },
    { "1 2", 1, 3, "expected the end, found '2'", 0 },
    { "[1]]", 1, 4, "expected the end, found ']'", 0 },
    { "\xef\xbb\xbf[]", 1, 1, "expected a value, found byte 0xef", 0 },
    { "// c\n1", 1, 1, "expected a value, found '/'", 0 },
    { "\v1", 1, 1, "expected a value, found byte 0x0b", 0 },
    { "01", 1, 2, "expected no digit after a leading 0, found '1'", 0 },
    { "-01", 1, 3, "expected no digit after a leading 0", 0 },
    { "00", 1, 2, "expected no digit after a leading 0", 0 },
    { "-", 1, 2, "expected a digit, found the end", 0 },
    { "+1", 1, 1, "expected a value, found '+'", 0 },
    { ".5", 1, 1, "expected a value, found '.'", 0 },
    { "1.", 1, 3, "expected a digit, found the end", 0 },
    { "1.e5", 1, 3, "expected a digit, found 'e'", 0 },
    { "1e", 1, 3, "expected a digit, found the end", 0 },
    { "1e+", 1, 4, "expected a digit", 0 },
    { "0x10", 1, 2, "expected the end, found 'x'", 0 },
    { "1_0", 1, 2, "expected the end, found '_'", 0 },
    { "18446744073709551616", 1, 1, "does not fit in 64 bits", LZ_ERR_LIMIT },
    { "[ -9223372036854775809]", 1, 3, "does not fit in 64 bits", LZ_ERR_LIMIT },
    { "[1e309]", 1, 2, "range of doubles", LZ_ERR_LIMIT },
    { "[-1e999]", 1, 2, "range of doubles", LZ_ERR_LIMIT },
    { "[", 1, 2, "expected a value, found the end", 0 },
    { "[1", 1, 3, "expected ',' or ']', found the end", 0 },
    { "[1,", 1, 4, "expected a value, found the end", 0 },
    { "[1,]", 1, 4, "expected a value, found ']'", 0 },
    { "[,1]", 1, 2, "expected a value, found ','", 0 },
    { "[1 2]", 1, 4, "expected ',' or ']', found '2'", 0 },
    { "[1}", 1, 3, "expected ',' or ']', found '}'", 0 },
    { "{", 1, 2, "expected a key in quotes, found the end", 0 },
    { "{a:1}", 1, 2, "expected a key in quotes, found 'a'", 0 },
    { "{1:1}", 1, 2, "expected a key in quotes, found '1'", 0 },
    { "{\"a\"}", 1, 5, "expected ':' after the key, found '}'", 0 },
    { "{\"a\":}", 1, 6, "expected a value, found '}'", 0 },
    { "{\"a\":1,}", 1, 8, "expected a key in quotes, found '}'", 0 },
    { "{\"a\":1]", 1, 7, "expected ',' or '}', found ']'", 0 },
    { "{\"a\":1 \"b\":2}", 1, 8, "expected ',' or '}', found '\"'", 0 },
    { "{\"a\":1,\n \"b\":2,\n \"a\":3}", 3, 2, "the key \"a\" is there already", 0 },
    { "{\"a\":1,\"\\u0061\":2}", 1, 8, "the key \"a\" is there already", 0 },
    { "[{\"x\":1},{\"\":1,\"\":2}]", 1, 16, "the key \"\" is there already", 0 },
    { "\"abc", 1, 5, "to end the string, found the end", 0 },
    { "\"a\nb\"", 1, 3, "a control character in a string, found byte 0x0a", 0 },
    { "\"\t\"", 1, 2, "a control character in a string, found byte 0x09", 0 },
    { "\"\\x\"", 1, 3, "expected an escape (one of \"\\/bfnrtu), found 'x'", 0 },
    { "\"\\", 1, 3, "expected an escape", 0 },
    { "\"\\u12\"", 1, 2, "four hexadecimal digits", 0 },
    { "\"\\u12g4\"", 1, 2, "four hexadecimal digits", 0 },
    { "\"\\u", 1, 2, "four hexadecimal digits", 0 },
    { "\"ab\\uD800\"", 1, 4, "expected a pair of surrogates, found a lone \\uD800", 0 },
    { "\"\\uDC00\"", 1, 2, "a lone \\uDC00", 0 },
    { "\"\\uD800\\u0041\"", 1, 2, "a lone \\uD800", 0 },
    { "\"\\uD800\\uD800\\uDC00\"", 1, 2, "a lone \\uD800", 0 },
    { "\"\\uD800\\n\"", 1, 2, "a lone \\uD800", 0 },
    { "\"\x80\"", 1, 2, "expected UTF-8 in a string, found byte 0x80", 0 },
    { "\"a\xc3\"", 1, 3, "expected UTF-8 in a string, found byte 0xc3", 0 },
    { "\"\xc0\xaf\"", 1, 2, "expected UTF-8", 0 },
    { "\"\xe0\x80\xaf\"", 1, 2, "expected UTF-8", 0 },
    { "\"\xed\xa0\x80\"", 1, 2, "expected UTF-8", 0 },
    { "\"\xf4\x90\x80\x80\"", 1, 2, "expected UTF-8", 0 },
    { "\"\xf0\x9f\x98", 1, 2, "expected UTF-8", 0 },
    { "\"\xff\"", 1, 2, "expected UTF-8 in a string, found byte 0xff", 0 },
    { "[1,\r\n2,\r\n\r\n  x]", 4, 3, "expected a value, found 'x'", 0 },
};

static lz_err *expect_bad(lz_str text, int line, int col, lz_code code, const char *part)
{
    lz_arena a;
    const lz_json *v = NULL;
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, "t.json", text, &v);
    lz_loc loc = lz_err_loc(e);
    if (lz_err_code(e) != LZ_ERR_MEMORY) {
        if (loc.line != line || loc.col != col || !loc.file || strcmp(loc.file, "t.json") != 0)
            fail_msg("'%.*s' fails at %d:%d with %s", LZ_FMT(text), loc.line, loc.col, lz_err_text(e));
        assert_null(v);
        assert_int_equal(a.used, 0);
    }
    lz_arena_deinit(&a);
    return lz_check_err(e, code, part);
}

static lz_err *test_bad_texts(void)
{
    for (size_t i = 0; i < COUNT(bad); i++)
        LZ_TRY(expect_bad(lz_str_of(bad[i].text), bad[i].line, bad[i].col,
                          bad[i].code ? bad[i].code : LZ_ERR_SYNTAX, bad[i].part));
    return expect_bad(LZ_STR("[1,\0]"), 1, 4, LZ_ERR_SYNTAX, "expected a value, found byte 0x00");
}

/* Every prefix of a valid text is invalid, but for white space and digits at its end. */
static lz_err *test_every_prefix_is_refused(void)
{
    const char *text = "{\"k\\u00e9y\":[1.5e+3,-7,true,null,\"\\ud83d\\ude00\xc3\xa9\",{}],\"z\":[[]]}";
    for (size_t n = 0; n < strlen(text); n++) {
        lz_arena a;
        const lz_json *v;
        char *cut = lz_mem_alloc(n); /* exact, so that ASan sees a step too far */
        if (!cut)
            return lz_err_oom();
        memcpy(cut, text, n);
        lz_arena_init(&a);
        lz_err *e = lz_check_err(lz_json_parse(&a, NULL, (lz_str){ cut, n }, &v), LZ_ERR_SYNTAX, "expected");
        lz_arena_deinit(&a);
        lz_mem_free(cut);
        LZ_TRY(e);
    }
    return expect_compact(lz_str_of(text),
                          "{\"k\\u00e9y\":[1500.0,-7,true,null,\"\\ud83d\\ude00\\u00e9\",{}],\"z\":[[]]}");
}

static void check_place(const lz_json *v, int line, int col)
{
    assert_non_null(v);
    assert_int_equal(v->loc.line, line);
    assert_int_equal(v->loc.col, col);
    assert_string_equal(v->loc.file, "dir/p.json");
}

static lz_err *test_places_are_kept(void)
{
    char file[] = "dir/p.json", text[] = "{\n  \"a\": [10,\n    \"\xc3\xa9\", 3],\n\"b\" :  {} }";
    lz_arena a;
    const lz_json *v;
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, file, lz_str_of(text), &v);
    if (!e) {
        /* neither the text nor the file's name is needed any more */
        memset(text, '?', sizeof text);
        memset(file, '?', sizeof file - 1);
        check_place(v, 1, 1);
        check_place(lz_json_get(v, "a"), 2, 8);
        check_place(&lz_json_get(v, "a")->items[0], 2, 9);
        check_place(&lz_json_get(v, "a")->items[1], 3, 5);
        check_place(&lz_json_get(v, "a")->items[2], 3, 11);
        check_place(lz_json_get(v, "b"), 4, 8);
        assert_int_equal(v->members[0].line * 100 + v->members[0].col, 203);
        assert_int_equal(v->members[1].line * 100 + v->members[1].col, 401);
        assert_string_equal(lz_json_get(v, "a")->items[1].str.ptr, "\xc3\xa9");
        assert_string_equal(v->members[1].key.ptr, "b");
    }
    lz_arena_deinit(&a);
    return e;
}

static void nest(lz_text *t, size_t depth, lz_str open, lz_str inner, lz_str close)
{
    for (size_t i = 0; i < depth; i++)
        lz_text_add(t, open);
    lz_text_add(t, inner);
    for (size_t i = 0; i < depth; i++)
        lz_text_add(t, close);
}

typedef struct deep {
    lz_text text;
    lz_err *err;
    size_t len;
} deep;

static void *parse_and_write(void *arg)
{
    deep *d = arg;
    lz_arena a;
    lz_text out = { 0 };
    lz_json_writer w;
    const lz_json *v;
    lz_arena_init(&a);
    d->err = lz_json_parse(&a, NULL, lz_text_view(&d->text), &v);
    if (!d->err) {
        lz_json_writer_init(&w, &out, LZ_JSON_COMPACT);
        json_put_tree(&w, v);
        d->err = lz_json_finish(&w);
        d->len = out.len;
    }
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return NULL;
}

/* On a thread with a stack of 256 KB. */
static lz_err *run_deep(size_t depth, lz_str open, lz_str inner, lz_str close)
{
    deep d = { 0 };
    pthread_attr_t attr;
    pthread_t thread;
    nest(&d.text, depth, open, inner, close);
    d.err = lz_text_check(&d.text);
    if (!d.err) {
        assert_int_equal(pthread_attr_init(&attr), 0);
        assert_int_equal(pthread_attr_setstacksize(&attr, 256 * 1024), 0);
        assert_int_equal(pthread_create(&thread, &attr, parse_and_write, &d), 0);
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attr);
        if (!d.err)
            assert_int_equal(d.len, d.text.len);
    }
    lz_text_deinit(&d.text);
    return d.err;
}

static lz_err *test_depth_is_bounded(void)
{
    LZ_TRY(run_deep(LZ_JSON_DEPTH, LZ_STR("["), LZ_STR(""), LZ_STR("]")));
    LZ_TRY(run_deep(LZ_JSON_DEPTH, LZ_STR("{\"a\":"), LZ_STR("1"), LZ_STR("}")));
    LZ_TRY(lz_check_err(run_deep(LZ_JSON_DEPTH + 1, LZ_STR("["), LZ_STR(""), LZ_STR("]")), LZ_ERR_LIMIT,
                        "nested more than 512 deep"));
    return lz_check_err(run_deep(100000, LZ_STR("[{\"a\":"), LZ_STR("1"), LZ_STR("}]")), LZ_ERR_LIMIT,
                        "nested more than 512 deep");
}

/* 7919 is a prime above all sizes, so that i * 7919 % n goes through all of 0..n-1. */
static lz_err *check_lookup(uint32_t n)
{
    lz_text t = { 0 };
    lz_arena a;
    const lz_json *v;
    char key[32];
    lz_text_putc(&t, '{');
    for (uint32_t i = 0; i < n; i++)
        lz_text_printf(&t, "%s\"k%u\":%u", i ? "," : "", i * 7919 % n, i * 7919 % n);
    lz_text_putc(&t, '}');
    lz_arena_init(&a);
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_json_parse(&a, NULL, lz_text_view(&t), &v);
    for (uint32_t i = 0; !e && i < n; i++) {
        snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(lz_json_get(v, key)->i, i);
        assert_int_equal(v->members[i].value.i, i * 7919 % n); /* the text's order */
    }
    if (!e)
        assert_true(!lz_json_get(v, "k") && !lz_json_get(v, "") && !lz_json_get(v, "z") && v->len == n);
    lz_arena_deinit(&a);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_lookup(void)
{
    static const uint32_t sizes[] = { 0, 1, 2, 3, 31, 32, 33, 34, 63, 64, 65, 5000 };
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (sizes[i] < 1000 || !lz_check_failing())
            LZ_TRY(check_lookup(sizes[i]));
    return NULL;
}

/* The second of two equal keys is named, wherever they are. */
static lz_err *check_twins(int n, int first, int second)
{
    lz_text t = { 0 };
    lz_arena a;
    const lz_json *v;
    lz_arena_init(&a);
    for (int i = 0; i < n; i++)
        lz_text_printf(&t, "%c\"key%d\":0\n", i ? ',' : '{', (i == second ? first : i) * 37 % 1009);
    lz_text_putc(&t, '}');
    lz_err *e = lz_text_check(&t);
    e = e ? e : lz_json_parse(&a, NULL, lz_text_view(&t), &v);
    if (lz_err_code(e) != LZ_ERR_MEMORY)
        assert_int_equal(lz_err_loc(e).line, second + 1);
    lz_arena_deinit(&a);
    lz_text_deinit(&t);
    return lz_check_err(e, LZ_ERR_SYNTAX, "is there already");
}

static lz_err *test_equal_keys_are_refused(void)
{
    static const int sizes[] = { 2, 3, 32, 33, 34, 100 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        int n = sizes[i];
        LZ_TRY(check_twins(n, 0, 1));
        LZ_TRY(check_twins(n, 0, n - 1));
        LZ_TRY(check_twins(n, n / 2 - 1, n / 2));
        LZ_TRY(check_twins(n, n - 2, n - 1));
        LZ_TRY(check_twins(n, n / 3, n / 2 + 1 < n ? n / 2 + 1 : 1));
    }
    return NULL;
}

static const char lines_text[] = "{\"a\":1}\n\n  \n[2]\r\n\"three\"\n4";

static lz_err *test_lines(void)
{
    lz_arena a;
    lz_json_lines l;
    const lz_json *v = NULL;
    static const int lines[] = { 1, 4, 5, 6 };
    size_t n = 0;
    lz_arena_init(&a);
    lz_json_lines_init(&l, "x.jsonl", lz_str_of(lines_text));
    lz_err *e;
    while (!(e = lz_json_lines_next(&l, &a, &v)) && v)
        assert_int_equal(v->loc.line, lines[n++]);
    if (!e)
        assert_int_equal(n, 4);
    if (!e)
        e = lz_json_lines_next(&l, &a, &v);
    if (!e)
        assert_null(v);
    lz_json_lines_deinit(&l);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_lines_tell_the_line(void)
{
    lz_arena a;
    lz_json_lines l;
    const lz_json *v = NULL;
    lz_arena_init(&a);
    lz_json_lines_init(&l, "x.jsonl", LZ_STR("1\n[2,\n3]\n4\n"));
    lz_err *e = lz_json_lines_next(&l, &a, &v);
    for (int line = 2; !e && line <= 3; line++) {
        e = lz_json_lines_next(&l, &a, &v);
        if (lz_err_code(e) != LZ_ERR_MEMORY)
            assert_int_equal(lz_err_loc(e).line, line);
        e = lz_check_err(e, LZ_ERR_SYNTAX, "expected");
    }
    if (!e)
        e = lz_json_lines_next(&l, &a, &v); /* it goes on behind an error */
    if (!e)
        assert_int_equal(v->i, 4);
    lz_json_lines_deinit(&l);
    lz_arena_deinit(&a);
    return e;
}

static const char sample[] = "{\"b\":true,\"i\":-5,\"u\":18446744073709551615,\"d\":0.5,\"s\":\"x\\u0000y\","
                             "\"a\":[1,2],\"o\":{\"k\":null}}";

static lz_err *check_getters(const lz_json *v)
{
    bool b;
    int64_t i;
    uint64_t u;
    double d;
    lz_str s;
    const lz_json *c;
    LZ_TRY(lz_json_as_bool(lz_json_get(v, "b"), "b", &b));
    assert_true(b);
    LZ_TRY(lz_json_get_int(v, "i", &i));
    assert_int_equal(i, -5);
    LZ_TRY(lz_json_get_uint(v, "u", &u));
    assert_true(u == UINT64_MAX);
    LZ_TRY(lz_json_as_double(lz_json_get(v, "d"), "d", &d));
    assert_true(d == 0.5);
    LZ_TRY(lz_json_as_double(lz_json_get(v, "i"), "i", &d));
    assert_true(d == -5);
    LZ_TRY(lz_json_as_double(lz_json_get(v, "u"), "u", &d));
    assert_true(d == 0x1p64);
    LZ_TRY(lz_json_get_str(v, "s", &s));
    assert_true(lz_str_eq(s, LZ_STR("x\0y")));
    LZ_TRY(lz_json_get_array(v, "a", &c));
    assert_int_equal(c->len, 2);
    LZ_TRY(lz_json_as_uint(&c->items[1], "a[1]", &u));
    assert_true(u == 2);
    LZ_TRY(lz_json_get_object(v, "o", &c));
    LZ_TRY(lz_json_get_any(c, "k", &c));
    assert_int_equal(c->kind, LZ_JSON_NULL);
    return NULL;
}

static lz_err *check_getter_errors(const lz_json *v)
{
    bool b;
    int64_t i;
    uint64_t u;
    double d;
    lz_str s;
    const lz_json *c;
    LZ_TRY(lz_check_err(lz_json_get_int(v, "zz", &i), LZ_ERR_NOT_FOUND, "the key \"zz\" is missing"));
    LZ_TRY(lz_check_err(lz_json_get_int(v, "s", &i), LZ_ERR_MODEL, "s: expected an integer, found a string"));
    LZ_TRY(lz_check_err(lz_json_get_int(v, "d", &i), LZ_ERR_MODEL, "expected an integer, found a number"));
    LZ_TRY(lz_check_err(lz_json_get_int(v, "u", &i), LZ_ERR_LIMIT, "u: 18446744073709551615 is not"));
    LZ_TRY(lz_check_err(lz_json_get_uint(v, "i", &u), LZ_ERR_LIMIT, "i: -5 is not in the range of uint64"));
    LZ_TRY(
        lz_check_err(lz_json_get_uint(v, "o", &u), LZ_ERR_MODEL, "o: expected an integer, found an object"));
    LZ_TRY(lz_check_err(lz_json_as_bool(lz_json_get(v, "i"), "i", &b), LZ_ERR_MODEL,
                        "i: expected a boolean, found an integer"));
    LZ_TRY(lz_check_err(lz_json_as_double(lz_json_get(v, "b"), "b", &d), LZ_ERR_MODEL,
                        "b: expected a number, found a boolean"));
    LZ_TRY(lz_check_err(lz_json_get_str(v, "a", &s), LZ_ERR_MODEL, "a: expected a string, found an array"));
    LZ_TRY(lz_check_err(lz_json_get_array(v, "o", &c), LZ_ERR_MODEL, "expected an array, found an object"));
    LZ_TRY(lz_check_err(lz_json_get_object(v, "a", &c), LZ_ERR_MODEL, "expected an object, found an array"));
    v = lz_json_get(v, "a");
    assert_null(lz_json_get(v, "x"));
    lz_err *e = lz_json_get_any(v, "x", &c);
    if (lz_err_code(e) == LZ_ERR_MODEL)
        assert_int_equal(lz_err_loc(e).col, (int)(strstr(sample, "[1") - sample) + 1);
    return lz_check_err(e, LZ_ERR_MODEL, "expected an object with the key \"x\", found an array");
}

static lz_err *test_getters(void)
{
    lz_arena a;
    const lz_json *v;
    lz_arena_init(&a);
    lz_err *e = lz_json_parse(&a, NULL, lz_str_of(sample), &v);
    e = e ? e : check_getters(v);
    e = e ? e : check_getter_errors(v);
    lz_arena_deinit(&a);
    return e;
}

static void write_sample(lz_json_writer *w)
{
    lz_json_begin_object(w);
    lz_json_put_key(w, "a");
    lz_json_begin_array(w);
    lz_json_put_int(w, INT64_MIN);
    lz_json_put_uint(w, UINT64_MAX);
    lz_json_put_double(w, 1);
    lz_json_put_double(w, -1e-7);
    lz_json_begin_array(w);
    lz_json_end_array(w);
    lz_json_begin_object(w);
    lz_json_end_object(w);
    lz_json_end_array(w);
    lz_json_put_key(w, "\xc3\xa9\"");
    lz_json_put_cstr(w, "\x01\x1f/\\\b\f\n\r\t\x7f~");
    lz_json_put_key_str(w, LZ_STR("n"));
    lz_json_put_null(w);
    lz_json_put_key(w, "o");
    lz_json_begin_object(w);
    lz_json_member_bool(w, "t", true);
    lz_json_member_int(w, "i", -1);
    lz_json_member_uint(w, "u", 1);
    lz_json_member_double(w, "d", 0.5);
    lz_json_member_cstr(w, "c", "x");
    lz_json_member_str(w, "s", (lz_str){ 0 });
    lz_json_member_optional_str(w, "os", (lz_str){ 0 });
    lz_json_member_optional_cstr(w, "oc", NULL);
    lz_json_member_optional_cstr(w, "od", "");
    lz_json_end_object(w);
    lz_json_end_object(w);
}

/* By json.dumps of the same value. */
static const struct {
    int indent;
    const char *text;
} forms[] = {
    { LZ_JSON_COMPACT, "{\"a\":[-9223372036854775808,18446744073709551615,1.0,-1e-07,[],{}],"
                       "\"\\u00e9\\\"\":\"\\u0001\\u001f/\\\\\\b\\f\\n\\r\\t\\u007f~\",\"n\":null,"
                       "\"o\":{\"t\":true,\"i\":-1,\"u\":1,\"d\":0.5,\"c\":\"x\",\"s\":\"\",\"os\":null,"
                       "\"oc\":null,\"od\":\"\"}}" },
    { 2, "{\n  \"a\": [\n    -9223372036854775808,\n    18446744073709551615,\n    1.0,\n    -1e-07,\n"
         "    [],\n    {}\n  ],\n  \"\\u00e9\\\"\": \"\\u0001\\u001f/\\\\\\b\\f\\n\\r\\t\\u007f~\",\n"
         "  \"n\": null,\n  \"o\": {\n    \"t\": true,\n    \"i\": -1,\n    \"u\": 1,\n    \"d\": 0.5,\n    "
         "\"c\": \"x\",\n    \"s\": \"\",\n    \"os\": null,\n    \"oc\": null,\n    \"od\": \"\"\n  }\n}" },
    { 0, "{\n\"a\": [\n-9223372036854775808,\n18446744073709551615,\n1.0,\n-1e-07,\n[],\n{}\n],\n"
         "\"\\u00e9\\\"\": \"\\u0001\\u001f/\\\\\\b\\f\\n\\r\\t\\u007f~\",\n\"n\": null,\n"
         "\"o\": {\n\"t\": true,\n\"i\": -1,\n\"u\": 1,\n\"d\": 0.5,\n\"c\": \"x\",\n\"s\": \"\",\n\"os\": "
         "null,\n\"oc\": null,\n\"od\": \"\"\n}\n}" },
};

static lz_err *test_written_as_dumps(void)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        lz_text t = { 0 };
        lz_json_writer w;
        lz_json_writer_init(&w, &t, forms[i].indent);
        write_sample(&w);
        lz_err *e = lz_json_finish(&w);
        if (!e && !lz_str_is(lz_text_view(&t), forms[i].text))
            fail_msg("got %.*s", LZ_FMT(lz_text_view(&t)));
        lz_text_deinit(&t);
        LZ_TRY(e);
    }
    return NULL;
}

/* A little language for misuse: { } [ ] as they are, k a key, 1 a number, n a NaN, i an
 * infinity, u a string that is not UTF-8, U such a key. */
static void play(lz_json_writer *w, const char *script)
{
    for (; *script; script++) {
        switch (*script) {
        case '{':
            lz_json_begin_object(w);
            break;
        case '}':
            lz_json_end_object(w);
            break;
        case '[':
            lz_json_begin_array(w);
            break;
        case ']':
            lz_json_end_array(w);
            break;
        case 'k':
            lz_json_put_key(w, "k");
            break;
        case '1':
            lz_json_put_int(w, 1);
            break;
        case 'n':
            lz_json_put_double(w, __builtin_nan(""));
            break;
        case 'i':
            lz_json_put_double(w, -__builtin_inf());
            break;
        case 'u':
            lz_json_put_cstr(w, "\xc3");
            break;
        case 'U':
            lz_json_put_key(w, "a\xff");
            break;
        }
    }
}

static const struct {
    const char *script, *part;
} misuse[] = {
    { "", "no value" },
    { "[", "a container was not ended" },
    { "{k[", "a container was not ended" },
    { "{k", "a container was not ended" },
    { "11", "a second outermost value" },
    { "[]{}", "a second outermost value" },
    { "{1}", "a value without a key" },
    { "{k1 1}", "a value without a key" },
    { "{[]}", "a value without a key" },
    { "k", "a key outside an object" },
    { "[k1]", "a key outside an object" },
    { "{}k", "a key outside an object" },
    { "{kk1}", "a key without a value" },
    { "{k}", "a key without a value" },
    { "]", "an end of an array that was not begun" },
    { "}", "an end of an object that was not begun" },
    { "[}", "an end of an object that was not begun" },
    { "{]", "an end of an array that was not begun" },
    { "[]]", "an end of an array that was not begun" },
    { "n", "a number that is not finite" },
    { "[1i]", "a number that is not finite" },
    { "[u]", "not UTF-8" },
    { "{U1}", "not UTF-8" },
    { "{1}]]]]nk", "a value without a key" },
};

static lz_err *test_misuse_is_told(void)
{
    for (size_t i = 0; i < COUNT(misuse); i++) {
        lz_text t = { 0 };
        lz_json_writer w;
        lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
        play(&w, misuse[i].script);
        lz_err *e = lz_check_err(lz_json_finish(&w), LZ_ERR_ARG, misuse[i].part);
        lz_text_deinit(&t);
        LZ_TRY(e);
    }
    return NULL;
}

static lz_err *test_writing_too_deep(void)
{
    lz_text t = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
    for (int i = 0; i < 3 * LZ_JSON_DEPTH; i++)
        lz_json_begin_array(&w);
    lz_err *e = lz_check_err(lz_json_finish(&w), LZ_ERR_LIMIT, "nested too deep");
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_a_tree_after_a_mistake(void)
{
    const lz_json one = { .kind = LZ_JSON_INT, .i = 1 },
                  tree = { .kind = LZ_JSON_ARRAY, .len = 1, .items = &one };
    lz_text t = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &t, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    json_put_tree(&w, &tree);
    lz_err *e = lz_check_err(lz_json_finish(&w), LZ_ERR_ARG, "a value without a key");
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_huge_texts_are_refused(void)
{
    /* refused by its length alone: the bytes are not looked at */
    return expect_bad((lz_str){ "1", INT32_MAX }, 0, 0, LZ_ERR_LIMIT, "2 GiB");
}

static uint64_t state = 88172645463325252;

static uint32_t next_random(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static void random_string(lz_json_writer *w, bool key, uint32_t unique)
{
    char buf[80];
    size_t n = key ? (size_t)snprintf(buf, sizeof buf, "%u", unique) : 0;
    for (uint32_t i = next_random(8); i-- > 0;) {
        uint32_t code = next_random(3) ? next_random(0x100) : next_random(0x110000);
        n += lz_utf8_encode(code >= 0xd800 && code < 0xe000 ? '?' : code, buf + n);
    }
    if (key)
        lz_json_put_key_str(w, (lz_str){ buf, n });
    else
        lz_json_put_str(w, (lz_str){ buf, n });
}

static void random_value(lz_json_writer *w, int depth)
{
    uint64_t bits =
        (uint64_t)next_random(1u << 31) << 33 ^ (uint64_t)next_random(1u << 31) << 11 ^ next_random(99);
    uint32_t kind = next_random(depth ? 8 : 6), n = next_random(7);
    double d;
    memcpy(&d, &bits, sizeof d);
    if (kind < 2)
        lz_json_put_int(w, (int64_t)bits >> next_random(64));
    else if (kind == 2)
        lz_json_put_uint(w, bits);
    else if (kind == 3)
        lz_json_put_double(w, d - d == 0 ? d : 0.5);
    else if (kind == 4)
        random_string(w, false, 0);
    else if (kind == 5)
        n ? lz_json_put_bool(w, n & 1) : lz_json_put_null(w);
    else if (kind == 6) {
        lz_json_begin_array(w);
        while (n-- > 0)
            random_value(w, depth - 1);
        lz_json_end_array(w);
    } else {
        lz_json_begin_object(w);
        for (; n > 0; n--) {
            random_string(w, true, n);
            random_value(w, depth - 1);
        }
        lz_json_end_object(w);
    }
}

/* Written, read and written again, in both forms, a value is the same text. */
static lz_err *round_trip(lz_arena *a, lz_text *once, lz_text *wide, lz_text *twice)
{
    const lz_json *v;
    lz_json_writer w;
    lz_json_writer_init(&w, once, LZ_JSON_COMPACT);
    random_value(&w, 5);
    LZ_TRY(lz_json_finish(&w));
    LZ_TRY(lz_json_parse(a, NULL, lz_text_view(once), &v));
    lz_json_writer_init(&w, wide, 3);
    json_put_tree(&w, v);
    LZ_TRY(lz_json_finish(&w));
    LZ_TRY(lz_json_parse(a, NULL, lz_text_view(wide), &v));
    lz_json_writer_init(&w, twice, LZ_JSON_COMPACT);
    json_put_tree(&w, v);
    LZ_TRY(lz_json_finish(&w));
    assert_true(lz_str_eq(lz_text_view(once), lz_text_view(twice)));
    return NULL;
}

static lz_err *test_round_trip(void)
{
    lz_err *e = NULL;
    for (int i = 0; !e && i < (lz_check_failing() ? 3 : 3000); i++) {
        lz_arena a;
        lz_text once = { 0 }, wide = { 0 }, twice = { 0 };
        lz_arena_init(&a);
        e = round_trip(&a, &once, &wide, &twice);
        lz_text_deinit(&once);
        lz_text_deinit(&wide);
        lz_text_deinit(&twice);
        lz_arena_deinit(&a);
    }
    return e;
}

/* Every code point there and back; every pair of bytes agrees with a slow definition. */
static lz_err *test_utf8(void)
{
    char buf[4];
    uint32_t code = 0;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        size_t n = lz_utf8_encode(c, buf);
        size_t want = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        assert_int_equal(n, want);
        assert_int_equal(lz_utf8_decode((lz_str){ buf, n }, &code), surrogate ? 0 : n);
        assert_true(surrogate || code == c);
        assert_int_equal(n > 1 ? lz_utf8_decode((lz_str){ buf, n - 1 }, &code) : 0, 0);
    }
    for (uint32_t pair = 0; pair < 0x10000; pair++) {
        unsigned char a = (unsigned char)(pair >> 8), b = (unsigned char)pair;
        memcpy(buf, (unsigned char[]){ a, b }, 2);
        size_t want = a < 0x80 ? 1 : a >= 0xc2 && a < 0xe0 && b >= 0x80 && b < 0xc0 ? 2 : 0;
        assert_int_equal(lz_utf8_decode((lz_str){ buf, 2 }, &code), want);
    }
    return NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_good_texts),
        LZ_TEST(test_bad_texts),
        LZ_TEST(test_every_prefix_is_refused),
        LZ_TEST(test_places_are_kept),
        LZ_TEST(test_depth_is_bounded),
        LZ_TEST(test_lookup),
        LZ_TEST(test_equal_keys_are_refused),
        LZ_TEST(test_lines),
        LZ_TEST(test_lines_tell_the_line),
        LZ_TEST(test_getters),
        LZ_TEST(test_written_as_dumps),
        LZ_TEST(test_misuse_is_told),
        LZ_TEST(test_writing_too_deep),
        LZ_TEST(test_a_tree_after_a_mistake),
        LZ_TEST(test_huge_texts_are_refused),
        LZ_TEST(test_round_trip),
        LZ_TEST(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
