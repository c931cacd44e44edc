/* strides.h - memory layouts: strides, in elements, one for each size.
 *
 * Strides may be 0 (an expanded dimension) or negative. The strides of a tensor without elements have no
 * meaning, so a tensor with such strides counts as contiguous. If a function takes two lists, they must have
 * equal length, at most LZ_MAX_DIMS. */
#ifndef LZ_CORE_STRIDES_H
#define LZ_CORE_STRIDES_H

#include "core/shape.h"

/* Row-major, or channels last, which requires its number of dimensions. Fails only if the sizes are invalid
 * or numel does not fit. */
LZ_MUST_USE lz_err *lz_strides_contiguous(lz_ints sizes, lz_shape *out);
LZ_MUST_USE lz_err *lz_strides_format(lz_ints sizes, lz_memory_format format, lz_shape *out);

bool lz_strides_are_contiguous(lz_ints sizes, lz_ints strides);
/* Are the elements in that order without gaps? PRESERVE and NONE mean row-major. */
bool lz_strides_are_format(lz_ints sizes, lz_ints strides, lz_memory_format format);
/* Without gaps and overlaps, in any order of dimensions. */
bool lz_strides_are_dense(lz_ints sizes, lz_ints strides);
/* The format that an operator should give its result: channels last if the strides look like it (gaps are
 * allowed), row-major otherwise. */
lz_memory_format lz_strides_suggest(lz_ints sizes, lz_ints strides);

/* Dense strides for sizes, with the dimensions in the order of the operands' strides; the first operand has
 * priority. An operand with v NULL is ignored. */
LZ_MUST_USE lz_err *lz_strides_like(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out);

/* Like lz_strides_like, with the details of PyTorch's TensorIterator: strides outside a size of 0 are 0,
 * unless all are row-major. */
LZ_MUST_USE lz_err *lz_strides_iterated(lz_ints sizes, const lz_ints *operands, size_t n, lz_shape *out);

/* False: a view with these sizes needs a copy. Requires equal numbers of elements. */
bool lz_strides_view(lz_ints sizes, lz_ints strides, lz_ints view, lz_shape *out);

/* Broadcasts sizes to `target`, where -1 keeps a size. */
LZ_MUST_USE lz_err *lz_strides_expand(lz_ints sizes, lz_ints strides, lz_ints target, lz_shape *out_sizes,
                                      lz_shape *out_strides);

/* Merges neighbouring dimensions that every operand can walk as one, and drops those of size 1; in place.
 * Returns how many are left: 0 for a single element. */
int64_t lz_dims_collapse(int64_t rank, int64_t *sizes, int64_t *const *strides, size_t operands);

/* stride * step and stride + other. If the result overflows, the size is 1 or there are no elements, so the
 * stride is never used: it stays unchanged. */
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

/* The lowest and the highest element that is touched, from an offset; requires numel > 0. LZ_ERR_LIMIT if
 * they do not fit, or if the sum of strides times sizes does not fit as a number of bytes. So no arithmetic
 * on strides that were checked here overflows. */
LZ_MUST_USE lz_err *lz_strides_extent(lz_ints sizes, lz_ints strides, int64_t offset, int64_t *low,
                                      int64_t *high);

/* Checks that as_strided stays within a storage of `bytes` bytes. */
LZ_MUST_USE lz_err *lz_strides_check(lz_ints sizes, lz_ints strides, int64_t offset, size_t element,
                                     size_t bytes);

typedef enum lz_overlap { LZ_OVERLAP_NO, LZ_OVERLAP_MAYBE, LZ_OVERLAP_YES } lz_overlap;

/* Do two indices lead to one element? MAYBE only if three or more dimensions would have to be considered
 * together. */
lz_overlap lz_strides_overlap(lz_ints sizes, lz_ints strides);

/* Two views of one storage, in elements of one size. LZ_SHARE_ALL: the same elements in the same order. */
typedef struct lz_extent {
    lz_ints sizes, strides;
    int64_t offset;
} lz_extent;

typedef enum lz_sharing { LZ_SHARE_NOTHING, LZ_SHARE_MAYBE, LZ_SHARE_SOME, LZ_SHARE_ALL } lz_sharing;
lz_sharing lz_strides_share(const lz_extent *a, const lz_extent *b);

#endif
