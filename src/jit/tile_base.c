/* The tile functions for every CPU of the architecture. */
#ifndef __clang__
#pragma GCC optimize("no-thread-jumps") /* jump threading through selects keeps gcc 13 from vectorising */
#endif
#if defined(__FMA__) || defined(__aarch64__)
#define LZ_TILE_FMA
#endif
#ifdef __x86_64__
#include <immintrin.h>
#define LZ_STRIP_f32      4
#define LZ_GET_f32        _mm_loadu_ps
#define LZ_PUT_f32        _mm_storeu_ps
#define LZ_PAST_f32       _mm_stream_ps
#define LZ_ROOT_f32       _mm_sqrt_ps
#define LZ_STRIP_f64      2
#define LZ_GET_f64        _mm_loadu_pd
#define LZ_PUT_f64        _mm_storeu_pd
#define LZ_ROOT_f64       _mm_sqrt_pd
#define LZ_TIMES_32(x, k) (philox_strip) _mm_mul_epu32((__m128i)(x), _mm_set1_epi64x(k))
#endif
#define LZ_TILE_TABLE lz_tile_base
#define LZ_TILE_NAME  "base"
#include "jit/tile_impl.h"
