/* Steps of recurrent cells with vectors of 64 bytes. */
#if defined(__x86_64__)
#include "kernel/recurrent.h"
#include <math.h>
#include <string.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl")
#endif
#define LZ_CELL_TABLE lz_cell_avx512
#include "kernel/recurrent_steps.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int lz_no_cell_avx512;
#endif
