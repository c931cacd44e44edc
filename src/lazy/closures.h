/* closures.h - functions that run when a step is over.
 *
 * Synchronous closures run before the step returns; asynchronous ones run on a thread of their own, one
 * after the other. After a closure has failed, no later one runs until the failure has been reported. */
#ifndef LZ_LAZY_CLOSURES_H
#define LZ_LAZY_CLOSURES_H

#include "base/err.h"
#include <lazuli/tensor.h>

typedef struct lz_closures lz_closures;

/* most: asynchronous closures that may be queued or running at once. A step with more closures waits. */
LZ_MUST_USE lz_err *lz_closures_create(size_t most, lz_closures **out);
void lz_closures_destroy(lz_closures *c); /* waits for those that run; NULL does nothing */
LZ_MUST_USE lz_err *lz_closures_add(lz_closures *c, lz_closure_fn *fn, void *user, bool async);
LZ_MUST_USE lz_err *lz_closures_run(lz_closures *c);
/* Waits for all asynchronous closures; returns their first failure that has not been reported. */
LZ_MUST_USE lz_err *lz_closures_wait(lz_closures *c);

#endif
