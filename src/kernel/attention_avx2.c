/* Rows of scores with vectors of 32 bytes. */
#if defined(__x86_64__)
#include "kernel/attention.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LZ_ATTENTION_TABLE lz_attention_avx2
#include "kernel/attention_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_attention_avx2;
#endif
