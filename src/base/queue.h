/* queue.h - jobs for background threads, begun in the order they were pushed.
 *
 * Of every job pushed, exactly one of run and drop is called, once, on some
 * thread and without a lock held; whichever it is disposes of `user`. */
#ifndef LZ_BASE_QUEUE_H
#define LZ_BASE_QUEUE_H

#include "base/err.h"

typedef struct lz_queue lz_queue;
typedef void lz_job_fn(void *user);

/* At least one thread. With one, jobs also end in order. Where no thread can be started, lz_queue_push runs
 * the job; in a child of fork threads start anew, and what was not over at the fork is left to the parent. */
LZ_MUST_USE lz_err *lz_queue_create(int threads, lz_queue **out);

/* Drops what has not begun, lets what has begun finish, joins the threads. Nobody
 * else may be using the queue but its own jobs; what those push is dropped. */
void lz_queue_destroy(lz_queue *q);

/* drop NULL: nothing to dispose of. After an error neither is called. */
LZ_MUST_USE lz_err *lz_queue_push(lz_queue *q, lz_job_fn *run, lz_job_fn *drop, void *user);

/* Until the queue is empty and idle. Not from one of its jobs: it would wait for itself. */
void lz_queue_wait(lz_queue *q);

/* Drops what has not begun, on the calling thread. */
void lz_queue_cancel(lz_queue *q);

#endif
