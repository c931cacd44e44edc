#include "base/room.h"
#include "base/log.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

atomic_bool lz_room_is_limited;

static bool limit_of(uint64_t *out)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) || most.rlim_cur == RLIM_INFINITY)
        return false;
    *out = most.rlim_cur;
    return true;
}

void lz_room_look(void)
{
    uint64_t limit;
    atomic_store_explicit(&lz_room_is_limited, limit_of(&limit), memory_order_relaxed);
}

/* Bytes that are mapped; UINT64_MAX: nobody knows. Allocates nothing. */
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

bool lz_room_is_there(lz_room_need *need)
{
    uint64_t limit, used;
    if (!limit_of(&limit))
        return true;
    used = mapped();
    uint64_t left = used < limit ? limit - used : 0;
    if (left >= need->bytes)
        return true;
    if (!atomic_exchange(&need->told, true))
        lz_logf(
            LZ_LOG_WARN,
            "%s is left out: it may take %zu MiB, and %llu MiB are left of the process's limit (RLIMIT_AS)",
            need->what, need->bytes >> 20, (unsigned long long)(left >> 20));
    return false;
}
