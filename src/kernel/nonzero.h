/* nonzero.h - the indices of true elements.
 *
 * Elements are counted in parts; the split depends on their number alone. From the counts every part knows
 * where its indices go, and all threads list them. */
#ifndef LZ_KERNEL_NONZERO_H
#define LZ_KERNEL_NONZERO_H

#include "base/pool.h"
#include <lazuli/value.h>

typedef struct lz_nonzero {
    const uint8_t *x; /* bool, row-major; borrowed, as sizes are */
    lz_ints sizes;
    int64_t numel;
    lz_pool *pool;  /* may be NULL */
    int64_t *first; /* true elements before each part, and in total */
} lz_nonzero;

/* Counts the true elements of x. After success, call lz_nonzero_deinit. */
LZ_MUST_USE lz_err *lz_nonzero_init(lz_nonzero *z, const void *x, lz_ints sizes, lz_pool *pool);
void lz_nonzero_deinit(lz_nonzero *z);

int64_t lz_nonzero_count(const lz_nonzero *z);

/* Writes i64 [count, sizes.n]: the indices in row-major order. */
LZ_MUST_USE lz_err *lz_nonzero_list(const lz_nonzero *z, int64_t *out);

#endif
