#include "base/clock.h"
#include <time.h>

uint64_t lz_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail: the clock exists and t is writable */
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}
