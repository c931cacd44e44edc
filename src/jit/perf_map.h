/* perf_map.h - names of compiled kernels for Linux's perf, where LAZULI_PERF_MAP is 1.
 *
 * perf looks up code that belongs to no file in /tmp/perf-PID.map: one line a function, its address and size
 * in hexadecimal, and its name. Names are "lazuli_kernel_TAG_OPERATIONS", the tag being the one that profiles
 * show behind a kernel's operators, and "..._walk" for the part that threads share rows with. */
#ifndef LZ_JIT_PERF_MAP_H
#define LZ_JIT_PERF_MAP_H

#include "jit/code.h"

/* Adds the functions of loaded code. What goes wrong is logged: the code runs all the same. */
void lz_perf_map_add(const lz_kernel *k, const lz_ccode *c);

/* The lines, as they are added. */
void lz_perf_map_print(const lz_kernel *k, const lz_ccode *c, lz_text *out);

#endif
