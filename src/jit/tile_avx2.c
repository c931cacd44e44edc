/* AVX2 with fma: CPUs for which lz_tile has checked it. */
#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#pragma GCC target("avx2,fma")
#endif
#define LZ_TILE_FMA
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
