/* safetensors.h - what reading and writing safetensors have in common.
 *
 * A file is the length of a header (8 bytes), the header (JSON: for each tensor its dtype,
 * shape, first byte and the byte behind its last), and the elements of all tensors, row-major
 * and least significant byte first, without holes. */
#ifndef LZ_IO_SAFETENSORS_H
#define LZ_IO_SAFETENSORS_H

#include <lazuli/value.h>

enum {
    LZ_SAFETENSORS_PREFIX = 8,
    LZ_SAFETENSORS_HEADER_MOST = 100000000, /* bytes; the limit of the reference implementation */
};

#define LZ_SAFETENSORS_METADATA "__metadata__"

/* "BF16"; NULL: the format has none. */
const char *lz_safetensors_dtype(lz_dtype d);

#endif
