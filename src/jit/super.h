/* super.h - several nodes as one tile function: chains of two cheap operations, a
 * comparison with its select, two comparisons of one index, and activations.
 *
 * A super-operation does exactly what its nodes do, in their order; it only saves the
 * tiles between them. Nodes inside of one have no other user. */
#ifndef LZ_JIT_SUPER_H
#define LZ_JIT_SUPER_H

#include "jit/kernel_ir.h"
#include "jit/tile.h"

/* What a reduction along rows does besides: it takes what its operand is made of. */
typedef enum lz_reduce_form {
    LZ_FORM_PLAIN,
    LZ_FORM_WIDEN,    /* a cast from i32 to i64, from f32 to f64 */
    LZ_FORM_PRODUCTS, /* a product of two */
} lz_reduce_form;

typedef struct lz_super {
    lz_tile_fn *fn; /* NULL: the node stands for itself */
    uint32_t in[4]; /* nodes */
    uint8_t n;
    uint8_t form; /* of a reduction */
    bool inside;  /* of another's: it is not made at all */
} lz_super;

/* out: one per node. */
LZ_MUST_USE lz_err *lz_super_find(const lz_kir *ir, const lz_tile_table *tiles, lz_super *out);

#endif
