/* code.h - compiled kernels from outside: which code a launch needs, and how it is called.
 *
 * Code serves one kernel (its structure) in one *variant*: how each access runs along the
 * dimension that vectors lie on. Sizes, strides, pointers and scalars are in the frame. It
 * has two loops, outer and row, each over one dimension; whoever calls it merges what it
 * can and walks the rest. Vectors lie on the row (LZ_K_ROWS, and every kernel without a
 * reduction or scan), or on the outer dimension (LZ_K_COLUMNS). Results are those of the
 * tile interpreter to the last bit. */
#ifndef LZ_JIT_CODE_H
#define LZ_JIT_CODE_H

#include "base/text.h"
#include "jit/kernel_ir.h"
#include "jit/tile.h"

/* How an access runs along the dimension of the vectors. */
typedef enum lz_run {
    LZ_RUN_SAME,   /* it stands still: one value for all */
    LZ_RUN_NEXT,   /* elements lie side by side */
    LZ_RUN_BACK,   /* side by side, from the last to the first */
    LZ_RUN_STEP,   /* `step` bytes apart */
    LZ_RUN_TABLE,  /* wherever `table` says */
    LZ_RUN_PIECES, /* side by side in pieces of at least LZ_PIECE elements; where these lie, `pieces` says */
    LZ_RUNS
} lz_run;

/* LZ_RUN_PIECES: 2^piece_shift elements of the frame, the first of them at a multiple of so many; they are no
 * more than a piece has, and LZ_PIECE at least. Element i of these is, in bytes from the base, at
 * first + i * size for i < count, else at then + i * size. The piece of the first one has `count` more
 * elements, which may be more than 2^piece_shift. */
enum { LZ_PIECE = 16 };
typedef struct lz_cpiece {
    int64_t first, then, count;
} lz_cpiece;

typedef struct lz_variant {
    uint8_t run[LZ_KERNEL_ACCESSES];    /* lz_run; 0 beyond the kernel's accesses */
    uint8_t stream[LZ_KERNEL_ACCESSES]; /* stores of NEXT: past the caches; addresses of whole vectors are
                                           aligned to 64 bytes */
    uint8_t columns;                    /* vectors lie on the outer dimension */
    uint8_t across_table;               /* columns: rows go by the accesses' `across_table` */
} lz_variant;

/* One access, in the kernel's order. An access without memory (lz_kb_affine) has its value
 * where others have their address, and elements where others have bytes. */
typedef struct lz_caccess {
    char *base;                  /* of outer 0, row 0 */
    int64_t step;                /* bytes to the next along the vectors' dimension */
    int64_t across;              /* bytes to the next along the other dimension */
    const int64_t *table;        /* LZ_RUN_TABLE: bytes from base, for each index */
    const lz_cpiece *pieces;     /* LZ_RUN_PIECES: for each 2^piece_shift indices */
    const int64_t *across_table; /* with the variant's across_table: likewise */
} lz_caccess;

enum { LZ_CODE_FINE, LZ_CODE_DIVIDED, LZ_CODE_INDEX }; /* what code returns */

typedef struct lz_cframe {
    int64_t n_outer, n_row; /* columns: n_outer is at most lz_cneeds.strip */
    const lz_caccess *access;
    const lz_kscalar *params;
    const lz_tile_table *tiles; /* of this CPU: for operations that are called */
    char *scratch;              /* aligned to 64 bytes; as lz_cneeds says; this thread's own */
    int64_t index, size;        /* after LZ_CODE_INDEX: what was out of bounds of what */
    int64_t dim;
    char *totals; /* see lz_code_walk */
    int64_t piece_shift;
} lz_cframe;

/* Exported by an object as "lz_needs": constants. */
typedef struct lz_cneeds {
    int64_t scratch, scratch_row; /* bytes; and bytes for each element of the row */
    int64_t strip;                /* columns: the most columns at once */
    int64_t totals;               /* bytes of lz_cframe.totals for each block; 0: rows cannot be shared */
} lz_cneeds;

/* Exported as "lz_code": all rows of the frame. */
typedef int lz_code_fn(lz_cframe *f);

/* Exported as "lz_walk" where rows can be shared by threads: one walk over blocks
 * [begin, end) of the frame's only row. A block is lz_reduce_block(true, n_row) elements.
 * Totals of earlier walks are in `totals`: `lz_cneeds.totals` bytes for each block, all walks;
 * it writes its own blocks' part of this walk. walk == walks: what is done after the last
 * walk, begin and end being ignored. */
typedef int lz_code_walk(lz_cframe *f, int64_t walk, int64_t begin, int64_t end);

/* ---- the emitter ---- */

/* A machine to emit for. NULL where one is asked for: this one. */
typedef struct lz_target lz_target;

/* The object file for a kernel, appended to `object`. LZ_ERR_NOT_FOUND: there is no usable
 * LLVM here. LZ_ERR_UNSUPPORTED or LZ_ERR_LIMIT: this kernel is not for it. May be called from several
 * threads. */
LZ_MUST_USE lz_err *lz_emit_kernel(const lz_kernel *k, const lz_variant *v, const lz_target *t,
                                   lz_text *object);

/* ---- loaded code ---- */

typedef struct lz_ccode {
    lz_code_fn *run;
    lz_code_walk *walk; /* NULL: rows cannot be shared */
    lz_cneeds needs;
    void *memory; /* of the loader */
    size_t size;
    size_t run_size, walk_size; /* bytes of the two functions; 0: unknown */
} lz_ccode;

/* Maps the object, never writable and executable at once. Refuses, with what and where, an
 * object that is broken, refers to anything outside itself, or has a relocation that is not known. */
LZ_MUST_USE lz_err *lz_code_load(const void *object, size_t size, lz_ccode *out);
void lz_code_unload(lz_ccode *c); /* of lz_code_load_orc too; nobody may be running it */

#endif
