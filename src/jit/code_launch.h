/* code_launch.h - runs a kernel through compiled code.
 *
 * A run is first *split*: the split chooses which dimensions are the two loops of the code, which are looped
 * over here, and how each access moves along the vectors. The last decides which variant of the code is
 * needed. The split does not depend on the number of threads, and no result depends on the split. */
#ifndef LZ_JIT_CODE_LAUNCH_H
#define LZ_JIT_CODE_LAUNCH_H

#include "jit/axes.h"
#include "jit/code.h"

typedef struct lz_native_split {
    lz_nest nest;
    lz_native_variant variant;
    lz_axes vectors; /* the dimension that vectors span; several axes are addressed by tables */
    lz_axes across;  /* columns: the row; several axes are addressed by tables */
    lz_axes around;  /* looped over here; except with columns, the code loops over its innermost axis */
    int64_t scale;   /* indices per step of around's innermost axis; that part is in `vectors` */
    int64_t tail;    /* elements of `vectors` at the last of these steps; 0: all */
    int64_t elements;
    int walks;
    bool flat; /* every element is computed independently */
} lz_native_split;

/* Borrows kernel and arguments; both must outlive the split. */
LZ_MUST_USE lz_err *lz_native_split_make(const lz_kernel *k, const lz_kernel_args *args,
                                         lz_native_split *out);

/* c must be code of the split's kernel and variant. Like lz_kernel_run, but returns LZ_ERR_MEMORY if memory
 * runs out; in that case nothing has been written yet. */
LZ_MUST_USE lz_err *lz_native_run(const lz_native_loaded *c, const lz_native_split *cut, lz_pool *pool);

/* Outputs of at least this many bytes bypass the caches. */
int64_t lz_stream_least(void);

#endif
