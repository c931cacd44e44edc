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

/* Swaps pairs of elements, then pairs of pairs, then quarters of vectors. */
static void transpose(const void *from, int64_t from_row, void *to, int64_t to_row)
{
    const float *x = from;
    float *y = to;
    __m512 a[16], b[16];
    for (int i = 0; i < 16; i++)
        a[i] = _mm512_loadu_ps(x + i * from_row);
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int k = 0; k < 2; k++) {
            __m512d lo = _mm512_castps_pd(b[i + k]), hi = _mm512_castps_pd(b[i + k + 2]);
            a[i + 2 * k] = _mm512_castpd_ps(_mm512_unpacklo_pd(lo, hi));
            a[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lo, hi));
        }
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            b[8 * k + i] = _mm512_shuffle_f32x4(a[8 * k + i], a[8 * k + i + 4], 0x88);
            b[8 * k + i + 4] = _mm512_shuffle_f32x4(a[8 * k + i], a[8 * k + i + 4], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        _mm512_storeu_ps(y + i * to_row, _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88));
        _mm512_storeu_ps(y + (i + 8) * to_row, _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd));
    }
}

#define LZ_GEMM_TRANSPOSE          transpose
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
