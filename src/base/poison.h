/* poison.h - tells AddressSanitizer which memory must not be accessed; does nothing without it. */
#ifndef LZ_BASE_POISON_H
#define LZ_BASE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define LZ_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LZ_ASAN 1
#endif
#endif

#ifdef LZ_ASAN
#include <sanitizer/asan_interface.h>
#define LZ_POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#define LZ_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define LZ_POISON(p, n)   ((void)(p), (void)(n))
#define LZ_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#endif
