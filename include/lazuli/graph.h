/* graph.h - graphs in TorchScript's text form: read, check, improve, print.
 *
 * A graph is counted: release each graph that you created or retained. Only one thread at a
 * time may change a graph. */
#ifndef LAZULI_GRAPH_H
#define LAZULI_GRAPH_H

#include <lazuli/schema.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lz_graph lz_graph;

/* Reads a text and checks it. An error has the line and column in the text, and `name` as its file; name
 * may be NULL. Unknown operators are read and kept; a graph with unknown operators cannot run. */
LZ_API LZ_MUST_USE lz_err *lz_graph_parse(const char *name, lz_str text, lz_graph **out);

LZ_API lz_graph *lz_graph_retain(lz_graph *g); /* returns g */
LZ_API void lz_graph_release(lz_graph *g);     /* NULL does nothing */

/* Checks types, order, blocks and schemas; NULL if the graph is valid. */
LZ_API LZ_MUST_USE lz_err *lz_graph_verify(const lz_graph *g);

typedef enum lz_graph_form {
    LZ_GRAPH_TEXT,       /* TorchScript's text, with "# file:line:column" behind nodes of known location */
    LZ_GRAPH_TEXT_PLAIN, /* TorchScript's text without locations */
    LZ_GRAPH_DOT         /* for Graphviz */
} lz_graph_form;

/* The text belongs to the graph and is valid until the next lz_graph_print or the graph's release. */
LZ_API LZ_MUST_USE lz_err *lz_graph_print(lz_graph *g, lz_graph_form form, lz_str *out);

/* The number of nodes, those inside blocks included. */
LZ_API size_t lz_graph_count(const lz_graph *g);

/* The operators that the graph calls, those inside blocks included, each once, in the order of their first
 * calls. The array belongs to the graph until its release. A name that is no operator is an error with its
 * place. */
LZ_API LZ_MUST_USE lz_err *lz_graph_operators(lz_graph *g, const lz_op_row *const **out, size_t *n);

/* Runs passes in turn, by name: "constprop, peephole, dce". With `verify` the graph is
 * checked after each pass, and the error names the pass that broke the graph. */
LZ_API LZ_MUST_USE lz_err *lz_graph_improve(lz_graph *g, lz_str passes, bool verify);

/* The names and descriptions of the passes; NULL: no such i. */
LZ_API const char *lz_graph_pass_name(size_t i);
LZ_API const char *lz_graph_pass_help(size_t i);

#ifdef __cplusplus
}
#endif
#endif
