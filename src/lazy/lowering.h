/* lowering.h - a graph to be compiled, as the core fills it and backends read it.
 *
 * Nodes that the core puts there are copies of the lowering's own: numbered by place, never counted,
 * gone with the arena. Nodes that are added by hand stay those of their context. */
#ifndef LZ_LAZY_LOWERING_H
#define LZ_LAZY_LOWERING_H

#include "base/arena.h"
#include "base/vec.h"
#include "lazy/node.h"

struct lz_lowering {
    lz_arena *arena;
    const char *name;
    lz_backend_device device;
    LZ_VEC(const lz_node *) nodes; /* node->index is its place */
    LZ_VEC(uint8_t) emission;      /* lz_emission of each */
    LZ_VEC(lz_output) results;
    LZ_VEC(lz_parameter) parameters;
    LZ_VEC(lz_alias_pair) aliases;
    const lz_backend *backend; /* whose payload it has; NULL: none yet */
    void *payload;
};

void lz_lowering_init(lz_lowering *l, lz_arena *a, const char *name, lz_backend_device d);
void lz_lowering_deinit(lz_lowering *l);

/* Puts a node behind the others. */
LZ_MUST_USE lz_err *lz_lowering_place(lz_lowering *l, lz_node *n);
/* The place of the node that was being emitted when compiling failed, or SIZE_MAX. */
size_t lz_lowering_blamed(const lz_lowering *l);

/* Pairs results with parameters of the same type that die, each once: lz_lowering_set_up_alias. */
LZ_MUST_USE lz_err *lz_lowering_pair_up(lz_lowering *l, const bool *dying);

/* Lets the backend put its payload there; lz_lowering_deinit lets it take it away. */
LZ_MUST_USE lz_err *lz_lowering_start(lz_lowering *l, const lz_backend *b);

#endif
