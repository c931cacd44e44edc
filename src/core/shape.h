/* shape.h - sizes: counting, broadcasting, naming dimensions.
 *
 * Sizes come in as a borrowed lz_ints and go out into an lz_shape, which is the caller's
 * storage; nothing allocates but errors. A shape that came out has at most LZ_MAX_DIMS
 * dimensions. Messages follow PyTorch's words. */
#ifndef LZ_CORE_SHAPE_H
#define LZ_CORE_SHAPE_H

#include "base/err.h"
#include <lazuli/value.h>

enum {
    LZ_MAX_DIMS = 64,
    LZ_SHAPE_CHARS = 64 * 22 + 16, /* room for any lz_shape_print, with its NUL */
};

typedef struct lz_shape {
    int64_t n;
    int64_t v[LZ_MAX_DIMS]; /* sizes, or the strides that belong to them, in elements */
} lz_shape;

static inline lz_ints lz_shape_ints(const lz_shape *s)
{
    return (lz_ints){ s->v, s->n };
}

/* "[2, 3]"; of more than LZ_MAX_DIMS the first ones and "...". Returns buf. */
const char *lz_shape_print(lz_ints sizes, char buf[LZ_SHAPE_CHARS]);

bool lz_shape_eq(lz_ints a, lz_ints b);

/* Not more than LZ_MAX_DIMS, none below 0. */
LZ_MUST_USE lz_err *lz_shape_check(lz_ints sizes);
LZ_MUST_USE lz_err *lz_shape_copy(lz_ints sizes, lz_shape *out); /* checks the number of dimensions only */

/* LZ_ERR_LIMIT if the product does not fit; a zero makes any other size harmless. */
LZ_MUST_USE lz_err *lz_shape_numel(lz_ints sizes, int64_t *out);
LZ_MUST_USE lz_err *lz_shape_bytes(lz_ints sizes, size_t element, size_t *out);

/* Aligned at the last dimension; where sizes differ, one must be 1. */
LZ_MUST_USE lz_err *lz_shape_broadcast(const lz_ints *shapes, size_t n, lz_shape *out);

/* Negative dimensions count from the end. A shape without dimensions is treated as if
 * it had one. */
LZ_MUST_USE lz_err *lz_wrap_dim(int64_t dim, int64_t rank, int64_t *out);
/* Bit d is set for each; naming one twice is an error. */
LZ_MUST_USE lz_err *lz_wrap_dims(lz_ints dims, int64_t rank, uint64_t *out);

/* The sizes to reshape numel elements to, with one -1 worked out. */
LZ_MUST_USE lz_err *lz_shape_infer(lz_ints asked, int64_t numel, lz_shape *out);

/* Reduced over the dimensions whose bit is set: size 1, or gone. */
void lz_shape_reduce(lz_ints sizes, uint64_t dims, bool keep, lz_shape *out);

#endif
