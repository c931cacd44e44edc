/* elements.h - elements as files hold them, and how they become arrays. */
#ifndef LZ_IO_ELEMENTS_H
#define LZ_IO_ELEMENTS_H

#include "core/strided_array.h"

typedef struct lz_elements {
    lz_dtype dtype;
    bool swapped; /* the other byte order than this machine's */
    bool fortran; /* the first dimension is the innermost */
    lz_ints sizes;
} lz_elements;

/* LZ_ERR_LIMIT: more than can be addressed. */
LZ_MUST_USE lz_err *lz_elements_bytes(const lz_elements *s, size_t *out);

/* An array of the elements at byte `at` of the buffer, which must contain them all. The array shares the
 * buffer if the elements can be used unchanged; otherwise (foreign byte order, alignment, bools other than
 * 0 and 1) it has a copy. */
LZ_MUST_USE lz_err *lz_elements_array(const lz_elements *s, lz_buffer *b, size_t at, lz_buffer_pool *pool,
                                      lz_array *out);

/* Like the function above, without a copy: elements that must be converted are converted in
 * the buffer, which begins with them. */
LZ_MUST_USE lz_err *lz_elements_adopt(const lz_elements *s, lz_buffer *b, lz_array *out);

#endif
