/* pool.h - spreading a loop over threads.
 *
 * The cut into chunks depends on n and grain alone, never on the number of
 * threads, and so does the error returned: a loop whose chunks are independent
 * gives the same result on every pool. */
#ifndef LZ_BASE_POOL_H
#define LZ_BASE_POOL_H

#include "base/err.h"
#include <stdbool.h>

typedef struct lz_pool lz_pool;

/* Does [begin, end). Of one loop, no two calls that run at the same time have the
 * same worker; 0 <= worker < lz_pool_threads. */
typedef lz_err *lz_range_fn(void *user, int64_t begin, int64_t end, int worker);

/* threads counts the calling thread: 1 starts none. 0: as lz_cpu_threads says. Where not so many can be
 * started there are fewer. In a child of fork the first loop starts them anew. */
LZ_MUST_USE lz_err *lz_pool_create(int threads, lz_pool **out);
void lz_pool_destroy(lz_pool *p); /* while nobody uses it */
int lz_pool_threads(const lz_pool *p);

/* A thread of another kind needs a CPU for a while (on), or no more: pools with a thread for each CPU
 * leave one of theirs asleep, so that no loop waits for a thread that lost its CPU. One such thread at a
 * time. */
void lz_pool_spare(bool on);
int lz_pool_spared_cpu(void); /* where that one fell asleep; -1: none has */

/* Calls fn for [0, grain), [grain, 2*grain), ... until n, each once, in any order
 * and on any thread, the caller's too; returns when all are over. Threads that come in
 * time take the same parts each time. After an error, chunks above it that have not
 * begun are left out; the error of the lowest failing chunk is returned. p NULL stands for one thread; a
 * grain below 1 for 1. Several threads may call at once. A call from inside a chunk of the same pool runs
 * where it is, with that chunk's worker. */
LZ_MUST_USE lz_err *lz_pool_for(lz_pool *p, int64_t n, int64_t grain, lz_range_fn *fn, void *user);

#endif
