#include "check.h"
#include "gen/formula/formula.h"

static const lz_loc here = { "ops.yaml", 7, 12 };

static lz_err *parse(lz_arena *a, lz_str text, const lzg_expr **out)
{
    return lzg_formula_parse_text(a, text, here, 5, out);
}

static lz_err *print(const lzg_expr *e, lz_text *out)
{
    lzg_formula_print(e, out);
    return lz_text_check(out);
}

typedef struct printing {
    const char *text, *canonical; /* NULL: as it is */
} printing;

/* What is printed parses to an equal tree, and that prints the same again. */
static lz_err *check_print(const printing *p)
{
    const char *canonical = p->canonical ? p->canonical : p->text;
    lz_arena a = { 0 };
    lz_text first = { 0 }, second = { 0 };
    const lzg_expr *e = NULL, *again = NULL;
    lz_err *err = parse(&a, lz_str_of(p->text), &e);
    if (!err)
        err = print(e, &first);
    if (!err)
        err = parse(&a, lz_text_view(&first), &again);
    if (!err)
        err = print(again, &second);
    if (!err) {
        lz_str got = lz_text_view(&first);
        if (!lz_str_is(got, canonical))
            fail_msg("'%s' prints '%.*s', not '%s'", p->text, LZ_FMT(got), canonical);
        assert_true(lzg_formula_eq(e, again));
        assert_true(lz_str_eq(got, lz_text_view(&second)));
    }
    lz_text_deinit(&first);
    lz_text_deinit(&second);
    lz_arena_deinit(&a);
    return err;
}

#define CHECK_PRINTS(table)                                                                                  \
    for (size_t i_ = 0; i_ < sizeof(table) / sizeof *(table); i_++)                                          \
    LZ_TRY(check_print(&(table)[i_]))

static lz_err *test_operators_bind_as_documented(void)
{
    static const printing table[] = {
        { "a||b&&c", "a || b && c" },
        { "(a||b)&&c", "(a || b) && c" },
        { "a || (b && c)", "a || b && c" },
        { "a&&b==c", "a && b == c" },
        { "a|b==c", "a | b == c" },
        { "(a == b) | c", NULL },
        { "a | b ^ c & d << e + f * g", NULL },
        { "((((a | b) ^ c) & d) << e) * f", NULL },
        { "a - b - c", NULL },
        { "a - (b - c)", NULL },
        { "(a - b) - c", "a - b - c" },
        { "a / b // c % d * e", NULL },
        { "a * (b / c)", NULL },
        { "-a ** 2", "-a**2" },
        { "(-a) ** 2", "(-a)**2" },
        { "a ** -b", "a**-b" },
        { "a ** b ** c", "a**b**c" },
        { "(a ** b) ** c", "(a**b)**c" },
        { "2 ** (a + b)", "2**(a + b)" },
        { "- - a", "--a" },
        { "!a == b", NULL },
        { "!(a == b)", NULL },
        { "~a.b(c)", NULL },
        { "(a + b).sum()", NULL },
        { "-(a.b)", "-a.b" },
        { "a >> b < c", NULL },
        { "(a < b) == c", NULL },
        { "x is None || y is not None && z", NULL },
        { "(x | y) is None", "x | y is None" },
        { "(x == y) is None", NULL },
        { "d in [1, 2]", NULL },
    };
    CHECK_PRINTS(table);
    return NULL;
}

static lz_err *test_everything_prints_back(void)
{
    static const printing table[] = {
        { "0", NULL },
        { "9223372036854775807", NULL },
        { "1.50", "1.5" },
        { "1e5", "100000.0" },
        { "2.5E-07", "2.5e-07" },
        { "\"a \\\"b\\\\ \\n\"", NULL },
        { "True", NULL },
        { "[False, None]", NULL },
        { "[]", NULL },
        { "f()", NULL },
        { "f(a,b , k = c)", "f(a, b, k=c)" },
        { "a::b::f(x)", NULL },
        { "x.sum(dim, keepdim=True).exp()", NULL },
        { "x.shape[-1]", NULL },
        { "x.shape[1:]", NULL },
        { "x.shape[:-1]", NULL },
        { "x.shape[:]", NULL },
        { "x[a ? b : c:d]", NULL },
        { "1.dtype", NULL },
        { "(a, b)[0]", NULL },
        { "((a), (b + c))", "(a, b + c)" },
        { "a ? b : c ? d : e", NULL },
        { "(a ? b : c) ? d : e", NULL },
        { "a ? b ? c : d : e", NULL },
        { "a ? (b, c) : (d, e)", NULL },
        { "[d + 1 for d in range(n)]", NULL },
        { "[d for d in range(n) if !(d in dims)]", NULL },
        { "[(let a = d; a) for d in x]", NULL },
        { "fold(a = 1; d in x.shape; a * d)", NULL },
        { "fold(a = 1, b = 2; d in x; a + d, b * d)[1]", NULL },
        { "loop(a = x, b = y; b != 0; b, a % b; 93)", NULL },
        { "let a = 1; let (b, _) = f(a); a + b", NULL },
        { "let a=1;\n# a remark\nlet b = 2; # another\na", "let a = 1; let b = 2; a" },
        { "x + (let a = 1; a)", NULL },
        { "f((let a = 1; a))", NULL },
        { "((let a = 1; (let b = a; b)))", "let a = 1; let b = a; b" },
        { "c ? x : (check(y, \"no\"); z)", NULL },
        { "check(a > 0, \"a is {a}, {{}} of {x.shape[0]}{b}\"); a", NULL },
        { "check(a, \"{ a + 1 }\"); a", "check(a, \"{a + 1}\"); a" },
        { "grads[1] * grad_input_mask[0]", NULL },
    };
    CHECK_PRINTS(table);
    return NULL;
}

typedef struct refusal {
    const char *text;
    int line, col; /* from 0, of the text */
    const char *part;
} refusal;

static lz_err *refuse(const refusal *r)
{
    lz_arena a = { 0 };
    const lzg_expr *e;
    lz_err *err = parse(&a, lz_str_of(r->text), &e);
    lz_loc loc = lz_err_loc(err);
    if (!err)
        fail_msg("'%s' was accepted", r->text);
    if (lz_err_code(err) != LZ_ERR_MEMORY && (loc.line != here.line + r->line || loc.col != r->col))
        fail_msg("'%s': %d:%d: %s", r->text, loc.line - here.line, loc.col, lz_err_text(err));
    err = lz_check_err(err, LZ_ERR_SYNTAX, r->part);
    lz_arena_deinit(&a);
    return err;
}

/* Columns of the first line count from 12, those of others from 5. */
static lz_err *test_syntax_errors_have_a_place(void)
{
    static const refusal table[] = {
        { "", 0, 12, "expected an expression, found the end" },
        { "a +", 0, 15, "expected an expression, found the end" },
        { "a +\n  * b", 1, 7, "expected an expression, found '*'" },
        { "a b", 0, 14, "expected an operator or the end, found 'b'" },
        { "(a", 0, 14, "expected ')', found the end" },
        { "a)", 0, 13, "an operator or the end" },
        { "f(a", 0, 15, "expected ')', found the end" },
        { "f(k=1, a)", 0, 19, "positional argument after" },
        { "f(a.b=1)", 0, 14, "only a name is allowed before '='" },
        { "a = 1", 0, 14, "found '='" },
        { "a < b < c", 0, 18, "comparisons do not chain" },
        { "a is b", 0, 17, "expected 'None', found 'b'" },
        { "a is not b", 0, 21, "expected 'None', found 'b'" },
        { "a ? b", 0, 17, "expected ':', found the end" },
        { "a.1", 0, 14, "expected a name, found '1'" },
        { "a.\"b\"", 0, 14, "expected a name, found a string" },
        { "x[1", 0, 15, "expected ']'" },
        { "x[]", 0, 14, "expected an expression, found ']'" },
        { "x[1:2:3]", 0, 17, "expected ']', found ':'" },
        { "(a,)", 0, 15, "expected an expression, found ')'" },
        { "(let a = 1; a, b)", 0, 25, "expected ')', found ','" },
        { "()", 0, 13, "expected an expression" },
        { "[a for b]", 0, 20, "expected 'in', found ']'" },
        { "[a, b for c in d]", 0, 18, "expected ']', found 'for'" },
        { "let a = 1", 0, 21, "expected ';', found the end" },
        { "let a = 1;", 0, 22, "expected an expression, found the end" },
        { "let (a) = 1; a", 0, 18, "expected ',', found ')'" },
        { "let 1 = a; a", 0, 16, "expected a name, found '1'" },
        { "let in = 1; a", 0, 16, "expected a name, found 'in'" },
        { "a; b", 0, 13, "expected an operator or the end, found ';'" },
        { "fold(a = 1; b; c)", 0, 25, "expected 'in', found ';'" },
        { "fold(a = 1; b in c; d, e)", 0, 33, "more next values" },
        { "fold(a = 1, b = 2; c in d; e)", 0, 40, "expected ',', found ')'" },
        { "loop(a = 1; b; c)", 0, 28, "expected ';', found ')'" },
        { "loop(a = 1; b; c; d)", 0, 30, "the most turns" },
        { "loop(a = 1; b; c; 0)", 0, 30, "the most turns" },
        { "check(a, b); c", 0, 21, "a message between double quotes" },
        { "check(a, \"\"); c", 0, 21, "a message between double quotes" },
        { "check(a, \"x {b\"); c", 0, 24, "a single '{'" },
        { "check(a, \"x } b\"); c", 0, 24, "a single '}'" },
        { "check(a, \"x {b c}\"); c", 0, 27, "expected '}', found 'c'" },
        { "check(a, \"x {}\"); c", 0, 25, "expected an expression, found the end" },
        { "check(a, \"b\")", 0, 25, "expected ';', found the end" },
        { "\"a", 0, 12, "without an end" },
        { "\"a\\", 0, 12, "without an end" },
        { "\"a\nb\"", 0, 12, "without an end" },
        { "\"\\t\"", 0, 12, "unknown escape; expected one of" },
        { "'a'", 0, 12, "double quotes" },
        { "a $ b", 0, 14, "unexpected character '$'" },
        { "a \x01", 0, 14, "unexpected character 0x01" },
        { "\"\xc3\xa9\" \xc3\xa9", 0, 16, "unexpected character 0xc3" },
        { "012", 0, 12, "leading 0" },
        { "1.", 0, 12, "malformed number '1.'" },
        { "12ab", 0, 12, "malformed number '12a'" },
        { "1e", 0, 12, "malformed number '1e'" },
        { "9223372036854775808", 0, 12, "too large" },
        { "1e999", 0, 12, "too large" },
        { "a::b", 0, 16, "expected '(', found the end" },
        { "a::1(b)", 0, 15, "expected a name, found '1'" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        LZ_TRY(refuse(&table[i]));
    return NULL;
}

static lz_err *nested(const char *before, const char *middle, const char *after, size_t n, lz_code code)
{
    lz_arena a = { 0 };
    lz_text t = { 0 };
    const lzg_expr *e;
    for (size_t i = 0; i < n; i++)
        lz_text_puts(&t, before);
    lz_text_puts(&t, middle);
    for (size_t i = 0; i < n; i++)
        lz_text_puts(&t, after);
    lz_err *err = lz_text_check(&t);
    if (!err)
        err = parse(&a, lz_text_view(&t), &e);
    if (code != LZ_OK)
        err = lz_check_err(err, code, "more than");
    lz_text_deinit(&t);
    lz_arena_deinit(&a);
    return err;
}

static lz_err *test_depth_and_length_are_bounded(void)
{
    static const char *const shapes[][3] = {
        { "(", "a", ")" },       { "-", "a", "" },           { "f(", "a", ")" }, { "[", "a", "]" },
        { "", "a", " + a" },     { "a ** ", "a", "" },       { "", "a", ".b" },  { "", "a", "[0]" },
        { "a ? a : ", "a", "" }, { "let a = a; ", "a", "" },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const char *const *s = shapes[i];
        LZ_TRY(nested(s[0], s[1], s[2], 90, LZ_OK));
        LZ_TRY(nested(s[0], s[1], s[2], 6000, LZ_ERR_LIMIT));
    }
    return nested("# remark\n", "a", "", LZG_FORMULA_BYTES / 9 + 1, LZ_ERR_LIMIT);
}

static lz_err *parse_field(lz_arena *a, const char *yaml, const lzg_expr **out)
{
    const lzg_yaml *root;
    LZ_TRY(lzg_yaml_parse(a, lz_str_of(yaml), "f.yaml", &root));
    return lzg_formula_parse(a, root->items[0]->items[root->items[0]->len * 2 - 1], LZ_STR("formula"), out);
}

static void assert_place(lz_loc loc, int line, int col)
{
    assert_string_equal(loc.file, "f.yaml");
    assert_int_equal(loc.line, line);
    assert_int_equal(loc.col, col);
}

static lz_err *test_places_follow_the_yaml_file(void)
{
    lz_arena a = { 0 };
    const lzg_expr *plain, *quoted, *block, *folded;
    lz_err *e = parse_field(&a, "- func: f\n  formula: a + b\n", &plain);
    if (!e)
        e = parse_field(&a, "- formula: 'a + b'\n", &quoted);
    if (!e)
        e = parse_field(&a, "- func: f\n  formula: |\n    let c =\n      a;\n\n    c+ b\n", &block);
    if (!e)
        e = parse_field(&a, "- formula: a\n     + b\n", &folded);
    if (!e) {
        assert_place(plain->loc, 2, 12);
        assert_place(plain->at, 2, 14);
        assert_place(plain->kids[1]->loc, 2, 16);
        assert_place(quoted->kids[1]->loc, 1, 17);
        assert_place(block->loc, 3, 5);
        assert_place(block->names[0].loc, 3, 9);
        assert_place(block->kids[0]->loc, 4, 7);
        assert_place(block->kids[1]->at, 6, 6);
        assert_place(block->kids[1]->kids[1]->loc, 6, 8);
        assert_place(folded->kids[1]->loc, 1, 12);
    }
    if (!e)
        e = lz_check_err(parse_field(&a, "- formula: [a]\n", &plain), LZ_ERR_SYNTAX,
                         "expected a formula, found a list");
    if (!e)
        e = lz_check_err(parse_field(&a, "- formula:\n", &plain), LZ_ERR_SYNTAX,
                         "expected a formula, found null");
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_defaults_may_use_single_quotes(void)
{
    lz_arena a = { 0 };
    const lzg_expr *e;
    lz_err *err = lzg_formula_parse_default(&a, LZ_STR("'none'"), here, &e);
    if (!err) {
        assert_int_equal(e->kind, LZG_EXPR_STR);
        assert_true(lz_str_is(e->text, "none"));
        assert_int_equal(e->loc.col, here.col);
    }
    lz_arena_deinit(&a);
    return err;
}

static lz_err *test_trees_differ(void)
{
    static const char *const texts[] = {
        "a",
        "b",
        "1",
        "1.0",
        "\"a\"",
        "True",
        "False",
        "None",
        "-a",
        "!a",
        "a + b",
        "a - b",
        "b + a",
        "a ? b : c",
        "a is None",
        "a is not None",
        "a(b)",
        "a(k=b)",
        "a(j=b)",
        "n::a(b)",
        "a.b",
        "a.b()",
        "a[1]",
        "a[1:]",
        "a[:1]",
        "(a, b)",
        "[a, b]",
        "[a for b in c]",
        "[a for b in c if d]",
        "fold(a = b; c in d; e)",
        "loop(a = b; c; d; 1)",
        "loop(a = b; c; d; 2)",
        "let a = b; c",
        "let d = b; c",
        "check(a, \"b\"); c",
        "check(a, \"{b}\"); c",
    };
    enum { N = sizeof texts / sizeof *texts };
    const lzg_expr *e[N];
    lz_arena a = { 0 };
    lz_err *err = NULL;
    for (size_t i = 0; !err && i < N; i++)
        err = parse(&a, lz_str_of(texts[i]), &e[i]);
    for (size_t i = 0; !err && i < N; i++)
        for (size_t k = 0; k < N; k++)
            if (lzg_formula_eq(e[i], e[k]) != (i == k))
                fail_msg("'%s' and '%s'", texts[i], texts[k]);
    lz_arena_deinit(&a);
    return err;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_operators_bind_as_documented),
        LZ_TEST(test_everything_prints_back),
        LZ_TEST(test_syntax_errors_have_a_place),
        LZ_TEST(test_depth_and_length_are_bounded),
        LZ_TEST(test_places_follow_the_yaml_file),
        LZ_TEST(test_defaults_may_use_single_quotes),
        LZ_TEST(test_trees_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
