#include "base/json.h"
#include "check.h"
#include "gen/torch/selective_build/selector.h"
#include <stdio.h>

static lz_err *read(lzg_selector *s, const char *text, lzg_diag *d)
{
    lz_arena a = { 0 };
    const lzg_yaml *doc;
    lz_err *e = lzg_yaml_parse(&a, lz_str_of(text), "sel.yaml", &doc);
    if (!e)
        e = lzg_selector_read(s, doc, d);
    lz_arena_deinit(&a);
    return e;
}

/* Reads a text that has no mistake, asks, cleans up. */
typedef void ask_fn(const lzg_selector *s);

static lz_err *with(const char *text, ask_fn *ask)
{
    lzg_selector s;
    lzg_diag d;
    lzg_selector_init(&s);
    lzg_diag_init(&d);
    lz_err *e = read(&s, text, &d);
    if (!e)
        e = lzg_diag_error(&d);
    if (!e)
        ask(&s);
    lzg_selector_deinit(&s);
    lzg_diag_deinit(&d);
    return e;
}

#define HAS(name)        lzg_selector_has(s, LZ_STR(name))
#define TRAINS(name)     lzg_selector_trains(s, LZ_STR(name))
#define ROOT(name)       lzg_selector_is_root(s, LZ_STR(name))
#define DTYPE(tag, type) lzg_selector_has_dtype(s, LZ_STR(tag), LZ_STR(type))

static void ask_flags(const lzg_selector *s)
{
    assert_true(HAS("aten::add.int") && HAS("aten::mul.int") && !HAS("aten::sub"));
    assert_true(HAS("aten::add") && HAS("aten::add.Tensor"));
    assert_false(HAS("aten::mul") || HAS("aten::mul.Tensor")); /* an overload alone */
    assert_false(HAS("aten::div.Scalar"));                     /* its base does not cover it */
    assert_true(HAS("aten::div"));
    assert_true(ROOT("aten::add.int") && !ROOT("aten::mul.int") && !ROOT("aten::mul.float"));
    assert_true(TRAINS("aten::add.int") && !TRAINS("aten::mul.int") && TRAINS("aten::div"));
    assert_false(TRAINS("aten::div.Scalar") || TRAINS("aten::sub"));
}

static lz_err *test_flags(void)
{
    return with(
        "operators:\n"
        "  aten::add: {}\n"
        "  aten::mul.int: {is_used_for_training: No, is_root_operator: No, include_all_overloads: No}\n"
        "  aten::div: {include_all_overloads: false, is_root_operator: off, debug_info: [a, 1, 1, true]}\n",
        ask_flags);
}

static void ask_training(const lzg_selector *s)
{
    assert_true(TRAINS("aten::add.Scalar"));  /* through the base */
    assert_true(TRAINS("aten::mul.Tensor"));  /* through the overload */
    assert_false(TRAINS("aten::mul.Scalar")); /* the base trains nothing */
    assert_true(HAS("aten::mul.Scalar"));
    assert_true(TRAINS("aten::sub.x"));
    assert_false(ROOT("aten::sub.x")); /* the overload's own word counts */
    assert_true(ROOT("aten::sub.y"));
}

static lz_err *test_training(void)
{
    return with("operators:\n"
                "  aten::add: {is_used_for_training: Yes}\n"
                "  aten::mul: {is_used_for_training: No}\n"
                "  aten::mul.Tensor: {is_used_for_training: Yes, include_all_overloads: No}\n"
                "  aten::sub: {is_used_for_training: Yes}\n"
                "  aten::sub.x: {is_used_for_training: No, is_root_operator: No}\n",
                ask_training);
}

static void ask_all(const lzg_selector *s)
{
    assert_true(HAS("aten::anything") && TRAINS("x::y.z") && ROOT("x") && DTYPE("tag", "float"));
}

static lz_err *test_include_all(void)
{
    return with("include_all_operators: Yes\n", ask_all);
}

static void ask_dtypes(const lzg_selector *s)
{
    assert_true(DTYPE("add_kernel", "int8") && DTYPE("mul_kernel", "float") && DTYPE("mul_kernel", "5"));
    assert_false(DTYPE("add_kernel", "float") || DTYPE("div_kernel", "int8"));
    assert_true(lz_map_find(&s->custom_classes, LZ_STR("__torch__.C"))
                && lz_map_count(&s->custom_classes) == 1 && lz_map_count(&s->build_features) == 2);
}

static void ask_all_dtypes(const lzg_selector *s)
{
    assert_true(DTYPE("any", "float"));
    assert_false(HAS("aten::add"));
}

static lz_err *test_dtypes(void)
{
    LZ_TRY(with("kernel_metadata:\n  add_kernel: [int8]\n  mul_kernel: [int32, float, 5]\n"
                "custom_classes: [__torch__.C, __torch__.C]\nbuild_features: [a, b]\n",
                ask_dtypes));
    return with("include_all_non_op_selectives: True\nkernel_metadata: {}\n", ask_all_dtypes);
}

static void ask_namespaces(const lzg_selector *s)
{
    assert_true(HAS("aten::add.out") && HAS("custom::add.x"));
    assert_false(HAS("custom::mul") || HAS("add"));
}

static lz_err *test_namespaces(void)
{
    return with("operators: {aten::add: {}, aten::mul: {}, custom::add: {}}\n", ask_namespaces);
}

/* ---- functions ---- */

static lz_err *ask_function(const lzg_selector *s, const char *ns, const char *name, bool has, bool trains)
{
    lzg_schema schema = { .name = { .text = lz_str_of(name) } };
    lzg_function f = { .ns = lz_str_of(ns), .func = &schema };
    bool got = !has;
    LZ_TRY(lzg_selector_has_function(s, &f, &got));
    assert_int_equal(got, has);
    LZ_TRY(lzg_selector_trains_function(s, &f, &got));
    assert_int_equal(got, trains);
    return NULL;
}

static lz_err *test_functions(void)
{
    const lz_str names[] = { LZ_STR("aten::add"), LZ_STR("custom::mul") };
    lzg_selector all, own, *s = &own;
    lzg_selector_init(&all);
    all.include_all_operators = true;
    lzg_selector_init(s);
    lz_err *e = lzg_selector_allow(s, names, 2, false, true); /* the legacy list */
    if (!e) {
        assert_true(HAS("aten::add.Tensor") && !ROOT("aten::add") && TRAINS("aten::add.out"));
        assert_true(DTYPE("any", "float") && !HAS("aten::mul"));
        e = ask_function(s, "aten", "add.Tensor", true, true);
    }
    if (!e)
        e = ask_function(s, "aten", "mul", false, false);
    if (!e)
        e = ask_function(s, "custom", "mul.x", true, true);
    if (!e)
        e = ask_function(&all, "any", "thing", true, true);
    if (!e)
        e = lzg_selector_allow(s, names, 1, true, false); /* once more: or-ed */
    if (!e)
        assert_true(ROOT("aten::add") && TRAINS("aten::add") && !ROOT("custom::mul"));
    lzg_selector_deinit(s);
    return e;
}

/* ---- merging ---- */

static const char first[] = "debug_info: [x@d1, x@d2]\n"
                            "operators:\n  aten::add: {is_root_operator: No, debug_info: [a]}\n"
                            "  aten::mul.x: {include_all_overloads: No, is_used_for_training: No}\n"
                            "kernel_metadata: {k: [float, int]}\net_kernel_metadata: {o: [v1/b]}\n"
                            "custom_classes: [C]\n";
static const char second[] =
    "debug_info: [x@d2, x@d3]\ninclude_all_non_op_selectives: true\n"
    "operators:\n  aten::add: {is_used_for_training: No, debug_info: [b, a]}\n  aten::sub: {}\n"
    "kernel_metadata: {k: [int, bool], l: [half]}\net_kernel_metadata: {o: [v1/a]}\n"
    "custom_classes: [D, C]\nbuild_features: [f]\n";
static const char merged[] =
    "{\n \"include_all_non_op_selectives\": true,\n \"include_all_operators\": false,\n \"operators\": {\n"
    "  \"aten::add\": {\n   \"is_root_operator\": true,\n   \"is_used_for_training\": true,\n"
    "   \"include_all_overloads\": true,\n   \"debug_info\": [\n    \"a\",\n    \"b\"\n   ]\n  },\n"
    "  \"aten::mul.x\": {\n   \"is_root_operator\": true,\n   \"is_used_for_training\": false,\n"
    "   \"include_all_overloads\": false\n  },\n"
    "  \"aten::sub\": {\n   \"is_root_operator\": true,\n   \"is_used_for_training\": true,\n"
    "   \"include_all_overloads\": true\n  }\n },\n"
    " \"debug_info\": [\n  \"x@d1\",\n  \"x@d2\",\n  \"x@d3\"\n ],\n"
    " \"kernel_metadata\": {\n  \"k\": [\n   \"bool\",\n   \"float\",\n   \"int\"\n  ],\n  \"l\": [\n   "
    "\"half\"\n  ]\n },\n"
    " \"et_kernel_metadata\": {\n  \"o\": [\n   \"v1/a\",\n   \"v1/b\"\n  ]\n },\n"
    " \"custom_classes\": [\n  \"C\",\n  \"D\"\n ],\n \"build_features\": [\n  \"f\"\n ]\n}";

static lz_err *check_print(const lzg_selector *s, const char *want)
{
    lz_text t = { 0 };
    lz_err *e = lzg_selector_print(s, &t);
    if (!e && !lz_str_is(lz_text_view(&t), want))
        fail_msg("printed %.*s", LZ_FMT(lz_text_view(&t)));
    lz_text_deinit(&t);
    return e;
}

static lz_err *check_merge(lzg_selector *a, lzg_selector *b, lzg_selector *again, lzg_diag *d)
{
    LZ_TRY(read(a, first, d));
    LZ_TRY(read(b, second, d));
    LZ_TRY(lzg_selector_merge(a, b));
    LZ_TRY(lzg_selector_merge(a, b));
    LZ_TRY(check_print(a, merged));
    LZ_TRY(read(again, merged, d)); /* what was printed is read back */
    LZ_TRY(check_print(again, merged));
    return lzg_diag_error(d);
}

static lz_err *test_merge(void)
{
    lzg_selector a, b, again;
    lzg_diag d;
    lzg_selector_init(&a);
    lzg_selector_init(&b);
    lzg_selector_init(&again);
    lzg_diag_init(&d);
    lz_err *e = check_merge(&a, &b, &again, &d);
    lzg_selector_deinit(&a);
    lzg_selector_deinit(&b);
    lzg_selector_deinit(&again);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *test_combining_operators(void)
{
    lz_arena a = { 0 };
    lzg_selected_op x = { .name = LZ_STR("aten::add.int"), .is_root_operator = true };
    lzg_selected_op y = { .name = LZ_STR("aten::add.int"), .is_used_for_training = true };
    lzg_selected_op z = { .name = LZ_STR("aten::add") };
    lz_err *e = lzg_selected_op_merge(&x, &a, &y);
    if (!e) {
        assert_true(x.is_root_operator && x.is_used_for_training && !x.include_all_overloads);
        e = lz_check_err(lzg_selected_op_merge(&x, &a, &z), LZ_ERR_ARG, "two operators");
    }
    lzg_selected_op_deinit(&x);
    lz_arena_deinit(&a);
    return e;
}

/* ---- kernel keys ---- */

static lz_err *check_et(const char *text, const lz_str *keys, size_t n, const char *want, lz_code code)
{
    lzg_selector s;
    lzg_diag d;
    lzg_text_set out = { 0 };
    lz_text got = { 0 };
    lzg_selector_init(&s);
    lzg_diag_init(&d);
    lz_err *e = read(&s, text, &d);
    if (!e && code)
        e = lz_check_err(lzg_selector_et_kernels(&s, LZ_STR("add.out"), keys, n, &out), code, "");
    else if (!e)
        e = lzg_selector_et_kernels(&s, LZ_STR("add.out"), keys, n, &out);
    for (lz_map_entry *k = lz_map_next(&out, NULL); k; k = lz_map_next(&out, k))
        lz_text_printf(&got, "%.*s ", LZ_FMT(k->key));
    e = lz_err_first(e, lz_text_check(&got));
    if (!e && !code && !lz_str_is(lz_text_view(&got), want))
        fail_msg("'%s' gives %.*s", text, LZ_FMT(lz_text_view(&got)));
    lz_text_deinit(&got);
    lz_map_deinit(&out);
    lzg_selector_deinit(&s);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *test_kernel_keys(void)
{
    const lz_str keys[] = { LZ_STR("v2/3;0,1"), LZ_STR("v2/6;0,1"), LZ_STR("default") };
    LZ_TRY(check_et("et_kernel_metadata: {add.out: ['v1/6;0,1']}", keys, 3, "v2/6;0,1 ",
                    LZ_OK)); /* the version aside */
    LZ_TRY(check_et("et_kernel_metadata: {add.out: ['v1/9;0,1', 'v1/6;0,1', v1/8]}", keys, 3,
                    "default v2/6;0,1 ", LZ_OK));
    LZ_TRY(check_et("et_kernel_metadata: {add.out: ['v1/9;0,1']}", keys, 2, "", LZ_ERR_NOT_FOUND));
    LZ_TRY(check_et("et_kernel_metadata: {add.out: [oops]}", keys, 2, "", LZ_ERR_ARG));
    LZ_TRY(check_et("et_kernel_metadata: {mul.out: ['v1/6;0,1']}", keys, 3, "", LZ_OK));
    return check_et("include_all_operators: true", keys, 3, "v2/3;0,1 v2/6;0,1 default ", LZ_OK);
}

/* ---- refusals ---- */

static lz_err *check_refused(const char *text, size_t found, int line, int col, const char *part)
{
    lzg_selector s;
    lzg_diag d;
    lzg_selector_init(&s);
    lzg_diag_init(&d);
    lz_err *e = read(&s, text, &d);
    if (!e && d.found.len != found)
        fail_msg("'%s': %zu findings, not %zu", text, d.found.len, found);
    if (!e && (d.found.data[0].loc.line != line || d.found.data[0].loc.col != col))
        fail_msg("'%s' at %d:%d", text, d.found.data[0].loc.line, d.found.data[0].loc.col);
    if (!e)
        e = lz_check_err(lzg_diag_error(&d), LZ_ERR_MODEL, part);
    lzg_selector_deinit(&s);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *test_refusals(void)
{
    static const struct {
        const char *text;
        size_t found;
        int line, col;
        const char *part;
    } cases[] = {
        { "include_all_operators: 'yes'", 1, 1, 24, "include_all_operators must be a boolean" },
        { "include_all_non_op_selectives: 1", 1, 1, 32, "must be a boolean" },
        { "invalid: 1\nalso: 2", 2, 1, 1, "no field 'invalid'" },
        { "debug_info: model1", 1, 1, 13, "debug_info must be a list" },
        { "operators: [a]", 1, 1, 12, "operators must be a mapping" },
        { "operators:", 1, 1, 11, "operators must be a mapping, not null" },
        { "operators:\n  aten::add:\n", 1, 2, 13, "'aten::add' must be a mapping" },
        { "operators:\n  aten::add: {is_rooted: Yes}\n  x: {y: 1}", 2, 2, 15, "no field 'is_rooted'" },
        { "operators:\n  aten::add: {name: aten::sub}", 1, 2, 21, "another name" },
        { "operators:\n  aten::add: {is_root_operator: 'x'}", 1, 2, 33, "must be a boolean" },
        { "operators:\n  aten::add: {debug_info: x}", 1, 2, 27, "must be a list" },
        { "kernel_metadata: [a]", 1, 1, 18, "must be a mapping" },
        { "kernel_metadata: {a: }", 1, 1, 22, "must be a list" },
        { "et_kernel_metadata: x", 1, 1, 21, "must be a mapping" },
        { "custom_classes: 5", 1, 1, 17, "must be a list" },
        { "build_features: [[a]]", 1, 1, 18, "must hold names" },
        { "[a]", 1, 1, 1, "must be a mapping, not a list" },
        { "", 1, 1, 1, "must be a mapping, not null" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        LZ_TRY(check_refused(cases[i].text, cases[i].found, cases[i].line, cases[i].col, cases[i].part));
    return NULL;
}

static lz_err *test_load(void)
{
    char path[4096];
    lzg_selector s;
    lzg_diag d;
    snprintf(path, sizeof path, "%s/s.yaml", lz_check_dir());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("operators: {a: {}\n", f);
    fclose(f);
    lzg_selector_init(&s);
    lzg_diag_init(&d);
    lz_err *e = lzg_selector_load(&s, path, &d);
    if (!e)
        assert_int_equal(d.found.len, 1);
    if (!e)
        e = lz_check_err(lzg_selector_load(&s, "/nowhere", &d), LZ_ERR_NOT_FOUND, "/nowhere");
    lzg_selector_deinit(&s);
    lzg_diag_deinit(&d);
    return e;
}

static lz_err *test_texts(void)
{
    static const char *const cases[][2] = {
        { "x", "x" },
        { "~", "None" },
        { "on", "True" },
        { "0x10", "16" },
        { "1.5", "1.5" },
        { "[a, 1]", "['a', 1]" },
        { "{a: \"it's\"}", "{'a': \"it's\"}" },
    };
    lz_arena a = { 0 };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof cases / sizeof *cases; i++) {
        const lzg_yaml *v;
        lz_str text;
        e = lzg_yaml_parse(&a, lz_str_of(cases[i][0]), "x", &v);
        if (!e)
            e = lzg_yaml_str(v, &a, &text);
        if (!e)
            assert_string_equal(text.ptr, cases[i][1]);
    }
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_flags),       LZ_TEST(test_training),
        LZ_TEST(test_include_all), LZ_TEST(test_dtypes),
        LZ_TEST(test_namespaces),  LZ_TEST(test_functions),
        LZ_TEST(test_merge),       LZ_TEST(test_combining_operators),
        LZ_TEST(test_kernel_keys), LZ_TEST(test_refusals),
        LZ_TEST(test_load),        LZ_TEST(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
