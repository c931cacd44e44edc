/* pool.h - runs a loop on several threads.
 *
 * The split into chunks depends on n and grain alone, never on the number of threads, and so does the error
 * returned: a loop whose chunks are independent gives the same result on every pool. */
#ifndef LZ_BASE_POOL_H
#define LZ_BASE_POOL_H

#include "base/err.h"
#include <stdbool.h>

typedef struct lz_pool lz_pool;

/* Runs [begin, end). Concurrent calls of one loop have different workers; 0 <= worker < lz_pool_threads. */
typedef lz_err *lz_range_fn(void *user, int64_t begin, int64_t end, int worker);

/* threads includes the calling thread: 1 starts none. 0: lz_cpu_threads. If fewer threads can be started, the
 * pool has fewer. In a forked child the first loop starts them again. */
LZ_MUST_USE lz_err *lz_pool_create(int threads, lz_pool **out);
void lz_pool_destroy(lz_pool *p); /* no thread may use the pool */
int lz_pool_threads(const lz_pool *p);

/* Announces that a thread outside the pools needs a CPU (on), or no longer does. Pools with a thread for each
 * CPU then leave one of theirs asleep, so that no loop waits for a thread that lost its CPU. Only one thread
 * at a time may use this. */
void lz_pool_spare(bool on);
int lz_pool_spared_cpu(void); /* the CPU on which that thread fell asleep; -1: none */

/* Calls fn for [0, grain), [grain, 2*grain), ... up to n, each once, in any order and on any thread,
 * including the caller's; returns when all have finished. In repeated loops, threads that join in time get
 * the same chunks. After an error, chunks above it that have not started are skipped; the error of the lowest
 * failing chunk is returned. p NULL: one thread. A grain below 1 counts as 1. Several threads may call at
 * once. A call from inside a chunk of the same pool runs inline, with that chunk's worker. */
LZ_MUST_USE lz_err *lz_pool_for(lz_pool *p, int64_t n, int64_t grain, lz_range_fn *fn, void *user);

#endif
