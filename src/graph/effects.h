/* effects.h - what a node does besides giving results, and which of them share memory.
 *
 * From schemas and the flags of built-ins alone. Of an operator nobody knows everything is
 * assumed. Questions are about the node itself: what is in its blocks is asked there. */
#ifndef LZ_GRAPH_EFFECTS_H
#define LZ_GRAPH_EFFECTS_H

#include "graph/ir.h"

enum {
    LZ_EFFECT_WRITES = 1, /* changes an input */
    LZ_EFFECT_OTHER = 2,  /* raises, prints, or nobody knows */
    LZ_EFFECT_RANDOM = 4  /* draws numbers: order and number of draws count */
};

unsigned lz_ir_effects(const lz_ir_node *n);

/* Nobody knows what it does. */
bool lz_ir_unknown(const lz_ir_node *n);

/* Whether input i is changed. */
bool lz_ir_writes_to(const lz_ir_node *n, uint32_t i);

/* Whether output `out` may share memory with input `in`, or hold it. Not for nodes with
 * blocks, whose results come from there. */
bool lz_ir_may_alias(const lz_ir_node *n, uint32_t in, uint32_t out);

/* All uses only look at the value: none changes it, keeps it or passes it on. */
bool lz_ir_only_read(const lz_ir_value *v);

#endif
