#include "check.h"
#include "graph/graph_parse.h"
#include "graph/script_value_type.h"
#include <math.h>

/* A value as its literal says. */
static lz_err *value_of(const char *text, lz_script_value *out)
{
    lz_arena a;
    lz_type_table t;
    lz_lexer l;
    const lz_type *type;
    lz_arena_init(&a);
    lz_type_table_init(&t, &a);
    lz_err *e = lz_lexer_init(&l, "value", lz_str_of(text));
    e = e ? e : lz_parse_literal(&l, &t, out, &type);
    lz_type_table_deinit(&t);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *shows(lz_script_value v, const char *repr, const char *show)
{
    lz_text t = { 0 };
    lz_err *e = lz_script_value_repr(v, &t);
    e = e ? e : lz_text_check(&t);
    if (!e && !lz_str_is(lz_text_view(&t), repr))
        fail_msg("%.*s, not %s", LZ_FMT(lz_text_view(&t)), repr);
    lz_text_clear(&t);
    e = e || !show ? e : lz_script_value_show(v, &t);
    e = e ? e : lz_text_check(&t);
    if (!e && show && !lz_str_is(lz_text_view(&t), show))
        fail_msg("%.*s, not %s", LZ_FMT(lz_text_view(&t)), show);
    lz_text_deinit(&t);
    return e;
}

static lz_err *test_literals_print_back(void)
{
    static const char *const same[] = {
        "1",
        "-1",
        "0",
        "9223372036854775807",
        "-9223372036854775808",
        "1.",
        "-0.",
        "4.",
        "0.5",
        "0.10000000000000001",
        "inf",
        "-inf",
        "nan",
        "1.0000000000000001e-05",
        "9.9999999999999998e-13",
        "1e-08",
        "1e+30",
        "123456789012.",
        "1e+17",
        "1.7976931348623157e+308",
        "\"\"",
        "\"a\"",
        "\"\\\\\\'\\\"\\a\\b\\f\\n\\015\\t\\v\\000\\177\\303\\244\"",
        "None",
        "True",
        "False",
        "[]",
        "[1, 2]",
        "[[1], []]",
        "(1,)",
        "()",
        "(1, \"x\", None)",
        "{}",
        "{\"a\": 1, \"b\": [2]}",
        "{1: 2}",
        "{-1: 2}",
        "{2}",
        "{1, -2, 3}",
        "{0.5, inf}",
        "{nan}",
        "{-0}",
        "<Tensor>",
        "{1.5+2.0j}",
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof same / sizeof *same; i++) {
        lz_script_value v;
        LZ_TRY(value_of(same[i], &v));
        e = shows(v, same[i], NULL);
        lz_script_value_release(v);
    }
    return e;
}

static lz_err *test_other_spellings(void)
{
    static const char *const pairs[][3] = {
        { "'a\"b'", "\"a\\\"b\"", "a\"b" },
        { "\"\\x41\\101\\1z\"", "\"AA\\001z\"", NULL },
        { "annotate(List[int], [])", "[]", "[]" },
        { "annotate(Dict[str, List[int]], {})", "{}", "{}" },
        { "[1, 2,]", "[1, 2]", "[1, 2]" },
        { "[\"a\", 1., True]", "[\"a\", 1., True]", "[a, 1., True]" },
        { "{\"k\": \"v\"}", "{\"k\": \"v\"}", "{k: v}" },
        { "1E5", "100000.", "100000." },
        { "1e5", "100000.", NULL },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof pairs / sizeof *pairs; i++) {
        lz_script_value v;
        LZ_TRY(value_of(pairs[i][0], &v));
        e = shows(v, pairs[i][1], pairs[i][2]);
        lz_script_value_release(v);
    }
    return e;
}

static lz_err *test_bad_literals_are_refused(void)
{
    static const struct {
        const char *text, *why;
        lz_code code;
    } bad[] = {
        { "", "a value", LZ_ERR_SYNTAX },
        { "]", "a value", LZ_ERR_SYNTAX },
        { "[1", "']'", LZ_ERR_SYNTAX },
        { "[1,,2]", "a value", LZ_ERR_SYNTAX },
        { "{1: }", "a value", LZ_ERR_SYNTAX },
        { "{\"a\" 1}", "':'", LZ_ERR_SYNTAX },
        { "{\"a\": 1, 2}", "':'", LZ_ERR_SYNTAX },
        { "{[1]: 2}", "a key is", LZ_ERR_ARG },
        { "{1, x}", "a number", LZ_ERR_SYNTAX },
        { "{1+2}", "the j", LZ_ERR_SYNTAX },
        { "-", "a number", LZ_ERR_SYNTAX },
        { "-\"a\"", "a number", LZ_ERR_SYNTAX },
        { "\"a", "not closed", LZ_ERR_SYNTAX },
        { "\"\\q\"", "escape", LZ_ERR_SYNTAX },
        { "\"\\xg1\"", "escape", LZ_ERR_SYNTAX },
        { "\"\\777\"", "escape", LZ_ERR_SYNTAX },
        { "9223372036854775808", "64 bits", LZ_ERR_LIMIT },
        { "-9223372036854775809", "64 bits", LZ_ERR_LIMIT },
        { "<Tensr>", "<Tensor>", LZ_ERR_SYNTAX },
        { "annotate(List[int] [])", "a type and a value", LZ_ERR_SYNTAX },
        { "annotate(List[int], []", "')'", LZ_ERR_SYNTAX },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof bad / sizeof *bad; i++) {
        lz_script_value v = lz_script_value_none();
        e = lz_check_err(value_of(bad[i].text, &v), bad[i].code, bad[i].why);
    }
    return e;
}

/* Whatever a double is, its text reads back as the same bits. */
static lz_err *test_floats_survive(void)
{
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 2000; i++) {
        lz_text t = { 0 };
        double v;
        lz_script_value back;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&v, &bits, sizeof v);
        v = i % 3 ? v : (double)(int64_t)(bits >> (bits & 63));
        lz_script_value_repr_float(v, &t);
        lz_text_putc(&t, '\0');
        lz_err *e = lz_text_check(&t);
        e = e ? e : value_of(t.ptr, &back);
        lz_text_deinit(&t);
        LZ_TRY(e);
        assert_int_equal(back.kind, LZ_SCRIPT_VALUE_FLOAT);
        assert_true(isnan(v) ? isnan(back.f) : back.f == v && signbit(back.f) == signbit(v));
    }
    return NULL;
}

/* A million lists, each in the next: freed without a deep stack. */
static void test_deep_values_are_freed(void **state)
{
    (void)state;
    lz_script_value v = lz_script_value_int(1);
    for (int i = 0; i < 1000000; i++) {
        lz_script_value outer;
        assert_null(lz_script_value_list_make(0, &outer));
        assert_null(lz_script_value_push(outer, v));
        v = outer;
    }
    lz_text t = { 0 };
    lz_err *e = lz_script_value_repr(v, &t);
    assert_int_equal(lz_err_code(e), LZ_ERR_LIMIT);
    lz_err_free(e);
    lz_text_deinit(&t);
    lz_script_value_release(v);
}

static lz_err *test_lists_are_shared(void)
{
    lz_script_value a, s;
    LZ_TRY(lz_script_value_list_make(0, &a));
    lz_script_value b = lz_script_value_retain(a);
    lz_err *e = lz_script_value_str(LZ_STR("x"), &s);
    e = e ? e : lz_script_value_push(a, s);
    if (!e) {
        assert_int_equal(b.list->len, 1);
        assert_true(lz_str_is(lz_script_value_text(b.list->data[0]), "x"));
    }
    lz_script_value_release(a);
    lz_script_value_release(b);
    return e;
}

/* Against the order and contents that Python's dict would have. */
static lz_err *fill_dict(lz_script_value d)
{
    for (int i = 0; i < 20; i++) {
        char key[3] = { (char)('a' + i % 7), 0, 0 };
        lz_script_value k;
        LZ_TRY(lz_script_value_str(lz_str_of(key), &k));
        LZ_TRY(lz_script_value_dict_put(d, k, lz_script_value_int(i)));
    }
    return NULL;
}

static lz_err *remove_key(lz_script_value d, const char *key, bool *there)
{
    lz_script_value k;
    LZ_TRY(lz_script_value_str(lz_str_of(key), &k));
    lz_err *e = lz_script_value_dict_remove(d, k, there);
    lz_script_value_release(k);
    return e;
}

static lz_err *test_dicts_keep_order(void)
{
    lz_script_value d, *found = NULL;
    bool there = false, again = true;
    LZ_TRY(lz_script_value_dict_make(&d));
    lz_err *e = fill_dict(d);
    e = e ? e : remove_key(d, "c", &there);
    e = e ? e : remove_key(d, "c", &again);
    e = e ? e : shows(d, "{\"a\": 14, \"b\": 15, \"d\": 17, \"e\": 18, \"f\": 19, \"g\": 13}", NULL);
    if (!e) {
        assert_true(there && !again);
        assert_int_equal(lz_script_value_dict_count(d), 6);
        e = lz_check_err(lz_script_value_dict_get(d, d, &found), LZ_ERR_ARG, "TypeError");
    }
    lz_script_value_release(d);
    return e;
}

static lz_err *test_equality(void)
{
    static const struct {
        const char *a, *b;
        bool equal, identical;
    } cases[] = {
        { "1", "1", true, true },
        { "1", "1.", true, false },
        { "True", "1", true, false },
        { "0.", "-0.", true, false },
        { "nan", "nan", false, true },
        { "[1, 2]", "[1, 2]", true, true },
        { "[1]", "[1.]", true, false },
        { "[1]", "(1,)", false, false },
        { "[1]", "[1, 1]", false, false },
        { "{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}", true, false },
        { "{\"a\": 1}", "{\"a\": 2}", false, false },
        { "{\"a\": 1}", "{\"b\": 1}", false, false },
        { "None", "None", true, true },
        { "None", "0", false, false },
        { "\"a\"", "\"a\"", true, true },
        { "\"a\"", "\"b\"", false, false },
        { "{1, 2}", "{1, 2}", false, true },
        { "{1, 2}", "{1, 3}", false, false },
        { "9007199254740993", "9007199254740992", false, false },
    };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        lz_script_value a, b = lz_script_value_none();
        bool equal = false;
        LZ_TRY(value_of(cases[i].a, &a));
        e = value_of(cases[i].b, &b);
        e = e ? e : lz_script_value_equal(a, b, &equal);
        if (!e && (equal != cases[i].equal || lz_script_value_identical(a, b) != cases[i].identical))
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        if (!e && cases[i].identical)
            assert_int_equal(lz_script_value_hash(a), lz_script_value_hash(b));
        lz_script_value_release(a);
        lz_script_value_release(b);
    }
    return e;
}

typedef struct coercion {
    const char *literal, *type, *want; /* NULL: refused */
} coercion;

static lz_err *coerces(lz_type_table *t, const coercion *c)
{
    lz_lexer l;
    const lz_type *type;
    lz_script_value v, out;
    LZ_TRY(lz_lexer_init(&l, "type", lz_str_of(c->type)));
    LZ_TRY(lz_parse_type(&l, t, &type));
    LZ_TRY(value_of(c->literal, &v));
    lz_err *e = lz_script_value_coerce(v, type, &out);
    if (!c->want)
        return lz_check_err(e, LZ_ERR_MODEL, "");
    LZ_TRY(e);
    assert_true(lz_script_value_fits(out, type));
    e = shows(out, c->want, NULL);
    lz_script_value_release(out);
    return e;
}

static lz_err *test_literals_become_what_the_type_says(void)
{
    static const coercion cases[] = {
        { "1", "bool", "True" },
        { "0", "bool", "False" },
        { "2", "bool", NULL },
        { "1", "float", "1." },
        { "1.", "int", NULL },
        { "\"cpu\"", "Device", "\"cpu\"" },
        { "[1, 2]", "float[]", "[1., 2.]" },
        { "[1, \"a\"]", "int[]", NULL },
        { "None", "int?", "None" },
        { "1", "float?", "1." },
        { "(1, 1)", "(bool, float)", "(True, 1.)" },
        { "(1, 1)", "(int)", NULL },
        { "{\"a\": 1}", "Dict(str, bool)", "{\"a\": True}" },
        { "{\"a\": 2}", "Dict(str, bool)", NULL },
        { "{1: 2}", "Dict(str, int)", NULL },
        { "1", "Union[str, float]", "1." },
        { "{2}", "Float()", "{2}" },
        { "{1, 2, 3, 4}", "Byte(2, 2)", "{1, 2, 3, 4}" },
        { "{1, 2}", "Float(3)", NULL },
        { "{300}", "Byte()", "{44}" },
        { "{0.5}", "Tensor", "{0.5}" },
        { "{0.5}", "Long()", "{0}" },
        { "<Tensor>", "Float(2)", "<Tensor>" },
        { "<Tensor>", "Tensor", NULL },
        { "1", "Scalar", "1" },
        { "1.5", "Scalar", "1.5" },
        { "True", "Scalar", NULL },
        { "1", "str", NULL },
        { "\"x\"", "Any", "\"x\"" },
        { "{1, 0}", "Bool(2)", "{1, 0}" },
        { "{-0}", "Half()", "{-0}" },
        { "{1.5+2.0j}", "ComplexFloat()", "{1.5+2.0j}" },
    };
    lz_arena a;
    lz_type_table t;
    lz_err *e = NULL;
    lz_arena_init(&a);
    lz_type_table_init(&t, &a);
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++)
        e = coerces(&t, &cases[i]);
    lz_type_table_deinit(&t);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *test_defaults_fit(void)
{
    static const char *const texts[] = { "int",    "float", "bool",           "str",
                                         "Device", "int[]", "Dict(str, int)", "(int, (str, float[]))",
                                         "Scalar", "int?",  "NoneType" };
    lz_arena a;
    lz_type_table t;
    lz_err *e = NULL;
    lz_arena_init(&a);
    lz_type_table_init(&t, &a);
    for (size_t i = 0; !e && i < sizeof texts / sizeof *texts; i++) {
        lz_lexer l;
        const lz_type *type;
        lz_script_value v;
        e = lz_lexer_init(&l, "type", lz_str_of(texts[i]));
        e = e ? e : lz_parse_type(&l, &t, &type);
        e = e ? e : lz_script_value_default(type, &v);
        if (!e) {
            assert_true(lz_script_value_fits(v, type));
            lz_script_value_release(v);
        }
    }
    lz_type_table_deinit(&t);
    lz_arena_deinit(&a);
    return e;
}

/* What an executor brings: counted by its own struct. */
typedef struct own_tensor {
    lz_script_value_tensor base;
    int *dropped;
} own_tensor;

static void own_drop(lz_script_value_tensor *t)
{
    ++*((own_tensor *)t)->dropped;
}

static lz_ints own_sizes(const lz_script_value_tensor *t)
{
    static const int64_t sizes[] = { 2, 3 };
    (void)t;
    return (lz_ints){ sizes, 2 };
}

static lz_err *test_tensors_of_others(void)
{
    static const lz_tensor_class cls = { .drop = own_drop, .sizes = own_sizes };
    int dropped = 0;
    own_tensor t = { .dropped = &dropped };
    lz_scalar s;
    lz_script_value v = lz_script_value_tensor_init(&t.base, LZ_SCRIPT_VALUE_TENSOR, &cls), tuple;
    const lz_script_value both[] = { lz_script_value_retain(v), lz_script_value_retain(v) };
    assert_int_equal(lz_script_value_sizes(v).v[1], 3);
    lz_err *e = lz_check_err(lz_script_value_item(v, &s), LZ_ERR_ARG, "6 elements");
    lz_script_value_release(v);
    if (e) {
        lz_script_value_release(v);
        lz_script_value_release(v);
        return e;
    }
    e = lz_script_value_tuple(both, 2, &tuple);
    if (!e) {
        assert_int_equal(dropped, 0);
        lz_script_value_release(tuple);
    }
    assert_int_equal(dropped, 1);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_literals_print_back),
        LZ_TEST(test_other_spellings),
        LZ_TEST(test_bad_literals_are_refused),
        LZ_TEST(test_floats_survive),
        cmocka_unit_test(test_deep_values_are_freed),
        LZ_TEST(test_lists_are_shared),
        LZ_TEST(test_dicts_keep_order),
        LZ_TEST(test_equality),
        LZ_TEST(test_literals_become_what_the_type_says),
        LZ_TEST(test_defaults_fit),
        LZ_TEST(test_tensors_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
