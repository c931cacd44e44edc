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
#define LZ_GEMM_TABLE              lz_gemm_avx512
#define LZ_GEMM_BYTES              64
#define LZ_GEMM_FMA_f32            _mm512_fmadd_ps
#define LZ_GEMM_FMA_f64            _mm512_fmadd_pd
#define LANES32(n)                 ((__mmask16)((1u << (n)) - 1))
#define LANES64(n)                 ((__mmask8)((1u << (n)) - 1))
#define LZ_GEMM_LOAD_f32(p, n)     _mm512_maskz_loadu_ps(LANES32(n), p)
#define LZ_GEMM_LOAD_f64(p, n)     _mm512_maskz_loadu_pd(LANES64(n), p)
#define LZ_GEMM_LOAD_i32(p, n)     _mm512_maskz_loadu_epi32(LANES32(n), p)
#define LZ_GEMM_LOAD_i64(p, n)     _mm512_maskz_loadu_epi64(LANES64(n), p)
#define LZ_GEMM_STORE_f32(p, n, v) _mm512_mask_storeu_ps(p, LANES32(n), v)
#define LZ_GEMM_STORE_f64(p, n, v) _mm512_mask_storeu_pd(p, LANES64(n), v)
#define LZ_GEMM_STORE_i32(p, n, v) _mm512_mask_storeu_epi32(p, LANES32(n), (__m512i)(v))
#define LZ_GEMM_STORE_i64(p, n, v) _mm512_mask_storeu_epi64(p, LANES64(n), (__m512i)(v))
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx512;
#endif
