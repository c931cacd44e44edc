/* save_graph.h - graphs as text: every graph that runs, added to a file: LAZULI_SAVE_TENSORS_FILE. */
#ifndef LZ_LAZY_SAVE_GRAPH_H
#define LZ_LAZY_SAVE_GRAPH_H

#include "lazy/sync.h"

/* Adds the graph of the context's last walk to the file; does nothing if no file is set. */
LZ_MUST_USE lz_err *lz_save_graph(lz_ctx *c, const lz_executable *r, lz_loc at);

/* The walk's graph as text; r may be NULL unless the form is LZ_DUMP_BACKEND. */
LZ_MUST_USE lz_err *lz_walk_text(const lz_walk *w, const lz_executable *r, lz_dump_form form, lz_text *out);

#endif
