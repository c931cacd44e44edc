/* sync.h - what a context keeps between its syncs.
 *
 * Only the context's thread uses it. Jobs that were begun are in a list, the oldest first, until
 * lz_sync_reap removes them and reports their failures, each once. */
#ifndef LZ_LAZY_SYNC_H
#define LZ_LAZY_SYNC_H

#include "lazy/ctx.h"
#include "lazy/job.h"
#include "lazy/replicas.h"
#include "lazy/walk.h"
#include "lazy/watch.h"

typedef struct lz_root {
    lz_lazy_storage *cell;
    lz_output value;
    uint32_t turn; /* in the order of the cells */
} lz_root;

typedef LZ_VEC(lz_root) lz_roots;
typedef struct lz_closures lz_closures;

enum { LZ_HASH_QUERIES = 256 };

/* A graph of an lz_graph_hash call, and the facts that lz_run_cached needs. */
typedef struct lz_hash_query {
    lz_hash key;
    LZ_VEC(lz_scalar) numbers;
    LZ_VEC(uint32_t) result_of; /* by tensor */
} lz_hash_query;

/* The graph that was compiled last; the reason is worked out when lz_explain asks for it. */
typedef struct lz_cache_miss {
    lz_words words;
    LZ_VEC(lz_loc) locs;
    lz_hash hash;
    bool unexplained;
    lz_text why;
} lz_cache_miss;

enum { LZ_SYNC_GUESSES = 8 }; /* graphs that a program may repeat in turns */

typedef struct lz_syncer {
    lz_walk walk;
    lz_walk_guess guesses[LZ_SYNC_GUESSES]; /* by the hash of the first root: graphs found in the cache */
    lz_device device;                       /* of the graph at hand */
    const lz_backend *backend;
    lz_roots roots; /* of that device */
    lz_roots rest;  /* roots of other devices */
    LZ_VEC(lz_output) outputs;
    LZ_VEC(uint32_t) result_of; /* by root */
    LZ_VEC(uint32_t) order;
    lz_job *oldest, *youngest;
    size_t njobs;
    char *forced; /* operators that must not run on the device; NULL: none */
    uint64_t forced_hash;
    lz_hash latest; /* of the graph that ran last; 0: none */
    lz_replicas replicas;
    lz_cache_miss missed;
    lz_watch watch;
    uint32_t drops;              /* graphs that were compiled again */
    lz_text explained;           /* what lz_explain gave out last */
    LZ_VEC(lz_hash_query) asked; /* the latest LZ_HASH_QUERIES graphs, each once */
    size_t oldest_asked;         /* replaced next, when `asked` is full */
    lz_counted *counted;
    lz_closures *closures;
    lz_ir_builder builder; /* the backend's, completed, if it has one */
    uint32_t used;         /* bit i: the context has work on devices of type i */
} lz_syncer;

static inline void lz_ctx_uses(lz_ctx *c, lz_device d)
{
    if (c->syncer)
        c->syncer->used |= (uint32_t)1 << d.type;
}

/* Waits for the context's jobs, then for the devices that it used. */
LZ_MUST_USE lz_err *lz_ctx_finish(lz_ctx *c);

/* What a sync computes besides the requested storages. Without this, each later sync might compute pending
 * values again; so a program that only reads runs all that it has recorded, as lz_mark_step does. */
typedef enum lz_sync_extent {
    LZ_SYNC_THESE,  /* nothing */
    LZ_SYNC_SHARED, /* nothing, or the extent of LZ_SYNC_LIVE if other pending tensors share operators with
                       the requested ones */
    LZ_SYNC_LIVE, /* if any requested storage is pending: all pending ones except those of lz_is_unwanted_step
                   */
    LZ_SYNC_ALL   /* all pending storages */
} lz_sync_extent;

/* Collects roots of one device, sorted by structure. Pending storages whose value is data become held at
 * once. */
LZ_MUST_USE lz_err *lz_sync_collect(lz_ctx *c, lz_lazy_storage *const *roots, size_t n,
                                    lz_sync_extent extent);
/* Whether the storage is an element-wise intermediate result that only the innermost scope keeps. Most likely
 * the program will not read it, and computing it again is cheaper than storing it. True only once for each
 * node, so that chains of these nodes do not grow. mark: from lz_walk_mark, one for all storages of a sync.
 * Storages must be passed newest first. */
bool lz_is_unwanted_step(const lz_lazy_storage *a, uint32_t mark);
/* Walks the graph of the collected roots, in the order in which it is compiled. */
LZ_MUST_USE lz_err *lz_sync_walk(lz_ctx *c);
/* Walks the graph of the collected roots. *out: its executable, from the cache or newly compiled. */
LZ_MUST_USE lz_err *lz_sync_executable(lz_ctx *c, lz_loc at, lz_executable **out);

/* Writes the reason why the last graph was compiled to missed.why. */
LZ_MUST_USE lz_err *lz_sync_explain(lz_ctx *c);

/* Continues with the roots of the next device; false: there are no more. */
bool lz_sync_next(lz_ctx *c);

/* Removes the jobs that are done and returns their first failure; wait: waits for all jobs. */
LZ_MUST_USE lz_err *lz_sync_reap(lz_ctx *c, bool wait);

#endif
