/* keys.h - maps elements to unsigned integers of the same order.
 *
 * Sorting and selecting work on keys, so that one function serves every dtype. Equal elements have equal
 * keys: both zeros have one key. A NaN has the greatest key, whatever its bits. */
#ifndef LZ_KERNEL_KEYS_H
#define LZ_KERNEL_KEYS_H

#include <lazuli/value.h>
#include <stdbool.h>
#include <stdint.h>

/* Writes the keys of n elements, `step` elements apart. With `descending` the least element has the greatest
 * key, and a NaN the least. */
typedef void lz_keys_fn(const void *x, int64_t step, int64_t n, bool descending, uint64_t *keys);

/* NULL: elements of this dtype have no order (complex numbers). */
lz_keys_fn *lz_keys_of(lz_dtype d);

#endif
