#include "base/map.h"
#include "base/hash.h"
#include "base/mem.h"

enum { FIRST_SLOTS = 16 };

void lz_map_deinit(lz_map *m)
{
    lz_mem_free(m->entries);
    lz_mem_free(m->slots);
    *m = (lz_map){ 0 };
}

/* The slot that holds the key, or the free one where it would go. */
static size_t probe(const lz_map *m, lz_str key, uint64_t hash)
{
    size_t mask = m->slot_count - 1, i = (size_t)hash & mask;
    for (; m->slots[i]; i = (i + 1) & mask) {
        const lz_map_entry *e = &m->entries[m->slots[i] - 1];
        if (e->hash == hash && e->key.ptr && lz_str_eq(e->key, key))
            break;
    }
    return i;
}

lz_map_entry *lz_map_find(const lz_map *m, lz_str key)
{
    if (!m->slot_count)
        return NULL;
    uint32_t at = m->slots[probe(m, key, lz_hash64(key.ptr, key.len))];
    return at ? &m->entries[at - 1] : NULL;
}

void *lz_map_get(const lz_map *m, lz_str key)
{
    const lz_map_entry *e = lz_map_find(m, key);
    return e ? e->value : NULL;
}

static void fill_slots(lz_map *m)
{
    memset(m->slots, 0, m->slot_count * sizeof *m->slots);
    for (size_t i = 0; i < m->len; i++)
        m->slots[probe(m, m->entries[i].key, m->entries[i].hash)] = (uint32_t)i + 1;
}

static void close_holes(lz_map *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->len; i++)
        if (m->entries[i].key.ptr)
            m->entries[kept++] = m->entries[i];
    m->len = kept;
}

/* Makes room for one more entry: removes holes if there are many, else doubles. Slots are at most half full,
 * and allocated first, so that a failure changes nothing. */
static lz_err *grow(lz_map *m)
{
    size_t slots = m->live * 2 < m->len ? m->slot_count : m->slot_count * 2;
    slots = slots < FIRST_SLOTS ? FIRST_SLOTS : slots;
    if (slots / 2 > UINT32_MAX)
        return lz_errf(LZ_ERR_LIMIT, "a map holds at most 2^32 entries");
    uint32_t *new_slots = lz_mem_zalloc(slots, sizeof *new_slots);
    lz_map_entry *entries = new_slots ? lz_mem_resize(m->entries, slots / 2 * sizeof *entries) : NULL;
    if (!entries) {
        lz_mem_free(new_slots);
        return lz_err_oom();
    }
    lz_mem_free(m->slots);
    m->slots = new_slots;
    m->entries = entries;
    m->slot_count = slots;
    m->cap = slots / 2;
    close_holes(m);
    fill_slots(m);
    return NULL;
}

lz_err *lz_map_put(lz_map *m, lz_str key, void *value)
{
    lz_map_entry *old = lz_map_find(m, key);
    if (old) {
        old->value = value;
        return NULL;
    }
    if (!m->entries || m->len == m->cap)
        LZ_TRY(grow(m));
    uint64_t hash = lz_hash64(key.ptr, key.len);
    m->slots[probe(m, key, hash)] = (uint32_t)m->len + 1;
    m->entries[m->len++] =
        (lz_map_entry){ .key = { key.ptr ? key.ptr : "", key.len }, .value = value, .hash = hash };
    m->live++;
    return NULL;
}

bool lz_map_remove(lz_map *m, lz_str key)
{
    lz_map_entry *e = lz_map_find(m, key);
    if (!e)
        return false;
    *e = (lz_map_entry){ .hash = e->hash }; /* its slot stays occupied, so that probing continues past it */
    m->live--;
    return true;
}

size_t lz_map_count(const lz_map *m)
{
    return m->live;
}

lz_map_entry *lz_map_next(const lz_map *m, const lz_map_entry *after)
{
    for (size_t i = after ? (size_t)(after - m->entries) + 1 : 0; i < m->len; i++)
        if (m->entries[i].key.ptr)
            return &m->entries[i];
    return NULL;
}
