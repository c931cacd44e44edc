/* index_range.h - are all of many indices within bounds? */
#ifndef LZ_KERNEL_INDEX_RANGE_H
#define LZ_KERNEL_INDEX_RANGE_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* least <= index[i * step] < size for i below n; least <= 0 <= size. A difference is negative, whatever the
 * index is, where it is out of these bounds: so there is nothing to compare, and vectors do it. */
static inline bool lz_index_range_holds(const int64_t *index, int64_t step, int64_t n, int64_t least,
                                        int64_t size)
{
    uint64_t low = (uint64_t)least, high = (uint64_t)size - 1, bad = 0;
    for (int64_t i = 0, m = step == 1 ? n : 0; i < m; i++)
        bad |= ((uint64_t)index[i] - low) | (high - (uint64_t)index[i]);
    for (int64_t i = 0, m = step == 1 ? 0 : n; i < m; i++)
        bad |= ((uint64_t)index[i * step] - low) | (high - (uint64_t)index[i * step]);
    return bad >> 63 == 0;
}

/* The first one that is not; there is one. `dim` is named. */
static inline lz_err *lz_index_range_err(const int64_t *index, int64_t step, int64_t n, int64_t least,
                                         int64_t size, int64_t dim)
{
    int64_t i = 0;
    while (i < n - 1 && index[i * step] >= least && index[i * step] < size)
        i++;
    return lz_errf(LZ_ERR_ARG, "index %lld is out of bounds for dimension %lld with size %lld",
                   (long long)index[i * step], (long long)dim, (long long)size);
}

#endif
