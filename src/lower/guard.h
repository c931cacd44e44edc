/* guard.h - what must hold of run-time numbers before a plan may run.
 *
 * A formula's check on a number that is known at run time only becomes a guard: the few
 * steps that compute the condition, and the message. It keeps nothing of the nodes it was
 * made from, so it outlives them. */
#ifndef LZ_LOWER_GUARD_H
#define LZ_LOWER_GUARD_H

#include "lower/lower.h"

typedef struct lz_guard lz_guard;

/* The guards one by one, copied into another arena. */
LZ_MUST_USE lz_err *lz_guards_copy(const lz_guard *from, lz_arena *arena, const lz_guard **out);
/* LZ_ERR_ARG with the message of the first one that does not hold, whose origin *failed (may
 * be NULL) then is. */
LZ_MUST_USE lz_err *lz_guards_check(const lz_guard *g, const lz_scalar *scalars, uint32_t *failed);

#endif
