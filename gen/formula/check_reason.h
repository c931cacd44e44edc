/* check_reason.h - which reason (lz_reason) the error of a `check` has.
 *
 * The condition decides, by what it asks about; the first rule that fits holds:
 * - it asks about a dtype:                                         LZ_REASON_DTYPE
 * - == or != compares sizes of a tensor with something of the call:  LZ_REASON_SHAPE
 * - <, <=, > or >= compares a size, and an int argument takes part:  LZ_REASON_INDEX
 * - anything else:                                                 LZ_REASON_ARGUMENT
 *
 *     check(self.shape == other.shape, ...)    SHAPE
 *     check(self.ndim == 2, ...)               ARGUMENT: 2 is a constant
 *     check(start >= -n && start <= n, ...)    INDEX, where n is self.shape[dim] */
#ifndef LZG_CHECK_REASON_H
#define LZG_CHECK_REASON_H

#include "base/arena.h"
#include "gen/formula/formula_term.h"

/* The origins of the values in a formula's slots, by slot. The arena owns the array. */
LZ_MUST_USE lz_err *lzg_subjects_of(lz_arena *a, const lzg_checked *c, const uint8_t **out);
/* Of a term of kind LZG_TERM_CHECK. */
lz_reason lzg_check_reason(const uint8_t *subjects, const lzg_term *check);

#endif
