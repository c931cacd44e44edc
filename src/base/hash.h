/* hash.h - XXH3 in 128 and 64 bits.
 *
 * Equal bytes have equal hashes in every process and on every machine, so hashes may be stored. 128 bits make
 * collisions unlikely, not impossible: code that merges by hash must also compare the contents. */
#ifndef LZ_BASE_HASH_H
#define LZ_BASE_HASH_H

#include "base/str.h"

typedef struct lz_hash {
    uint64_t lo, hi;
} lz_hash;

enum { LZ_HASH_CHARS = 33 };

lz_hash lz_hash_bytes(const void *data, size_t size);
lz_hash lz_hash_mix(lz_hash a, lz_hash b); /* order matters */
lz_hash lz_hash_add(lz_hash h, uint64_t v);
static inline bool lz_hash_eq(lz_hash a, lz_hash b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* Adds one word: fast, and good enough for a table in memory whose user compares what it finds. */
static inline uint64_t lz_hash_word64(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 32;
}
static inline lz_hash lz_hash_word(lz_hash h, uint64_t v)
{
    h.lo = lz_hash_word64(h.lo, v);
    h.hi = (h.hi + v) * UINT64_C(0xc2b2ae3d27d4eb4f);
    h.hi ^= h.hi >> 29;
    return h;
}

/* 32 lower-case hexadecimal digits and a NUL, as xxhsum -H2 prints them. */
void lz_hash_print(lz_hash h, char out[LZ_HASH_CHARS]);

uint64_t lz_hash64(const void *data, size_t size);
uint64_t lz_hash64_pair(uint64_t a, uint64_t b); /* order matters */

#endif
