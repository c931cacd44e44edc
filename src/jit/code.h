/* code.h - compiled kernels from outside: which code a launch needs, and how it is called.
 *
 * Code serves one kernel structure in one *variant*. The variant says how each access moves along the
 * dimension that vectors span. Sizes, strides, pointers and scalars are in the frame. The code has two loops,
 * outer and row, each over one dimension; the caller merges dimensions where possible and loops over the
 * others. Vectors span the row (LZ_KERNEL_ROWS, and every kernel without a reduction or scan) or the outer
 * dimension (LZ_KERNEL_COLUMNS). Results equal those of the tile interpreter bit for bit. */
#ifndef LZ_JIT_CODE_H
#define LZ_JIT_CODE_H

#include "base/text.h"
#include "jit/kernel_ir.h"
#include "jit/tile.h"

/* How an access moves along the dimension of the vectors. */
typedef enum lz_run {
    LZ_RUN_SAME,   /* does not move: one value for all */
    LZ_RUN_NEXT,   /* contiguous */
    LZ_RUN_BACK,   /* contiguous, from the last element to the first */
    LZ_RUN_STEP,   /* `step` bytes apart */
    LZ_RUN_TABLE,  /* at the offsets in `table` */
    LZ_RUN_PIECES, /* contiguous pieces of at least LZ_PIECE elements; `pieces` gives their offsets */
    LZ_RUNS
} lz_run;

/* LZ_RUN_PIECES: one table entry, for 2^piece_shift elements of the frame that begin at a multiple of
 * 2^piece_shift. 2^piece_shift is at least LZ_PIECE and at most the length of a piece, so an entry covers
 * parts of at most two pieces. Element i of the entry is at byte first + i * size from the base for i <
 * count, else at then + i * size. `count` is what is left of the first element's piece; it may exceed
 * 2^piece_shift. */
enum { LZ_PIECE = 16 };
typedef struct lz_native_piece {
    int64_t first, then, count;
} lz_native_piece;

typedef struct lz_native_variant {
    uint8_t run[LZ_KERNEL_ACCESSES];    /* lz_run; 0 beyond the kernel's accesses */
    uint8_t stream[LZ_KERNEL_ACCESSES]; /* stores with LZ_RUN_NEXT: bypass the caches; whole vectors are
                                         * aligned to 64 bytes */
    uint8_t columns;                    /* vectors span the outer dimension */
    uint8_t across_table;               /* columns: `across_table` gives the offsets of rows */
} lz_native_variant;

/* One access, in the kernel's order. An access without memory (lz_kernel_build_affine) has its value in
 * `base`, and its steps count elements instead of bytes. */
typedef struct lz_native_access {
    char *base;                    /* at outer 0, row 0 */
    int64_t step;                  /* bytes to the next element along the vectors' dimension */
    int64_t across;                /* bytes to the next element along the other dimension */
    const int64_t *table;          /* LZ_RUN_TABLE: bytes from base for each index along the vectors */
    const lz_native_piece *pieces; /* LZ_RUN_PIECES: one for every 2^piece_shift indices */
    const int64_t *across_table;   /* if the variant has across_table: bytes from base for each row */
} lz_native_access;

enum { LZ_CODE_FINE, LZ_CODE_DIVIDED, LZ_CODE_INDEX }; /* return values of code */

typedef struct lz_native_frame {
    int64_t n_outer, n_row; /* columns: n_outer is at most lz_native_needs.strip */
    const lz_native_access *access;
    const lz_kernel_scalar *params;
    const lz_tile_table *tiles; /* this CPU's tile functions, for operations that the code calls */
    char *scratch;       /* aligned to 64 bytes, sized by lz_native_needs, not shared between threads */
    int64_t index, size; /* after LZ_CODE_INDEX: the bad index and the size that it exceeds */
    int64_t dim;
    char *totals; /* see lz_native_walk */
    int64_t piece_shift;
} lz_native_frame;

/* Constants that an object exports as "lz_needs". */
typedef struct lz_native_needs {
    int64_t scratch, scratch_row; /* bytes; additional bytes per element of the row */
    int64_t strip;                /* columns: the largest n_outer of one call */
    int64_t totals; /* bytes of lz_native_frame.totals per block; 0: threads cannot share a row */
} lz_native_needs;

/* Exported as "lz_code": runs all rows of the frame. */
typedef int lz_native_fn(lz_native_frame *f);

/* Exported as "lz_walk" if threads can share a row: one walk over blocks [begin, end) of the frame's only
 * row. A block is lz_reduce_block(true, n_row) elements. `totals` has lz_native_needs.totals bytes per block,
 * for all walks: the call reads the totals of earlier walks and writes its own blocks' part of this walk.
 * walk == number of walks: does the work after the last walk and ignores begin and end. */
typedef int lz_native_walk(lz_native_frame *f, int64_t walk, int64_t begin, int64_t end);

/* ---- the emitter ---- */

/* A machine to emit code for. As an argument, NULL means this machine. */
typedef struct lz_target lz_target;

/* Appends the kernel's object file to `object`. LZ_ERR_NOT_FOUND: no usable LLVM here. LZ_ERR_UNSUPPORTED or
 * LZ_ERR_LIMIT: the emitter does not support this kernel. May be called from several threads. */
LZ_MUST_USE lz_err *lz_emit_kernel(const lz_kernel *k, const lz_native_variant *v, const lz_target *t,
                                   lz_text *object);

/* ---- loaded code ---- */

typedef struct lz_native_loaded {
    lz_native_fn *run;
    lz_native_walk *walk; /* NULL: threads cannot share a row */
    lz_native_needs needs;
    void *memory; /* the loader's mapping */
    size_t size;
    size_t run_size, walk_size; /* bytes of the two functions; 0: unknown */
} lz_native_loaded;

/* Maps the object; no page is ever writable and executable at once. Refuses an object that is malformed,
 * refers to anything outside itself or has an unknown relocation; the error says what and where. */
LZ_MUST_USE lz_err *lz_native_load(const void *object, size_t size, lz_native_loaded *out);
void lz_native_unload(lz_native_loaded *c); /* no thread may be running it */

#endif
