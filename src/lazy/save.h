/* save.h - every graph that runs, added to a file: LAZULI_SAVE_TENSORS_FILE. */
#ifndef LZ_LAZY_SAVE_H
#define LZ_LAZY_SAVE_H

#include "lazy/sync.h"

/* The graph of the context's last walk; nothing happens where nobody asked for it. */
LZ_MUST_USE lz_err *lz_save_graph(lz_ctx *c, const lz_recipe *r, lz_loc at);

/* The walk's graph in some form; r may be NULL unless the form is LZ_DUMP_BACKEND. */
LZ_MUST_USE lz_err *lz_walk_text(const lz_walk *w, const lz_recipe *r, lz_dump_form form, lz_text *out);

#endif
