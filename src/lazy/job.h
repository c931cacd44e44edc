/* job.h - one run of a compiled graph.
 *
 * A job owns everything that the run needs, so that it can run on any thread while its context
 * goes on. When it is over every result is full or has failed. A node that fails takes only
 * those results with it that depend on it; the others are computed without it. */
#ifndef LZ_LAZY_JOB_H
#define LZ_LAZY_JOB_H

#include "lazy/recipe.h"
#include "lazy/runtime.h"

typedef struct lz_job {
    struct lz_job *next; /* of the context, the next younger one */
    atomic_uint count;
    atomic_bool done;
    unsigned generation; /* in which it was made (lz_fork_count) */
    lz_runtime *runtime;
    lz_recipe *recipe;
    const char *forced;
    int threads;
    uint32_t nleaves, nargs, nresults;
    lz_argument *args; /* data of the leaves, then numbers */
    lz_data **leaves;  /* one count each */
    lz_data **results; /* one count each */
    void **payloads;   /* placeholders, then what was computed */
    lz_loc *locs;      /* by place */
    lz_err *error;     /* once it is done: the first failure of its own */
} lz_job;

typedef struct lz_job_sizes {
    uint32_t nodes, leaves, numbers, results;
} lz_job_sizes;

/* Arrays are there, zeroed; one count for the caller. Takes one more count of the recipe. */
LZ_MUST_USE lz_err *lz_job_create(lz_runtime *r, lz_recipe *p, lz_job_sizes n, lz_job **out);
lz_job *lz_job_retain(lz_job *j);
void lz_job_release(lz_job *j); /* NULL does nothing */

void lz_job_run(lz_job *j);  /* once */
void lz_job_drop(lz_job *j); /* instead: its results have failed */
/* By the one who made it. A job that another thread ran when the process was forked is over in the child, and
 * has failed. */
bool lz_job_is_done(lz_job *j);
void lz_job_wait(lz_job *j);

#endif
