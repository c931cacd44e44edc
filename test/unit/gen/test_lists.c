#include "check.h"
#include "gen/text/lists.h"
#include <stdio.h>

/* Counts that the reference for the operator language gives. */
static lz_err *check_built_in(lz_arena *a)
{
    static const struct {
        const char *list;
        uint32_t n;
    } counts[] = {
        { "gen_python_functions.skip_python_bindings", 89 },
        { "gen_python_functions.skip_python_bindings_signatures", 8 },
        { "native_function_generation.functional_ops_that_cannot_get_an_out_variant", 38 },
        { "gen_inplace_or_view_type.view_functions", 37 },
        { "generator.blocked_ops", 185 },
        { "static_runtime.hand_written_ops", 39 },
        { "model.dtype_classes", 6 },
    };
    const lzg_lists *l;
    LZ_TRY(lzg_lists_load(a, NULL, &l));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_int_equal(lzg_lists_get(l, counts[i].list)->len, counts[i].n);
    const lz_json *fallback = lzg_lists_get(l, "fallback_ops");
    assert_int_equal(lz_json_get(fallback, "inductor_fallback_ops")->len, 173);
    assert_int_equal(lz_json_get(fallback, "aten_shimified_ops")->len, 8);
    assert_null(lzg_lists_get(l, "nothing"));
    assert_false(lzg_lists_has(l, "nothing", LZ_STR("x")));
    assert_true(lzg_lists_has(l, "gen_variable_type.reset_grad_accumulator", LZ_STR("set_")));
    assert_false(lzg_lists_has(l, "gen_variable_type.reset_grad_accumulator", LZ_STR("set")));
    assert_true(lzg_lists_has(l, "gen_inplace_or_view_type.view_functions", LZ_STR("as_strided")));
    return NULL;
}

static lz_err *test_built_in(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_built_in(&a);
    lz_arena_deinit(&a);
    return e;
}

/* has() against a walk over the list. */
static lz_err *check_has(lz_arena *a)
{
    const lzg_lists *l;
    LZ_TRY(lzg_lists_load(a, NULL, &l));
    for (uint32_t i = 0; i < l->root->len; i++) {
        const lz_json_member *m = &l->root->members[i];
        for (uint32_t k = 0; k < m->value.len; k++) {
            lz_str name = m->value.kind == LZ_JSON_ARRAY ? m->value.items[k].str : m->value.members[k].key;
            assert_true(lzg_lists_has(l, m->key.ptr, name));
            assert_false(lzg_lists_has(l, m->key.ptr, (lz_str){ name.ptr, name.len + 1 })); /* with its NUL */
        }
    }
    return NULL;
}

static lz_err *test_has(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_has(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *check_patterns(lz_arena *a)
{
    const lzg_lists *l;
    lzg_pattern_list p;
    LZ_TRY(lzg_lists_load(a, NULL, &l));
    LZ_TRY(lzg_lists_patterns(l, a, "gen_python_functions.skip_python_bindings", &p));
    assert_int_equal(p.n, 89);
    assert_true(lzg_pattern_list_match(&p, LZ_STR("sigmoid_backward")));
    assert_true(lzg_pattern_list_match(&p, LZ_STR("nonzero_numpy")));
    assert_true(lzg_pattern_list_match(&p, LZ_STR("range.step")));
    assert_true(lzg_pattern_list_match(&p, LZ_STR("to")));
    assert_false(lzg_pattern_list_match(&p, LZ_STR("add")));
    assert_false(lzg_pattern_list_match(&p, LZ_STR("to.device")));
    LZ_TRY(lzg_lists_patterns(l, a, "nothing", &p));
    assert_int_equal(p.n, 0);
    return NULL;
}

static lz_err *test_patterns(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_patterns(&a);
    lz_arena_deinit(&a);
    return e;
}

static lz_err *load_text(const char *text, lz_arena *a, const lzg_lists **out)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lists.json", lz_check_dir());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return lzg_lists_load(a, path, out);
}

static lz_err *check_file(lz_arena *a)
{
    const lzg_lists *l;
    lzg_pattern_list p;
    LZ_TRY(load_text("{\"m.x\": [\"b\", \"a\"], \"m.e\": [], \"m.o\": {\"k\": 1}, \"m.p\": [\"[\"]}", a, &l));
    assert_true(lzg_lists_has(l, "m.x", LZ_STR("a")) && lzg_lists_has(l, "m.o", LZ_STR("k")));
    assert_false(lzg_lists_has(l, "m.e", LZ_STR("a")));
    LZ_TRY(lz_check_err(lzg_lists_patterns(l, a, "m.p", &p), LZ_ERR_SYNTAX, "'['"));
    LZ_TRY(lz_check_err(load_text("[1]", a, &l), LZ_ERR_MODEL, "not an object"));
    LZ_TRY(lz_check_err(load_text("{\"m.x\": 1}", a, &l), LZ_ERR_MODEL, "'m.x' is"));
    LZ_TRY(lz_check_err(load_text("{\"m.x\": [1]}", a, &l), LZ_ERR_MODEL, "a name"));
    LZ_TRY(lz_check_err(load_text("{", a, &l), LZ_ERR_SYNTAX, ""));
    return lz_check_err(lzg_lists_load(a, "/nowhere", &l), LZ_ERR_NOT_FOUND, "/nowhere");
}

static lz_err *test_file(void)
{
    lz_arena a = { 0 };
    lz_err *e = check_file(&a);
    lz_arena_deinit(&a);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LZ_TEST(test_built_in),
        LZ_TEST(test_has),
        LZ_TEST(test_patterns),
        LZ_TEST(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
