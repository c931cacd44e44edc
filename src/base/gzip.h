/* gzip.h - deflate: whole files that may be compressed, and raw data of other formats. */
#ifndef LZ_BASE_GZIP_H
#define LZ_BASE_GZIP_H

#include "base/err.h"
#include "base/str.h"

/* The contents of a file, unpacked if it starts with gzip's magic bytes; *len bytes followed by a NUL. Free
 * with lz_mem_free. LZ_ERR_LIMIT above `most` bytes, so that a small file cannot fill the memory. */
LZ_MUST_USE lz_err *lz_gzip_read(const char *path, size_t most, size_t *len, char **out);

typedef struct lz_inflated {
    size_t taken, given; /* bytes read of the packed data; bytes unpacked */
    bool ended;          /* the packed data contained their end marker */
} lz_inflated;

/* Unpacks raw deflate data, as in zip files, until they end or `size` bytes are unpacked. LZ_ERR_SYNTAX names
 * the byte of `packed` that is invalid, or says that the data end too early. */
LZ_MUST_USE lz_err *lz_inflate(lz_str packed, void *out, size_t size, lz_inflated *result);

/* The checksum of gzip and zip; `before` is the checksum of the preceding bytes, 0 at first. */
uint32_t lz_crc32(uint32_t before, lz_str bytes);

#endif
