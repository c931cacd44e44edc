/* Every recorded operator and every recorded name, as they were recorded. */
#include "base/json.h"
#include "base/mem.h"
#include "check.h"
#include "gen/report/dump_python.h"
#include "json_tree.h"
#include "oracle.h"

static void must(lz_err *e)
{
    if (e)
        fail_msg("%s", lz_err_text(e));
}

static lzg_ops ops;

static int load(void **state)
{
    (void)state;
    const char *files[2] = { 0 }, *tags;
    lzg_diag d;
    lzg_diag_init(&d);
    must(lz_oracle_files(&files[0], &tags));
    must(lzg_ops_load(&ops, &(lzg_ops_options){ .files = files, .tags = tags }, &d));
    must(lzg_diag_error(&d));
    lzg_diag_deinit(&d);
    return 0;
}

static int unload(void **state)
{
    (void)state;
    lzg_ops_deinit(&ops);
    return 0;
}

/* ---- operators ---- */

static void compare_key(const lzg_python *p, const lz_json *row, lz_arena *a)
{
    lz_text got = { 0 }, want = { 0 };
    lz_json_writer w;
    lz_str name = lz_json_get(row, "name")->str;
    const lzg_function *f = lzg_ops_find(&ops, name);
    assert_non_null(f);
    lz_json_writer_init(&w, &got, LZ_JSON_COMPACT);
    must(lzg_dump_python_key(p, f, a, &w));
    must(lz_json_finish(&w));
    lz_json_writer_init(&w, &want, LZ_JSON_COMPACT);
    json_put_tree(&w, lz_json_get(row, "python"));
    must(lz_json_finish(&w));
    if (!lz_str_eq(lz_text_view(&got), lz_text_view(&want)))
        fail_msg("%.*s: %.*s\ninstead of\n%.*s", LZ_FMT(name), LZ_FMT(lz_text_view(&got)),
                 LZ_FMT(lz_text_view(&want)));
    lz_text_deinit(&got);
    lz_text_deinit(&want);
}

static void test_every_operator(void **state)
{
    (void)state;
    size_t len, n = 0;
    char *recorded;
    lz_json_lines lines;
    const lz_json *row;
    lz_arena a = { 0 };
    lzg_python p;
    must(lzg_python_init(&p, &ops));
    must(lz_oracle_read("torchgen_model.jsonl", &len, &recorded));
    lz_json_lines_init(&lines, "torchgen_model.jsonl", (lz_str){ recorded, len });
    for (must(lz_json_lines_next(&lines, &a, &row)); row; must(lz_json_lines_next(&lines, &a, &row)), n++) {
        compare_key(&p, row, &a);
        lz_arena_deinit(&a);
    }
    assert_int_equal(n, ops.nfunctions);
    lz_json_lines_deinit(&lines);
    lz_mem_free(recorded);
    lzg_python_deinit(&p);
}

/* ---- the deprecated signatures, rebuilt ---- */

/* The i-th name in "f(T a, U b=1, *, V c)", until there is none. */
static bool argument_name(lz_str sig, size_t i, lz_str *out)
{
    size_t open = lz_str_find_char(sig, '('), close = lz_str_rfind(sig, LZ_STR(")"));
    lz_str rest = lz_str_sub(sig, open + 1, close);
    for (bool more = rest.len > 0; more;) {
        lz_str arg = lz_str_cut(&rest, LZ_STR(", "), &more);
        if (lz_str_is(arg, "*") || i-- > 0)
            continue;
        arg = lz_str_sub(arg, 0, lz_str_find_char(arg, '='));
        *out = lz_str_sub(arg, lz_str_rfind(arg, LZ_STR(" ")) + 1, arg.len);
        if (lz_str_is(*out, "input"))
            *out = LZ_STR("self");
        return true;
    }
    return false;
}

static bool takes(lz_str sig, lz_str name)
{
    lz_str arg;
    for (size_t i = 0; argument_name(sig, i, &arg); i++)
        if (lz_str_eq(arg, name))
            return true;
    return false;
}

static void put_argument(const lzg_schema *s, lz_str name, lz_text *out)
{
    const lzg_argument *arg = lzg_schema_arg(s, name);
    lzg_argument bare;
    assert_non_null(arg);
    bare = *arg;
    bare.deflt = (lz_str){ 0 };
    lzg_argument_print(&bare, out);
}

/* A method's self may stand anywhere: it is not in the string. */
static void put_name(const lzg_schema *s, lz_str sig, bool method, lz_text *out)
{
    lz_str arg;
    lz_text_printf(out, "- name: '%.*s(", LZ_FMT(s->name.printed_base));
    if (method)
        put_argument(s, LZ_STR("self"), out);
    for (size_t i = 0; argument_name(sig, i, &arg); i++) {
        bool is_out = lz_str_is(arg, "out");
        if (is_out && !lzg_schema_is_out_fn(s))
            continue;
        lz_text_puts(out, i || method ? ", " : "");
        lz_text_puts(out, is_out ? "*, " : "");
        put_argument(s, arg, out);
    }
    lz_text_puts(out, ") -> ");
    lzg_return_print(&s->returns[0], out);
}

static void put_entry(lz_str op, lz_str sig, bool method, lz_text *out)
{
    const lzg_schema *s = lzg_ops_find(&ops, op)->func;
    bool is_out = lzg_schema_is_out_fn(s);
    put_name(s, sig, method, out);
    lz_text_printf(out, "'\n  aten: %.*s%s", LZ_FMT(s->name.printed_base), is_out ? "_out(out" : "(");
    for (size_t i = 0; i < s->first[LZG_OUT]; i++) {
        bool given = takes(sig, s->args[i].name) || (method && lz_str_is(s->args[i].name, "self"));
        lz_text_puts(out, i || is_out ? ", " : "");
        lz_text_add(out, given ? s->args[i].name : LZ_STR("1"));
    }
    lz_text_puts(out, ")\n");
}

/* Of an operator that is a function, too, the function's string says more. */
static void put_entries(const lz_json *row, lz_text *out)
{
    const lz_json *sigs = lz_json_get(row, "signatures");
    bool method = lz_str_is(lz_json_get(row, "module")->str, "torch.Tensor");
    for (uint32_t i = 0; i < sigs->len; i++) {
        lz_str sig = lz_json_get(&sigs->items[i], "sig")->str,
               base = lz_json_get(&sigs->items[i], "base")->str;
        const lz_json *with = lz_json_get(&sigs->items[i], "out");
        bool function = lzg_ops_find(&ops, base)->variants & LZG_VARIANT_FUNCTION;
        if (!lz_str_ends(sig, LZ_STR("|deprecated")) || (method && function))
            continue;
        put_entry(base, sig, method, out);
        if (with->kind == LZ_JSON_STRING)
            put_entry(with->str, sig, method, out);
    }
}

static void rebuild_deprecated(lz_str recorded, lz_text *out)
{
    lz_json_lines lines;
    const lz_json *row;
    lz_arena a = { 0 };
    lz_json_lines_init(&lines, "torchgen_python.jsonl", recorded);
    for (must(lz_json_lines_next(&lines, &a, &row)); row; must(lz_json_lines_next(&lines, &a, &row))) {
        put_entries(row, out);
        lz_arena_deinit(&a);
    }
    lz_json_lines_deinit(&lines);
    must(lz_text_check(out));
}

/* ---- names ---- */

static size_t recorded_count(const lz_json *stats, const char *key)
{
    return (size_t)lz_json_get(stats, key)->i;
}

static void compare_counts(lzg_python_counts got)
{
    size_t len;
    char *text;
    lz_arena a = { 0 };
    const lz_json *stats;
    must(lz_oracle_read("torchgen_stats.json", &len, &text));
    must(lz_json_parse(&a, "torchgen_stats.json", (lz_str){ text, len }, &stats));
    assert_int_equal(got.bound_ops, recorded_count(stats, "python_bound_ops"));
    assert_int_equal(got.names, recorded_count(stats, "python_names"));
    assert_int_equal(got.signatures, recorded_count(stats, "python_signatures"));
    assert_int_equal(got.deprecated_entries, recorded_count(stats, "deprecated_entries"));
    lz_arena_deinit(&a);
    lz_mem_free(text);
}

static void compare_names(const lzg_yaml *deprecated, lz_str recorded)
{
    lzg_python p;
    lzg_diag d;
    lz_text got = { 0 };
    lzg_diag_init(&d);
    must(lzg_python_init(&p, &ops));
    must(lzg_python_load(&p, deprecated, &d));
    must(lzg_python_check(&p, &d));
    must(lzg_diag_error(&d));
    must(lzg_dump_python_names(&p, &got));
    assert_true(lz_str_eq(lz_text_view(&got), recorded));
    compare_counts(lzg_python_count(&p));
    lz_text_deinit(&got);
    lzg_diag_deinit(&d);
    lzg_python_deinit(&p);
}

static void test_every_name(void **state)
{
    (void)state;
    size_t len;
    char *recorded;
    lz_text yaml = { 0 };
    lz_arena a = { 0 };
    const lzg_yaml *tree;
    must(lz_oracle_read("torchgen_python.jsonl", &len, &recorded));
    rebuild_deprecated((lz_str){ recorded, len }, &yaml);
    must(lzg_yaml_parse(&a, lz_text_view(&yaml), "rebuilt", &tree));
    compare_names(tree, (lz_str){ recorded, len });
    lz_mem_free(recorded);
    lz_text_deinit(&yaml);
    lz_arena_deinit(&a);
}

static void test_every_name_with_the_original_file(void **state)
{
    (void)state;
    size_t len;
    char *recorded;
    lz_text got = { 0 };
    const char *path = lz_oracle_original("torch-2.15/deprecated.yaml");
    if (!path)
        skip();
    must(lz_oracle_read("torchgen_python.jsonl", &len, &recorded));
    must(lzg_dump_python(&ops, path, &got));
    assert_true(lz_str_eq(lz_text_view(&got), (lz_str){ recorded, len }));
    lz_text_deinit(&got);
    lz_mem_free(recorded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operator),
        cmocka_unit_test(test_every_name),
        cmocka_unit_test(test_every_name_with_the_original_file),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
