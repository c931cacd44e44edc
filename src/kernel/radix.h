/* radix.h - sorts and selects by unsigned keys, digit by digit.
 *
 * Both take time linear in n for all keys. Equal keys keep their order, so the order is unique and no result
 * depends on the number of threads. */
#ifndef LZ_KERNEL_RADIX_H
#define LZ_KERNEL_RADIX_H

#include "base/pool.h"
#include <stddef.h>

/* Writes the numbers 0 .. n-1 to `order`, sorted by their keys, equal keys by number. room: lz_order_room(n,
 * pool) bytes. pool: shares the work of long arrays; may be NULL. */
size_t lz_order_room(int64_t n, const lz_pool *pool);
LZ_MUST_USE lz_err *lz_order_by_keys(const uint64_t *keys, int64_t n, void *room, lz_pool *pool,
                                     int64_t *order);

/* The key of rank k, 0 <= k < n, and how many keys are less. Overwrites the keys. */
uint64_t lz_keys_select(uint64_t *keys, int64_t n, int64_t k, int64_t *less);

#endif
