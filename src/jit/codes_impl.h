/* codes_impl.h - shared by codes.c (the table) and codes_thread.c (the thread that fills it). */
#ifndef LZ_JIT_CODES_IMPL_H
#define LZ_JIT_CODES_IMPL_H

#include "base/hash_table.h"
#include "base/lock.h"
#include "jit/codes.h"

enum { LZ_WANT_NOTHING, LZ_WANT_LOOK, LZ_WANT_CODE }; /* LOOK: on the disk only */

typedef struct lz_native_slot lz_native_slot;
struct lz_native_slot {
    lz_kernel *kernel; /* owned; structure only, cannot be interpreted */
    lz_native_variant variant;
    _Atomic(const lz_native_loaded *) code; /* &loaded once that is filled in */
    lz_native_loaded loaded;
    atomic_int asked; /* the highest LZ_WANT_ so far */
    atomic_bool refused;
    lz_err
        *fault; /* owned; a broken invariant, set before `refused`: each run that finds the slot reports it */
    atomic_int_fast64_t elements; /* run without code so far */
    /* with the lock held: */
    lz_hash_link link;
    lz_native_slot *in_queue; /* the next slot in the queue */
    bool queued;              /* in the queue or being compiled */
    int users;                /* kernels that use the slot */
    uint64_t used;            /* lz_native_codes.clock at the last request */
};

/* A kernel's own list of slots, so that a run needs no table lookup. */
struct lz_kernel_code {
    struct lz_kernel_code *next;
    lz_native_slot *entry;
};

typedef struct lz_native_codes {
    lz_lock lock;
    lz_hash_table entries;              /* by kernel and variant; no memory while there is no holder */
    lz_native_slot *queue, **queue_end; /* queue_end NULL: empty */
    size_t holders;
    uint64_t clock;
    int paused;                      /* nesting depth */
    unsigned generation;             /* lz_fork_count when the thread was started */
    struct lz_native_thread *thread; /* NULL: none */
    uint64_t no_start_before;        /* lz_clock_ns; set when a thread could not be started */
    struct lz_native_hold *holds;
    _Atomic(lz_native_source *) source;
    atomic_bool none; /* nothing can be compiled here */
    atomic_int_fast64_t compiles, compile_ns, disk_hits, disk_ns, swaps, refused;
} lz_native_codes;

extern lz_native_codes lz_native_codes_all;

/* codes.c. With the lock held: the entry after `after`, or the first one for NULL; NULL at the end. */
lz_native_slot *lz_native_next(lz_native_slot *after);

/* codes_thread.c */
LZ_MUST_USE lz_err *
lz_native_codes_metrics_add(lz_metrics *m); /* from now on m receives the metrics; may be NULL */
void lz_native_codes_metrics_remove(lz_metrics *m);
void lz_native_make(lz_native_slot *e, int want);       /* on the calling thread */
void lz_native_request(lz_native_slot *e, int want);    /* on the background thread */
struct lz_native_thread *lz_native_thread_take(void);   /* with the lock held: tells the thread to stop */
void lz_native_thread_join(struct lz_native_thread *t); /* without the lock; NULL is allowed */
void lz_native_thread_end(
    void); /* finishes the current compilation; the next request starts another thread */

#endif
