#include "base/mem.h"
#include "check.h"
#include "gen/dump.h"
#include "oracle.h"
#include <stdlib.h>
#include <time.h>

/* ---- the recorded operators ---- */

static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static void load(lzg_ops *ops, lzg_diag *d)
{
    const char *files[2] = { 0 }, *tags;
    must(lz_oracle_files(&files[0], &tags));
    lzg_diag_init(d);
    must(lzg_ops_load(ops, &(lzg_ops_options){ .files = files, .tags = tags }, d));
    must(lzg_diag_error(d));
}

static bool is_hooked(lz_str key)
{
    static const char *const keys[] = { "c_shim", "functionalization", "lazy",
                                        "python", "return_names",      "sig",
                                        "vmap" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (lz_str_is(key, keys[i]))
            return true;
    return false;
}

/* The recorded row, without what hooks write. */
static void reduce(const lz_json *row, lz_text *out)
{
    lz_json_writer w;
    lz_json_writer_init(&w, out, LZ_JSON_COMPACT);
    lz_json_begin_object(&w);
    for (uint32_t i = 0; i < row->len; i++)
        if (!is_hooked(row->members[i].key)) {
            lz_json_put_key_str(&w, row->members[i].key);
            lz_json_put_tree(&w, &row->members[i].value);
        }
    lz_json_end_object(&w);
    must(lz_json_finish(&w));
}

static void compare_rows(lz_str got, const char *recorded, size_t len)
{
    lz_json_lines lines;
    lz_arena a = { 0 };
    lz_text want = { 0 };
    const lz_json *row;
    bool more = true;
    lz_json_lines_init(&lines, "torchgen_model.jsonl", (lz_str){ recorded, len });
    for (must(lz_json_lines_next(&lines, &a, &row)); row; must(lz_json_lines_next(&lines, &a, &row))) {
        lz_str line = lz_str_cut(&got, LZ_STR("\n"), &more);
        reduce(row, &want);
        if (!lz_str_eq(line, lz_text_view(&want)))
            fail_msg("%.*s\ninstead of\n%.*s", LZ_FMT(line), LZ_FMT(lz_text_view(&want)));
        lz_text_clear(&want);
        lz_arena_deinit(&a);
    }
    assert_int_equal(got.len, 0);
    lz_text_deinit(&want);
    lz_json_lines_deinit(&lines);
}

static void test_all_operators_dump_as_recorded(void **state)
{
    (void)state;
    lzg_ops ops;
    lzg_diag d;
    lz_text got = { 0 };
    size_t len;
    char *recorded;
    load(&ops, &d);
    must(lzg_dump_model(&ops, NULL, &got));
    must(lz_oracle_read("torchgen_model.jsonl", &len, &recorded));
    compare_rows(lz_text_view(&got), recorded, len);
    lz_mem_free(recorded);
    lz_text_deinit(&got);
    lzg_diag_deinit(&d);
    lzg_ops_deinit(&ops);
}

static void test_all_groups_dump_as_recorded(void **state)
{
    (void)state;
    lzg_ops ops;
    lzg_diag d;
    lz_text got = { 0 };
    size_t len;
    char *recorded;
    load(&ops, &d);
    must(lzg_dump_groups(&ops, &got));
    must(lz_oracle_read("torchgen_groups.jsonl", &len, &recorded));
    assert_true(lz_str_eq(lz_text_view(&got), (lz_str){ recorded, len }));
    lz_mem_free(recorded);
    lz_text_deinit(&got);
    lzg_diag_deinit(&d);
    lzg_ops_deinit(&ops);
}

/* The original file and the rebuilt one are one model. */
static void test_the_original_file_is_the_rebuilt_one(void **state)
{
    (void)state;
    lzg_ops ops, original;
    lzg_diag d, d2;
    lz_text a = { 0 }, b = { 0 };
    const char *files[2] = { lz_oracle_original("torch-2.15/native_functions.yaml") };
    const char *tags = lz_oracle_original("torch-2.15/tags.yaml");
    if (!files[0] || !tags)
        skip();
    load(&ops, &d);
    lzg_diag_init(&d2);
    must(lzg_ops_load(&original, &(lzg_ops_options){ .files = files, .tags = tags }, &d2));
    must(lzg_diag_error(&d2));
    must(lzg_dump_model(&ops, NULL, &a));
    must(lzg_dump_model(&original, NULL, &b));
    assert_true(lz_str_eq(lz_text_view(&a), lz_text_view(&b)));
    lz_text_deinit(&a);
    lz_text_deinit(&b);
    lzg_diag_deinit(&d);
    lzg_diag_deinit(&d2);
    lzg_ops_deinit(&ops);
    lzg_ops_deinit(&original);
}

/* ---- hooks, and memory that runs out ---- */

static lz_err *put_refused(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    (void)ops, (void)f, (void)scratch, (void)w;
    return lz_errf(LZ_ERR_UNSUPPORTED, "no");
}

static lz_err *put_length(const lzg_ops *ops, const lzg_function *f, lz_arena *scratch, lz_json_writer *w)
{
    (void)ops, (void)scratch;
    lz_json_put_int(w, (int64_t)f->func->nargs);
    return NULL;
}

static lz_err *dump_small(lzg_ops *ops, lzg_diag *d, lz_text *out)
{
    static const lzg_dump_hook hooks[] = {
        { "aaa", put_length }, { "namf", put_refused }, { "zzz", put_length }, { 0 }
    };
    const lzg_yaml *tree;
    LZ_TRY(lzg_yaml_parse(
        &ops->arena,
        LZ_STR("- func: f.out(Tensor self, Tensor(b) x, int n=1, *, Tensor(a!) out) -> Tensor(a!)\n"
               "  structured: True\n  ufunc_inner_loop: {ScalarOnly: f (Bool), Generic: f (Half)}\n"
               "  precomputed: ['n -> int m, int k', int l]\n  dispatch: {Meta: k}\n"
               "- func: a(Tensor(a) x, Tensor(a) y) -> Tensor(a)\n"),
        "f", &tree));
    LZ_TRY(lzg_ops_add(ops, tree, false, d));
    LZ_TRY(lzg_dump_model(ops, hooks, out));
    return lzg_dump_groups(ops, out);
}

static lz_err *test_hooks_write_their_keys(void)
{
    lzg_ops ops = { 0 };
    lzg_diag d;
    lz_text out = { 0 };
    lzg_diag_init(&d);
    lz_err *e = dump_small(&ops, &d, &out);
    if (!e) {
        lz_str t = lz_text_view(&out), a = lz_str_cut(&t, LZ_STR("\n"), &(bool){ true });
        assert_true(lz_str_starts(
            a, LZ_STR("{\"aaa\":2,\"aliased_returns\":{\"error\":true},\"annotations\":{\"x\"")));
        assert_true(
            lz_str_find(
                a, LZ_STR(",\"name\":\"a\",\"namespace\":\"aten\",\"namf\":{\"error\":true},\"overload\":"))
            != SIZE_MAX);
        assert_true(lz_str_ends(t, LZ_STR(",\"zzz\":4}\n")));
        assert_true(
            lz_str_find(
                t, LZ_STR("\"precomputed\":{\"add\":[\"int l\"],\"replace\":{\"n\":[\"int m\",\"int k\"]}}"))
            != SIZE_MAX);
        assert_true(
            lz_str_find(t,
                        LZ_STR("\"ufunc_inner_loop\":{\"Generic\":{\"dtypes\":[\"Half\"],\"name\":\"f\"},"))
            != SIZE_MAX);
    }
    lz_text_deinit(&out);
    lzg_diag_deinit(&d);
    lzg_ops_deinit(&ops);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_operators_dump_as_recorded),
        cmocka_unit_test(test_all_groups_dump_as_recorded),
        cmocka_unit_test(test_the_original_file_is_the_rebuilt_one),
        LZ_TEST(test_hooks_write_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
