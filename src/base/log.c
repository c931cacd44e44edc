#include "base/log.h"
#include "base/foreign.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thread.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SMALL = 512 };

static struct {
    lz_lock lock;
    lz_log_fn *fn;
    void *user;
} sink = { .lock = LZ_LOCK_INIT };

static atomic_int most = LZ_LOG_OFF;
static _Thread_local bool inside; /* this thread is in the callback and holds the lock */

void lz_log_set(lz_log_fn *fn, void *user, lz_level level)
{
    bool locked = inside;
    if (!locked)
        lz_lock_take(&sink.lock);
    sink.fn = fn;
    sink.user = user;
    atomic_store_explicit(&most, fn ? (int)level : LZ_LOG_OFF, memory_order_relaxed);
    if (!locked)
        lz_lock_give(&sink.lock);
}

bool lz_log_on(lz_level level)
{
    return level >= LZ_LOG_ERROR && (int)level <= atomic_load_explicit(&most, memory_order_relaxed);
}

/* At process exit, what the host's callback uses may already be gone when one of our threads calls it. */
static void call(lz_level level, const char *msg)
{
    bool counted = lz_thread_is_ours();
    if (counted && !lz_foreign_enter())
        return;
    sink.fn(sink.user, level, msg);
    if (counted)
        lz_foreign_leave();
}

static void deliver(lz_level level, char *msg)
{
    for (char *nl = strchr(msg, '\n'); nl; nl = strchr(nl, '\n'))
        *nl = ' ';
    lz_lock_take(&sink.lock);
    inside = true;
    if (lz_log_on(level)) /* the callback may have been removed since the first check */
        call(level, msg);
    inside = false;
    lz_lock_give(&sink.lock);
}

void lz_logf(lz_level level, const char *fmt, ...)
{
    if (!lz_log_on(level) || inside)
        return;
    char small[SMALL];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(small, SMALL, fmt, ap);
    char *large = n < SMALL ? NULL : lz_mem_alloc((size_t)n + 1);
    if (large)
        vsnprintf(large, (size_t)n + 1, fmt, again);
    else if (n >= SMALL)
        memcpy(small + SMALL - 4, "...", 4);
    va_end(again);
    va_end(ap);
    if (n >= 0)
        deliver(level, large ? large : small);
    lz_mem_free(large);
}
