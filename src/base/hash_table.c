#include "base/hash_table.h"
#include "base/mem.h"
#include <string.h>

enum { FIRST_BUCKETS = 64 };

void lz_hash_table_deinit(lz_hash_table *t)
{
    lz_mem_free(t->buckets);
    *t = (lz_hash_table){ 0 };
}

void lz_hash_table_clear(lz_hash_table *t)
{
    if (t->count)
        memset((void *)t->buckets, 0, (t->mask + 1) * sizeof *t->buckets);
    t->count = 0;
}

lz_err *lz_hash_table_grow(lz_hash_table *t, const lz_hash_kind *k)
{
    size_t n = t->buckets ? 4 * (t->mask + 1) : FIRST_BUCKETS;
    lz_hash_table bigger = { .mask = n - 1, .buckets = lz_mem_zalloc(n, sizeof *bigger.buckets) };
    if (!bigger.buckets)
        return lz_err_oom();
    for (size_t i = 0; t->count && i <= t->mask; i++)
        for (void *x = t->buckets[i], *next; x; x = next) {
            next = *lz_hash_next(k, x);
            lz_hash_table_add(&bigger, k, k->hash(x), x);
        }
    lz_mem_free(t->buckets);
    *t = bigger;
    return NULL;
}

void *lz_hash_table_next(const lz_hash_table *t, const lz_hash_kind *k, void *after)
{
    void *x = after ? *lz_hash_next(k, after) : NULL;
    size_t at = after ? (k->hash(after) & t->mask) + 1 : 0;
    while (!x && t->count && at <= t->mask)
        x = t->buckets[at++];
    return x;
}

/* ---- items with an address or a number as key ---- */

/* Folds the halves first: multiplication does not carry the upper half into the lower. */
static uint64_t spread(uint64_t key)
{
    return lz_hash_word64(0, key ^ key >> 32);
}

static uint64_t hash_of_entry(const void *item)
{
    return spread(((const lz_hash_entry *)item)->key);
}

const lz_hash_kind lz_hash_entries = { offsetof(lz_hash_entry, link), hash_of_entry };

static bool has_key(const void *item, const void *key)
{
    return ((const lz_hash_entry *)item)->key == *(const uint64_t *)key;
}

void *lz_hash_table_get(const lz_hash_table *t, uint64_t key)
{
    return lz_hash_table_find(t, &lz_hash_entries, spread(key), has_key, &key);
}

lz_err *lz_hash_table_make(lz_hash_table *t, lz_arena *a, uint64_t key, size_t size, void *out)
{
    lz_hash_entry *x = lz_hash_table_get(t, key);
    if (!x) {
        LZ_TRY(lz_hash_table_reserve(t, &lz_hash_entries));
        x = lz_arena_zalloc(a, size);
        if (!x)
            return lz_err_oom();
        x->key = key;
        lz_hash_table_add(t, &lz_hash_entries, spread(key), x);
    }
    memcpy(out, (const void *)&x, sizeof x);
    return NULL;
}
