#include "base/memory_limit.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

atomic_bool lz_memory_limit_is_set;

static bool limit_of(uint64_t *out)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur == RLIM_INFINITY)
        return false;
    *out = most.rlim_cur;
    return true;
}

void lz_memory_limit_check(void)
{
    uint64_t limit;
    atomic_store_explicit(&lz_memory_limit_is_set, limit_of(&limit), memory_order_relaxed);
}

/* Bytes that are mapped; UINT64_MAX: unknown. Allocates nothing. */
static uint64_t mapped(void)
{
    char text[64];
    uint64_t pages = 0;
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = file >= 0 ? read(file, text, sizeof text) : -1;
    long page = sysconf(_SC_PAGESIZE);
    if (file >= 0)
        close(file);
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = 10 * pages + (uint64_t)(text[i] - '0');
    return pages && page > 0 ? pages * (uint64_t)page : UINT64_MAX;
}

bool lz_memory_limit_allows_now(lz_memory_limit_need *need)
{
    uint64_t limit, used;
    if (!limit_of(&limit))
        return true;
    used = mapped();
    uint64_t left = used < limit ? limit - used : 0;
    if (left >= need->bytes)
        return true;
    if (!atomic_exchange(&need->logged, true))
        lz_logf(LZ_LOG_WARN,
                "%s is not used: it may take %zu MiB, and the process's limit (RLIMIT_AS) leaves %llu MiB",
                need->what, need->bytes >> 20, (unsigned long long)(left >> 20));
    return false;
}
