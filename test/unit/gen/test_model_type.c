#include "check.h"
#include "gen/model/model.h"

static const lz_loc here = { "ops.yaml", 7, 10 };

typedef struct facts {
    const char *text;
    bool tensor_like, symint_like, nullable, list_like;
} facts;

static lz_err *check_type(lz_arena *a, const facts *f)
{
    const lzg_type *t;
    lz_text out = { 0 };
    LZ_TRY(lzg_type_parse(a, lz_str_of(f->text), here, &t));
    assert_int_equal(lzg_type_is_tensor_like(t), f->tensor_like);
    assert_int_equal(lzg_type_is_symint_like(t), f->symint_like);
    assert_int_equal(lzg_type_is_nullable(t), f->nullable);
    assert_int_equal(lzg_type_is_list_like(t) != NULL, f->list_like);
    lzg_type_print(t, &out);
    lz_err *e = lz_text_check(&out);
    if (!e)
        assert_true(lz_str_is(lz_text_view(&out), f->text));
    lz_text_deinit(&out);
    return e;
}

static lz_err *test_types_print_back_and_tell_their_facts(void)
{
    static const facts table[] = {
        { "Tensor", true, false, false, false },
        { "Tensor?", true, false, true, false },
        { "Tensor[]", true, false, false, true },
        { "Tensor?[]", true, false, true, true },
        { "Tensor[]?", true, false, true, true },
        { "Tensor??", true, false, true, false },
        { "SymInt[3]?", false, true, true, true },
        { "int[2147483647]", false, false, false, true },
        { "int?[2]?[]", false, false, true, true },
        { "__torch__.torch.classes.ns.Thing_2", false, false, false, false },
        { "__torch__.torch.classes.a[]", false, false, false, true },
        { "GraphModule", false, false, false, false },
        { "Generator?", false, false, true, false },
    };
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof table / sizeof *table; i++)
        e = check_type(&a, &table[i]);
    lz_arena_deinit(&a);
    return e;
}

typedef struct refusal {
    const char *text;
    int col; /* within the text, from 0 */
    const char *part;
} refusal;

typedef lz_err *parse_fn(lz_arena *a, lz_str text);

static lz_err *check_refusals(const refusal *table, size_t n, parse_fn *parse)
{
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < n; i++) {
        lz_arena a = { 0 };
        e = parse(&a, lz_str_of(table[i].text));
        if (!e)
            fail_msg("'%s' was accepted", table[i].text);
        lz_code code = lz_err_code(e);
        if (code != LZ_ERR_MEMORY) {
            assert_int_equal(lz_err_loc(e).line, here.line);
            if (lz_err_loc(e).col != here.col + table[i].col)
                fail_msg("'%s': column %d", table[i].text, lz_err_loc(e).col - here.col);
            e = lz_check_err(e, code == LZ_ERR_SYNTAX ? LZ_ERR_SYNTAX : LZ_ERR_MODEL, table[i].part);
        }
        lz_arena_deinit(&a);
    }
    return e;
}

static lz_err *parse_type(lz_arena *a, lz_str text)
{
    const lzg_type *t;
    return lzg_type_parse(a, text, here, &t);
}

static lz_err *test_bad_types_are_refused(void)
{
    char deep[200] = "Tensor";
    memset(deep + 6, '?', sizeof deep - 7);
    const refusal table[] = {
        { "tensor", 0, "unknown type 'tensor'" },
        { "", 0, "unknown type ''" },
        { "?", 0, "unknown type '?'" },
        { "[]", 0, "unknown type" },
        { "int[-1]", 0, "unknown type" },
        { "int[0]", 4, "leading zero" },
        { "int[02]", 4, "leading zero" },
        { "int[2147483648]", 4, "out of range" },
        { "int[99999999999999999999]", 4, "out of range" },
        { "int[2", 0, "unknown type" },
        { "int]", 0, "unknown type" },
        { "Tensor ", 0, "unknown type" },
        { "__torch__.torch.classes.", 24, "without a name" },
        { "__torch__.torch.classes.a-b", 25, "'-'" },
        { "__torch__.foo.Bar", 0, "unknown type" },
        { deep, 0, "suffixes" },
    };
    return check_refusals(table, sizeof table / sizeof *table, parse_type);
}

static lz_err *check_annotation(const char *text, const char *set, bool write, const char *after)
{
    lz_arena a = { 0 };
    lz_text out = { 0 };
    const lzg_annotation *n;
    lz_err *e = lzg_annotation_parse(&a, lz_str_of(text), here, &n);
    if (!e) {
        assert_string_equal(n->set, set);
        assert_string_equal(n->after, after);
        assert_int_equal(n->write, write);
        lzg_annotation_print(n, &out);
        e = lz_text_check(&out);
    }
    if (!e)
        assert_true(lz_str_is(lz_text_view(&out), text));
    lz_text_deinit(&out);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_annotations(void)
{
    LZ_TRY(check_annotation("a", "a", false, ""));
    LZ_TRY(check_annotation("a!", "a", true, ""));
    LZ_TRY(check_annotation("a! -> *", "a", true, "*"));
    LZ_TRY(check_annotation("a|b", "ab", false, ""));
    LZ_TRY(check_annotation("a! -> a|b", "a", true, "ab"));
    LZ_TRY(check_annotation("a|b -> c", "ab", false, "c"));
    return check_annotation("a -> b|c|d|e", "a", false, "bcde");
}

static lz_err *parse_annotation(lz_arena *a, lz_str text)
{
    const lzg_annotation *n;
    return lzg_annotation_parse(a, text, here, &n);
}

static lz_err *test_bad_annotations_are_refused(void)
{
    static const refusal table[] = {
        { "", 0, "letter" },           { "!", 0, "letter" },          { "A", 0, "letter" },
        { "ab", 1, "unexpected 'b'" }, { "a|", 1, "unexpected '|'" }, { "a|b|c", 0, "more than two" },
        { "a|b!", 0, "one letter" },   { "a|b -> c|d", 0, "both" },   { "a -> *|b", 6, "unexpected '|b'" },
        { "a -> ", 5, "behind '->'" }, { "a->b", 1, "unexpected" },   { "a !", 1, "unexpected" },
        { "*", 0, "letter" },
    };
    return check_refusals(table, sizeof table / sizeof *table, parse_annotation);
}

static lz_err *test_annotations_compare_by_all_parts(void)
{
    lz_arena a = { 0 };
    const char *texts[] = { "a", "b", "a!", "a|b", "a -> *", "a -> b" };
    const lzg_annotation *n[6] = { 0 }, *again = NULL;
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < 6; i++)
        e = lzg_annotation_parse(&a, lz_str_of(texts[i]), here, &n[i]);
    if (!e)
        e = lzg_annotation_parse(&a, LZ_STR("a -> b"), here, &again);
    for (size_t i = 0; !e && i < 6; i++) {
        assert_false(lzg_annotation_eq(n[i], NULL));
        assert_int_equal(lzg_annotation_eq(n[i], again), i == 5);
    }
    assert_true(lzg_annotation_eq(NULL, NULL));
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_types_print_back_and_tell_their_facts),
        LZ_TEST(test_bad_types_are_refused),
        LZ_TEST(test_annotations),
        LZ_TEST(test_bad_annotations_are_refused),
        LZ_TEST(test_annotations_compare_by_all_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
