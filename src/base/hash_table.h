/* hash_table.h - an intrusive hash table: items found by their contents, used for all interning.
 *
 * A table links items that the caller made and owns; it never copies, frees or moves one. An item embeds an
 * lz_hash_link, and a constant lz_hash_kind gives the offset of the link and the item's hash. The caller's
 * function decides equality, so a key need not have the type of an item:
 *
 *     typedef struct word { lz_hash_link link; uint64_t hash; lz_str text; } word;
 *     static uint64_t hash_of(const void *item) { return ((const word *)item)->hash; }
 *     static const lz_hash_kind words = { offsetof(word, link), hash_of };
 *
 *     word *w = lz_hash_table_find(&t, &words, hash, same, &text);
 *     if (!w) {
 *         LZ_TRY(lz_hash_table_reserve(&t, &words));    the only call that can fail
 *         w = ... make it ...;
 *         lz_hash_table_add(&t, &words, hash, w);
 *     }
 *
 * Chains, not open addressing: recorded nodes come and go millions of times a second, and with chains
 * removing one is a single store. The low bits of a hash choose the bucket, so they must be mixed: pass an
 * address or a small number through lz_hash_word64 first. A zeroed table is empty and owns nothing. Iteration
 * has no useful order. */
#ifndef LZ_BASE_HASH_TABLE_H
#define LZ_BASE_HASH_TABLE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lz_hash_link {
    void *next; /* next item of the bucket; the owner may use it while the item is in no table */
} lz_hash_link;

typedef struct lz_hash_kind {
    size_t link; /* offset of the lz_hash_link in an item */
    uint64_t (*hash)(const void *item);
} lz_hash_kind;

typedef struct lz_hash_table {
    void **buckets; /* a power of two, at least as many as items; NULL: none yet */
    size_t mask;    /* number of buckets - 1 */
    size_t count;   /* items */
} lz_hash_table;

/* Is this the item that the key describes? Called for items with any hash, so compare hashes first. */
typedef bool lz_hash_same(const void *item, const void *key);

void lz_hash_table_deinit(lz_hash_table *t); /* does not touch the items */
void lz_hash_table_clear(lz_hash_table *t);  /* keeps the buckets, too */

/* Inline, so that constant kinds and functions are inlined into the loops. */

static inline void **lz_hash_next(const lz_hash_kind *k, void *item)
{
    return &((lz_hash_link *)(void *)((char *)item + k->link))->next;
}

/* NULL: no such item. */
static inline void *lz_hash_table_find(const lz_hash_table *t, const lz_hash_kind *k, uint64_t hash,
                                       lz_hash_same *same, const void *key)
{
    void *x = t->buckets ? t->buckets[hash & t->mask] : NULL;
    while (x && !same(x, key))
        x = *lz_hash_next(k, x);
    return x;
}

/* Grows to four times the buckets; a failure changes nothing. */
LZ_MUST_USE __attribute__((cold)) lz_err *lz_hash_table_grow(lz_hash_table *t, const lz_hash_kind *k);

/* Makes room for one more item. */
LZ_MUST_USE static inline lz_err *lz_hash_table_reserve(lz_hash_table *t, const lz_hash_kind *k)
{
    return t->buckets && t->count <= t->mask ? NULL : lz_hash_table_grow(t, k);
}

/* Requires room, that `hash` is the item's hash, and that the table has no equal item. */
static inline void lz_hash_table_add(lz_hash_table *t, const lz_hash_kind *k, uint64_t hash, void *item)
{
    assert(t->buckets && t->count <= t->mask && k->hash(item) == hash);
    void **bucket = &t->buckets[hash & t->mask];
    *lz_hash_next(k, item) = *bucket;
    *bucket = item;
    t->count++;
}

/* Requires that this item is in the table. */
static inline void lz_hash_table_remove(lz_hash_table *t, const lz_hash_kind *k, void *item)
{
    void **at = &t->buckets[k->hash(item) & t->mask];
    while (*at != item) {
        assert(*at);
        at = lz_hash_next(k, *at);
    }
    *at = *lz_hash_next(k, item);
    t->count--;
}

/* The item after `after`, or the first one for NULL; NULL at the end. The table must not change meanwhile,
 * except that `after` may be removed once its successor is known. */
void *lz_hash_table_next(const lz_hash_table *t, const lz_hash_kind *k, void *after);

/* ---- items with an address or a number as key ---- */

/* Must be the first member of the item. */
typedef struct lz_hash_entry {
    lz_hash_link link;
    uint64_t key;
} lz_hash_entry;

extern const lz_hash_kind lz_hash_entries;

void *lz_hash_table_get(const lz_hash_table *t, uint64_t key); /* NULL: none */
/* LZ_TRY(lz_hash_table_entry(&t, &arena, key, &x)): x points to the item with this key. A new item is
 * allocated in the arena, zeroed except for its key. */
#define lz_hash_table_entry(t, a, key, out) lz_hash_table_make((t), (a), (key), sizeof **(out), (out))
LZ_MUST_USE lz_err *lz_hash_table_make(lz_hash_table *t, lz_arena *a, uint64_t key, size_t size, void *out);

#endif
