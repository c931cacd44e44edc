/* cpu.h - the machine this process runs on. */
#ifndef LZ_BASE_CPU_H
#define LZ_BASE_CPU_H

#include "base/err.h"
#include "base/text.h"

enum { LZ_MOST_THREADS = 4096 };

int lz_cpu_count(void); /* the CPUs this process may run on; at least 1 */

/* Threads to use: LAZULI_THREADS, else lz_cpu_count. */
LZ_MUST_USE lz_err *lz_cpu_threads(int *out);

/* "Intel(R) Xeon(R) ...", or the architecture where the CPU does not say. */
void lz_cpu_name(lz_text *out);

/* The vector extensions we care about, as "avx2 fma avx512f", in a fixed order. */
void lz_cpu_features(lz_text *out);

uint64_t lz_memory_total(void); /* bytes; 0: unknown */

#endif
