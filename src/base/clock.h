/* clock.h - monotonic time, for measuring; never a date. */
#ifndef LZ_BASE_CLOCK_H
#define LZ_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment of this boot. */
uint64_t lz_clock_ns(void);

#endif
