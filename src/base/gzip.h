/* gzip.h - deflated data: whole files that may be compressed, and bytes of other formats. */
#ifndef LZ_BASE_GZIP_H
#define LZ_BASE_GZIP_H

#include "base/err.h"
#include "base/str.h"

/* The content of a file, unpacked if it starts with gzip's magic bytes; NUL-terminated
 * behind *len bytes, freed with lz_mem_free. More than `most` bytes are an error
 * (LZ_ERR_LIMIT), so that a small file cannot fill the memory. */
LZ_MUST_USE lz_err *lz_gzip_read(const char *path, size_t most, size_t *len, char **out);

typedef struct lz_inflated {
    size_t taken, given; /* bytes of the packed data, and of what they unpack to */
    bool ended;          /* the packed data have said that they end here */
} lz_inflated;

/* Deflated data without any header, as in zip files, until they end or `size` bytes are there.
 * LZ_ERR_SYNTAX tells the byte of `packed` that makes no sense, or that they end too early. */
LZ_MUST_USE lz_err *lz_inflate(lz_str packed, void *out, size_t size, lz_inflated *result);

/* The checksum of gzip and zip; `before` is that of the bytes before these, 0 at first. */
uint32_t lz_crc32(uint32_t before, lz_str bytes);

#endif
