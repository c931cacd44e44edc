#include "base/hash.h"

/* Inlined from the header, so that the library needs no libxxhash at run time. */
#define XXH_INLINE_ALL
#include <xxhash.h>

static lz_hash of(XXH128_hash_t h)
{
    return (lz_hash){ .lo = h.low64, .hi = h.high64 };
}

lz_hash lz_hash_bytes(const void *data, size_t size)
{
    return of(XXH3_128bits(data, size));
}

lz_hash lz_hash_mix(lz_hash a, lz_hash b)
{
    const lz_hash pair[2] = { a, b };
    return of(XXH3_128bits(pair, sizeof pair));
}

lz_hash lz_hash_add(lz_hash h, uint64_t v)
{
    const uint64_t words[3] = { h.lo, h.hi, v };
    return of(XXH3_128bits(words, sizeof words));
}

void lz_hash_print(lz_hash h, char out[LZ_HASH_CHARS])
{
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        uint64_t word = i < 16 ? h.hi : h.lo;
        out[i] = hex[(word >> (60 - 4 * (i % 16))) & 15];
    }
    out[32] = '\0';
}

uint64_t lz_hash64(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

uint64_t lz_hash64_pair(uint64_t a, uint64_t b)
{
    const uint64_t pair[2] = { a, b };
    return lz_hash64(pair, sizeof pair);
}
