/* index_range.h - checks whether all indices of an array are within bounds. */
#ifndef LZ_KERNEL_INDEX_RANGE_H
#define LZ_KERNEL_INDEX_RANGE_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* least <= index[i * step] < size for all i < n; requires least <= 0 <= size. For an index out of bounds one
 * of the two differences is negative, so no comparison is needed and the loop vectorises. */
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

/* The error for the first index out of bounds; requires that there is one. `dim` goes into the message. */
static inline lz_err *lz_index_range_err(const int64_t *index, int64_t step, int64_t n, int64_t least,
                                         int64_t size, int64_t dim)
{
    int64_t i = 0;
    while (i < n - 1 && index[i * step] >= least && index[i * step] < size)
        i++;
    return lz_err_because(LZ_REASON_INDEX, "index %lld is out of bounds for dimension %lld with size %lld",
                          (long long)index[i * step], (long long)dim, (long long)size);
}

#endif
