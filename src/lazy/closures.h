/* closures.h - functions that run when a step is over.
 *
 * Those that wait for the step run before it returns; the others on a thread of their own, one
 * after the other. After one that fails no later one runs until the failure was told. */
#ifndef LZ_LAZY_CLOSURES_H
#define LZ_LAZY_CLOSURES_H

#include "base/err.h"
#include <lazuli/tensor.h>

typedef struct lz_closures lz_closures;

LZ_MUST_USE lz_err *lz_closures_create(lz_closures **out);
void lz_closures_destroy(lz_closures *c); /* waits for those that run; NULL does nothing */
LZ_MUST_USE lz_err *lz_closures_add(lz_closures *c, lz_closure_fn *fn, void *user, bool async);
LZ_MUST_USE lz_err *lz_closures_run(lz_closures *c);
/* For all that were handed to the thread; their first failure, if it was not told. */
LZ_MUST_USE lz_err *lz_closures_wait(lz_closures *c);

#endif
