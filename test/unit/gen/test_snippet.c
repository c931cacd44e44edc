#include "check.h"
#include "gen/text/snippet.h"

static lz_arena arena;
static lzg_snippets s;

static void begin(void)
{
    lz_arena_init(&arena);
    lzg_snippets_init(&s, &arena);
}

static lz_err *end(void)
{
    lz_err *e = lzg_snippets_check(&s);
    lzg_snippets_deinit(&s);
    lz_arena_deinit(&arena);
    return e;
}

/* Once memory has run out, pieces may be anything. */
static void is(lz_str piece, const char *want)
{
    if (!s.error)
        assert_true(lz_str_is(piece, want));
}

static lz_str list_of(const char *const *items, lz_str (*print)(lzg_snippets *, const lzg_pieces *))
{
    lzg_pieces pieces = { 0 };
    for (; *items; items++)
        lzg_pieces_add(&s, &pieces, lz_str_of(*items));
    return print(&s, &pieces);
}

static lz_str joined(lzg_snippets *to, const lzg_pieces *pieces)
{
    return lzg_pieces_join(to, pieces, ", ");
}

/* The right column is what the header says, worked out by hand. */
static lz_err *test_lines(void)
{
    begin();
    is(lzg_snippet(&s, "{\n  ${body}\n}\n", { "body", LZ_STR("a;\n\n  b;  \n\n") }),
       "{\n  a;\n\n    b;\n}\n");
    is(lzg_snippet(&s, "  ${x}${y};", { "x", LZ_STR("p\nq ") }, { "y", LZ_STR(" r") }), "  p\n  q r;");
    is(lzg_snippet(&s, "f(a${,rest})", { "rest", LZ_STR("b, c") }), "f(a, b, c)");
    is(lzg_snippet(&s, "f(${rest,}a)", { "rest", LZ_STR("") }), "f(a)");
    is(lzg_snippet(&s, "{\n  ${none}\n}", { "none", LZ_STR("") }), "{\n\n}");
    is(lzg_snippet(&s, "$ $1 ${a} ${b", { "a", LZ_STR("${a}") }), "$ $1 ${a} ${b");
    return end();
}

static lz_err *test_raw(void)
{
    begin();
    is(lzg_raw_snippet(&s, "  ${a}|", { "a", LZ_STR("x \n y \n") }), "  x \n y \n|");
    is(lzg_phrase(&s, "$ = $;", LZ_STR("a"), LZ_STR(" b ")), "a =  b ;");
    is(lzg_phrase(&s, "$, $", LZ_STR("$")), "$, $"); /* values have no holes, and only as many are filled */
    is(lzg_snippet_int(&s, -7), "-7");
    is(lzg_snippet_type(&s, lzg_ctype_of(LZG_C_CONST_REF, LZG_CPP_Tensor)), "const at::Tensor &");
    is(lzg_snippet_upper(&s, LZ_STR("a_1b")), "A_1B");
    is(lzg_snippet_replace(&s, LZ_STR("grad.grad"), LZ_STR("grad"), LZ_STR("g")), "g.g");
    return end();
}

static lz_err *test_pieces(void)
{
    static const char *const none[] = { NULL }, *const some[] = { "a", "b\n", "", "c\n\n", NULL };
    begin();
    is(list_of(none, joined), "");
    is(list_of(none, lzg_pieces_lines), "");
    is(list_of(some, joined), "a, b\n, , c\n\n");
    is(list_of(some, lzg_pieces_lines), "a\nb\nc\n\n");
    return end();
}

static lz_err *test_errors(void)
{
    begin();
    assert_true(lzg_snippets_ok(&s, NULL));
    assert_false(lzg_snippets_ok(&s, lz_errf(LZ_ERR_MODEL, "first")));
    assert_false(lzg_snippets_ok(&s, lz_errf(LZ_ERR_MODEL, "second")));
    lz_err *e = lz_check_err(lzg_snippets_check(&s), LZ_ERR_MODEL, "first");
    if (!e)
        is(lzg_phrase(&s, "still $", LZ_STR("works")), "still works");
    return lz_err_first(e, end());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_lines),
        LZ_TEST(test_raw),
        LZ_TEST(test_pieces),
        LZ_TEST(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
