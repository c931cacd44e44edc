/* Products with vectors of 64 bytes. */
#if defined(__x86_64__)
#include "kernel/gemm.h"
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")
#endif
#define LZ_GEMM_TABLE   lz_gemm_avx512
#define LZ_GEMM_BYTES   64
#define LZ_GEMM_FMA_f32 _mm512_fmadd_ps
#define LZ_GEMM_FMA_f64 _mm512_fmadd_pd
#define LZ_GEMM_ROWS    12
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx512;
#endif
