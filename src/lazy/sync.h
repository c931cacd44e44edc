/* sync.h - what a context keeps between its syncs.
 *
 * Belongs to the context's thread. Jobs that were begun and not yet looked after hang in a
 * list, the oldest first; their failures are told once, by whichever call looks first. */
#ifndef LZ_LAZY_SYNC_H
#define LZ_LAZY_SYNC_H

#include "lazy/ctx.h"
#include "lazy/job.h"
#include "lazy/walk.h"

typedef struct lz_root {
    lz_alias *cell;
    lz_output value;
    uint32_t turn; /* in the order of the cells */
} lz_root;

typedef LZ_VEC(lz_root) lz_roots;
typedef struct lz_closures lz_closures;

/* The graph that lz_graph_hash was asked about last. */
typedef struct lz_asked {
    lz_hash key;
    LZ_VEC(lz_scalar) numbers;
    LZ_VEC(uint32_t) result_of; /* by tensor */
} lz_asked;

/* The graph that had to be compiled last; why is found out when somebody asks. */
typedef struct lz_missed {
    lz_words words;
    LZ_VEC(lz_loc) locs;
    lz_hash hash;
    bool unexplained;
    lz_text why;
} lz_missed;

typedef struct lz_syncer {
    lz_walk walk;
    lz_device device; /* of the graph at hand */
    const lz_backend *backend;
    lz_roots roots; /* of it */
    lz_roots rest;  /* those on other devices */
    LZ_VEC(lz_output) outputs;
    LZ_VEC(uint32_t) result_of; /* by root */
    LZ_VEC(uint32_t) order;
    lz_job *oldest, *youngest;
    size_t njobs;
    char *forced; /* operators that must not run on the device; NULL: none */
    uint64_t fence;
    lz_missed missed;
    lz_asked asked;
    lz_counted *counted;
    lz_closures *closures;
} lz_syncer;

/* Roots of one device, sorted by structure; those that are data already become held at once. */
LZ_MUST_USE lz_err *lz_sync_collect(lz_ctx *c, lz_alias *const *roots, size_t n, bool all);
/* Walks the graph of the collected roots, in the order in which it is compiled. */
LZ_MUST_USE lz_err *lz_sync_walk(lz_ctx *c);
/* The graph of the collected roots: a walk, and its recipe if it has one or may be compiled. */
LZ_MUST_USE lz_err *lz_sync_recipe(lz_ctx *c, lz_loc at, lz_recipe **out);

/* Why the last graph was compiled: in missed.why. */
LZ_MUST_USE lz_err *lz_sync_explain(lz_ctx *c);

/* The next device's, after the former are done with; false: there are none. */
bool lz_sync_next(lz_ctx *c);

/* The first failure of jobs that are over; wait: of all jobs. */
LZ_MUST_USE lz_err *lz_sync_reap(lz_ctx *c, bool wait);

#endif
