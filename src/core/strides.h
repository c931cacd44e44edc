/* strides.h - how sizes lie in memory: strides, in elements, one for each size.
 *
 * Strides may be 0 (an expanded dimension) or negative. Those of a tensor without
 * elements mean nothing, so such a tensor counts as contiguous. Where two lists are
 * taken they have equal length, at most LZ_MAX_DIMS. */
#ifndef LZ_CORE_STRIDES_H
#define LZ_CORE_STRIDES_H

#include "core/shape.h"

/* Row-major, or channels last, which needs the right number of dimensions. Fails only where
 * the sizes are none or numel does not fit. */
LZ_MUST_USE lz_err *lz_strides_contiguous(lz_ints sizes, lz_shape *out);
LZ_MUST_USE lz_err *lz_strides_format(lz_ints sizes, lz_memory_format format, lz_shape *out);

bool lz_strides_are_contiguous(lz_ints sizes, lz_ints strides);
/* The elements lie in that order without gaps; PRESERVE and NONE ask for row-major. */
bool lz_strides_are_format(lz_ints sizes, lz_ints strides, lz_memory_format format);
/* Without gaps and without sharing, in any order of dimensions. */
bool lz_strides_are_dense(lz_ints sizes, lz_ints strides);
/* Which format an operator should give its result: channels last if the strides look
 * like it (gaps are fine), row-major otherwise. */
lz_memory_format lz_strides_suggest(lz_ints sizes, lz_ints strides);

/* Dense strides for sizes, with the dimensions in the order that the strides of the
 * operands have, the first operand deciding first; NULL v for an operand without a say. */
LZ_MUST_USE lz_err *lz_strides_like(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out);

/* The same as PyTorch's TensorIterator gives it: strides outside a size of 0 are 0, unless all are
 * row-major. */
LZ_MUST_USE lz_err *lz_strides_iterated(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out);

/* false: a view with these sizes needs a copy. The counts of elements are equal. */
bool lz_strides_view(lz_ints sizes, lz_ints strides, lz_ints view, lz_shape *out);

/* Sizes broadcast to `target`, in which -1 keeps a size. */
LZ_MUST_USE lz_err *lz_strides_expand(lz_ints sizes, lz_ints strides, lz_ints target, lz_shape *out_sizes,
                                      lz_shape *out_strides);

/* Merges neighbouring dimensions that every operand can walk as one, and drops those of
 * size 1; in place. Returns how many are left: 0 for a single element. */
int64_t lz_dims_collapse(int64_t rank, int64_t *sizes, int64_t *const *strides, size_t operands);

/* stride * step and stride + other. Where that does not fit no second index is ever reached, because the size
 * is 1 or there are no elements: then the stride stays as it is. */
static inline int64_t lz_stride_times(int64_t stride, int64_t step)
{
    int64_t product;
    return __builtin_mul_overflow(stride, step, &product) ? stride : product;
}

static inline int64_t lz_stride_plus(int64_t stride, int64_t other)
{
    int64_t sum;
    return __builtin_add_overflow(stride, other, &sum) ? stride : sum;
}

/* The lowest and the highest element that is touched, from an offset; numel > 0.
 * LZ_ERR_LIMIT if they do not fit, or if strides times sizes, added up, are no number of bytes: no
 * arithmetic on strides that were checked here overflows. */
LZ_MUST_USE lz_err *lz_strides_extent(lz_ints sizes, lz_ints strides, int64_t offset, int64_t *low,
                                      int64_t *high);

/* That as_strided stays inside a storage of so many bytes. */
LZ_MUST_USE lz_err *lz_strides_check(lz_ints sizes, lz_ints strides, int64_t offset, size_t element,
                                     size_t bytes);

typedef enum lz_overlap { LZ_OVERLAP_NO, LZ_OVERLAP_MAYBE, LZ_OVERLAP_YES } lz_overlap;

/* Whether two indices lead to one element. MAYBE only where three or more dimensions
 * would have to be weighed against each other. */
lz_overlap lz_strides_overlap(lz_ints sizes, lz_ints strides);

/* Of two views of one storage, in elements of one size. FULL: the same elements in
 * the same order. */
typedef struct lz_extent {
    lz_ints sizes, strides;
    int64_t offset;
} lz_extent;

typedef enum lz_sharing { LZ_SHARE_NOTHING, LZ_SHARE_MAYBE, LZ_SHARE_SOME, LZ_SHARE_ALL } lz_sharing;
lz_sharing lz_strides_share(const lz_extent *a, const lz_extent *b);

#endif
