/* code_entry.h - an entry of the cache of compiled kernels, as bytes.
 *
 * An entry holds its whole key: it is found by a hash and taken by what it says. The last
 * 16 bytes are a hash of all before them, so what was cut off, added or changed is told
 * from what was written. Numbers are little-endian.
 *
 *     magic (8)   format, 0 (4 + 4)   bytes of key, of object (8 + 8)
 *     key, zeros up to a multiple of 16, object, hash (16) */
#ifndef LZ_JIT_CODE_ENTRY_H
#define LZ_JIT_CODE_ENTRY_H

#include "base/hash.h"
#include "base/text.h"

enum { LZ_ENTRY_MOST = 64 << 20 }; /* bytes; no kernel comes near */

typedef struct lz_entry {
    lz_str key, object; /* into the bytes; the object is aligned to 16 if they are */
} lz_entry;

/* Bytes of the whole entry; 0 if that would be more than LZ_ENTRY_MOST. */
size_t lz_entry_size(lz_str key, lz_str object);
void lz_entry_write(lz_str key, lz_str object, lz_text *out);

/* NULL if the bytes are an entry, all of one and nothing else; else what is wrong with them. */
const char *lz_entry_read(lz_str bytes, lz_entry *out);

/* The name of the entry's file: 32 hexadecimal digits and ".kernel". */
enum { LZ_ENTRY_NAME = 40 };
void lz_entry_name(lz_str key, char out[LZ_ENTRY_NAME]);
bool lz_entry_is_name(lz_str name);

#endif
