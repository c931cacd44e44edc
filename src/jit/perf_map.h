/* perf_map.h - names of compiled kernels for Linux's perf, if LAZULI_PERF_MAP is 1.
 *
 * perf looks up code that belongs to no file in /tmp/perf-PID.map: one line per function with its address and
 * size in hexadecimal, and its name. Names are "lazuli_kernel_TAG_OPERATIONS", with the tag that profiles
 * show after a kernel's operators, and "..._walk" for the function with which threads share a row. */
#ifndef LZ_JIT_PERF_MAP_H
#define LZ_JIT_PERF_MAP_H

#include "jit/code.h"

/* Adds the functions of loaded code. Errors are only logged: the code runs without the names. */
void lz_perf_map_add(const lz_kernel *k, const lz_native_loaded *c);

/* The lines that lz_perf_map_add would add. */
void lz_perf_map_print(const lz_kernel *k, const lz_native_loaded *c, lz_text *out);

#endif
