/* The tile functions for AVX2 with FMA. lz_tile checks the CPU first. */
#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("no-thread-jumps") /* jump threading through selects keeps gcc 13 from vectorising */
#pragma GCC target("avx2,fma")
#endif
#define LZ_TILE_FMA
#define LZ_STRIP_f32      8
#define LZ_GET_f32        _mm256_loadu_ps
#define LZ_PUT_f32        _mm256_storeu_ps
#define LZ_PAST_f32       _mm256_stream_ps
#define LZ_ROOT_f32       _mm256_sqrt_ps
#define LZ_STRIP_f64      4
#define LZ_GET_f64        _mm256_loadu_pd
#define LZ_PUT_f64        _mm256_storeu_pd
#define LZ_ROOT_f64       _mm256_sqrt_pd
#define LZ_TIMES_32(x, k) (philox_strip) _mm256_mul_epu32((__m256i)(x), _mm256_set1_epi64x(k))

#define LZ_PICK 8

/* Offsets of elements 0 to 3, in elements. */
static inline __m256i places(int64_t stride, const int64_t *index)
{
    __m256i at = _mm256_mul_epi32(_mm256_set1_epi64x(stride), _mm256_setr_epi64x(0, 1, 2, 3));
    return index ? _mm256_add_epi64(at, _mm256_loadu_si256((const __m256i *)(const void *)index)) : at;
}

static inline void lz_pick_8(char *to, const char *from, int64_t stride, const int64_t *index)
{
    __m256i low = _mm256_i64gather_epi64((const void *)from, places(stride, index), 8);
    __m256i high = _mm256_i64gather_epi64((const void *)(from + 32 * stride),
                                          places(stride, index ? index + 4 : NULL), 8);
    _mm256_storeu_si256((__m256i *)(void *)to, low);
    _mm256_storeu_si256((__m256i *)(void *)(to + 32), high);
}

static inline void lz_pick_4(char *to, const char *from, int64_t stride, const int64_t *index)
{
    __m128i low = _mm256_i64gather_epi32((const void *)from, places(stride, index), 4);
    __m128i high = _mm256_i64gather_epi32((const void *)(from + 16 * stride),
                                          places(stride, index ? index + 4 : NULL), 4);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_set_m128i(high, low));
}

#define LZ_TILE_TABLE lz_tile_avx2
#define LZ_TILE_NAME  "avx2"
#include "jit/tile_impl.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
#define LZ_TILE_TABLE lz_tile_avx2
#define LZ_TILE_NAME  "avx2"
#include "jit/tile_impl.h"
#endif
