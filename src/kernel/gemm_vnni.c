/* Products of 8-bit integers with the instructions of AVX512-VNNI. */
#if defined(__x86_64__)
#include "kernel/gemm.h"
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512vnni"))),                \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")
#endif

#define LZ_GEMM_TRANSPOSE           NULL
#define LZ_GEMM_TABLE               lz_gemm_vnni
#define LZ_GEMM_BYTES               64
#define LZ_GEMM_FMA_f32             _mm512_fmadd_ps
#define LANES32(n)                  ((__mmask16)((1u << (n)) - 1))
#define LZ_GEMM_LOAD_pair(p, n)     _mm512_maskz_loadu_epi32(LANES32(n), p)
#define LZ_GEMM_STORE_pair(p, n, v) _mm512_mask_storeu_epi32(p, LANES32(n), (__m512i)(v))
#define LZ_GEMM_DOT_TYPE            LZ_GEMM_I8_QUADS
#define LZ_GEMM_DOT(sum, x, y)      _mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(x), (__m512i)(y))
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx512_vnni;
#endif
