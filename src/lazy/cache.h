/* cache.h - compiled graphs by their words.
 *
 * A graph is compiled once, whoever asks, and stays until it is the longest unused of too
 * many, or of too many bytes. The hash only leads to candidates; the words decide. Any thread may use it. */
#ifndef LZ_LAZY_CACHE_H
#define LZ_LAZY_CACHE_H

#include "lazy/flat.h"
#include "lazy/recipe.h"

typedef struct lz_cache lz_cache;

/* It keeps at most `limit` compiled graphs, and of these no more than take `bytes` of memory; but
 * always the newest, however large. */
LZ_MUST_USE lz_err *lz_cache_create(size_t limit, size_t bytes, lz_cache **out);
void lz_cache_destroy(lz_cache *c); /* nobody may be compiling */

void lz_cache_set_limit(lz_cache *c, size_t limit); /* at least 1 */
size_t lz_cache_limit(lz_cache *c);
void lz_cache_set_bytes(lz_cache *c, size_t bytes);

/* A graph that is being looked for. */
typedef struct lz_ticket {
    lz_recipe *recipe;         /* it is there: one count of the caller */
    const uint32_t *order;     /* or: it is known with its roots in this order; copied to the caller's room */
    struct lz_cached *to_make; /* or: it is the caller's to compile, and to end with lz_cache_finish */
    bool again;                /* ... and was in the cache before, until it was the longest unused */
} lz_ticket;

/* Waits while somebody else compiles this very graph. room: for an order, nroots of them. */
LZ_MUST_USE lz_err *lz_cache_find(lz_cache *c, const lz_flat *f, const lz_loc *locs, uint32_t *room,
                                  lz_ticket *out);
/* Looks only; counts as no use. NULL: absent. One count of the caller. */
lz_recipe *lz_cache_peek(lz_cache *c, const lz_flat *f);
lz_recipe *lz_cache_peek_hash(lz_cache *c, lz_hash hash, lz_words *words);

/* recipe NULL: it failed, the next one may try. Otherwise takes over nothing. */
void lz_cache_finish(lz_cache *c, struct lz_cached *made, lz_recipe *recipe);
/* The graph of `made` is another, already known one, with its roots in the order given. */
void lz_cache_redirect(lz_cache *c, struct lz_cached *made, const uint32_t *order, size_t n);

void lz_cache_drop(lz_cache *c);
bool lz_cache_drop_hash(lz_cache *c, lz_hash hash);
size_t lz_cache_size(lz_cache *c);  /* compiled graphs in it */
size_t lz_cache_bytes(lz_cache *c); /* that all in it takes */

/* The same by what it is for. */
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
typedef bool lz_cache_fn(void *user, const lz_flat *f, const lz_loc *locs, const lz_recipe *p);
void lz_cache_each(lz_cache *c, lz_cache_fn *fn, void *user);

#endif
