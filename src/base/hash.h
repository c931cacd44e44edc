/* hash.h - XXH3 in 128 and 64 bits.
 *
 * The same bytes hash alike in every process and on every machine, so hashes may
 * be stored. 128 bits make collisions unlikely, not impossible: whoever merges by
 * hash compares the contents too. */
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

/* 32 lower-case hexadecimal digits and a NUL, as xxhsum -H2 prints them. */
void lz_hash_print(lz_hash h, char out[LZ_HASH_CHARS]);

uint64_t lz_hash64(const void *data, size_t size);

#endif
