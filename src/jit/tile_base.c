/* For every CPU of the architecture. */
#ifndef __clang__
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif
#define LZ_TILE_TABLE lz_tile_base
#define LZ_TILE_NAME  "base"
#include "jit/tile_impl.h"
