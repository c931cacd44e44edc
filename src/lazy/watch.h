/* watch.h - programs that become slower as they run, noticed and named.
 *
 * Three mistakes cost time and change no result: a graph that grows with each sync, a cache that drops graphs
 * which are asked for again, and temporaries that no scope releases. A context compares a few numbers at each
 * sync. Only after a number has risen several times in a row does the context look for the line of the
 * program. It keeps a warning, which lz_explain and lz_metrics_text print. */
#ifndef LZ_LAZY_WATCH_H
#define LZ_LAZY_WATCH_H

#include "base/text.h"
#include "lazy/ctx.h"

typedef enum lz_slowdown {
    LZ_SLOWDOWN_GROWING, /* graphs or pending values grow */
    LZ_SLOWDOWN_DROPPED, /* graphs are compiled again */
    LZ_SLOWDOWN_SCOPE,   /* tensors are not released */
    LZ_SLOWDOWNS
} lz_slowdown;

/* A rising number: equal values are ignored; a smaller value starts anew. */
typedef struct lz_rising_count {
    size_t first, last;
    uint32_t length;
} lz_rising_count;

enum { LZ_WATCHED_LINES = 8 };

typedef struct lz_watch {
    struct {
        lz_loc at; /* of the sync */
        lz_rising_count nodes;
    } lines[LZ_WATCHED_LINES]; /* where graphs were compiled most recently */
    uint32_t next_line;
    lz_loc hit;   /* the last sync that found its graph in the cache */
    bool dropped; /* the current graph was compiled before, and dropped by the cache */
    lz_rising_count pending, tensors;
    lz_text warnings[LZ_SLOWDOWNS]; /* ends with '\0'; empty: no warning */
} lz_watch;

void lz_watch_deinit(lz_watch *w);

/* Called when a sync begins. */
void lz_watch_tensors(lz_ctx *c, lz_loc at);
/* Called when the context's walk has to be compiled. */
void lz_watch_compiled(lz_ctx *c, lz_loc at);
/* Called when a sync that leaves other tensors pending has ended. */
void lz_watch_rest(lz_ctx *c, lz_loc at);

#endif
