/* AVX-512 (F, BW, DQ, VL): CPUs for which lz_tile has checked it. */
#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))),         \
                             apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#endif
#define LZ_TILE_FMA
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
