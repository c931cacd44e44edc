/* thread.h - starts the library's threads: with a stated stack size, a name for debuggers, and the host's
 * signals left to the host's threads. */
#ifndef LZ_BASE_THREAD_H
#define LZ_BASE_THREAD_H

#include "base/err.h"
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* A thread-local variable that is accessed without a call; only for a few bytes. */
#define LZ_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

typedef void *lz_thread_fn(void *arg);

/* name: at most 15 bytes. Join with pthread_join. A failure to start is also logged once: callers continue
 * with fewer threads. */
LZ_MUST_USE lz_err *lz_thread_start(const char *name, size_t stack, lz_thread_fn *run, void *arg,
                                    pthread_t *out);

/* Every thread of the library calls lz_thread_begin first; lz_thread_is_ours tells whether this one did. */
void lz_thread_begin(void);
bool lz_thread_is_ours(void);

/* For loops that poll for something that cannot wake them; ns must be below a second. */
static inline void lz_sleep_ns(long ns)
{
    nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* For loops that wait for another core. */
static inline void lz_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
