/* Products with vectors of 32 bytes. */
#if defined(__x86_64__)
#include "kernel/gemm.h"
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define LZ_GEMM_TABLE   lz_gemm_avx2
#define LZ_GEMM_BYTES   32
#define LZ_GEMM_FMA_f32 _mm256_fmadd_ps
#define LZ_GEMM_FMA_f64 _mm256_fmadd_pd
#define LZ_GEMM_ROWS    6
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx2;
#endif
