/* The files of test/graph: a graph, the passes to run, and what comes out. Lines before the first
 * that begins with "graph" are comments; "# run:" names passes, "# expect:" or "# error:"
 * ends the graph. What is expected is compared as text, without places. */
#include "base/dir.h"
#include "base/file.h"
#include "base/mem.h"
#include "dir_list.h"
#include "graph_text.h"
#include <stdio.h>

enum { MOST = 1 << 20 };

typedef struct ir_case {
    lz_str passes, input, expect, error;
} ir_case;

/* The rest of the line behind a key at the start of a line, and where that line begins. */
static bool find_line(lz_str text, lz_str key, size_t *at, lz_str *rest)
{
    for (size_t i = lz_str_find(text, key), from = 0; i != SIZE_MAX;
         i = lz_str_find(lz_str_sub(text, from, text.len), key)) {
        i += from;
        from = i + key.len;
        if (i && text.ptr[i - 1] != '\n')
            continue;
        lz_str line = lz_str_sub(text, from, text.len);
        *at = i;
        *rest = lz_str_trim(lz_str_sub(line, 0, lz_str_find_char(line, '\n')));
        return true;
    }
    return false;
}

static bool take_apart(lz_str text, ir_case *c)
{
    size_t graph, end, run;
    lz_str rest;
    *c = (ir_case){ 0 };
    if (!find_line(text, LZ_STR("graph("), &graph, &rest))
        return false;
    find_line(text, LZ_STR("# run:"), &run, &c->passes);
    if (find_line(text, LZ_STR("# error:"), &end, &c->error)) {
        c->input = lz_str_sub(text, graph, end);
        return true;
    }
    if (!find_line(text, LZ_STR("# expect:"), &end, &rest))
        return false;
    c->input = lz_str_sub(text, graph, end);
    lz_str after = lz_str_sub(text, end, text.len);
    c->expect = lz_str_sub(after, lz_str_find_char(after, '\n') + 1, after.len);
    return true;
}

static lz_err *run_case(const char *path, const ir_case *c, lz_graph **g, lz_str *printed)
{
    LZ_TRY(lz_graph_parse(path, c->input, g));
    lz_err *e = lz_graph_improve(*g, c->passes, true);
    e = e ? e : lz_graph_print(*g, LZ_GRAPH_TEXT_PLAIN, printed);
    if (e)
        lz_graph_release(*g);
    return e;
}

static lz_err *check_case(const char *path, const ir_case *c)
{
    lz_graph *g;
    lz_str printed;
    lz_err *e = run_case(path, c, &g, &printed);
    if (c->error.len) {
        if (!e)
            fail_msg("%s is not refused", path);
        if (lz_err_code(e) == LZ_ERR_INTERNAL)
            fail_msg("%s is taken for a bug in Lazuli: %s", path, lz_err_text(e));
        bool said = lz_str_find(lz_str_of(lz_err_text(e)), c->error) != SIZE_MAX;
        if (lz_err_code(e) != LZ_ERR_MEMORY && !said)
            fail_msg("%s: %s", path, lz_err_text(e));
        lz_err_free(e);
        return NULL;
    }
    if (e && lz_err_code(e) != LZ_ERR_MEMORY)
        fail_msg("%s:%d: %s", path, lz_err_loc(e).line, lz_err_text(e));
    LZ_TRY(e);
    if (!lz_str_eq(printed, c->expect))
        fail_msg("%s gives\n%.*s", path, LZ_FMT(printed));
    lz_graph_release(g);
    return NULL;
}

static lz_err *check_file(const char *name)
{
    char path[1024], *text;
    size_t len;
    ir_case c;
    snprintf(path, sizeof path, "%s/test/graph/%s", LZ_SOURCE_DIR, name);
    LZ_TRY(lz_file_read(path, MOST, &len, &text));
    if (!take_apart((lz_str){ text, len }, &c))
        fail_msg("%s has no graph, or neither '# expect:' nor '# error:'", path);
    lz_err *e = check_case(path, &c);
    lz_mem_free(text);
    return e;
}

static lz_err *test_files(void)
{
    lz_arena a;
    lz_str *names;
    size_t n = 0;
    lz_arena_init(&a);
    lz_err *e = dir_list(LZ_SOURCE_DIR "/test/graph", &a, &n, &names);
    for (size_t i = 0; !e && i < n; i++)
        if (lz_str_ends(names[i], LZ_STR(".ir")))
            e = check_file(names[i].ptr);
    lz_arena_deinit(&a);
    if (!e)
        assert_true(n >= 20);
    return e;
}

int main(void)
{
    const struct CMUnitTest tests[] = { LZ_TEST(test_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
