#include "check.h"
#include "graph/graph_parse.h"

typedef struct fixture {
    lz_arena arena;
    lz_type_table table;
} fixture;

static void set_up(fixture *f)
{
    lz_arena_init(&f->arena);
    lz_type_table_init(&f->table, &f->arena);
}

static void tear_down(fixture *f)
{
    lz_type_table_deinit(&f->table);
    lz_arena_deinit(&f->arena);
}

static lz_err *type_of(fixture *f, const char *text, const lz_type **out)
{
    lz_lexer l;
    LZ_TRY(lz_lexer_init(&l, "type", lz_str_of(text)));
    LZ_TRY(lz_parse_type(&l, &f->table, out));
    return l.tok.kind == LZ_TOKEN_LINE || l.tok.kind == LZ_TOKEN_END ? NULL
                                                                     : lz_lexer_expected(&l, "the end");
}

static lz_err *reads_and_prints(fixture *f, const char *text, const char *want)
{
    const lz_type *type, *again;
    lz_text out = { 0 };
    LZ_TRY(type_of(f, text, &type));
    lz_type_print(type, &out);
    lz_err *e = lz_text_check(&out);
    if (!e && !lz_str_is(lz_text_view(&out), want))
        fail_msg("%s prints as %.*s, not %s", text, LZ_FMT(lz_text_view(&out)), want);
    lz_text_deinit(&out);
    e = e ? e : type_of(f, want, &again);
    if (!e)
        assert_ptr_equal(type, again);
    return e;
}

static lz_err *test_types_read_and_print(void)
{
    static const char *const texts[] = {
        "Tensor",
        "int",
        "float",
        "bool",
        "str",
        "NoneType",
        "Scalar",
        "Device",
        "Generator",
        "Any",
        "complex",
        "Stream",
        "Storage",
        "int[]",
        "int?",
        "int[]?",
        "int?[]",
        "Tensor?[][]",
        "Dict(str, Tensor)",
        "Dict(int, Dict(str, float[]))",
        "(Tensor, int)",
        "()",
        "(Tensor, (float, int), Tensor[])",
        "Future[int]",
        "Union[int, str]",
        "NamedTuple(x : Tensor, y : int)",
        "__torch__.torch.nn.Linear",
        "Float()",
        "Float(2, 3)",
        "Long(*, 3)",
        "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)",
        "Double(requires_grad=0, device=cpu)",
        "Bool(4, strides=[1], requires_grad=1, device=cuda:0)",
        "Tensor(2, *)",
        "FloatTensor",
        "Tensor()",
        "BFloat16(1, device=cpu)",
        "HalfTensor(requires_grad=1)",
        "Tensor(device=cpu)",
        "ComplexDouble(2)",
        "Float(0)",
    };
    fixture f;
    lz_err *e = NULL;
    set_up(&f);
    for (size_t i = 0; !e && i < sizeof texts / sizeof *texts; i++)
        e = reads_and_prints(&f, texts[i], texts[i]);
    tear_down(&f);
    return e;
}

static lz_err *test_other_spellings(void)
{
    static const char *const pairs[][2] = {
        { "None", "NoneType" },
        { "Layout", "int" },
        { "ScalarType?", "int?" },
        { "int??", "int?" },
        { "NoneType?", "NoneType" },
        { " ( Tensor ,\n  int [ ] ) ", "(Tensor, int[])" },
        { "Float(2,strides=[ 1 ])", "Float(2, strides=[1])" },
    };
    fixture f;
    lz_err *e = NULL;
    set_up(&f);
    for (size_t i = 0; !e && i < sizeof pairs / sizeof *pairs; i++)
        e = reads_and_prints(&f, pairs[i][0], pairs[i][1]);
    tear_down(&f);
    return e;
}

static lz_err *test_bad_types_are_refused(void)
{
    static const struct {
        const char *text, *why;
        lz_code code;
        int col;
    } bad[] = {
        { "Tensr", "no type 'Tensr'", LZ_ERR_MODEL, 1 },
        { "i64", "no type 'i64'", LZ_ERR_MODEL, 1 },
        { "number", "no type", LZ_ERR_MODEL, 1 },
        { "Int", "'('", LZ_ERR_SYNTAX, 4 },
        { "Dict(str)", "1 types", LZ_ERR_MODEL, 5 },
        { "Dict(str, int, int)", "3 types", LZ_ERR_MODEL, 5 },
        { "(Tensor,", "a type", LZ_ERR_SYNTAX, 9 },
        { "int[", "']'", LZ_ERR_SYNTAX, 5 },
        { "int[2]", "']'", LZ_ERR_SYNTAX, 5 },
        { "List[int]", "no type 'List'", LZ_ERR_MODEL, 1 },
        { "Float(2, x=3)", "a size", LZ_ERR_SYNTAX, 10 },
        { "Float(-1)", "whole number", LZ_ERR_SYNTAX, 7 },
        { "Float(2, strides=[1, 1])", "more strides", LZ_ERR_MODEL, 22 },
        { "Float(2, 2, strides=[1])", "fewer strides", LZ_ERR_MODEL, 23 },
        { "Float(requires_grad=2)", "0 or 1", LZ_ERR_MODEL, 21 },
        { "Float(device=cuda: 0)", "without spaces", LZ_ERR_SYNTAX, 14 },
        { "Float(99999999999999999999)", "whole number", LZ_ERR_SYNTAX, 7 },
        { "3", "a type", LZ_ERR_SYNTAX, 1 },
        { "", "a type", LZ_ERR_SYNTAX, 1 },
    };
    fixture f;
    lz_err *e = NULL;
    set_up(&f);
    for (size_t i = 0; !e && i < sizeof bad / sizeof *bad; i++) {
        const lz_type *type;
        lz_err *refused = type_of(&f, bad[i].text, &type);
        if (lz_err_code(refused) == bad[i].code)
            assert_int_equal(lz_err_loc(refused).col, bad[i].col);
        e = lz_check_err(refused, bad[i].code, bad[i].why);
    }
    tear_down(&f);
    return e;
}

/* Nested as deep as allowed, and one deeper. */
static lz_err *test_nesting_is_bounded(void)
{
    char text[3 * LZ_TYPE_DEPTH + 8] = "int";
    const lz_type *type;
    fixture f;
    set_up(&f);
    for (int i = 1; i < LZ_TYPE_DEPTH; i++)
        strcat(text, "[]");
    lz_err *e = type_of(&f, text, &type);
    if (!e)
        assert_int_equal(type->depth, LZ_TYPE_DEPTH);
    strcat(text, "[]");
    e = e ? e : lz_check_err(type_of(&f, text, &type), LZ_ERR_LIMIT, "nested");
    memset(text, '(', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    e = e ? e : lz_check_err(type_of(&f, text, &type), LZ_ERR_LIMIT, "nested");
    tear_down(&f);
    return e;
}

static lz_err *test_fits(void)
{
    static const struct {
        const char *is, *wanted;
        bool fits, back;
    } cases[] = {
        { "int", "int", true, true },
        { "int", "Scalar", true, false },
        { "float", "Scalar", true, false },
        { "bool", "Scalar", false, false },
        { "int", "float", false, false },
        { "int", "int?", true, false },
        { "NoneType", "int?", true, false },
        { "int?", "Scalar?", true, false },
        { "Float(2, 3)", "Tensor", true, true },
        { "Float(2, 3)", "Long(4)", true, true },
        { "int[]", "Scalar[]", false, false },
        { "Float(2)[]", "Tensor[]", true, true },
        { "(int, int)", "(Scalar, int?)", true, false },
        { "(int, int)", "(int)", false, false },
        { "NamedTuple(a : int)", "(int)", true, false },
        { "NamedTuple(a : int)", "NamedTuple(b : int)", false, false },
        { "int", "Union[str, int]", true, false },
        { "Union[int, float]", "Scalar", true, false },
        { "Union[int, str]", "Scalar", false, false },
        { "Dict(str, int)", "Dict(str, int)", true, true },
        { "Dict(str, int)", "Dict(int, int)", false, false },
        { "Tensor", "Any", true, false },
        { "__torch__.A", "__torch__.B", false, false },
    };
    fixture f;
    lz_err *e = NULL;
    set_up(&f);
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        const lz_type *is, *wanted;
        e = type_of(&f, cases[i].is, &is);
        e = e ? e : type_of(&f, cases[i].wanted, &wanted);
        if (!e && (lz_type_fits(is, wanted) != cases[i].fits || lz_type_fits(wanted, is) != cases[i].back))
            fail_msg("%s and %s", cases[i].is, cases[i].wanted);
    }
    tear_down(&f);
    return e;
}

static lz_err *test_mutable(void)
{
    static const char *const yes[] = {
        "Tensor", "int[]", "(int, Tensor)", "Dict(str, int)", "Any", "int[]?"
    };
    static const char *const no[] = { "int", "str", "(int, str)", "int?", "Device", "NoneType", "Scalar" };
    fixture f;
    lz_err *e = NULL;
    set_up(&f);
    for (size_t i = 0; !e && i < 6 + 7; i++) {
        const lz_type *type;
        e = type_of(&f, i < 6 ? yes[i] : no[i - 6], &type);
        if (!e)
            assert_int_equal(lz_type_is_mutable(type), i < 6);
    }
    tear_down(&f);
    return e;
}

/* A copy in another table is a different pointer with the same text. */
static lz_err *test_copies(void)
{
    const char *text = "(Float(2, strides=[1], device=cpu), NamedTuple(x : int[]), Dict(str, __torch__.A)?)";
    fixture a, b;
    const lz_type *from, *to, *want;
    set_up(&a);
    set_up(&b);
    lz_err *e = type_of(&a, text, &from);
    e = e ? e : lz_type_copy(&b.table, from, &to);
    e = e ? e : type_of(&b, text, &want);
    if (!e) {
        assert_ptr_not_equal(from, to);
        assert_ptr_equal(to, want);
        assert_true(lz_type_fits(from, to) && lz_type_fits(to, from));
        assert_true(lz_type_equal(from, to));
    }
    tear_down(&a);
    tear_down(&b);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_types_read_and_print),
        LZ_TEST(test_other_spellings),
        LZ_TEST(test_bad_types_are_refused),
        LZ_TEST(test_nesting_is_bounded),
        LZ_TEST(test_fits),
        LZ_TEST(test_mutable),
        LZ_TEST(test_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
