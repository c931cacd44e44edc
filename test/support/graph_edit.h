/* graph_edit.h - changes of a graph that no pass makes: they may break what lz_graph_verify checks. */
#ifndef LZ_TEST_GRAPH_EDIT_H
#define LZ_TEST_GRAPH_EDIT_H

#include "graph/ir.h"

/* Input i of the node becomes v, whatever their types and blocks are. */
static inline void set_input(lz_ssa_node *n, uint32_t i, lz_ssa_value *v)
{
    lz_ssa_use *u = &n->in[i];
    *(u->prev ? &u->prev->next : &u->value->uses) = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->value->nuses--;
    *u = (lz_ssa_use){ .value = v, .user = n, .next = v->uses };
    if (v->uses)
        v->uses->prev = u;
    v->uses = u;
    v->nuses++;
}

#endif
