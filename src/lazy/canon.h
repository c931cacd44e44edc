/* canon.h - the order of roots that look alike.
 *
 * Roots of different structure are ordered by their hashes. Roots of the same structure may
 * still differ in what they share with others; their order follows from that, and never from
 * the order in which a program made them. */
#ifndef LZ_LAZY_CANON_H
#define LZ_LAZY_CANON_H

#include "lazy/flat.h"

/* order[i]: the result of f that comes i-th; *other: order differs from 0, 1, 2, ... */
LZ_MUST_USE lz_err *lz_canon_order(const lz_flat *f, uint32_t *order, bool *other);

#endif
