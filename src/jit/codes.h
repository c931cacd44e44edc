/* codes.h - the compiled code of this process, and when kernels are compiled.
 *
 * Code is found by kernel structure and variant, compared in full, so equal kernels of different plans share
 * it. A kernel without code runs in the tile interpreter. A background thread compiles hot kernels and swaps
 * the code in. Neither results nor errors depend on which of the two ran.
 *
 * Code lives while it is held by lz_native_codes_open or by a kernel that has run. Code that no kernel uses
 * is kept for later kernels, up to a limit; the least recently used is dropped first. */
#ifndef LZ_JIT_CODES_H
#define LZ_JIT_CODES_H

#include "base/metrics.h"
#include "jit/code.h"

typedef enum lz_jit_mode {
    LZ_JIT_OFF,        /* interpreter only */
    LZ_JIT_BACKGROUND, /* the default */
    LZ_JIT_NOW,        /* compile before the first run, for tests and for steady times */
    LZ_JIT_MODES
} lz_jit_mode;

/* The mode set by lz_jit_mode_set, else LAZULI_JIT. */
LZ_MUST_USE lz_err *lz_jit_mode_get(lz_jit_mode *out);
void lz_jit_mode_set(lz_jit_mode mode); /* LZ_JIT_MODES: read the environment again */
const char *lz_jit_mode_text(lz_jit_mode mode);

/* Adds a holder. `m` (may be NULL) receives from now on the series KernelCompile (times of compilations) and
 * the counters KernelDiskHit, KernelSwap (kernels that went from interpreted to compiled) and KernelRefused.
 * It must outlive the hold. */
LZ_MUST_USE lz_err *lz_native_codes_open(lz_metrics *m);
void lz_native_codes_close(lz_metrics *m); /* the last one unloads all code and ends the thread */

typedef struct lz_native_codes_counts {
    int64_t compiles, compile_ns, disk_hits, disk_ns, swaps, refused; /* since the process started */
    int64_t entries;                                                  /* at present */
} lz_native_codes_counts;

void lz_native_codes_count(lz_native_codes_counts *out);
void lz_native_codes_wait(void); /* until the thread is idle */

/* While paused the thread starts no compilation, but still looks on the disk: a graph's first run needs the
 * CPUs more than the code. Calls nest. */
void lz_native_codes_pause(void);
void lz_native_codes_resume(void);

/* The code to run, or NULL: interpret. `elements` is the size of this run. LZ_ERR_INTERNAL if compiling the
 * kernel broke an invariant, now or before; other failures to compile only leave it interpreted. */
LZ_MUST_USE lz_err *lz_native_codes_find(const lz_kernel *k, const lz_native_variant *v, int64_t elements,
                                         lz_jit_mode mode, const lz_native_loaded **out);
/* Call before the kernel is destroyed. */
void lz_native_codes_detach(lz_kernel *k);

/* Gets code from the disk or, if `make`, compiles it. Without `make`, out->run stays NULL if the disk has
 * none. *made: it was compiled. LZ_ERR_NOT_FOUND: nothing can be compiled here. */
typedef lz_err *lz_native_source(const lz_kernel *k, const lz_native_variant *v, bool make,
                                 lz_native_loaded *out, bool *made);

lz_native_source lz_native_get; /* the default source */
/* NULL: the default. Only tests set another source, which is slow or fails: the source is read by the thread
 * that compiles, so it cannot be an argument. */
void lz_native_codes_source_set(lz_native_source *s);

#endif
