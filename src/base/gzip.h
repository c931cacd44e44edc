/* gzip.h - reading whole files that may be compressed. */
#ifndef LZ_BASE_GZIP_H
#define LZ_BASE_GZIP_H

#include "base/err.h"

/* The content of a file, unpacked if it starts with gzip's magic bytes; NUL-terminated
 * behind *len bytes, freed with lz_mem_free. More than `most` bytes are an error
 * (LZ_ERR_LIMIT), so that a small file cannot fill the memory. */
LZ_MUST_USE lz_err *lz_gzip_read(const char *path, size_t most, size_t *len, char **out);

#endif
