/* Philox words with vectors of 32 bytes. */
#if defined(__x86_64__)
#include "kernel/philox_words.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LZ_PHILOX_FILL lz_philox_fill_avx2
#include "kernel/philox_fill.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_philox_avx2;
#endif
