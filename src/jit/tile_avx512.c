/* AVX-512 (F, BW, DQ, VL): CPUs for which lz_tile has checked it. */
#if defined(__x86_64__)
#include <immintrin.h>
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))),         \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define LZ_TILE_FMA
#define LZ_STRIP_f32  16
#define LZ_GET_f32    _mm512_loadu_ps
#define LZ_PUT_f32    _mm512_storeu_ps
#define LZ_ROOT_f32   _mm512_sqrt_ps
#define LZ_STRIP_f64  8
#define LZ_GET_f64    _mm512_loadu_pd
#define LZ_PUT_f64    _mm512_storeu_pd
#define LZ_ROOT_f64   _mm512_sqrt_pd
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
