/* elements.h - elements as files hold them, and how they become arrays. */
#ifndef LZ_IO_ELEMENTS_H
#define LZ_IO_ELEMENTS_H

#include "core/array.h"

typedef struct lz_elements {
    lz_dtype dtype;
    bool swapped; /* the other byte order than this machine's */
    bool fortran; /* the first dimension is the innermost */
    lz_ints sizes;
} lz_elements;

/* LZ_ERR_LIMIT: more than can be addressed. */
LZ_MUST_USE lz_err *lz_elements_bytes(const lz_elements *s, size_t *out);

/* An array of those that begin at byte `at` of the buffer, in which they all lie. Where they
 * can be used as they are it looks at the buffer; otherwise (foreign byte order, alignment,
 * bools other than 0 and 1) at a copy. */
LZ_MUST_USE lz_err *lz_elements_array(const lz_elements *s, lz_buffer *b, size_t at, lz_buffer_pool *pool,
                                      lz_array *out);

/* The same without a copy: what has to be changed is changed in the buffer, where they begin. */
LZ_MUST_USE lz_err *lz_elements_adopt(const lz_elements *s, lz_buffer *b, lz_array *out);

#endif
