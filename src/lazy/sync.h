/* sync.h - what a context keeps between its syncs.
 *
 * Belongs to the context's thread. Jobs that were begun and not yet looked after hang in a
 * list, the oldest first; their failures are told once, by whichever call looks first. */
#ifndef LZ_LAZY_SYNC_H
#define LZ_LAZY_SYNC_H

#include "lazy/ctx.h"
#include "lazy/job.h"
#include "lazy/walk.h"
#include "lazy/watch.h"

typedef struct lz_root {
    lz_alias *cell;
    lz_output value;
    uint32_t turn; /* in the order of the cells */
} lz_root;

typedef LZ_VEC(lz_root) lz_roots;
typedef struct lz_closures lz_closures;

enum { LZ_MOST_ASKED = 256 };

/* A graph that lz_graph_hash was asked about, and what lz_run_cached has to know of it. */
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
    lz_watch watch;
    uint32_t drops;         /* graphs that were compiled again */
    lz_text explained;      /* what lz_explain gave out last */
    LZ_VEC(lz_asked) asked; /* the latest LZ_MOST_ASKED graphs, each once */
    size_t oldest_asked;    /* once there are so many */
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

/* What a sync computes besides what it is asked for. Nothing that is wanted may be computed again by
 * each later sync, so a program that only reads runs all it has recorded, as lz_mark_step does. */
typedef enum lz_sync_extent {
    LZ_SYNC_THESE,  /* nothing */
    LZ_SYNC_SHARED, /* if other tensors need some of it: those of LZ_SYNC_LIVE */
    LZ_SYNC_LIVE,   /* if anything is asked for: all that is pending, except what lz_passes_by says */
    LZ_SYNC_ALL     /* all that is pending */
} lz_sync_extent;

/* Roots of one device, sorted by structure; those that are data already become held at once. */
LZ_MUST_USE lz_err *lz_sync_collect(lz_ctx *c, lz_alias *const *roots, size_t n, lz_sync_extent extent);
/* An element-wise step on the way from held data to something else, which only the innermost scope keeps:
 * most likely nobody will ask for it, and to write it to memory would cost more than to compute it once
 * again. Says so once of each node, so that a chain of them does not grow. mark: of lz_walk_mark, the same
 * for all that one sync asks about, newest first. */
bool lz_passes_by(const lz_alias *a, uint32_t mark);
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
