/* runtime.h - what all contexts of the process share: compiled graphs, threads of devices,
 * metrics.
 *
 * The runtime exists as long as a context does; any thread may use it. */
#ifndef LZ_LAZY_RUNTIME_H
#define LZ_LAZY_RUNTIME_H

#include "base/lock.h"
#include "base/metrics.h"
#include "base/queue.h"
#include "lazy/cache.h"

enum { LZ_WARNINGS = 3 };

/* The counters of one context. */
typedef struct lz_counted {
    struct lz_counted *next, *prev;
    atomic_uint_fast64_t n[]; /* [LZ_COUNTS] */
} lz_counted;

typedef struct lz_device_thread {
    struct lz_device_thread *next;
    lz_device device;
    lz_queue *queue;
} lz_device_thread;

typedef struct lz_runtime {
    lz_lock lock;
    lz_cache *cache;
    lz_metrics *metrics;
    lz_series *record, *lower, *compile, *execute, *sync, *graph_size, *lock_wait, *to_data;
    lz_counted *counted;       /* of all open contexts */
    int64_t *closed;           /* [LZ_COUNTS], the sums of closed contexts */
    lz_device_thread *threads; /* one for each device with asynchronous jobs */
    lz_lock names_lock;
    lz_arena names; /* the names that lz_counter_name returned last */
    const char **name;
    size_t nnames;
    char *save_file;       /* every graph that runs is appended to this file; NULL: none */
    int save_form;         /* lz_dump_form */
    int64_t most_closures; /* limit of waiting asynchronous closures, for each context */
    bool holds_codes;
    char inject[64];             /* "mul.Tensor": graphs with it fail, for tests; "": none */
    char *warnings[LZ_WARNINGS]; /* by lz_slowdown: the last one of any context; NULL: none */
} lz_runtime;

/* The first call creates the runtime and loads the backends that LAZULI_BACKEND names; the last release
 * ends its threads and frees it. */
LZ_MUST_USE lz_err *lz_runtime_retain(lz_runtime **out);
void lz_runtime_release(lz_runtime *r); /* NULL does nothing */
/* One more count if there is a runtime, or NULL. */
lz_runtime *lz_runtime_if_there(void);

/* "cpu", "npu:1"; NULL: LAZULI_DEVICE, or the default device of the first backend. ts_cuda: "cpu" without a
 * number is a CUDA device. */
LZ_MUST_USE lz_err *lz_runtime_device(const char *name, bool ts_cuda, lz_device *out,
                                      const lz_backend **backend);

/* The jobs of a device run one after the other. The device's thread starts with the first call. */
LZ_MUST_USE lz_err *lz_runtime_queue(lz_runtime *r, lz_device d, lz_queue **out);

/* Makes graphs with this operator fail from now on; NULL: none. Requires that nothing runs. */
void lz_runtime_inject(lz_runtime *r, const char *op);

/* New counters for a context. */
LZ_MUST_USE lz_err *lz_runtime_count(lz_runtime *r, lz_counted **out);
void lz_runtime_uncount(lz_runtime *r, lz_counted *c); /* the counts stay in the sums */
void lz_runtime_counters(lz_runtime *r, int64_t *out); /* [LZ_COUNTS] */
void lz_runtime_clear(lz_runtime *r);                  /* all counters to 0, no warnings */

/* Keeps a warning for the report; replaces the last one of that kind (watch.h). */
void lz_runtime_warn(lz_runtime *r, int kind, const char *text);
void lz_runtime_put_warnings(lz_runtime *r, lz_text *out);

#endif
