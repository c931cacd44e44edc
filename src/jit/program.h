/* program.h - a kernel as the tile interpreter runs it: instructions over registers.
 *
 * The code is divided into blocks: uniform code; then, for each walk over the row, outer code (once per outer
 * index, before the walk) and element code (for every element); at the end outer code after the last walk. A
 * value that a later walk needs again is computed again. Registers are tiles. Their memory is laid out in
 * bytes per element; the length of a tile is known only at run time. */
#ifndef LZ_JIT_PROGRAM_H
#define LZ_JIT_PROGRAM_H

#include "jit/kernel_ir.h"
#include "jit/tile.h"

enum {
    LZ_REGISTERS = 2048,
    LZ_TILE_LEAST = 64,    /* elements; a tile is this times a power of two, at most ... */
    LZ_TILE_MOST = 1024,   /* a chunk of a row: see below */
    LZ_SCRATCH = 96 << 10, /* bytes of tiles and states, on a thread's stack */

    /* The order of a reduction: see reduce.h. */
    LZ_ROW_LANES = 64,
    LZ_ROW_SUMS = 16, /* sums of a block */
    LZ_ROW_CHUNK = 1024,
    LZ_COLUMN_LANES = 4,
    LZ_COLUMN_SUMS = 1,
    LZ_COLUMN_CHUNK = 128,
    LZ_BLOCKS = 64,
};

typedef enum lz_instr_kind {
    LZ_INSTR_FN,     /* a tile function */
    LZ_INSTR_DIVIDE, /* a tile function that fails if its second operand is 0 */
    LZ_INSTR_CONST,
    LZ_INSTR_PARAM,
    LZ_INSTR_LOAD,
    LZ_INSTR_LOAD_IF,
    LZ_INSTR_GATHER,
    LZ_INSTR_GATHER_IF,
    LZ_INSTR_AFFINE,
    LZ_INSTR_CHECK,
    LZ_INSTR_REDUCE,
    LZ_INSTR_SCAN,
    LZ_INSTR_STORE,
    LZ_INSTR_KINDS
} lz_instr_kind;

typedef struct lz_instr {
    lz_tile_fn *fn;
    uint8_t kind, type; /* type: of the operands of a reduction, of a constant, ... */
    int16_t access;     /* also of a reduction with LZ_FORM_DTYPE */
    int32_t attr;       /* as in the node; for reductions and scans the number of their state */
    uint16_t out, in[4];
    uint16_t reduce; /* kind */
    int64_t bits;    /* of a constant */
    uint8_t form;    /* of a reduction: lz_reduce_form in fused_instr.h */
    bool still;      /* a gather per element whose index does not vary along the row */
} lz_instr;

typedef struct lz_register {
    uint32_t at;  /* offset in the scratch in bytes per element */
    uint8_t size; /* of an element */
    uint8_t type;
    uint16_t last; /* the last instruction of its block that reads it */
} lz_register;

typedef struct lz_block {
    uint16_t begin, end; /* instructions */
} lz_block;

/* The state of one reduction or scan of a walk. */
typedef struct lz_reduce_state {
    uint8_t kind, type, scan;
    uint8_t total, size,
        total_size;         /* lz_kernel_reduction_total of the type; bytes of an element of either type */
    uint32_t rows, columns; /* offset: in bytes; in bytes per element of a tile */
    uint16_t out;
} lz_reduce_state;

struct lz_program {
    const lz_tile_table *tiles;
    uint8_t mode;
    int n_outer, n_row, walks;
    bool reduces, scans;
    bool sums_memory;  /* some reduction has LZ_FORM_DTYPE */
    bool outer_stores; /* some store happens once per outer index */
    lz_instr *code;
    lz_register *registers;
    lz_block uniform, *outer, *element;     /* walks + 1 outer blocks, walks element blocks */
    uint16_t *splat_uniform, **splat_outer; /* registers that element code reads whole; 0 ends */
    lz_reduce_state **states;               /* per walk */
    uint16_t *n_states;
    char **fresh; /* per walk along rows: what its states are at the start of a row; `fresh_bytes` each */
    uint32_t *fresh_bytes;
    lz_kernel_use *access;
    uint8_t *params;
    size_t n_code, n_registers, n_access, n_params;
    uint32_t units;                     /* bytes of registers per element */
    uint32_t hot;                       /* of `units`, without loads that can be direct; plus streams */
    uint32_t state_rows, state_columns; /* the maximum over all walks */
    lz_arena arena;
};

LZ_MUST_USE lz_err *lz_program_create(const lz_kernel_ir *ir, const lz_tile_table *tiles, lz_program **out);
void lz_program_destroy(lz_program *p); /* NULL is allowed */
bool lz_program_in_place(const lz_program *p, int load, int store);
/* Does it check indices? */
bool lz_program_checks(const lz_program *p);

/* As lz_kernel_run. */
LZ_MUST_USE lz_err *lz_program_run(const lz_program *p, const lz_kernel_args *args, lz_pool *pool);

#endif
