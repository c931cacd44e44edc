/* Any bytes that are a graph: each pass below the graph refuses it, naming a place where
 * there is one to name, or gives a graph that passes the verifier and that is the same
 * text when it is read as a lowered program and written again. */
#include "graph_equal.h"
#include "plan/lowered.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void must(lz_err *e)
{
    check(!e);
}

static bool refused(lz_err *e)
{
    lz_code code = lz_err_code(e);
    check(code != LZ_ERR_INTERNAL && code != LZ_ERR_MEMORY);
    lz_err_free(e);
    return e != NULL;
}

static void rewrite(lz_graph *g, bool must_read)
{
    lz_arena arena;
    lz_lower dag;
    lz_lowered l;
    lz_graph *made, *again;
    lz_str one, two;
    lz_arena_init(&arena);
    lz_low_init(&dag, &arena);
    lz_err *e = lz_lowered_read(g, &dag, &l);
    check(!e || !must_read);
    if (e)
        check(lz_err_loc(e).line >= 1);
    if (!refused(e)) {
        must(lz_lowered_write(&l, &made));
        must(lz_graph_verify(made));
        must(lz_graph_print(made, LZ_GRAPH_TEXT, &one));
        lz_lowered_deinit(&l);
        must(lz_graph_parse("written", one, &again));
        lz_low_deinit(&dag);
        lz_low_init(&dag, &arena);
        must(lz_lowered_read(again, &dag, &l));
        lz_graph_release(made);
        must(lz_lowered_write(&l, &made));
        must(lz_graph_print(made, LZ_GRAPH_TEXT, &two));
        lz_lowered_deinit(&l);
        lz_graph_release(again);
        must(lz_graph_parse("written", two, &again));
        check(graph_equal(made, again));
        lz_graph_release(again);
        lz_graph_release(made);
    }
    lz_low_deinit(&dag);
    lz_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const passes[] = { "lower", "views", "fuse", "inplace", "memory" };
    lz_graph *g;
    if (refused(lz_graph_parse("fuzz", (lz_str){ (const char *)data, size }, &g)))
        return 0;
    if (lz_graph_is_lowered(g))
        rewrite(g, false);
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        if (refused(lz_graph_improve(g, lz_str_of(passes[i]), true)))
            break;
        if (lz_graph_is_lowered(g))
            rewrite(g, true);
    }
    lz_graph_release(g);
    return 0;
}
