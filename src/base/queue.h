/* queue.h - jobs for background threads, started in the order they were pushed.
 *
 * For every job pushed, exactly one of run and drop is called, once, on some thread and without a lock held;
 * that function disposes of `user`. */
#ifndef LZ_BASE_QUEUE_H
#define LZ_BASE_QUEUE_H

#include "base/err.h"

typedef struct lz_queue lz_queue;
typedef void lz_job_fn(void *user);

/* Requires at least one thread. With one, jobs also end in order. If no thread can be started, lz_queue_push
 * runs the job. In a forked child threads are started again, and jobs unfinished at the fork are left to the
 * parent. */
LZ_MUST_USE lz_err *lz_queue_create(int threads, lz_queue **out);

/* Drops jobs that have not started, waits for those that have, joins the threads. Nobody else may use the
 * queue except its own jobs; what those push is dropped. */
void lz_queue_destroy(lz_queue *q);

/* drop NULL: nothing to dispose of. After an error neither function is called. */
LZ_MUST_USE lz_err *lz_queue_push(lz_queue *q, lz_job_fn *run, lz_job_fn *drop, void *user);

/* Waits until the queue is empty and idle. Must not be called from one of its jobs. */
void lz_queue_wait(lz_queue *q);

/* Waits until fewer than `most` jobs (at least 1) are waiting or running. Must not be called from one of its
 * jobs. */
void lz_queue_wait_below(lz_queue *q, size_t most);

/* Drops jobs that have not started, on the calling thread. */
void lz_queue_cancel(lz_queue *q);

#endif
