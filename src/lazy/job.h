/* job.h - one run of a compiled graph.
 *
 * A job owns everything that the run needs, so that it can run on any thread while its context
 * records. When the job is done, every result is full or has failed. If a node fails, only the results
 * that depend on it fail; the others are computed without it. */
#ifndef LZ_LAZY_JOB_H
#define LZ_LAZY_JOB_H

#include "lazy/executable.h"
#include "lazy/runtime.h"

typedef struct lz_job {
    struct lz_job *next; /* of the context, the next younger one */
    atomic_uint count;
    atomic_bool done;
    unsigned generation; /* the fork count of the process that made the job (lz_fork_count) */
    lz_runtime *runtime;
    lz_executable *executable;
    const char *forced;
    int threads;
    uint32_t nleaves, nargs, nresults;
    lz_argument *args; /* data of the leaves, then numbers */
    lz_data **leaves;  /* one count each */
    lz_data **results; /* one count each */
    void **payloads;   /* placeholders, then results */
    lz_loc *locs;      /* by place */
    lz_err *error;     /* when done: the first failure of this job */
} lz_job;

typedef struct lz_job_sizes {
    uint32_t nodes, leaves, numbers, results;
} lz_job_sizes;

/* Allocates the arrays, zeroed; one count is the caller's. The job retains the executable. A job that is made
 * in a workspace lies in it. */
LZ_MUST_USE lz_err *lz_job_create(lz_runtime *r, lz_executable *p, lz_job_sizes n, lz_job **out);
lz_job *lz_job_retain(lz_job *j);
void lz_job_release(lz_job *j); /* NULL does nothing */

void lz_job_run(lz_job *j);  /* once */
void lz_job_drop(lz_job *j); /* instead of running: all results fail */
/* Only for the thread that created the job. A job that was running in another thread at a fork counts as done
 * in the child, and has failed. */
bool lz_job_is_done(lz_job *j);
void lz_job_wait(lz_job *j);

#endif
