/* Products with vectors of 32 bytes. */
#if defined(__x86_64__)
#include "kernel/gemm.h"
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LZ_GEMM_TABLE lz_gemm_avx2
#define LZ_GEMM_BYTES 32
#define LZ_GEMM_ROWS  6
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx2;
#endif
