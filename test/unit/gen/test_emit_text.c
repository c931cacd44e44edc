#include "base/file.h"
#include "check.h"
#include "gen/emit/c_default.h"
#include "gen/emit/c_name.h"
#include "gen/emit/c_text.h"
#include <stdio.h>

static const lz_loc nowhere = { 0 };

static lz_err *expect(lz_text *t, const char *want)
{
    lz_err *e = lz_text_check(t);
    if (!e && !lz_str_is(lz_text_view(t), want))
        fail_msg("'%.*s' instead of '%s'", LZ_FMT(lz_text_view(t)), want);
    lz_text_deinit(t);
    return e;
}

/* ---- text ---- */

static lz_err *test_holes(void)
{
    lz_text t = { 0 };
    lzg_fill(&t, "$ = $;$", LZ_STR("a"), LZ_STR("$"), LZ_STR(""));
    lzg_put(&t, " $1");
    lzg_fill(&t, "no hole", LZ_STR("unused"));
    lzg_fill(&t, "[$$]", LZ_STR("x"));
    return expect(&t, "a = $; $1no hole[x$]");
}

static lz_err *string(lz_str s, const char *want)
{
    lz_text t = { 0 };
    lzg_put_c_string(&t, s);
    return expect(&t, want);
}

static lz_err *test_strings(void)
{
    LZ_TRY(string((lz_str){ 0 }, "NULL"));
    LZ_TRY(string(LZ_STR(""), "\"\""));
    LZ_TRY(string(LZ_STR("a\"b\\c"), "\"a\\\"b\\\\c\""));
    LZ_TRY(string(LZ_STR("what? how?\?! ?\?\?"), "\"what? how?\\?! ?\\?\\?\""));
    LZ_TRY(string(LZ_STR("tab\t1\n\xc3\xa9"), "\"tab\\0111\\012\\303\\251\""));
    return string((lz_str){ "a\0b", 3 }, "\"a\\000b\"");
}

static lz_err *comment(lz_str s, const char *want)
{
    lz_text t = { 0 };
    lzg_put_c_comment(&t, s);
    return expect(&t, want);
}

static lz_err *test_comments(void)
{
    LZ_TRY(comment(LZ_STR("f(*, int a) -> ()"), "f(*, int a) -> ()"));
    LZ_TRY(comment(LZ_STR("*/ and /*/"), "* / and / * /"));
    return comment(LZ_STR(""), "");
}

/* No line is longer than it may be, and without the breaks it is the text that was put. */
static lz_err *check_wrapped(lz_str end, size_t indent)
{
    lz_text t = { 0 }, plain = { 0 };
    lzg_put(&t, "first(");
    lzg_wrap w = lzg_wrap_begin(&t, indent, end);
    for (int i = 0; i < 100; i++) {
        size_t before = t.len;
        lzg_wrap_item(&w);
        lz_text_printf(&t, "word%d", i * i * i);
        lzg_wrap_done(&w, LZ_STR(", "));
        assert_true(t.failed || t.len > before);
    }
    lz_err *e = lz_text_check(&t);
    lz_str rest = lz_text_view(&t);
    for (bool more = true; !e && more;) {
        lz_str line = lz_str_cut(&rest, LZ_STR("\n"), &more);
        assert_true(lz_str_trim(line).len <= LZG_C_COLUMNS);
        assert_true(!more || lz_str_ends(line, end));
        lz_text_add(&plain, lz_str_trim(lz_str_sub(line, 0, line.len - (more ? end.len : 0))));
        lz_text_puts(&plain, more ? " " : "");
    }
    for (int i = 0; !e && i < 100; i++) {
        char word[32];
        snprintf(word, sizeof word, "%sword%d,", i ? " " : "(", i * i * i);
        assert_true(lz_str_find(lz_text_view(&plain), lz_str_of(word)) != SIZE_MAX || plain.failed);
    }
    e = lz_err_first(e, lz_text_check(&plain));
    lz_text_deinit(&t);
    lz_text_deinit(&plain);
    return e;
}

static lz_err *test_wrapping(void)
{
    LZ_TRY(check_wrapped(LZ_STR(""), 6));
    LZ_TRY(check_wrapped(LZ_STR(" \\"), 0));
    return check_wrapped(LZ_STR(" \\"), 40);
}

/* ---- names ---- */

static lz_err *test_names(void)
{
    static const char *const cases[][2] = {
        { "self", "self" },    { "default", "default_" },
        { "int", "int_" },     { "this", "this_" },
        { "I", "I_" },         { "i", "i" },
        { "at", "at_" },       { "c", "c_" },
        { "lz_x", "lz_x_" },   { "LZ_HERE", "LZ_HERE_" },
        { "_Bool", "_Bool_" }, { "__VA_ARGS__", "__VA_ARGS___" },
        { "_x", "_x" },        { "xor_eq", "xor_eq_" },
        { "EOF", "EOF_" },     { "alignas", "alignas_" },
    };
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        lz_str out;
        e = lzg_c_name_of(&a, lz_str_of(cases[i][0]), &out);
        if (!e && !lz_str_is(out, cases[i][1]))
            fail_msg("%s gives %.*s", cases[i][0], LZ_FMT(out));
    }
    lz_str out;
    if (!e)
        e = lz_check_err(lzg_c_name_of(&a, LZ_STR("a-b"), &out), LZ_ERR_UNSUPPORTED,
                         "'a-b' is no identifier");
    if (!e)
        e = lz_check_err(lzg_c_name_of(&a, LZ_STR("1a"), &out), LZ_ERR_UNSUPPORTED, "'1a'");
    lz_arena_deinit(&a);
    return e;
}

static lz_err *read_names(lz_arena *a, lz_map *names)
{
    static const char text[] = "/* lz_a */ int lz_b(void); // lz_c\n#define X \"lz_d \\\" lz_e\" lz_f\n"
                               "char c = '\"'; struct lz_g { int xlz_h, lz_; } lz_i_2; /* open lz_j";
    char path[4096];
    snprintf(path, sizeof path, "%s/names.h", lz_check_dir());
    LZ_TRY(lz_file_replace(path, lz_str_of(text), 0644, 0));
    return lzg_c_names_read(a, path, LZ_STR("lz_"), names);
}

static lz_err *test_names_of_headers(void)
{
    lz_arena a = { 0 };
    lz_map names = { 0 };
    lz_err *e = read_names(&a, &names);
    for (const char *c = "bfg"; !e && *c; c++)
        assert_non_null(lz_map_find(&names, (lz_str){ c, 1 }));
    if (!e) {
        assert_non_null(lz_map_find(&names, LZ_STR("i_2")));
        assert_int_equal(lz_map_count(&names), 4);
        e = lz_check_err(lzg_c_names_read(&a, "/nowhere/x.h", LZ_STR("lz_"), &names), LZ_ERR_NOT_FOUND,
                         "/nowhere/x.h");
    }
    lz_map_deinit(&names);
    lz_arena_deinit(&a);
    return e;
}

/* ---- types and defaults ---- */

typedef struct deflt {
    const char *type, *text, *init; /* init NULL: refused */
} deflt;

static lz_err *check_default(lz_arena *a, const deflt *d)
{
    const lzg_type *t;
    lzg_c_type c;
    lzg_c_default out;
    LZ_TRY(lzg_type_parse(a, lz_str_of(d->type), nowhere, &t));
    LZ_TRY(lzg_c_type_of(t, &c));
    lz_err *e = lzg_c_default_read(a, lz_str_of(d->text), t, c, &out);
    if (!d->init)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, "is no value of type");
    LZ_TRY(e);
    if (!lz_str_is(out.init, d->init))
        fail_msg("%s=%s is %.*s, not %s", d->type, d->text, LZ_FMT(out.init), d->init);
    return NULL;
}

static lz_err *check_defaults(const deflt *d, size_t n)
{
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++)
        e = check_default(&a, &d[i]);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_defaults(void)
{
    static const deflt cases[] = {
        { "int", "7", "7" },
        { "int", "-9223372036854775808", "INT64_MIN" },
        { "int", "9223372036854775808", NULL },
        { "int", "Mean", "1" },
        { "int", "None", NULL },
        { "int", "1.0", NULL },
        { "SymInt?", "3", "{ true, 3 }" },
        { "int?", "None", "{ false, 0 }" },
        { "float", "1", "1.0" },
        { "float", "1e-05", "1e-05" },
        { "float", "inf", "__builtin_inf()" },
        { "float", "x", NULL },
        { "bool", "True", "true" },
        { "bool", "1", NULL },
        { "bool?", "False", "{ true, false }" },
        { "Scalar", "1", "{ LZ_SCALAR_INT, 1, 0, 0 }" },
        { "Scalar", "-1", "{ LZ_SCALAR_INT, -1, 0, 0 }" },
        { "Scalar", "0.125", "{ LZ_SCALAR_FLOAT, 0, 0.125, 0 }" },
        { "Scalar", "True", "{ LZ_SCALAR_BOOL, true, 0, 0 }" },
        { "Scalar?", "None", "{ LZ_SCALAR_NONE, 0, 0, 0 }" },
        { "str", "'none'", "\"none\"" },
        { "str", "\"\"", "\"\"" },
        { "str", "\"a\\\"b\\n\"", "\"a\\\"b\\012\"" },
        { "str", "'\"'", "\"\\\"\"" },
        { "str", "'a", NULL },
        { "str", "'a'b'", NULL },
        { "str", "'a\\'", NULL },
        { "str", "a", NULL },
        { "ScalarType?", "long", "LZ_I64" },
        { "ScalarType", "quad", NULL },
        { "MemoryFormat", "contiguous_format", "LZ_CONTIGUOUS" },
        { "Layout?", "None", "LZ_LAYOUT_NONE" },
        { "Layout", "strided", "LZ_STRIDED" },
        { "Device?", "None", "{ -1, -1 }" },
        { "Tensor?", "None", "NULL" },
        { "Tensor", "None", NULL },
        { "Tensor[]?", "None", "{ NULL, -1 }" },
        { "Tensor[]", "[]", "{ NULL, 0 }" },
        { "Tensor[]", "[x]", NULL },
        { "int[]", "[]", "{ NULL, 0 }" },
        { "int[]", "[0,-1]", "{ (const int64_t[]){ 0, -1 }, 2 }" },
        { "int[]", "[0,]", NULL },
        { "int[]", "1", NULL },
        { "int[2]", "1", "{ (const int64_t[]){ 1, 1 }, 2 }" },
        { "SymInt[3]?", "0", "{ (const int64_t[]){ 0, 0, 0 }, 3 }" },
        { "int[65]", "1", NULL },
        { "bool[2]", "[True,False]", "{ (const bool[]){ true, false }, 2 }" },
        { "float[]?", "[0.5]", "{ (const double[]){ 0.5 }, 1 }" },
        { "Scalar[]", "[1]", "{ (const lz_scalar[]){ { LZ_SCALAR_INT, 1, 0, 0 } }, 1 }" },
        { "str[]", "['a']", "{ (const char *const[]){ \"a\" }, 1 }" },
        { "Generator?", "None", "NULL" },
        { "Storage", "None", NULL },
    };
    return check_defaults(cases, sizeof cases / sizeof *cases);
}

static lz_err *check_type(lz_arena *a, const char *type, const char *decl)
{
    const lzg_type *t;
    lzg_c_type c;
    LZ_TRY(lzg_type_parse(a, lz_str_of(type), nowhere, &t));
    lz_err *e = lzg_c_type_of(t, &c);
    if (!decl)
        return lz_check_err(e, LZ_ERR_UNSUPPORTED, type);
    if (!e && !lz_str_is(lzg_c_types[c].decl, decl))
        fail_msg("%s is %.*s", type, LZ_FMT(lzg_c_types[c].decl));
    return e;
}

static lz_err *test_types(void)
{
    static const char *const cases[][2] = {
        { "Tensor", "lz_tensor *" },
        { "Tensor?", "lz_tensor *" },
        { "Tensor??", "lz_tensor *" },
        { "Tensor?[]", "lz_tensors " },
        { "Tensor[]?", "lz_tensors " },
        { "SymInt[2]", "lz_ints " },
        { "SymInt?", "lz_opt_int " },
        { "DeviceIndex", "int64_t " },
        { "str[]", "lz_strs " },
        { "SymBool", "bool " },
        { "GraphModule?", "lz_object *" },
        { "Scalar[]", "lz_scalars " },
        { "__torch__.torch.classes.a.B", "lz_object *" },
    };
    static const char *const refused[] = { "int[][]", "int?[]", "Device[]", "Generator[]", "Tensor[][]" };
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++)
        e = check_type(&a, cases[i][0], cases[i][1]);
    for (size_t i = 0; !e && i < sizeof refused / sizeof *refused; i++)
        e = check_type(&a, refused[i], NULL);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_holes), LZ_TEST(test_strings),          LZ_TEST(test_comments), LZ_TEST(test_wrapping),
        LZ_TEST(test_names), LZ_TEST(test_names_of_headers), LZ_TEST(test_defaults), LZ_TEST(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
