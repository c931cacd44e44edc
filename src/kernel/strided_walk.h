/* strided_walk.h - walks strided memory in row-major order. */
#ifndef LZ_KERNEL_STRIDED_WALK_H
#define LZ_KERNEL_STRIDED_WALK_H

#include "core/dtype.h"
#include "kernel/kernels.h"

/* The offset, in elements, of element `number` of the first `ndim` dimensions. */
static inline int64_t lz_strided_offset(const lz_strided *s, int64_t ndim, int64_t number)
{
    int64_t offset = 0;
    for (int64_t d = ndim; d-- > 0; number /= s->sizes[d])
        offset += number % s->sizes[d] * s->strides[d];
    return offset;
}

static inline int64_t lz_strided_count(const lz_strided *s, int64_t ndim)
{
    int64_t n = 1;
    for (int64_t d = 0; d < ndim; d++)
        n *= s->sizes[d];
    return n;
}

static inline char *lz_strided_at(const lz_strided *s, int64_t offset)
{
    return (char *)s->data + offset * (int64_t)lz_dtype_size(s->dtype);
}

#endif
