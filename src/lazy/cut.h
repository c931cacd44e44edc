/* cut.h - a part of a flat graph, ready to be lowered.
 *
 * What the part needs from outside it, data or the output of a node that is not in it, is a
 * parameter; its wanted outputs are its results. Everything lies in one arena and depends on
 * nothing else, so that a part may be compiled by any thread. */
#ifndef LZ_LAZY_CUT_H
#define LZ_LAZY_CUT_H

#include "base/arena.h"
#include "lazy/flat.h"

/* Nodes of a flat graph by place, and where run-time numbers of each begin. */
typedef struct lz_places {
    const uint64_t *words;
    uint32_t n;
    const uint64_t **at;    /* [n] */
    uint32_t *first_number; /* [n] among all numbers of the graph */
    uint32_t *first_slot;   /* [n] among all values: first the data, then the outputs of operators */
    const uint64_t *roots;  /* refs */
    bool *is_root;          /* [n] */
    uint32_t nroots, nleaves, nnumbers, nslots;
} lz_places;

LZ_MUST_USE lz_err *lz_places_init(lz_arena *a, const uint64_t *words, lz_places *out);

static inline uint32_t lz_places_slot(const lz_places *p, uint64_t ref)
{
    return p->first_slot[lz_flat_ref_place(ref)] + lz_flat_ref_output(ref);
}

/* What a parameter of a part stands for: a value, or a run-time number, of the whole graph. */
typedef struct lz_source {
    bool is_number;
    uint32_t at; /* slot, or which number */
} lz_source;

typedef struct lz_cut {
    lz_lowering *lowering;
    lz_source *sources; /* of the parameters */
    size_t nsources;
    uint32_t *place_of; /* by place in the part: place in the whole graph */
    size_t nnodes;
} lz_cut;

/* Where nodes were recorded, by place; either may be NULL. */
typedef struct lz_origins {
    const lz_loc *locs;
    const char *const *scopes;
} lz_origins;

/* in[place]: the node belongs to the part. Of a whole graph, nodes and parameters keep their
 * order. The lowering is to be deinitialised. */
LZ_MUST_USE lz_err *lz_cut_make(lz_arena *a, const lz_places *p, const bool *in, const uint64_t *results,
                                size_t nresults, lz_origins origins, const char *name, lz_backend_device d,
                                lz_cut *out);

/* needed[place]: something that leads to one of the refs. */
LZ_MUST_USE lz_err *lz_cut_reach(lz_arena *a, const lz_places *p, const uint64_t *refs, size_t n,
                                 bool **needed);

#endif
