/* sha1.h - SHA-1 (FIPS 180-4), to spread names over files the way torchgen does.
 *
 * Not for security. */
#ifndef LZG_SHA1_H
#define LZG_SHA1_H

#include "base/str.h"

enum { LZG_SHA1_BYTES = 20 };

void lzg_sha1(lz_str data, unsigned char out[LZG_SHA1_BYTES]);

/* The digest, read as one number with its lowest byte first, modulo n (not 0). */
uint32_t lzg_sha1_mod(lz_str data, uint32_t n);

#endif
