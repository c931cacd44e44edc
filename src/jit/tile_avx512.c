/* The tile functions for AVX-512 (F, BW, DQ, VL). lz_tile checks the CPU first. */
#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))),         \
                             apply_to = function)
#else
#pragma GCC optimize("no-thread-jumps") /* jump threading through selects keeps gcc 13 from vectorising */
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define LZ_TILE_FMA
#define LZ_STRIP_f32      16
#define LZ_GET_f32        _mm512_loadu_ps
#define LZ_PUT_f32        _mm512_storeu_ps
#define LZ_PAST_f32       _mm512_stream_ps
#define LZ_ROOT_f32       _mm512_sqrt_ps
#define LZ_STRIP_f64      8
#define LZ_GET_f64        _mm512_loadu_pd
#define LZ_PUT_f64        _mm512_storeu_pd
#define LZ_ROOT_f64       _mm512_sqrt_pd
#define LZ_TIMES_32(x, k) (philox_strip) _mm512_mul_epu32((__m512i)(x), _mm512_set1_epi64(k))

#define LZ_PICK 16

/* Offsets of elements 0 to 7, in elements. */
static inline __m512i places(int64_t stride, const int64_t *index)
{
    __m512i at = _mm512_mul_epi32(_mm512_set1_epi64(stride), _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
    return index ? _mm512_add_epi64(at, _mm512_loadu_si512(index)) : at;
}

static inline void lz_pick_8(char *to, const char *from, int64_t stride, const int64_t *index)
{
    const char *half = from + 64 * stride;
    __m512i low = _mm512_i64gather_epi64(places(stride, index), from, 8);
    __m512i high = _mm512_i64gather_epi64(places(stride, index ? index + 8 : NULL), half, 8);
    _mm512_storeu_si512(to, low);
    _mm512_storeu_si512(to + 64, high);
}

static inline void lz_pick_4(char *to, const char *from, int64_t stride, const int64_t *index)
{
    const char *half = from + 32 * stride;
    __m256i low = _mm512_i64gather_epi32(places(stride, index), from, 4);
    __m256i high = _mm512_i64gather_epi32(places(stride, index ? index + 8 : NULL), half, 4);
    _mm512_storeu_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

#define LZ_TILE_TABLE lz_tile_avx512
#define LZ_TILE_NAME  "avx512"
#include "jit/tile_impl.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
#define LZ_TILE_TABLE lz_tile_avx512
#define LZ_TILE_NAME  "avx512"
#include "jit/tile_impl.h"
#endif
