/* Steps of recurrent cells with vectors of 32 bytes. */
#if defined(__x86_64__)
#include "kernel/recurrent.h"
#include <math.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define LZ_CELL_TABLE lz_cell_avx2
#include "kernel/recurrent_steps.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_cell_avx2;
#endif
