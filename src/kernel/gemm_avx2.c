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

/* Swaps pairs of elements, then pairs of pairs, then halves of vectors. */
static void transpose(const void *from, int64_t from_row, void *to, int64_t to_row)
{
    const float *x = from;
    float *y = to;
    __m256 a[8], b[8];
    for (int i = 0; i < 8; i++)
        a[i] = _mm256_loadu_ps(x + i * from_row);
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            __m256d lo = _mm256_castps_pd(b[i + k]), hi = _mm256_castps_pd(b[i + k + 2]);
            a[i + 2 * k] = _mm256_castpd_ps(_mm256_unpacklo_pd(lo, hi));
            a[i + 2 * k + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(lo, hi));
        }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(y + i * to_row, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        _mm256_storeu_ps(y + (i + 4) * to_row, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
}

#define LZ_GEMM_TRANSPOSE          transpose
#define LZ_GEMM_TABLE              lz_gemm_avx2
#define LZ_GEMM_BYTES              32
#define LZ_GEMM_FMA_f32            _mm256_fmadd_ps
#define LZ_GEMM_FMA_f64            _mm256_fmadd_pd
#define LANES32(n)                 _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LANES64(n)                 _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))
#define LZ_GEMM_LOAD_f32(p, n)     _mm256_maskload_ps(p, LANES32(n))
#define LZ_GEMM_LOAD_f64(p, n)     _mm256_maskload_pd(p, LANES64(n))
#define LZ_GEMM_LOAD_i32(p, n)     _mm256_maskload_epi32(p, LANES32(n))
#define LZ_GEMM_LOAD_i64(p, n)     _mm256_maskload_epi64(p, LANES64(n))
#define LZ_GEMM_STORE_f32(p, n, v) _mm256_maskstore_ps(p, LANES32(n), v)
#define LZ_GEMM_STORE_f64(p, n, v) _mm256_maskstore_pd(p, LANES64(n), v)
#define LZ_GEMM_STORE_i32(p, n, v) _mm256_maskstore_epi32(p, LANES32(n), (__m256i)(v))
#define LZ_GEMM_STORE_i64(p, n, v) _mm256_maskstore_epi64(p, LANES64(n), (__m256i)(v))
#include "kernel/gemm_impl.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_avx2;
#endif
