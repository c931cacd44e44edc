/* lowering.h - a graph to be compiled, as the core fills it and backends read it.
 *
 * Nodes that the core adds are those of a subgraph (subgraph.h): numbered by place, not counted, and freed
 * with the arena. Nodes that are added by hand still belong to their context. */
#ifndef LZ_LAZY_LOWERING_H
#define LZ_LAZY_LOWERING_H

#include "base/arena.h"
#include "base/vec.h"
#include "lazy/subgraph.h"

struct lz_lowering {
    lz_arena *arena;
    const char *name;
    lz_backend_device device;
    LZ_VEC(const lz_node *) nodes; /* node->index is its place */
    LZ_VEC(uint8_t) emission;      /* lz_emission of each */
    LZ_VEC(lz_output) results;
    LZ_VEC(lz_parameter) parameters;
    LZ_VEC(lz_alias_pair) aliases;
    const lz_backend *backend; /* the owner of `payload`; NULL: no payload yet */
    void *payload;
};

void lz_lowering_init(lz_lowering *l, lz_arena *a, const char *name, lz_backend_device d);
void lz_lowering_deinit(lz_lowering *l);

/* Appends a node. */
LZ_MUST_USE lz_err *lz_lowering_place(lz_lowering *l, lz_node *n);
/* Adds the parameters of a node: the node itself, if it is data, or its run-time numbers. */
LZ_MUST_USE lz_err *lz_lowering_add_parameters(lz_lowering *l, const lz_node *n);
/* The place of the node that was being emitted when compiling failed, or SIZE_MAX. */
size_t lz_lowering_blamed(const lz_lowering *l);

/* Pairs results with dying parameters of equal type by lz_lowering_set_up_alias; uses each once. */
LZ_MUST_USE lz_err *lz_lowering_pair_up(lz_lowering *l, const bool *dying);

/* Calls the backend's create_lowering_context; lz_lowering_deinit calls release_lowering_context. */
LZ_MUST_USE lz_err *lz_lowering_start(lz_lowering *l, const lz_backend *b);

#endif
