/* npy.h - arrays as NumPy's .npy files, versions 1 to 3.
 *
 * Reading takes C and Fortran order, both byte orders and every dtype that has a name
 * there; bf16 and c32 have none. A file is one array and nothing behind it. Whatever
 * else is in a file is refused, with the byte where it is and why. */
#ifndef LZ_IO_NPY_H
#define LZ_IO_NPY_H

#include "base/text.h"
#include "core/array.h"

/* From a file or a pipe, into new memory; pool may be NULL. */
LZ_MUST_USE lz_err *lz_npy_read(const char *path, lz_buffer_pool *pool, lz_array *out);

/* The same from bytes; name is for messages and may be NULL. */
LZ_MUST_USE lz_err *lz_npy_decode(lz_str bytes, const char *name, lz_buffer_pool *pool, lz_array *out);

/* Without reading the elements: the array is the mapped file, and read-only. What has to
 * be changed on the way (foreign byte order) is copied. If someone cuts the
 * file off meanwhile, touching the elements raises SIGBUS. */
LZ_MUST_USE lz_err *lz_npy_map(const char *path, lz_buffer_pool *pool, lz_array *out);

/* As NumPy would write it, byte for byte: version 1, this machine's byte order, Fortran
 * order only if the elements lie so. LZ_ERR_UNSUPPORTED for bf16 and c32. The file is replaced in one step.
 */
LZ_MUST_USE lz_err *lz_npy_write(const char *path, const lz_array *a);
LZ_MUST_USE lz_err *lz_npy_encode(const lz_array *a, lz_text *out); /* adds to the text */

#endif
