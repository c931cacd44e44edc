/* cache.h - compiled graphs by their words.
 *
 * A graph is compiled once per process. When there are too many graphs, or too many bytes, the cache drops
 * the least recently used one. The hash only finds candidates; the words decide. Any thread may use the
 * cache. */
#ifndef LZ_LAZY_CACHE_H
#define LZ_LAZY_CACHE_H

#include "lazy/executable.h"
#include "lazy/flat.h"

typedef struct lz_cache lz_cache;

/* The cache keeps at most `limit` compiled graphs and at most `bytes` of memory, but always the newest graph,
 * however large. */
LZ_MUST_USE lz_err *lz_cache_create(size_t limit, size_t bytes, lz_cache **out);
void lz_cache_destroy(lz_cache *c); /* requires that no thread compiles */

void lz_cache_set_limit(lz_cache *c, size_t limit); /* at least 1 */
size_t lz_cache_limit(lz_cache *c);
void lz_cache_set_bytes(lz_cache *c, size_t bytes);

/* The answer of lz_cache_find: one of `executable`, `order` and `to_make` is set. */
typedef struct lz_cache_lookup {
    lz_executable *executable; /* found: one count of the caller */
    const uint32_t *order;     /* the graph is known with its roots in this order; in the caller's `room` */
    struct lz_cached *to_make; /* the caller has to compile the graph and call lz_cache_finish */
    bool again;                /* with to_make: the graph was in the cache before and was dropped */
} lz_cache_lookup;

/* Waits while another thread compiles the graph. room: memory for an order, nroots numbers. */
LZ_MUST_USE lz_err *lz_cache_find(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room,
                                  lz_cache_lookup *out);
/* Finds without counting as a use. NULL: absent. One count of the caller. */
lz_executable *lz_cache_peek(lz_cache *c, const lz_flat *f);
/* Like lz_cache_peek, by the hash and the address of the words, which need not be valid. */
lz_executable *lz_cache_hold(lz_cache *c, const lz_flat *f);
/* Like lz_cache_peek, by the hash alone; words (may be NULL): gets the graph. Fails only for lack of
 * memory. */
LZ_MUST_USE lz_err *lz_cache_peek_hash(lz_cache *c, lz_hash hash, lz_words *words, lz_executable **out);

/* executable NULL: compiling failed, and the next lookup may compile again. The caller keeps its count. */
void lz_cache_finish(lz_cache *c, struct lz_cached *made, lz_executable *executable);
/* The graph of `made` is another, already known one, with its roots in the order given. */
void lz_cache_redirect(lz_cache *c, struct lz_cached *made, const uint32_t *order, size_t n);

void lz_cache_drop(lz_cache *c);
bool lz_cache_drop_hash(lz_cache *c, lz_hash hash);
size_t lz_cache_size(lz_cache *c); /* compiled graphs in it */

/* The memory of all entries, by purpose. */
typedef struct lz_cache_parts {
    size_t all;
    size_t keys;         /* the graphs' words, by which they are found, and entries */
    size_t lines;        /* of the program that the nodes come from */
    size_t executables;  /* what a sync needs to run the computations, scopes of nodes */
    size_t computations; /* of the backends */
} lz_cache_parts;
lz_cache_parts lz_cache_measure(lz_cache *c);

/* Calls fn for each compiled graph, the latest used first, until it returns false; the cache is
 * locked meanwhile. */
typedef bool lz_cache_fn(void *user, const lz_flat *f, const lz_loc *locs, const lz_executable *p);
void lz_cache_each(lz_cache *c, lz_cache_fn *fn, void *user);

#endif
