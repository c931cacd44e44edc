/* launch.h - one run of a program: what all its threads share, and what each has.
 *
 * The loop nest is split into *fixed* dimensions, whose index stands still while a
 * tile is worked on, and *lane* dimensions, along whose row-major order tiles are cut:
 *   flat     no reduction: nothing fixed, tiles go over everything
 *   rows     outer dimensions fixed, tiles along the row
 *   columns  row dimensions fixed, tiles along the outer ones
 * Neighbouring dimensions that every access walks through as one are made one. */
#ifndef LZ_JIT_LAUNCH_H
#define LZ_JIT_LAUNCH_H

#include "jit/program.h"

/* Some dimensions of the nest, merged. */
typedef struct lz_axes {
    int n;
    int64_t total;                  /* the product; 1 for none */
    int64_t extent[LZ_KERNEL_DIMS]; /* none is 1, except a single one */
    uint8_t dim[LZ_KERNEL_DIMS];    /* whose stride counts: the innermost merged into it */
} lz_axes;

typedef struct lz_launch {
    const lz_program *p;
    const lz_kernel_args *args;
    lz_axes fixed, lane;
    int64_t tile;                       /* elements */
    bool flat, rows;                    /* else columns */
    bool across;                        /* tiles go on over the end of the last lane dimension */
    bool once;                          /* outer code runs once per fixed index, on one element */
    uint8_t linear[LZ_KERNEL_ACCESSES]; /* one stride does for the whole tile */
    uint8_t direct[LZ_KERNEL_ACCESSES]; /* tiles are read, or written, where they lie */
} lz_launch;

typedef struct lz_worker {
    const lz_launch *l;
    lz_err *err;
    char *tile[LZ_REGISTERS];           /* where each register is now */
    char *state;                        /* reductions and scans of the walk */
    int64_t offset[LZ_KERNEL_ACCESSES]; /* at the fixed index, in elements */
    int64_t fixed_at[LZ_KERNEL_DIMS];   /* the fixed index */
    int64_t lane_at[LZ_KERNEL_DIMS];    /* where the tile starts */
    int64_t first;                      /* the same as one number */
    int64_t row;                        /* columns: the number of the row's element */
    int walk;
    _Alignas(64) char scratch[LZ_SCRATCH];
} lz_worker;

int64_t lz_launch_stride(const lz_launch *l, int access, int dim);
size_t lz_dtype_bytes(int dtype);

/* exec.c: runs a block on n elements from w->first on; `one`: on the fixed index alone.
 * False when w->err is set. */
bool lz_exec(lz_worker *w, lz_block b, int64_t n, bool one);
void lz_exec_splat(lz_worker *w, const uint16_t *registers, int64_t n);

#endif
