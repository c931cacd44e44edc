/* effects.h - the effects of a node, and which of its results share memory with its inputs.
 *
 * Derived from schemas, the field `statistics` of entries and the flags of built-ins alone. For an unknown
 * operator the worst is assumed. The functions look at the node itself, not into its blocks. */
#ifndef LZ_GRAPH_EFFECTS_H
#define LZ_GRAPH_EFFECTS_H

#include "graph/ir.h"

enum {
    LZ_EFFECT_WRITES = 1, /* writes an input */
    LZ_EFFECT_OTHER = 2,  /* raises, prints, or is unknown */
    LZ_EFFECT_RANDOM = 4  /* draws random numbers: order and number of draws count */
};

unsigned lz_ssa_effects(const lz_ssa_node *n);

/* Is the node's meaning unknown? */
bool lz_ssa_unknown(const lz_ssa_node *n);

/* Is input i written? */
bool lz_ssa_writes_to(const lz_ssa_node *n, uint32_t i);

/* May output `out` share memory with input `in`, or hold it? Not for nodes with blocks, whose results come
 * from the blocks. */
bool lz_ssa_may_alias(const lz_ssa_node *n, uint32_t in, uint32_t out);

/* Do all uses only read the value? None writes it, keeps it or passes it on. */
bool lz_ssa_only_read(const lz_ssa_value *v);

#endif
