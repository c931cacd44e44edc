/* code_entry.h - an entry of the cache of compiled kernels, as bytes.
 *
 * An entry is found by a hash of its key and accepted only if the whole key, which it stores, is equal. The
 * last 16 bytes are a hash of all bytes before them, so a truncated, extended or changed entry is detected.
 * Numbers are little-endian.
 *
 *     magic (8)   format, 0 (4 + 4)   bytes of key, of object (8 + 8)
 *     key, zeros up to a multiple of 16, object, hash (16) */
#ifndef LZ_JIT_CODE_ENTRY_H
#define LZ_JIT_CODE_ENTRY_H

#include "base/hash.h"
#include "base/text.h"

enum { LZ_ENTRY_MOST = 64 << 20 }; /* bytes; far above any kernel's object */

typedef struct lz_native_entry {
    lz_str key, object; /* point into the bytes that were read; the object is aligned to 16 if these are */
} lz_native_entry;

/* Bytes of the whole entry; 0 if it would exceed LZ_ENTRY_MOST. */
size_t lz_native_entry_size(lz_str key, lz_str object);
void lz_native_entry_write(lz_str key, lz_str object, lz_text *out);

/* NULL if the bytes are exactly one valid entry; else a text that says what is wrong. */
const char *lz_native_entry_read(lz_str bytes, lz_native_entry *out);

/* File name of the entry: 32 hexadecimal digits and ".kernel". */
enum { LZ_ENTRY_NAME = 40 };
void lz_native_entry_name(lz_str key, char out[LZ_ENTRY_NAME]);
bool lz_native_entry_is_name(lz_str name);

#endif
