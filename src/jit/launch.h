/* launch.h - one run of a program: what all its threads share, and what each has.
 *
 * The loop nest is split into *fixed* dimensions, whose index stands still while a
 * tile is worked on, and *lane* dimensions, along whose row-major order tiles are cut:
 *   flat     no reduction: nothing fixed, tiles go over everything
 *   rows     outer dimensions fixed, tiles along the row
 *   columns  row dimensions fixed, tiles along the outer ones
 * A *line* is all of the last lane dimension. Where lines are shorter than tiles, a tile is some whole
 * lines that follow each other in the dimension before (`lines`), or, if those are few too, goes on wherever
 * the order leads (`across`). */
#ifndef LZ_JIT_LAUNCH_H
#define LZ_JIT_LAUNCH_H

#include "jit/axes.h"
#include "jit/program.h"

enum {
    LZ_KEEP_CODE = 256,      /* instructions of a program whose results are kept */
    LZ_KEEP_DIMS = 15,       /* and its lane dimensions */
    LZ_KEEP_ALL = UINT16_MAX /* everything has changed */
};

/* An access as this run has it. */
typedef struct lz_reach {
    char *base;     /* of element 0 */
    int64_t size;   /* of an element, in bytes; 1 for lz_kb_affine, which has no memory */
    int64_t offset; /* of the first element, in elements */
    int64_t step;   /* bytes from one lane element to the next */
    int64_t line;   /* bytes from one line to the next */
    uint8_t dtype;
    bool linear; /* one step does for the whole tile */
    bool direct; /* tiles are read, or written, where they lie */
    bool stream; /* tiles are written past the caches */
} lz_reach;

/* A store whose value is made in its place, of one block. */
typedef struct lz_aim {
    uint16_t value;
    uint8_t access;
} lz_aim;

typedef struct lz_launch {
    const lz_program *p;
    lz_nest nest;
    lz_axes fixed, lane;
    int64_t tile;    /* elements */
    bool flat, rows; /* else columns */
    int64_t lines;   /* of a tile at most; 0: tiles are not whole lines */
    bool row_lines;  /* flat, and lines are parts of rows: outer values stand still along each */
    bool across;     /* tiles go on over the end of the last lane dimension */
    int64_t block;   /* lz_reduce_block of the row */
    bool once;       /* outer code runs once per fixed index, on one element */
    int n_used;
    uint8_t used[LZ_KERNEL_ACCESSES]; /* the accesses that are; nothing is known of the others */
    lz_reach reach[LZ_KERNEL_ACCESSES];
    lz_aim aims[LZ_KERNEL_ACCESSES];
    uint8_t aims_of[2][UINT8_MAX + 1][2]; /* outer, element; stage; begin and end */
    bool streams;                         /* some store does */
    bool keeps;                           /* depend counts */
    uint16_t depend[LZ_KEEP_CODE];        /* keep.c: bits of lane dimensions, or of the fixed index */
} lz_launch;

typedef struct lz_worker {
    const lz_launch *l;
    lz_err *err;
    char *tile[LZ_REGISTERS];         /* where each register is now */
    char *state;                      /* reductions and scans of the walk */
    char *fixed[LZ_KERNEL_ACCESSES];  /* each access at the fixed index */
    char *here[LZ_KERNEL_ACCESSES];   /* and where the tile starts */
    int64_t fixed_at[LZ_KERNEL_DIMS]; /* the fixed index */
    int64_t lane_at[LZ_KERNEL_DIMS];  /* where the tile starts */
    int64_t first;                    /* the same as one number */
    uint16_t moved;                   /* keep.c: what is another than in the last tile */
    int64_t row;                      /* columns: the number of the row's element */
    int walk;
    _Alignas(64) char scratch[LZ_SCRATCH];
} lz_worker;

/* launch.c: decides how it runs. args are borrowed. */
LZ_MUST_USE lz_err *lz_launch_prepare(lz_launch *l, const lz_program *p, const lz_kernel_args *args,
                                      int threads);

/* keep.c: finds what tiles need not make again; those registers get places of their own behind `free`. */
void lz_keep_plan(lz_launch *l);
bool lz_keep_is(const lz_launch *l, uint16_t instruction);
void lz_keep_place(lz_worker *w, char *free);

/* exec.c: run a block on n elements from w->first on, or on the fixed index alone.
 * False when w->err is set. */
bool lz_exec_outer(lz_worker *w, int stage, int64_t n);
bool lz_exec_element(lz_worker *w, int walk, int64_t n);
bool lz_exec_one(lz_worker *w, lz_block b);
void lz_exec_splat(lz_worker *w, const uint16_t *registers, int64_t n);

#endif
