/* map.h - maps byte strings to pointers, in order of first insertion.
 *
 * Keys are borrowed: their bytes must live as long as the map. Iteration is in the order of insertion, so
 * everything printed from a map is reproducible. For that order entries are in an array, which moves as it
 * grows: they cannot be the linked items of base/hash_table.h. */
#ifndef LZ_BASE_MAP_H
#define LZ_BASE_MAP_H

#include "base/err.h"
#include "base/str.h"

typedef struct lz_map_entry {
    lz_str key; /* ptr NULL: removed */
    void *value;
    uint64_t hash;
} lz_map_entry;

/* A zeroed map is empty. */
typedef struct lz_map {
    lz_map_entry *entries; /* in order of insertion, with holes for removed ones */
    uint32_t *slots;       /* 1 + index into entries; 0: free; open addressing, a power of two */
    size_t len, cap;       /* entries including holes; capacity */
    size_t live, slot_count;
} lz_map;

void lz_map_deinit(lz_map *m);

/* Adds or replaces; replacing keeps the position in the order and the first key's bytes. */
LZ_MUST_USE lz_err *lz_map_put(lz_map *m, lz_str key, void *value);
bool lz_map_remove(lz_map *m, lz_str key);

lz_map_entry *lz_map_find(const lz_map *m, lz_str key); /* NULL: absent */
void *lz_map_get(const lz_map *m, lz_str key);          /* NULL: absent, or NULL was put */
size_t lz_map_count(const lz_map *m);

/* for (lz_map_entry *e = lz_map_next(m, NULL); e; e = lz_map_next(m, e)) */
lz_map_entry *lz_map_next(const lz_map *m, const lz_map_entry *after);

#endif
