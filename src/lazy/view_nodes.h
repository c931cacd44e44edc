/* view_nodes.h - reading and writing a storage through a strided map, as nodes.
 *
 * Reading applies the steps of view_steps.h to the value of the base. Writing applies them up to
 * the last step that leaves elements out, then inverts them: elements that were left out come from
 * the old value (slice_scatter, select_scatter, as_strided_scatter). A map that covers all
 * elements needs no old value. The steps of each pair of base and map are remembered.
 *
 * Where a view begins is fixed, or a run-time number of its nodes (`moves`): then the offset of
 * a view is no part of the graph. A write that moves and would need old values of several steps is one
 * as_strided_scatter: nobody has to copy the parts between. */
#ifndef LZ_LAZY_VIEW_NODES_H
#define LZ_LAZY_VIEW_NODES_H

#include "lazy/node.h"

typedef struct lz_views lz_views;

LZ_MUST_USE lz_err *lz_views_create(lz_specs *specs, lz_nodes *nodes, lz_views **out);
void lz_views_destroy(lz_views *v);

typedef struct lz_window {
    const lz_spec *base, *view;
    int64_t offset; /* of the view, in the storage */
    bool moves;     /* the offset is a run-time number of the graph */
    lz_loc at;
    const char *scope;
} lz_window;

/* *out: one count of the caller. */
LZ_MUST_USE lz_err *lz_views_read(lz_views *v, const lz_window *w, lz_output base, lz_output *out);
/* The base value with the elements of the window replaced by those of `part`. */
LZ_MUST_USE lz_err *lz_views_write(lz_views *v, const lz_window *w, lz_output base, lz_output part,
                                   lz_output *out);

#endif
