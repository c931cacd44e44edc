/* Any bytes are refused with a place inside them, or are a graph that passes the verifier
 * and prints as a text which reads back as the same graph, before and after every pass. */
#include "base/hash.h"
#include "graph_equal.h"
#include "pass/pass.h"
#include <stdlib.h>
#include <string.h>

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

static void check_place(lz_err *e, lz_str text)
{
    lz_loc at = lz_err_loc(e);
    int32_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    check(lz_err_code(e) != LZ_ERR_INTERNAL && lz_err_code(e) != LZ_ERR_MEMORY);
    check(at.line >= 1 && at.line <= lines && at.col >= 1 && (size_t)at.col <= text.len + 1);
    lz_err_free(e);
}

static void round_trip(lz_graph *g)
{
    lz_str text, again;
    lz_graph *back;
    must(lz_graph_print(g, LZ_GRAPH_TEXT, &text));
    must(lz_graph_parse("printed", text, &back));
    check(graph_equal(g, back));
    must(lz_graph_print(back, LZ_GRAPH_TEXT, &again));
    check(lz_str_eq(text, again));
    lz_graph_release(back);
}

/* Passes in an order that the text decides. */
static void draw_passes(lz_str text, char out[96])
{
    static const char *const names[] = { "constprop", "cse", "dce", "peephole" };
    uint64_t bits = lz_hash64(text.ptr, text.len);
    out[0] = '\0';
    for (int i = 0; i < 6; i++, bits >>= 2) {
        strcat(out, i ? "," : "");
        strcat(out, names[bits & 3]);
    }
}

static void improve(lz_graph *g, const char *passes)
{
    lz_graph *copy;
    must(lz_graph_clone(g, &copy));
    check(graph_equal(g, copy));
    must(lz_graph_improve(copy, lz_str_of(passes), true));
    round_trip(copy);
    lz_graph_release(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lz_str text = { (const char *)data, size };
    lz_graph *g;
    lz_err *e = lz_graph_parse("fuzz", text, &g);
    if (e) {
        check_place(e, text);
        return 0;
    }
    must(lz_graph_verify(g));
    round_trip(g);
    for (size_t i = 0; i < LZ_PASSES; i++)
        improve(g, lz_passes[i].name);
    improve(g, "constprop, peephole, cse, dce, constprop, peephole, dce");
    char order[96];
    draw_passes(text, order);
    improve(g, order);
    lz_str dot;
    must(lz_graph_print(g, LZ_GRAPH_DOT, &dot));
    lz_graph_release(g);
    return 0;
}
