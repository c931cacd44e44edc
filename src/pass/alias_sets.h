/* alias_sets.h - which values may share memory, and which of that memory is written.
 *
 * Values that may share memory, or hold one another, are in one set. One walk over the graph builds the sets;
 * a set is written if any of its values is. Immutable values are in no set. The sets use the marks of values
 * until lz_alias_sets_deinit. */
#ifndef LZ_PASS_ALIAS_SETS_H
#define LZ_PASS_ALIAS_SETS_H

#include "graph/ir.h"

typedef struct lz_alias_sets {
    uint32_t *parent; /* by the mark of a value; a root is its own parent */
    bool *written;    /* for roots: is the set written? */
    uint32_t n;
} lz_alias_sets;

/* The graph may change while the sets are in use, as long as values are only removed or replaced by values of
 * the same set. */
LZ_MUST_USE lz_err *lz_alias_sets_init(lz_alias_sets *a, const lz_graph *g);
void lz_alias_sets_deinit(lz_alias_sets *a);

/* Is the value written anywhere in the graph, before or after, or may it be? True for values that the sets do
 * not know. */
bool lz_alias_sets_is_written(const lz_alias_sets *a, const lz_ssa_value *v);

#endif
