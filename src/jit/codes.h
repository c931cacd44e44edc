/* codes.h - the compiled code of this process, and when there is some.
 *
 * Code is found by a kernel's structure and a variant, compared in full, so equal kernels of
 * different plans share it. Until there is some the tile interpreter runs; what is hot is
 * compiled by a thread of its own and swapped in. Neither a result nor an error depends on
 * which of the two ran.
 *
 * Everything lives while it is held: by lz_codes_open, or by a kernel that has run. What no
 * kernel uses is kept for the next one, up to a bound, the least recently used going first. */
#ifndef LZ_JIT_CODES_H
#define LZ_JIT_CODES_H

#include "base/metrics.h"
#include "jit/code.h"

typedef enum lz_jit_mode {
    LZ_JIT_OFF,        /* the interpreter alone */
    LZ_JIT_BACKGROUND, /* the default */
    LZ_JIT_NOW,        /* compiled before the first run, for tests and for steady times */
    LZ_JIT_MODES
} lz_jit_mode;

/* LAZULI_JIT, or what was set. */
LZ_MUST_USE lz_err *lz_jit_mode_get(lz_jit_mode *out);
void lz_jit_mode_set(lz_jit_mode mode); /* LZ_JIT_MODES: ask the environment again */
const char *lz_jit_mode_text(lz_jit_mode mode);

/* Holds everything. `m` (may be NULL) is told what happens from now on: the series
 * KernelCompile (machine code made; times), the counters KernelDiskHit, KernelSwap (interpreted
 * kernels that went on compiled) and KernelRefused. It must outlive the hold. */
LZ_MUST_USE lz_err *lz_codes_open(lz_metrics *m);
void lz_codes_close(lz_metrics *m); /* the last one unloads everything and ends the thread */

typedef struct lz_codes_counts {
    int64_t compiles, compile_ns, disk_hits, disk_ns, swaps, refused; /* since the process began */
    int64_t entries;                                                  /* now */
} lz_codes_counts;

void lz_codes_count(lz_codes_counts *out);
void lz_codes_wait(void); /* until the thread has nothing more to do */

/* Between the two the thread begins to compile nothing, though it still looks on the disk: a graph's
 * first run needs the CPUs more than its code is needed. They nest. */
void lz_codes_pause(void);
void lz_codes_resume(void);

/* The code to run, or NULL: interpret. `elements` is how much this run is. */
LZ_MUST_USE lz_err *lz_codes_find(const lz_kernel *k, const lz_variant *v, int64_t elements, lz_jit_mode mode,
                                  const lz_ccode **out);
/* The kernel goes. */
void lz_codes_detach(lz_kernel *k);

/* Makes code, or finds it on the disk; with `make` unset only the latter, and where there
 * is none out->run stays NULL. *made: it was compiled. LZ_ERR_NOT_FOUND: nothing can be compiled here. */
typedef lz_err *lz_code_source(const lz_kernel *k, const lz_variant *v, bool make, lz_ccode *out, bool *made);

lz_code_source lz_code_get;                  /* the real one */
void lz_codes_source_set(lz_code_source *s); /* for tests; NULL: the real one */

#endif
