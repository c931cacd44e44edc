/* launch.h - one run of a program: what all its threads share, and what each has.
 *
 * The loop nest is split into *fixed* dimensions, whose index does not change within a tile, and *lane*
 * dimensions, whose row-major order is cut into tiles:
 *   flat     no reduction: no fixed dimensions, tiles cover everything
 *   rows     outer dimensions fixed, tiles along the row
 *   columns  row dimensions fixed, tiles along the outer ones
 * A *line* is all of the last lane dimension. If lines are shorter than tiles, a tile is some whole lines
 * that follow each other in the second-to-last lane dimension (`lines`). If those are few too, a tile
 * continues across dimensions in row-major order (`across`). */
#ifndef LZ_JIT_LAUNCH_H
#define LZ_JIT_LAUNCH_H

#include "jit/axes.h"
#include "jit/program.h"

enum {
    LZ_KEEP_CODE = 256,      /* most instructions of a program whose results are kept between tiles */
    LZ_KEEP_DIMS = 15,       /* most lane dimensions of one */
    LZ_KEEP_ALL = UINT16_MAX /* everything has changed */
};

/* An access in this run. */
typedef struct lz_launch_access {
    char *base;     /* address of element 0 */
    int64_t size;   /* of an element, in bytes; 1 for lz_kernel_build_affine, which has no memory */
    int64_t offset; /* of the first element, in elements */
    int64_t step;   /* bytes from one lane element to the next */
    int64_t line;   /* bytes from one line to the next */
    uint8_t dtype;
    bool linear; /* one stride addresses the whole tile */
    bool direct; /* tiles are read, or written, directly in memory */
    bool raw;    /* direct, of another type than the register: only a reduction with LZ_FORM_DTYPE reads it */
    bool stream; /* tiles are written past the caches */
} lz_launch_access;

/* A store whose value is computed in place; belongs to one block. */
typedef struct lz_inplace_store {
    uint16_t value;
    uint8_t access;
} lz_inplace_store;

typedef struct lz_launch {
    const lz_program *p;
    lz_nest nest;
    lz_axes fixed, lane;
    int64_t tile;    /* elements */
    bool flat, rows; /* else columns */
    int64_t lines;   /* most lines of a tile; 0: tiles are not whole lines */
    bool row_lines;  /* flat, and lines are parts of rows: outer values are constant along each */
    bool across;     /* tiles continue past the end of the last lane dimension */
    int64_t block;   /* lz_reduce_block of the row */
    bool once;       /* outer code runs once per fixed index, on one element */
    int n_used;
    uint8_t used[LZ_KERNEL_ACCESSES]; /* the accesses in use; `access` of the others is not set */
    lz_launch_access access[LZ_KERNEL_ACCESSES];
    lz_inplace_store inplace[LZ_KERNEL_ACCESSES];
    uint8_t inplace_of[2][UINT8_MAX + 1][2]; /* [outer, element][stage][begin, end) */
    bool streams;                            /* some store bypasses the caches */
    bool keeps;                              /* `depend` is valid */
    uint16_t depend[LZ_KEEP_CODE];           /* keep.c: bits of lane dimensions, or of the fixed index */
} lz_launch;

typedef struct lz_worker {
    const lz_launch *l;
    lz_err *err;
    char *tile[LZ_REGISTERS];         /* current memory of each register */
    char *state;                      /* states of the walk's reductions and scans */
    char *fixed[LZ_KERNEL_ACCESSES];  /* each access at the fixed index */
    char *here[LZ_KERNEL_ACCESSES];   /* address at which the tile starts */
    int64_t fixed_at[LZ_KERNEL_DIMS]; /* the fixed index */
    int64_t lane_at[LZ_KERNEL_DIMS];  /* index at which the tile starts */
    int64_t first;                    /* lane_at as a row-major number */
    uint16_t moved;                   /* keep.c: dimensions that moved since the last tile */
    int64_t row;                      /* columns: row-major number of the element in the row */
    int walk;
    _Alignas(64) char scratch[LZ_SCRATCH];
} lz_worker;

/* launch.c: decides how the program runs. Borrows args. */
LZ_MUST_USE lz_err *lz_launch_prepare(lz_launch *l, const lz_program *p, const lz_kernel_args *args,
                                      int threads);

/* keep.c: finds results that stay valid between tiles; lz_keep_place gives their registers memory of their
 * own, from `free` on. */
void lz_keep_plan(lz_launch *l);
bool lz_keep_is(const lz_launch *l, uint16_t instruction);
void lz_keep_place(lz_worker *w, char *free);

/* interpreter.c: run a block on n elements from w->first on, or on one element at the fixed index
 * (lz_exec_one). False: w->err is set. */
bool lz_exec_outer(lz_worker *w, int stage, int64_t n);
bool lz_exec_element(lz_worker *w, int walk, int64_t n);
bool lz_exec_one(lz_worker *w, lz_block b);
void lz_exec_splat(lz_worker *w, const uint16_t *registers, int64_t n);

#endif
