#include "base/mem.h"
#include "check.h"
#include "gen/report/dump_full.h"
#include "gen/report/dump_model.h"
#include "gen/report/dump_stats.h"
#include "json_tree.h"
#include "oracle.h"

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

/* Says which line differs. */
static void compare_lines(lz_str got, const char *name)
{
    size_t len;
    char *recorded;
    must(lz_oracle_read(name, &len, &recorded));
    lz_str want = { recorded, len };
    for (bool more = true, more_want = true; more || more_want;) {
        lz_str a = lz_str_cut(&got, LZ_STR("\n"), &more), b = lz_str_cut(&want, LZ_STR("\n"), &more_want);
        if (!lz_str_eq(a, b))
            fail_msg("%.*s\ninstead of\n%.*s", LZ_FMT(a), LZ_FMT(b));
    }
    lz_mem_free(recorded);
}

static void test_all_operators_dump_as_recorded(void **state)
{
    (void)state;
    lzg_ops ops;
    lzg_diag d;
    lz_text got = { 0 };
    load(&ops, &d);
    must(lzg_dump_full(&ops, &got));
    compare_lines(lz_text_view(&got), "torchgen_model.jsonl");
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
    load(&ops, &d);
    must(lzg_dump_groups(&ops, &got));
    compare_lines(lz_text_view(&got), "torchgen_groups.jsonl");
    lz_text_deinit(&got);
    lzg_diag_deinit(&d);
    lzg_ops_deinit(&ops);
}

/* ---- counts ---- */

enum { NATIVE_BYTES = 632729 }; /* of the original file, which was counted */

static bool is_of_files(lz_str key)
{
    static const char *const keys[] = { "autograd_", "derivative", "deprecated_", "python_names",
                                        "python_signatures" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (lz_str_starts(key, lz_str_of(keys[i])))
            return true;
    return false;
}

/* The recorded counts without those that need more files than the operators. */
static void reduce(const char *recorded, size_t len, lz_text *out)
{
    lz_arena a = { 0 };
    const lz_json *all;
    lz_json_writer w;
    must(lz_json_parse(&a, "torchgen_stats.json", (lz_str){ recorded, len }, &all));
    lz_json_writer_init(&w, out, 1);
    lz_json_begin_object(&w);
    for (uint32_t i = 0; i < all->len; i++)
        if (!is_of_files(all->members[i].key)) {
            lz_json_put_key_str(&w, all->members[i].key);
            json_put_tree(&w, &all->members[i].value);
        }
    lz_json_end_object(&w);
    lz_text_putc(out, '\n');
    must(lz_json_finish(&w));
    lz_arena_deinit(&a);
}

static void test_counts_are_as_recorded(void **state)
{
    (void)state;
    lzg_ops ops;
    lzg_diag d;
    lz_text got = { 0 }, want = { 0 };
    size_t len;
    char *recorded;
    load(&ops, &d);
    must(lz_oracle_read("torchgen_stats.json", &len, &recorded));
    reduce(recorded, len, &want);
    must(lzg_dump_stats(&ops, &(lzg_stats_inputs){ .native_bytes = NATIVE_BYTES }, &got));
    assert_true(lz_str_eq(lz_text_view(&got), lz_text_view(&want)));
    lz_mem_free(recorded);
    lz_text_deinit(&got);
    lz_text_deinit(&want);
    lzg_diag_deinit(&d);
    lzg_ops_deinit(&ops);
}

static void test_counts_with_all_files_are_as_recorded(void **state)
{
    (void)state;
    lzg_ops ops;
    lzg_diag d;
    lz_text got = { 0 };
    lzg_stats_inputs in = { .native_bytes = NATIVE_BYTES,
                            .derivatives = lz_oracle_original("torch-2.15/derivatives.yaml"),
                            .deprecated = lz_oracle_original("torch-2.15/deprecated.yaml") };
    if (!in.derivatives || !in.deprecated)
        skip();
    load(&ops, &d);
    must(lzg_dump_stats(&ops, &in, &got));
    compare_lines(lz_text_view(&got), "torchgen_stats.json");
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
        cmocka_unit_test(test_counts_are_as_recorded),
        cmocka_unit_test(test_counts_with_all_files_are_as_recorded),
        cmocka_unit_test(test_the_original_file_is_the_rebuilt_one),
        LZ_TEST(test_hooks_write_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
