/* lowering.h - a graph to be compiled, as the core fills it and backends read it.
 *
 * Its nodes are copies of its own: numbered by place, never counted, gone with the arena. */
#ifndef LZ_LAZY_LOWERING_H
#define LZ_LAZY_LOWERING_H

#include "base/arena.h"
#include "base/vec.h"
#include "lazy/node.h"

struct lz_lowering {
    lz_arena *arena;
    const char *name;
    lz_backend_device device;
    LZ_VEC(const lz_node *) nodes; /* node->index is its place, node->mark its lz_emission */
    LZ_VEC(lz_output) results;
    LZ_VEC(lz_parameter) parameters;
    LZ_VEC(lz_alias_pair) aliases;
    const lz_backend *backend; /* whose payload it has; NULL: none yet */
    void *payload;
};

void lz_lowering_init(lz_lowering *l, lz_arena *a, const char *name, lz_backend_device d);
void lz_lowering_deinit(lz_lowering *l);

/* Lets the backend put its payload there; lz_lowering_deinit lets it take it away. */
LZ_MUST_USE lz_err *lz_lowering_start(lz_lowering *l, const lz_backend *b);

#endif
