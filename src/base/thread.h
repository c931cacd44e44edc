/* thread.h - starting threads the way every thread of the library is started:
 * with a stack of a stated size, a name for debuggers, and the host's signals
 * left to the host's threads. */
#ifndef LZ_BASE_THREAD_H
#define LZ_BASE_THREAD_H

#include "base/err.h"
#include <pthread.h>

typedef void *lz_thread_fn(void *arg);

/* name: at most 15 bytes. To be joined with pthread_join. */
LZ_MUST_USE lz_err *lz_thread_start(const char *name, size_t stack, lz_thread_fn *run, void *arg,
                                    pthread_t *out);

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
