/* shape.h - sizes: counting, broadcasting, wrapping dimensions.
 *
 * Functions take sizes as a borrowed lz_ints and return them in an lz_shape, the caller's storage; nothing
 * allocates except errors. A returned shape has at most LZ_MAX_DIMS dimensions. Messages follow PyTorch's
 * wording. */
#ifndef LZ_CORE_SHAPE_H
#define LZ_CORE_SHAPE_H

#include "base/err.h"
#include <lazuli/value.h>

enum {
    LZ_MAX_DIMS = 64,
    LZ_SHAPE_CHARS = 64 * 22 + 16, /* enough for any lz_shape_print, with its NUL */
};

typedef struct lz_shape {
    int64_t n;
    int64_t v[LZ_MAX_DIMS]; /* sizes, or the strides that belong to them, in elements */
} lz_shape;

static inline lz_ints lz_shape_ints(const lz_shape *s)
{
    return (lz_ints){ s->v, s->n };
}

/* "[2, 3]"; with more than LZ_MAX_DIMS dimensions, the first ones and "...". Returns buf. */
const char *lz_shape_print(lz_ints sizes, char buf[LZ_SHAPE_CHARS]);

bool lz_shape_eq(lz_ints a, lz_ints b);

/* Checks that there are at most LZ_MAX_DIMS sizes, none below 0. */
LZ_MUST_USE lz_err *lz_shape_check(lz_ints sizes);
LZ_MUST_USE lz_err *lz_shape_copy(lz_ints sizes, lz_shape *out); /* checks only the number of dimensions */

/* LZ_ERR_LIMIT if the product does not fit. If one size is 0 the others may have any value. */
LZ_MUST_USE lz_err *lz_shape_numel(lz_ints sizes, int64_t *out);
LZ_MUST_USE lz_err *lz_shape_bytes(lz_ints sizes, size_t element, size_t *out);

/* Aligns shapes at the last dimension; sizes that differ must be 1. */
LZ_MUST_USE lz_err *lz_shape_broadcast(const lz_ints *shapes, size_t n, lz_shape *out);

/* Negative dimensions count from the end. A shape without dimensions is treated as having one. */
LZ_MUST_USE lz_err *lz_wrap_dim(int64_t dim, int64_t rank, int64_t *out);
/* Sets bit d for each dimension; a repeated dimension is an error. */
LZ_MUST_USE lz_err *lz_wrap_dims(lz_ints dims, int64_t rank, uint64_t *out);

/* The sizes to reshape numel elements to; computes the value of one -1. */
LZ_MUST_USE lz_err *lz_shape_infer(lz_ints asked, int64_t numel, lz_shape *out);

/* Reduces the dimensions whose bit is set: to size 1 (keep), or removes them. */
void lz_shape_reduce(lz_ints sizes, uint64_t dims, bool keep, lz_shape *out);

#endif
