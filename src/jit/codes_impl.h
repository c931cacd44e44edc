/* codes_impl.h - between codes.c (the table) and codes_thread.c (what fills it). */
#ifndef LZ_JIT_CODES_IMPL_H
#define LZ_JIT_CODES_IMPL_H

#include "base/lock.h"
#include "jit/codes.h"

enum { LZ_WANT_NOTHING, LZ_WANT_LOOK, LZ_WANT_CODE }; /* look: on the disk only */

typedef struct lz_centry lz_centry;
struct lz_centry {
    lz_kernel *kernel; /* the structure alone, its own */
    lz_variant variant;
    _Atomic(const lz_ccode *) code; /* &loaded once that is filled */
    lz_ccode loaded;
    atomic_int asked; /* the most that was wanted so far */
    atomic_bool refused;
    atomic_int_fast64_t elements; /* run without code */
    /* with the lock: */
    lz_centry *next;     /* in its bucket */
    lz_centry *in_queue; /* the next one there */
    bool queued;         /* there, or being worked on */
    int users;           /* kernels that have it */
    uint64_t used;       /* when a kernel asked for it last */
};

/* A kernel's own list, so that a run looks nothing up. */
struct lz_kcode {
    struct lz_kcode *next;
    lz_centry *entry;
};

enum { LZ_CODE_BUCKETS = 1024 };

typedef struct lz_codes {
    lz_lock lock;
    lz_centry *bucket[LZ_CODE_BUCKETS];
    lz_centry *queue, **queue_end; /* queue_end NULL: empty */
    size_t count, holders;
    uint64_t clock;
    int paused;                    /* how often */
    unsigned generation;           /* in which the thread was started (lz_fork_count) */
    struct lz_code_thread *thread; /* NULL: none */
    uint64_t no_start_before;      /* lz_clock_ns: a thread could not be started */
    struct lz_code_hold *holds;
    _Atomic(lz_code_source *) source;
    atomic_bool none; /* nothing can be compiled here */
    atomic_int_fast64_t compiles, compile_ns, disk_hits, disk_ns, swaps, refused;
} lz_codes;

extern lz_codes lz_codes_all;

/* codes_thread.c */
LZ_MUST_USE lz_err *lz_codes_tell(lz_metrics *m); /* from now on; NULL is fine */
void lz_codes_tell_no_more(lz_metrics *m);
void lz_code_make(lz_centry *e, int want);          /* on this thread */
void lz_code_ask(lz_centry *e, int want);           /* on the other */
struct lz_code_thread *lz_code_thread_take(void);   /* with the lock: it is told to stop */
void lz_code_thread_join(struct lz_code_thread *t); /* without it; NULL is fine */
void lz_code_thread_end(void); /* finishes what it is at; the next question starts another */

#endif
