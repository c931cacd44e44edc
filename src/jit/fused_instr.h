/* fused_instr.h - several nodes as one tile function: chains of two cheap operations, f64 operations on f32,
 * a comparison with its select, two comparisons of one index, and activations.
 *
 * A fused instruction does exactly what its nodes do, in their order; it only saves the tiles between them.
 * The nodes inside a fused instruction have no other user. */
#ifndef LZ_JIT_FUSED_INSTR_H
#define LZ_JIT_FUSED_INSTR_H

#include "jit/kernel_ir.h"
#include "jit/tile.h"

/* The computation of its operand that a reduction along rows includes. */
typedef enum lz_reduce_form {
    LZ_FORM_PLAIN,
    LZ_FORM_WIDEN,    /* casts i32 to i64, or f32 to f64 */
    LZ_FORM_DTYPE,    /* the same of a load that nothing else uses, of u8, i8 or i16 */
    LZ_FORM_PRODUCTS, /* multiplies two values */
} lz_reduce_form;

typedef struct lz_fused_instr {
    lz_tile_fn *fn; /* NULL: an ordinary node */
    uint32_t in[4]; /* nodes */
    uint8_t n;
    uint8_t form; /* of a reduction */
    bool inside;  /* computed inside another node's fused instruction, not by itself */
} lz_fused_instr;

/* out: one per node. */
LZ_MUST_USE lz_err *lz_fused_instr_find(const lz_kernel_ir *ir, const lz_tile_table *tiles,
                                        lz_fused_instr *out);

#endif
