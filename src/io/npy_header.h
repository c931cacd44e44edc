/* npy_header.h - what stands before the elements of an .npy file: magic, version, and
 * a Python dictionary with dtype, order and shape. */
#ifndef LZ_IO_NPY_HEADER_H
#define LZ_IO_NPY_HEADER_H

#include "base/text.h"
#include "core/dtype.h"
#include "core/shape.h"

enum {
    LZ_NPY_PREFIX = 12,           /* bytes that tell the length of the rest; version 1 needs only 10 */
    LZ_NPY_HEADER_MOST = 1 << 16, /* bytes of the dictionary; a longer one is refused */
};

typedef struct lz_npy_header {
    lz_dtype dtype;
    bool swapped; /* the other byte order than this machine's */
    bool fortran; /* the first dimension is the innermost */
    lz_shape sizes;
} lz_npy_header;

/* Where the elements begin, from the first bytes of a file, of which there are at least
 * LZ_NPY_PREFIX unless the file is shorter. */
LZ_MUST_USE lz_err *lz_npy_header_length(lz_str start, const char *name, size_t *out);

/* From all bytes before the elements. LZ_ERR_UNSUPPORTED: the dtype is none of ours; order and
 * sizes are in *out even so, and the dtype there is LZ_DTYPE_NONE. */
LZ_MUST_USE lz_err *lz_npy_header_parse(lz_str bytes, const char *name, lz_npy_header *out);

/* Version 1, padded to a multiple of 64 bytes; in this machine's byte order. */
LZ_MUST_USE lz_err *lz_npy_header_print(lz_dtype d, lz_ints sizes, bool fortran, lz_text *out);

#endif
