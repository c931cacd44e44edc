/* memory_limit.h - how much more memory the process may map if RLIMIT_AS limits it.
 *
 * LLVM, oneDNN and OpenBLAS end a process that runs out of memory while they work. So callers first ask
 * whether the limit leaves the memory that the library is known to take. If not, they do without the library:
 *
 *     static lz_memory_limit_need need = { "LLVM", 448 << 20 };
 *     if (!lz_memory_limit_allows(&need))
 *         ... as if the library were missing ...
 *
 * The bytes of a need are measured plus a reserve: other threads take memory meanwhile, and the first
 * allocation of each maps 64 MiB. Without a limit the question costs one load. */
#ifndef LZ_BASE_MEMORY_LIMIT_H
#define LZ_BASE_MEMORY_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct lz_memory_limit_need {
    const char *what; /* the library or activity, for the message that it is not used */
    size_t bytes;
    atomic_bool logged; /* the message has been logged */
} lz_memory_limit_need;

/* Does the process have a limit? As of the last lz_memory_limit_check. */
extern atomic_bool lz_memory_limit_is_set;

/* Checks whether there is a limit. Called when a context is opened, a plan made, a library loaded, a kernel
 * compiled. A limit set later takes effect at the next of these calls. */
void lz_memory_limit_check(void);

/* Asks the system. False is logged, once for each need. */
bool lz_memory_limit_allows_now(lz_memory_limit_need *need);

/* As lz_memory_limit_allows_now, but true without asking if no limit was set at the last
 * lz_memory_limit_check. */
static inline bool lz_memory_limit_allows(lz_memory_limit_need *need)
{
    return !atomic_load_explicit(&lz_memory_limit_is_set, memory_order_relaxed)
           || lz_memory_limit_allows_now(need);
}

#endif
