/* utf8.h - one code point to and from UTF-8, strictly: the shortest form only, no
 * surrogates, nothing above U+10FFFF. */
#ifndef LZ_BASE_UTF8_H
#define LZ_BASE_UTF8_H

#include "base/str.h"

/* The bytes that the first code point of s takes (1 to 4), 0 if they are malformed or s is empty. */
size_t lz_utf8_decode(lz_str s, uint32_t *out);
/* The bytes written; the code point must be one that decode can return. */
size_t lz_utf8_encode(uint32_t code, char buf[4]);

#endif
