/* npy.h - arrays as NumPy's .npy files, versions 1 to 3.
 *
 * Reading accepts C and Fortran order, both byte orders and every dtype of the format, which has
 * neither bf16 nor c32. A file is exactly one array; an error names the byte and the reason. */
#ifndef LZ_IO_NPY_H
#define LZ_IO_NPY_H

#include "base/text.h"
#include "core/strided_array.h"

/* Reads a file or a pipe into new memory; pool may be NULL. */
LZ_MUST_USE lz_err *lz_npy_read(const char *path, lz_buffer_pool *pool, lz_array *out);

/* Writes what NumPy would write, byte for byte: version 1, this machine's byte order, Fortran order only if
 * the elements lie so. LZ_ERR_UNSUPPORTED for bf16 and c32. The file is replaced in one step. */
LZ_MUST_USE lz_err *lz_npy_write(const char *path, const lz_array *a);
LZ_MUST_USE lz_err *lz_npy_encode(const lz_array *a, lz_text *out); /* appends to the text */

#endif
