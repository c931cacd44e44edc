/* guard.h - what must hold of run-time numbers before a plan may run.
 *
 * A formula's check of a number that is known only at run time becomes a guard: the few
 * steps that compute the condition, and the message. A guard has no pointers to the nodes it was
 * made from and may outlive them. */
#ifndef LZ_LOWER_GUARD_H
#define LZ_LOWER_GUARD_H

#include "lower/lower.h"

typedef struct lz_guard lz_guard;

/* Copies all guards of the list into another arena. */
LZ_MUST_USE lz_err *lz_guards_copy(const lz_guard *from, lz_arena *arena, const lz_guard **out);
/* LZ_ERR_ARG with the message of the first guard that does not hold; *failed (may be NULL) is set to its
 * origin. */
LZ_MUST_USE lz_err *lz_guards_check(const lz_guard *g, const lz_scalar *scalars, uint32_t *failed);

#endif
