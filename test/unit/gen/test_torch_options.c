#include "check.h"
#include "gen/torch/torch_options.h"

typedef struct options {
    const char *folder, *file, *kind;
    const char *const *names, *const *kinds;
    bool loud, low;
} options;

#define AT(name) offsetof(options, name)
static const char *const kinds[] = { "one", "two", NULL };
static const lzg_option table[] = {
    { "--folder-name", 'd', LZG_TEXT, true, AT(folder), NULL, "DIR", "a folder", NULL },
    { "--file", 'f', LZG_TEXT, false, AT(file), "default.txt", "FILE", "a file", NULL },
    { "--kind", 0, LZG_TEXT, false, AT(kind), NULL, "KIND", "a kind", kinds },
    { "--names", 0, LZG_LIST, false, AT(names), NULL, "NAME", "names", NULL },
    { "--kinds", 0, LZG_LIST, false, AT(kinds), NULL, "KIND", "kinds", kinds },
    { "--loud", 'l', LZG_FLAG, false, AT(loud), NULL, NULL, "loud", NULL },
    { "--low", 0, LZG_FLAG, false, AT(low), NULL, NULL, "low", NULL },
    { 0 },
};
static const lzg_command command = { "command", "does it", table, sizeof(options), NULL };

enum { MOST = 16 };

/* Words separated by '|'. */
static lz_err *parse(lz_arena *a, const char *words, options *out)
{
    char *argv[MOST] = { "command" };
    int argc = 1;
    lz_str rest = lz_str_of(words), copy;
    *out = (options){ 0 };
    for (bool more = *words; more;) {
        LZ_TRY(lz_arena_copy(a, lz_str_cut(&rest, LZ_STR("|"), &more), &copy));
        argv[argc++] = (char *)copy.ptr;
    }
    return lzg_options_parse(&command, a, argc, argv, out);
}

/* want: the values, each with a comma behind it. */
static void check_list(const char *const *list, const char *want)
{
    for (; list && *list; list++) {
        size_t n = strlen(*list);
        assert_true(strncmp(want, *list, n) == 0 && want[n] == ',');
        want += n + 1;
    }
    assert_string_equal(want, "");
}

static lz_err *check_values(lz_arena *a)
{
    options o;
    LZ_TRY(parse(a, "--folder-name|x|--loud", &o));
    assert_string_equal(o.folder, "x");
    assert_string_equal(o.file, "default.txt");
    assert_null(o.kind);
    assert_null(o.names);
    assert_true(o.loud && !o.low);
    LZ_TRY(parse(a, "--folder_name=a=b|-fgiven|--names|-l|--kinds|two|one", &o));
    assert_string_equal(o.folder, "a=b");
    assert_string_equal(o.file, "given");
    assert_non_null(o.names);
    check_list(o.names, "");
    check_list(o.kinds, "two,one,");
    LZ_TRY(parse(a, "-d|first|--fo|second|--names|p|q|--kind|one|--names=r", &o)); /* the last counts */
    assert_string_equal(o.folder, "second");
    check_list(o.names, "r,");
    LZ_TRY(parse(a, "-d|-|--file=", &o)); /* a dash alone is a value; so is nothing */
    assert_string_equal(o.folder, "-");
    assert_string_equal(o.file, "");
    return NULL;
}

static lz_err *check_refusals(lz_arena *a)
{
    static const struct {
        const char *words, *why;
    } cases[] = {
        { "", "command needs --folder-name DIR" },
        { "-d", "--folder-name needs a value" },
        { "-d|--loud", "--folder-name needs a value" },
        { "-d|x|more", "unexpected argument 'more'" },
        { "-d|x|--lo", "may be several options" },
        { "-d|x|--nothing", "no option '--nothing'" },
        { "-d|x|-x", "no option '-x'" },
        { "-d|x|--loud=yes", "--loud takes no value" },
        { "-d|x|--kind|three", "--kind cannot be 'three', only one two" },
        { "-d|x|--kinds|one|three", "--kinds cannot be 'three'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        options o;
        LZ_TRY(lz_check_err(parse(a, cases[i].words, &o), LZ_ERR_ARG, cases[i].why));
    }
    return NULL;
}

/* Runs that differ have different texts. */
static lz_err *check_print(lz_arena *a)
{
    static const char *const words[] = {
        "-d|x",
        "-d|y",
        "-d|x|-l",
        "-d|x|--low",
        "-d|x|--names",
        "-d|x|--names|a|b",
        "-d|x|--names|a b",
        "-d|x|--kind|one",
        "-d|x|--file=",
        "-d|x|--file=x",
    };
    enum { N = sizeof words / sizeof *words };
    lz_text printed[N] = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < N; i++) {
        options o;
        e = parse(a, words[i], &o);
        if (!e)
            lzg_options_print(&command, &o, &printed[i]);
        if (!e)
            e = lz_text_check(&printed[i]);
        for (size_t k = 0; !e && k < i; k++)
            assert_false(lz_str_eq(lz_text_view(&printed[i]), lz_text_view(&printed[k])));
    }
    for (size_t i = 0; i < N; i++)
        lz_text_deinit(&printed[i]);
    return e;
}

#define OPTIONS_TEST(name, check)                                                                            \
    static lz_err *name(void)                                                                                \
    {                                                                                                        \
        lz_arena a = { 0 };                                                                                  \
        lz_err *e = check(&a);                                                                               \
        lz_arena_deinit(&a);                                                                                 \
        return e;                                                                                            \
    }

OPTIONS_TEST(test_values, check_values)
OPTIONS_TEST(test_refusals, check_refusals)
OPTIONS_TEST(test_print, check_print)

static lz_err *test_help(void)
{
    lz_text t = { 0 };
    lzg_options_help(&command, &t);
    lz_err *e = lz_text_check(&t);
    if (!e) {
        lz_str text = lz_text_view(&t);
        assert_true(lz_str_find(text, LZ_STR("-d, --folder-name DIR (required)  a folder\n")) != SIZE_MAX);
        assert_true(lz_str_find(text, LZ_STR("a file (default: default.txt)\n")) != SIZE_MAX);
    }
    lz_text_deinit(&t);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_values),
        LZ_TEST(test_refusals),
        LZ_TEST(test_print),
        LZ_TEST(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
