#include "base/json.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/vec.h"
#include "check.h"
#include "gen/derivative/load_derivatives.h"
#include "gen/report/dump_derivatives.h"
#include "gen/text/identifiers.h"
#include "json_tree.h"
#include "oracle.h"
#include <stdlib.h>

/* PyTorch's derivatives as its own generator sees them: 1,384 rows. Its entries are
 * rebuilt from the rows; read again, they must give the same rows. Where the original
 * file is at hand, it must give them, too. */
typedef struct world {
    lz_arena arena;
    lzg_diag diag;
    lzg_ops ops;
    char *text; /* of the rows */
    size_t len;
    LZ_VEC(const lz_json *) rows;
} world;

static world w;

static int set_up(void **state)
{
    (void)state;
    const char *files[2] = { 0 }, *tags;
    const lz_json *row;
    lz_json_lines lines;
    lzg_diag_init(&w.diag);
    assert_null(lz_oracle_files(&files[0], &tags));
    assert_null(lzg_ops_load(&w.ops, &(lzg_ops_options){ .files = files, .tags = tags }, &w.diag));
    assert_false(lzg_diag_any(&w.diag));
    assert_null(lz_oracle_read("torchgen_derivatives.jsonl", &w.len, &w.text));
    lz_json_lines_init(&lines, "rows", (lz_str){ w.text, w.len });
    do {
        assert_null(lz_json_lines_next(&lines, &w.arena, &row));
        assert_null(row ? lz_vec_push(&w.rows, row) : NULL);
    } while (row);
    lz_json_lines_deinit(&lines);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lz_vec_deinit(&w.rows);
    lz_mem_free(w.text);
    lzg_ops_deinit(&w.ops);
    lzg_diag_deinit(&w.diag);
    lz_arena_deinit(&w.arena);
    return 0;
}

/* ---- rebuilding ---- */

static lz_str text_of(const lz_json *v, const char *key)
{
    const lz_json *s = lz_json_get(v, key);
    return s && s->kind == LZ_JSON_STRING ? s->str : LZ_STR("");
}

/* Not taken over from a view, nor derived for a foreach operator. */
static bool has_entry(const lz_json *row)
{
    lz_str name = text_of(row, "name");
    const lz_json *derivatives = lz_json_get(row, "derivatives");
    if (!lz_str_eq(name, text_of(row, "from")) || lz_str_ends(text_of(row, "node"), LZ_STR("_copy")))
        return false;
    bool indexed = !lz_str_starts(name, LZ_STR("_foreach_"));
    for (uint32_t i = 0; i < derivatives->len; i++)
        indexed = indexed
                  || lz_str_find(text_of(&derivatives->items[i], "original"), LZ_STR("grads[i]")) != SIZE_MAX;
    return indexed;
}

static lz_str joined(const lz_json *names)
{
    lz_text t = { 0 };
    lz_str out;
    for (uint32_t i = 0; i < names->len; i++)
        lz_text_printf(&t, "%s%.*s", i ? ", " : "", LZ_FMT(names->items[i].str));
    assert_null(lz_text_save(&t, &w.arena, &out));
    lz_text_deinit(&t);
    return out;
}

static bool lists(const lz_json *names, lz_str name)
{
    for (uint32_t i = 0; i < names->len; i++)
        if (lz_str_eq(names->items[i].str, name))
            return true;
    return false;
}

/* Whether all of these inputs are needed exactly if the formula has their tangents. */
static bool agrees(const lz_json *inputs, const lz_json *tangents, lz_str formula)
{
    lz_str tangent;
    bool same = true;
    for (uint32_t i = 0; i < inputs->len; i++) {
        lz_str name = inputs->items[i].str;
        assert_null(lz_arena_printf(&w.arena, &tangent, "%.*s_t", LZ_FMT(name)));
        same = same && lzg_ident_used(formula, tangent) == lists(tangents, name);
    }
    return same;
}

/* The formula itself, or the word that it must have come from. */
static lz_str written(const lz_json *row, const lz_json *forward)
{
    lz_str formula = text_of(forward, "formula");
    const lz_json *tangents = lz_json_get(forward, "tangents");
    if (!agrees(tangents, tangents, formula)
        || !agrees(lz_json_get(row, "args_with_derivatives"), tangents, formula))
        return lz_str_ends(formula, LZ_STR(").conj()")) ? LZ_STR("auto_element_wise") : LZ_STR("auto_linear");
    if (lz_str_is(joined(lz_json_get(forward, "vars")), "self"))
        assert_null(lzg_word_replace(&w.arena, formula, LZ_STR("self_p"), LZ_STR("result"), &formula));
    return formula;
}

static void put(lz_json_writer *out, lz_str key, lz_str value)
{
    lz_json_put_key_str(out, key);
    lz_json_put_str(out, value);
}

static void put_formulas(lz_json_writer *out, const lz_json *row)
{
    const lz_json *derivatives = lz_json_get(row, "derivatives"), *forward = lz_json_get(row, "forward");
    const lz_json *non = lz_json_get(row, "non_differentiable");
    lz_json_put_key_str(out, text_of(row, "key"));
    lz_json_begin_object(out);
    for (uint32_t i = 0; i < derivatives->len; i++)
        put(out, joined(lz_json_get(&derivatives->items[i], "vars")),
            text_of(&derivatives->items[i], "original"));
    for (uint32_t i = 0; i < non->len; i++)
        put(out, non->items[i].str, LZ_STR("non_differentiable"));
    for (uint32_t i = 0; i < forward->len; i++) {
        lz_str vars = joined(lz_json_get(&forward->items[i], "vars"));
        put(out, lz_str_is(vars, "self") ? LZ_STR("result") : vars, written(row, &forward->items[i]));
    }
    lz_json_end_object(out);
}

static void put_entry(lz_json_writer *out, const lz_json *const *rows, size_t n)
{
    const lz_json *conditions = lz_json_get(rows[0], "conditions");
    const lzg_function *f = lzg_ops_find(&w.ops, text_of(rows[0], "name"));
    assert_non_null(f);
    lz_json_begin_object(out);
    put(out, LZ_STR("name"), f->func->text);
    lz_json_put_key(out, "output_differentiability");
    json_put_tree(out, conditions->kind == LZ_JSON_ARRAY ? conditions
                                                         : lz_json_get(rows[0], "output_differentiability"));
    lz_json_put_key(out, "dispatch");
    lz_json_begin_object(out);
    for (size_t i = 0; i < n; i++)
        put_formulas(out, rows[i]);
    lz_json_end_object(out);
    lz_json_end_object(out);
}

/* Node classes are numbered in the order of the file, which is thus known. */
static int by_node(const void *a, const void *b)
{
    lz_str x = text_of(*(const lz_json *const *)a, "node"), y = text_of(*(const lz_json *const *)b, "node");
    size_t nx = x.len, ny = y.len;
    while (nx && lzg_is_digit(x.ptr[nx - 1]))
        nx--;
    while (ny && lzg_is_digit(y.ptr[ny - 1]))
        ny--;
    int c = lz_str_cmp(lz_str_sub(x, 0, nx), lz_str_sub(y, 0, ny));
    return c ? c : atoi(x.ptr + nx) - atoi(y.ptr + ny);
}

static size_t rows_of(lz_str name, const lz_json **out, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < w.rows.len && n < most; i++)
        if (lz_str_eq(text_of(w.rows.data[i], "name"), name))
            out[n++] = w.rows.data[i];
    return n;
}

enum { KEYS = 8 };

static void rebuild(lz_text *out)
{
    LZ_VEC(const lz_json *) first = { 0 };
    const lz_json *of_one[KEYS];
    lz_json_writer json;
    for (size_t i = 0; i < w.rows.len; i++) {
        bool again = i && lz_str_eq(text_of(w.rows.data[i], "name"), text_of(w.rows.data[i - 1], "name"));
        size_t n = again ? 0 : rows_of(text_of(w.rows.data[i], "name"), of_one, KEYS);
        qsort(of_one, n, sizeof *of_one, by_node);
        if (n && has_entry(of_one[0]))
            assert_null(lz_vec_push(&first, of_one[0]));
    }
    if (first.len)
        qsort(first.data, first.len, sizeof *first.data, by_node);
    lz_json_writer_init(&json, out, 1);
    lz_json_begin_array(&json);
    for (size_t i = 0; i < first.len; i++)
        put_entry(&json, of_one, rows_of(text_of(first.data[i], "name"), of_one, KEYS));
    lz_json_end_array(&json);
    assert_null(lz_json_finish(&json));
    lz_vec_deinit(&first);
}

/* ---- comparing ---- */

static void compare_rows(lz_str have)
{
    size_t at = 0, line = 0;
    for (; at < have.len && at < w.len && have.ptr[at] == w.text[at]; at++)
        line = have.ptr[at] == '\n' ? at + 1 : line;
    if (at < w.len || at < have.len)
        fail_msg("at %zu of %zu: %.*s", at, w.len, (int)(have.len - line < 2000 ? have.len - line : 2000),
                 have.ptr + line);
}

static void test_rebuilt_entries_give_the_same_rows(void **state)
{
    (void)state;
    const lzg_yaml *entries;
    lzg_derivatives *table = NULL;
    lz_text yaml = { 0 }, rows = { 0 };
    rebuild(&yaml);
    assert_null(lzg_yaml_parse(&w.arena, lz_text_view(&yaml), "rebuilt", &entries));
    assert_null(lzg_derivatives_load(&w.ops, entries, &w.diag, &table));
    assert_null(lzg_diag_error(&w.diag));
    assert_null(lzg_derivatives_print(table, &rows));
    compare_rows(lz_text_view(&rows));
    lzg_derivatives_free(table);
    lz_text_deinit(&rows);
    lz_text_deinit(&yaml);
}

static void test_original_entries_give_the_same_rows(void **state)
{
    (void)state;
    const char *path = lz_oracle_original("torch-2.15/derivatives.yaml");
    lz_text rows = { 0 };
    if (!path)
        skip();
    assert_null(lzg_dump_derivatives(&w.ops, path, &rows));
    compare_rows(lz_text_view(&rows));
    lz_text_deinit(&rows);
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

/* Loading also checks what kernels need: all of the original must pass. */
static void test_original_entries_are_counted(void **state)
{
    (void)state;
    const char *path = lz_oracle_original("torch-2.15/derivatives.yaml");
    char *text;
    size_t len;
    const lz_json *stats;
    const lzg_yaml *entries;
    lzg_derivatives *table;
    lzg_derivative_counts counts;
    if (!path)
        skip();
    assert_null(lz_oracle_read("torchgen_stats.json", &len, &text));
    assert_null(lz_json_parse(&w.arena, "stats", (lz_str){ text, len }, &stats));
    assert_null(lzg_yaml_load(&w.arena, path, &entries));
    assert_null(lzg_derivatives_load(&w.ops, entries, &w.diag, &table));
    assert_null(lzg_diag_error(&w.diag));
    assert_null(lzg_derivatives_count(table, entries, &counts));
    check_counts(stats, &counts);
    lzg_derivatives_free(table);
    lz_mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rebuilt_entries_give_the_same_rows),
        cmocka_unit_test(test_original_entries_give_the_same_rows),
        cmocka_unit_test(test_original_entries_are_counted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
