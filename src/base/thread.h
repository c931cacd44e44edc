/* thread.h - starting threads the way every thread of the library is started:
 * with a stack of a stated size, a name for debuggers, and the host's signals
 * left to the host's threads. */
#ifndef LZ_BASE_THREAD_H
#define LZ_BASE_THREAD_H

#include "base/err.h"
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* A variable of each thread that costs no call to reach; for a few bytes. */
#define LZ_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

typedef void *lz_thread_fn(void *arg);

/* name: at most 15 bytes. To be joined with pthread_join. That a thread cannot be started is logged once:
 * callers go on with fewer. */
LZ_MUST_USE lz_err *lz_thread_start(const char *name, size_t stack, lz_thread_fn *run, void *arg,
                                    pthread_t *out);

/* The first thing that a thread of the library does; and whether this one has. */
void lz_thread_begin(void);
bool lz_thread_is_ours(void);

/* For loops that wait for something that wakes nobody; ns below a second. */
static inline void lz_nap(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* In a loop that waits for another core. */
static inline void lz_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
