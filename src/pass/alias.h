/* alias.h - which values may share memory, and which of that memory is written.
 *
 * Values that may share memory, or hold one another, are in one set; sets are made by one
 * walk over the graph, and a set is written if any of its values is. What cannot change is
 * in no set. The marks of values are taken until the sets are gone. */
#ifndef LZ_PASS_ALIAS_H
#define LZ_PASS_ALIAS_H

#include "graph/ir.h"

typedef struct lz_alias {
    uint32_t *parent; /* by the mark of a value; the root of a set is its own */
    bool *written;    /* of a root: the set's */
    uint32_t n;
} lz_alias;

/* The graph may be changed while the sets are used, as long as values are only taken away
 * or stand for others of the same set. */
LZ_MUST_USE lz_err *lz_alias_init(lz_alias *a, const lz_graph *g);
void lz_alias_deinit(lz_alias *a);

/* Somewhere in the graph, before or after, it is or may be changed. A value that the sets
 * do not know may be. */
bool lz_alias_is_written(const lz_alias *a, const lz_ir_value *v);

#endif
