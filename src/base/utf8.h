/* utf8.h - one code point to and from UTF-8, strictly: the shortest form only, no
 * surrogates, nothing above U+10FFFF. */
#ifndef LZ_BASE_UTF8_H
#define LZ_BASE_UTF8_H

#include "base/str.h"

/* The length of the first code point of s (1 to 4 bytes); 0 if it is malformed or s is empty. */
size_t lz_utf8_decode(lz_str s, uint32_t *out);
/* Returns the bytes written; the code point must be one that decode can return. */
size_t lz_utf8_encode(uint32_t code, char buf[4]);

#endif
