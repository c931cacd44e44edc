/* graph_text.h - graphs for tests, from text. */
#ifndef LZ_TEST_GRAPH_TEXT_H
#define LZ_TEST_GRAPH_TEXT_H

#include "check.h"
#include "graph/ir.h"

/* With the operators of the library; checked. */
static inline lz_err *graph_of(const char *text, lz_graph **out)
{
    return lz_graph_parse("test", lz_str_of(text), out);
}

/* Compares all of the graph's text, without places. */
static inline lz_err *graph_prints(lz_graph *g, const char *want)
{
    lz_str got;
    LZ_TRY(lz_graph_print(g, LZ_GRAPH_TEXT_PLAIN, &got));
    if (!lz_str_is(got, want))
        fail_msg("got\n%.*s\nwant\n%s", LZ_FMT(got), want);
    return NULL;
}

/* Text in, passes, text out. */
static inline lz_err *graph_becomes(const char *text, const char *passes, const char *want)
{
    lz_graph *g;
    LZ_TRY(graph_of(text, &g));
    lz_err *e = lz_graph_improve(g, lz_str_of(passes), true);
    e = e ? e : graph_prints(g, want);
    lz_graph_release(g);
    return e;
}

#endif
