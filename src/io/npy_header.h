/* npy_header.h - the header of an .npy file: magic, version, and a Python dictionary with
 * dtype, order and shape. */
#ifndef LZ_IO_NPY_HEADER_H
#define LZ_IO_NPY_HEADER_H

#include "base/text.h"
#include "core/dtype.h"
#include "core/shape.h"

enum {
    LZ_NPY_PREFIX = 12,           /* bytes from which the header's length is known; version 1 needs only 10 */
    LZ_NPY_HEADER_MOST = 1 << 16, /* bytes of the dictionary; a longer one is refused */
};

typedef struct lz_npy_header {
    lz_dtype dtype;
    bool swapped; /* the other byte order than this machine's */
    bool fortran; /* the first dimension is the innermost */
    lz_shape sizes;
} lz_npy_header;

/* Where the elements begin. start: the first bytes of the file, at least LZ_NPY_PREFIX unless the file is
 * shorter. */
LZ_MUST_USE lz_err *lz_npy_header_length(lz_str start, const char *name, size_t *out);

/* Parses all bytes before the elements. LZ_ERR_UNSUPPORTED: Lazuli does not have the dtype; *out still has
 * order and sizes, and the dtype LZ_DTYPE_NONE. */
LZ_MUST_USE lz_err *lz_npy_header_parse(lz_str bytes, const char *name, lz_npy_header *out);

/* Version 1, padded to a multiple of 64 bytes; in this machine's byte order. */
LZ_MUST_USE lz_err *lz_npy_header_print(lz_dtype d, lz_ints sizes, bool fortran, lz_text *out);

#endif
