#include "base/json.h"
#include "base/mem.h"
#include "check.h"
#include "gen/dump_derivatives.h"
#include "gen/load_derivatives.h"
#include "oracle.h"

/* The whole of PyTorch's derivatives, against what its own generator made of them. Needs
 * the original files. */
static lzg_ops ops;
static lzg_diag diag;
static const char *derivatives;

static int load(void **state)
{
    (void)state;
    const char *native = lz_oracle_original("torch-2.15/native_functions.yaml");
    const char *tags = lz_oracle_original("torch-2.15/tags.yaml");
    derivatives = lz_oracle_original("torch-2.15/derivatives.yaml");
    lzg_diag_init(&diag);
    if (!native || !tags || !derivatives) {
        derivatives = NULL;
        return 0;
    }
    const char *const files[] = { native, NULL };
    assert_null(lzg_ops_load(&ops, &(lzg_ops_options){ .files = files, .tags = tags }, &diag));
    assert_false(lzg_diag_any(&diag));
    return 0;
}

static int unload(void **state)
{
    (void)state;
    lzg_ops_deinit(&ops);
    lzg_diag_deinit(&diag);
    return 0;
}

static size_t first_difference(lz_str a, lz_str b)
{
    size_t i = 0;
    while (i < a.len && i < b.len && a.ptr[i] == b.ptr[i])
        i++;
    return i;
}

static void test_rows(void **state)
{
    (void)state;
    if (!derivatives)
        skip();
    char *want;
    size_t len;
    lz_text have = { 0 };
    assert_null(lz_oracle_read("torchgen_derivatives.jsonl", &len, &want));
    assert_null(lzg_dump_derivatives(&ops, derivatives, &have));
    size_t at = first_difference(lz_text_view(&have), (lz_str){ want, len });
    if (at < len || have.len > len)
        fail_msg("byte %zu of %zu differs: %.200s", at, len, want + (at < 100 ? 0 : at - 100));
    lz_text_deinit(&have);
    lz_mem_free(want);
}

static void check_count(const lz_json *stats, const char *key, size_t have)
{
    int64_t want = -1;
    assert_null(lz_json_get_int(stats, key, &want));
    if ((int64_t)have != want)
        fail_msg("%s: %zu", key, have);
}

static void check_counts(const lz_json *stats, const lzg_derivative_counts *c)
{
    check_count(stats, "derivatives_entries", c->entries);
    check_count(stats, "derivatives_with_dispatch", c->with_dispatch);
    check_count(stats, "derivatives_auto_linear", c->auto_linear);
    check_count(stats, "derivatives_auto_element_wise", c->auto_element_wise);
    check_count(stats, "derivatives_output_differentiability", c->output_differentiability);
    check_count(stats, "derivative_formulas", c->formulas);
    check_count(stats, "derivative_infos_incl_view_copy_and_foreach", c->infos);
    check_count(stats, "autograd_nodes", c->nodes);
    check_count(stats, "derivative_rows", c->rows);
    const lz_json *keys = lz_json_get(stats, "autograd_keys_used");
    assert_non_null(keys);
    assert_int_equal(keys->len, c->keys.len);
    for (size_t i = 0; i < c->keys.len; i++)
        assert_true(lz_str_eq(keys->items[i].str, c->keys.data[i]));
}

/* Loading checks what kernels need, too: all of the original must pass. */
static void test_counts(void **state)
{
    (void)state;
    if (!derivatives)
        skip();
    lz_arena a = { 0 };
    char *text;
    size_t len;
    const lz_json *stats;
    const lzg_yaml *entries;
    lzg_derivatives *table;
    lzg_derivative_counts counts;
    assert_null(lz_oracle_read("torchgen_stats.json", &len, &text));
    assert_null(lz_json_parse(&a, "stats", (lz_str){ text, len }, &stats));
    assert_null(lzg_yaml_load(&a, derivatives, &entries));
    assert_null(lzg_derivatives_load(&ops, entries, &diag, &table));
    assert_false(lzg_diag_any(&diag));
    assert_null(lzg_derivatives_count(table, entries, &counts));
    check_counts(stats, &counts);
    lzg_derivatives_free(table);
    lz_mem_free(text);
    lz_arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_counts) };
    return cmocka_run_group_tests(tests, load, unload);
}
