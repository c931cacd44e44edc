/* once.h - initialisation that may fail.
 *
 * It succeeds at most once. Callers that arrive during an attempt wait for it and
 * share its outcome, each with an error of its own; a later caller tries again. An attempt of a thread that a
 * fork did not copy counts as none. */
#ifndef LZ_BASE_ONCE_H
#define LZ_BASE_ONCE_H

#include "base/err.h"
#include <stdatomic.h>

typedef struct lz_attempt lz_attempt;

typedef struct lz_once {
    atomic_bool done;
    unsigned generation; /* of `now` (lz_fork_count) */
    lz_attempt *now;     /* the attempt under way, or NULL */
} lz_once;

#define LZ_ONCE_INIT                                                                                         \
    {                                                                                                        \
        0                                                                                                    \
    }

typedef lz_err *lz_once_fn(void *user);

/* An init that asks for itself gets LZ_ERR_BUSY instead of a deadlock. */
LZ_MUST_USE lz_err *lz_once_run(lz_once *o, lz_once_fn *init, void *user);

#endif
