/* cpu.h - the machine this process runs on. */
#ifndef LZ_BASE_CPU_H
#define LZ_BASE_CPU_H

#include "base/err.h"
#include "base/text.h"

enum { LZ_MOST_THREADS = 4096 };

/* The CPUs this process may run on, or, if that is less, whose time its control groups allow; at least 1. */
int lz_cpu_count(void);

/* Threads to use: LAZULI_THREADS, else lz_cpu_count. */
LZ_MUST_USE lz_err *lz_cpu_threads(int *out);

/* "Intel(R) Xeon(R) ...", or the architecture if the CPU has no name. */
void lz_cpu_name(lz_text *out);

/* The vector extensions that matter here, as "avx2 fma avx512f", in a fixed order. */
void lz_cpu_features(lz_text *out);

uint64_t lz_memory_total(void); /* bytes; 0: unknown */

#endif
