/* Every signature of every operator of the original, against what it recorded. */
#include "base/json.h"
#include "base/mem.h"
#include "check.h"
#include "gen/report/dump_api.h"
#include "gen/torch/consumers.h"
#include "json_tree.h"
#include "oracle.h"

static lzg_ops ops;
static lzg_diag diag;

static int set_up(void **state)
{
    const char *files[2] = { NULL, NULL }, *tags;
    (void)state;
    lzg_diag_init(&diag);
    assert_null(lz_oracle_files(&files[0], &tags));
    assert_null(lzg_ops_load(&ops, &(lzg_ops_options){ .files = files, .tags = tags }, &diag));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&diag);
    return 0;
}

static const lzg_dump_hook hooks[] = {
    { "c_shim", lzg_dump_c_shim }, { "functionalization", lzg_dump_functionalization },
    { "lazy", lzg_dump_lazy },     { "return_names", lzg_dump_return_names },
    { "sig", lzg_dump_sig },       { "vmap", lzg_dump_vmap },
};

static void compare(const lz_json *row, const lzg_function *f, const lzg_dump_hook *hook, lz_arena *a)
{
    lz_text want = { 0 }, got = { 0 };
    lz_json_writer w;
    lz_json_writer_init(&w, &want, LZ_JSON_COMPACT);
    json_put_tree(&w, lz_json_get(row, hook->key));
    assert_null(lz_json_finish(&w));
    lz_json_writer_init(&w, &got, LZ_JSON_COMPACT);
    assert_null(hook->put(&ops, f, a, &w));
    assert_null(lz_json_finish(&w));
    if (!lz_str_eq(lz_text_view(&want), lz_text_view(&got)))
        fail_msg("%.*s, %s:\ngot  %.*s\nwant %.*s", LZ_FMT(f->func->name.text), hook->key,
                 LZ_FMT(lz_text_view(&got)), LZ_FMT(lz_text_view(&want)));
    lz_text_deinit(&want);
    lz_text_deinit(&got);
}

static void compare_row(const lz_json *row, lz_arena *a)
{
    lz_str name;
    assert_null(lz_json_get_str(row, "name", &name));
    const lzg_function *f = lzg_ops_find(&ops, name);
    assert_non_null(f);
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        compare(row, f, &hooks[i], a);
}

static void test_recorded_signatures(void **state)
{
    char *text;
    size_t len, rows = 0;
    lz_json_lines lines;
    const lz_json *row;
    lz_arena a;
    (void)state;
    lz_arena_init(&a);
    assert_null(lz_oracle_read("torchgen_model.jsonl", &len, &text));
    lz_json_lines_init(&lines, "torchgen_model.jsonl", (lz_str){ text, len });
    for (;; rows++) {
        lz_arena_mark mark = lz_arena_save(&a);
        assert_null(lz_json_lines_next(&lines, &a, &row));
        if (!row)
            break;
        compare_row(row, &a);
        lz_arena_rewind(&a, mark);
    }
    assert_int_equal(rows, ops.nfunctions);
    lz_json_lines_deinit(&lines);
    lz_mem_free(text);
    lz_arena_deinit(&a);
}

static void test_consumers_take_the_original(void **state)
{
    (void)state;
    assert_null(lzg_check_cpp(&ops, &diag));
    assert_null(lzg_check_native(&ops, &diag));
    assert_null(lzg_check_register(&ops, &diag));
    assert_null(lzg_check_functionalize(&ops, &diag));
    assert_null(lzg_check_ufunc(&ops, &diag));
    lz_err *e = lzg_diag_error(&diag);
    if (e)
        fail_msg("%s", lz_err_text(e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_signatures),
        cmocka_unit_test(test_consumers_take_the_original),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
