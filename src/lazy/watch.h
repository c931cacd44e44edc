/* watch.h - programs that become slower as they run, noticed and named.
 *
 * Three mistakes cost time and change no result: a graph that grows with each sync, a cache that drops graphs
 * which are asked for again, and temporaries that no scope releases. A context compares a few numbers at each
 * sync. Only after one of them has risen several times in a row does it look for the line of the program, and
 * keeps a sentence, which lz_explain and lz_metrics_text tell. */
#ifndef LZ_LAZY_WATCH_H
#define LZ_LAZY_WATCH_H

#include "base/text.h"
#include "lazy/ctx.h"

typedef enum lz_trouble {
    LZ_TROUBLE_GROWING, /* graphs, or what stays pending */
    LZ_TROUBLE_DROPPED, /* graphs are compiled again */
    LZ_TROUBLE_SCOPE,   /* tensors are not released */
    LZ_TROUBLES
} lz_trouble;

/* A number that rises: equal ones are ignored, a smaller one begins anew. */
typedef struct lz_streak {
    size_t first, last;
    uint32_t length;
} lz_streak;

enum { LZ_WATCHED_LINES = 8 };

typedef struct lz_watch {
    struct {
        lz_loc at; /* of the sync */
        lz_streak nodes;
    } lines[LZ_WATCHED_LINES]; /* where graphs were compiled last */
    uint32_t next_line;
    lz_loc hit;   /* the last sync whose graph was there */
    bool dropped; /* the graph at hand had been compiled before */
    lz_streak pending, tensors;
    lz_text told[LZ_TROUBLES]; /* ends with '\0'; empty: nothing to tell */
} lz_watch;

void lz_watch_deinit(lz_watch *w);

/* A sync begins. */
void lz_watch_tensors(lz_ctx *c, lz_loc at);
/* A graph, the context's walk, has to be compiled; why has been asked for (lz_sync_explain). */
void lz_watch_compiled(lz_ctx *c, lz_loc at);
/* A sync that leaves other tensors pending has ended. */
void lz_watch_rest(lz_ctx *c, lz_loc at);

#endif
