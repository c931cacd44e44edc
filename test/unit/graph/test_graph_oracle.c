/* The recorded texts of TorchScript: those it accepts are read and print as they stood,
 * those it refuses are refused, each with a place inside the text. */
#include "base/json.h"
#include "base/mem.h"
#include "graph/effects.h"
#include "graph_equal.h"
#include "graph_text.h"
#include "oracle.h"

typedef lz_err *case_fn(const lz_json *row, lz_str text);

static lz_err *each(const char *name, case_fn *run, size_t *count)
{
    size_t len;
    char *data;
    lz_json_lines lines;
    lz_arena a;
    const lz_json *row = NULL;
    LZ_TRY(lz_oracle_read(name, &len, &data));
    lz_arena_init(&a);
    lz_json_lines_init(&lines, name, (lz_str){ data, len });
    lz_err *e = lz_json_lines_next(&lines, &a, &row);
    for (; !e && row; e = e ? e : lz_json_lines_next(&lines, &a, &row)) {
        e = run(row, lz_json_get(row, "text")->str);
        ++*count;
    }
    lz_json_lines_deinit(&lines);
    lz_arena_deinit(&a);
    lz_mem_free(data);
    return e;
}

static bool has_variant(const lz_json *row, const char *name)
{
    const lz_json *list = lz_json_get(row, "variant");
    for (uint32_t i = 0; i < list->len; i++)
        if (lz_str_is(list->items[i].str, name))
            return true;
    return false;
}

/* Printed and read again it is the same graph, and prints the same. */
static lz_err *round_trip(lz_graph *g, lz_str printed, const lz_ssa_ops *ops)
{
    const lz_parse_options o = { .name = "again", .ops = ops };
    lz_graph *again;
    lz_str text;
    LZ_TRY(lz_graph_read(printed, &o, &again));
    lz_err *e = lz_graph_verify(again);
    e = e ? e : lz_graph_print(again, LZ_GRAPH_TEXT, &text);
    if (!e)
        assert_true(graph_equal(g, again) && lz_str_eq(text, printed));
    lz_graph_release(again);
    return e;
}

/* Every node is one that somebody knows. */
static void check_known(const lz_graph *g)
{
    for (const lz_ssa_node *n = lz_ssa_first(g->block); n; n = lz_ssa_next(n))
        if (lz_ssa_unknown(n))
            fail_msg("nobody knows %.*s", LZ_FMT(n->sym->name));
}

static lz_err *accept(const lz_json *row, lz_str text, const lz_ssa_ops *ops)
{
    const lz_parse_options o = { .name = "text", .ops = ops };
    lz_graph *g;
    lz_str printed;
    lz_err *e = lz_graph_read(text, &o, &g);
    if (e && lz_err_code(e) != LZ_ERR_MEMORY)
        fail_msg("%.*s: %d: %s", LZ_FMT(lz_json_get(row, "id")->str), lz_err_loc(e).line, lz_err_text(e));
    LZ_TRY(e);
    e = lz_graph_verify(g);
    e = e ? e : lz_graph_print(g, LZ_GRAPH_TEXT, &printed);
    bool changed = has_variant(row, "untyped") || has_variant(row, "shadowed");
    if (!e && lz_str_eq(printed, text) == changed)
        fail_msg("%.*s prints as\n%.*s", LZ_FMT(lz_json_get(row, "id")->str), LZ_FMT(printed));
    e = e ? e : round_trip(g, printed, ops);
    if (!e && ops)
        check_known(g);
    lz_graph_release(g);
    return e;
}

static lz_err *accept_with_operators(const lz_json *row, lz_str text)
{
    return accept(row, text, lz_ssa_operators());
}

static lz_err *accept_without_operators(const lz_json *row, lz_str text)
{
    return accept(row, text, NULL);
}

static lz_err *test_accepted(void)
{
    size_t n = 0;
    LZ_TRY(each("graphs/graphs.jsonl", accept_with_operators, &n));
    LZ_TRY(each("graphs/graphs.jsonl", accept_without_operators, &n));
    assert_int_equal(n, 120);
    return NULL;
}

static size_t count_lines(lz_str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

static lz_err *refuse(const lz_json *row, lz_str text)
{
    lz_graph *g = NULL;
    lz_err *e = lz_graph_parse("text", text, &g);
    if (!e)
        fail_msg("%.*s is not refused", LZ_FMT(lz_json_get(row, "id")->str));
    lz_loc at = lz_err_loc(e);
    if (lz_err_code(e) == LZ_ERR_MEMORY)
        return e;
    assert_true(lz_err_code(e) == LZ_ERR_SYNTAX || lz_err_code(e) == LZ_ERR_MODEL);
    assert_true(at.line >= 1 && (size_t)at.line <= count_lines(text) && at.col >= 1);
    lz_err_free(e);
    return NULL;
}

static lz_err *test_refused(void)
{
    size_t n = 0;
    LZ_TRY(each("graphs/malformed.jsonl", refuse, &n));
    assert_int_equal(n, 60);
    return NULL;
}

/* Whatever passes make of a graph, it is one. */
static lz_err *improve(const lz_json *row, lz_str text)
{
    static const char *const orders[] = { "dce",
                                          "cse",
                                          "constprop",
                                          "peephole",
                                          "constprop, peephole, cse, dce",
                                          "cse, dce, constprop, peephole, dce" };
    lz_err *e = NULL;
    for (size_t i = 0; !e && i < sizeof orders / sizeof *orders; i++) {
        lz_graph *g;
        lz_str printed;
        (void)row;
        LZ_TRY(lz_graph_parse("text", text, &g));
        e = lz_graph_improve(g, lz_str_of(orders[i]), true);
        e = e ? e : lz_graph_print(g, LZ_GRAPH_TEXT, &printed);
        e = e ? e : round_trip(g, printed, lz_ssa_operators());
        lz_graph_release(g);
    }
    return e;
}

static lz_err *test_passes(void)
{
    size_t n = 0;
    return each("graphs/graphs.jsonl", improve, &n);
}

/* Any prefix, and any text with a byte changed, is read or refused with a place. */
static lz_err *mutilate(const lz_json *row, lz_str text)
{
    static uint64_t seed = 1;
    char *copy = lz_mem_alloc(text.len + 1);
    (void)row;
    if (!copy)
        return lz_err_oom();
    for (int i = 0; i < 20; i++) {
        lz_graph *g;
        size_t len = text.len;
        memcpy(copy, text.ptr, len);
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (i % 2)
            len = (size_t)(seed >> 33) % len;
        else
            copy[(seed >> 33) % len] = "%():=,[]{}\n -> \"#0a.\\"[(seed >> 20) % 20];
        lz_err *e = lz_graph_parse("text", (lz_str){ copy, len }, &g);
        if (!e)
            lz_graph_release(g);
        else if (lz_err_code(e) != LZ_ERR_MEMORY)
            assert_true(lz_err_loc(e).line >= 1);
        lz_err_free(e);
    }
    lz_mem_free(copy);
    return NULL;
}

static void test_mutilated(void **state)
{
    size_t n = 0;
    (void)state;
    assert_null(each("graphs/graphs.jsonl", mutilate, &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_accepted), LZ_TEST(test_refused), LZ_TEST(test_passes),
                                        cmocka_unit_test(test_mutilated) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
