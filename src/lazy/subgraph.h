/* subgraph.h - a part of a flat graph, ready to be lowered.
 *
 * Values from outside the part (data, outputs of nodes that are not in the part) are parameters; the
 * outputs that are needed outside are results. The functions of backend.h read nodes of the part from
 * the words of the graph, which must outlive the part. Everything else is in one arena, so that any
 * thread may compile a part. */
#ifndef LZ_LAZY_SUBGRAPH_H
#define LZ_LAZY_SUBGRAPH_H

#include "base/arena.h"
#include "lazy/flat.h"
#include <assert.h>

/* Nodes of a flat graph by place, and where run-time numbers of each begin. */
typedef struct lz_graph_index {
    const uint64_t *words;
    uint32_t n;
    const uint64_t **at;    /* [n] */
    uint32_t *first_number; /* [n] among all numbers of the graph */
    uint32_t *first_slot;   /* [n] among all values: first the data, then the outputs of operators */
    const uint64_t *roots;  /* refs */
    bool *is_root;          /* [n] */
    uint32_t nroots, nleaves, nnumbers, nslots;
} lz_graph_index;

LZ_MUST_USE lz_err *lz_graph_index_init(lz_arena *a, const uint64_t *words, lz_graph_index *out);

static inline uint32_t lz_graph_index_slot(const lz_graph_index *p, uint64_t ref)
{
    return p->first_slot[lz_flat_ref_place(ref)] + lz_flat_ref_output(ref);
}

/* The value, or the run-time number, of the whole graph that becomes a parameter of a part. */
typedef struct lz_source {
    bool is_number;
    uint32_t at; /* slot, or which number */
} lz_source;

typedef struct lz_subgraph {
    lz_lowering *lowering;
    lz_source *sources; /* of the parameters */
    size_t nsources;
    uint32_t *place_of; /* by place in the part: place in the whole graph */
    size_t nnodes;
} lz_subgraph;

/* Where nodes were recorded, by place; either may be NULL. */
typedef struct lz_origins {
    const lz_loc *locs;
    const char *const *scopes;
} lz_origins;

/* A node of a part, as a backend sees it: lz_node_op and the other functions of backend.h read `at`.
 * Only operands are stored, because backend.h hands them out as an array. A value from outside
 * the part looks like data. */
typedef struct lz_subgraph_node {
    uint64_t born;               /* 0: not recorded */
    const uint64_t *at;          /* words of the node */
    const uint64_t *const *type; /* of each output: where its words begin */
    const lz_output *in;
    const lz_loc *loc; /* NULL: unknown */
    const char *scope; /* NULL: none */
    uint32_t place;    /* in the whole graph */
    uint32_t index;    /* in the part */
} lz_subgraph_node;

/* NULL: n is a recorded node. */
static inline lz_subgraph_node *lz_subgraph_node_of(const lz_node *n)
{
    return lz_node_is_recorded(n) ? NULL : (lz_subgraph_node *)(void *)n;
}
static inline lz_node *lz_subgraph_handle(lz_subgraph_node *n)
{
    assert(n->born == 0);
    return (lz_node *)(void *)n;
}

/* in[place]: the node belongs to the part. If the part is the whole graph, nodes and parameters keep their
 * order. The caller deinitialises the lowering. */
LZ_MUST_USE lz_err *lz_subgraph_make(lz_arena *a, const lz_graph_index *p, const bool *in,
                                     const uint64_t *results, size_t nresults, lz_origins origins,
                                     const char *name, lz_backend_device d, lz_subgraph *out);

/* needed[place]: the node is needed to compute one of the refs. */
LZ_MUST_USE lz_err *lz_subgraph_reach(lz_arena *a, const lz_graph_index *p, const uint64_t *refs, size_t n,
                                      bool **needed);

#endif
