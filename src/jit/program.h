/* program.h - a kernel as the tile interpreter runs it: instructions over registers.
 *
 * The code falls into blocks: what is uniform, then for each walk over the row what is
 * done once per outer index before it and what is done for every element in it, at the
 * end what is done once per outer index after the last. A value that a later walk needs
 * again is made again. Registers are tiles; which memory each has is known per element,
 * the length of a tile only when it runs. */
#ifndef LZ_JIT_PROGRAM_H
#define LZ_JIT_PROGRAM_H

#include "jit/kernel_ir.h"
#include "jit/tile.h"

enum {
    LZ_REGISTERS = 2048,
    LZ_TILE_LEAST = 64,    /* elements; tiles are a power of two of them, at most ... */
    LZ_TILE_MOST = 1024,   /* a chunk of a row: see below */
    LZ_SCRATCH = 96 << 10, /* bytes of tiles and states, on a thread's stack */

    /* The order of a reduction: see lz_reduce in reduce.h. */
    LZ_ROW_LANES = 64,
    LZ_ROW_SUMS = 16, /* lanes of a block */
    LZ_ROW_CHUNK = 1024,
    LZ_COLUMN_LANES = 4,
    LZ_COLUMN_SUMS = 1,
    LZ_COLUMN_CHUNK = 128,
    LZ_BLOCKS = 64,
};

typedef enum lz_ikind {
    LZ_I_FN,     /* a tile function */
    LZ_I_DIVIDE, /* one that fails where its second operand is 0 */
    LZ_I_CONST,
    LZ_I_PARAM,
    LZ_I_LOAD,
    LZ_I_LOAD_IF,
    LZ_I_GATHER,
    LZ_I_GATHER_IF,
    LZ_I_AFFINE,
    LZ_I_CHECK,
    LZ_I_REDUCE,
    LZ_I_SCAN,
    LZ_I_STORE,
    LZ_I_KINDS
} lz_ikind;

typedef struct lz_instr {
    lz_tile_fn *fn;
    uint8_t kind, type; /* type: of the operands of a reduction, of a constant, ... */
    int16_t access;
    int32_t attr; /* as the node's; for reductions and scans which state is theirs */
    uint16_t out, in[4];
    uint16_t reduce; /* kind */
    int64_t bits;    /* of a constant */
    uint8_t form;    /* of a reduction: lz_reduce_form in super.h */
    bool still;      /* a gather per element whose index is one per outer index */
} lz_instr;

typedef struct lz_register {
    uint32_t at;  /* bytes per element before it in the scratch */
    uint8_t size; /* of an element */
    uint8_t type;
    uint16_t last; /* the last instruction of its block that reads it */
} lz_register;

typedef struct lz_block {
    uint16_t begin, end; /* instructions */
} lz_block;

/* The state of one reduction or scan of a walk. */
typedef struct lz_state {
    uint8_t kind, type, scan;
    uint8_t total, size, total_size; /* the type of lz_kreduce_total; bytes of an element of either */
    uint32_t rows, columns;          /* where it starts: bytes, and bytes per element of a tile */
    uint16_t out;
} lz_state;

struct lz_program {
    const lz_tile_table *tiles;
    uint8_t mode;
    int n_outer, n_row, walks;
    bool reduces, scans;
    bool outer_stores; /* some store happens once per outer index */
    lz_instr *code;
    lz_register *registers;
    lz_block uniform, *outer, *element;     /* walks + 1 outer ones, walks element ones */
    uint16_t *splat_uniform, **splat_outer; /* registers that element code reads whole; 0 ends */
    lz_state **states;                      /* per walk */
    uint16_t *n_states;
    lz_kuse *access;
    uint8_t *params;
    size_t n_code, n_registers, n_access, n_params;
    uint32_t units;                     /* bytes of registers per element */
    uint32_t hot;                       /* of those, without loads that can be read in place; with streams */
    uint32_t state_rows, state_columns; /* the greatest of all walks */
    lz_arena arena;
};

LZ_MUST_USE lz_err *lz_program_create(const lz_kir *ir, const lz_tile_table *tiles, lz_program **out);
void lz_program_destroy(lz_program *p); /* NULL is fine */
bool lz_program_in_place(const lz_program *p, int load, int store);

/* lz_kernel_run of it. */
LZ_MUST_USE lz_err *lz_program_run(const lz_program *p, const lz_kernel_args *args, lz_pool *pool);

#endif
