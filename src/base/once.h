/* once.h - initialisation that may fail.
 *
 * It succeeds at most once. Callers that arrive during an attempt wait for it and share its outcome, each
 * with its own copy of the error; a later caller tries again. In a forked child an attempt of another thread
 * of the parent is void. */
#ifndef LZ_BASE_ONCE_H
#define LZ_BASE_ONCE_H

#include "base/err.h"
#include <stdatomic.h>

typedef struct lz_attempt lz_attempt;

typedef struct lz_once {
    atomic_bool done;
    unsigned generation; /* lz_fork_count at the start of `now` */
    lz_attempt *now;     /* the attempt in progress, or NULL */
} lz_once;

#define LZ_ONCE_INIT                                                                                         \
    {                                                                                                        \
        0                                                                                                    \
    }

typedef lz_err *lz_once_fn(void *user);

/* LZ_ERR_BUSY instead of a deadlock if init calls lz_once_run for its own lz_once. */
LZ_MUST_USE lz_err *lz_once_run(lz_once *o, lz_once_fn *init, void *user);

#endif
