/* code_launch.h - runs of a kernel through compiled code.
 *
 * A run is first *cut*: which dimensions are the two loops of the code, which are walked
 * from here, and how each access goes along the vectors; the last is the variant of the
 * code that fits. Neither depends on threads, and no result depends on the cut. */
#ifndef LZ_JIT_CODE_LAUNCH_H
#define LZ_JIT_CODE_LAUNCH_H

#include "jit/axes.h"
#include "jit/code.h"

typedef struct lz_ccut {
    lz_nest nest;
    lz_variant variant;
    lz_axes vectors; /* the dimension of the vectors; several axes go by tables */
    lz_axes across;  /* columns: the row; several axes go by tables */
    lz_axes around;  /* what is walked from here; unless columns, the code walks the innermost of it */
    int64_t scale;   /* indices to a step of the innermost axis around: the rest belongs to `vectors` */
    int64_t tail;    /* elements of `vectors` at the last of these steps; 0: all */
    int64_t elements;
    int walks;
    bool flat; /* elements do not depend on each other */
} lz_ccut;

/* Borrows kernel and arguments. */
LZ_MUST_USE lz_err *lz_ccut_make(const lz_kernel *k, const lz_kernel_args *args, lz_ccut *out);

/* c is of the kernel in the cut's variant. As lz_kernel_run; but where memory is out this is
 * LZ_ERR_MEMORY, and nothing has been written yet. */
LZ_MUST_USE lz_err *lz_code_run(const lz_ccode *c, const lz_ccut *cut, lz_pool *pool);

/* Outputs of so many bytes go past the caches. */
int64_t lz_stream_least(void);

#endif
