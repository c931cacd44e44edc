/* expand.h - how functions are written in primitive operations of a builder.
 *
 * All tables give the same bits; they differ in which instructions the machine has. */
#ifndef LZ_JIT_EXPAND_H
#define LZ_JIT_EXPAND_H

#include "jit/kernel_ir.h"

typedef lz_kernel_value lz_expand1(lz_kernel_builder *b, lz_kernel_value x);
typedef lz_kernel_value lz_expand2(lz_kernel_builder *b, lz_kernel_value x, lz_kernel_value y);

/* Indexed by f32, f64; NULL: none. */
typedef struct lz_expansions {
    lz_expand1 *one[LZ_KERNEL_OP_COUNT][2];
    lz_expand2 *two[LZ_KERNEL_OP_COUNT][2];
    lz_expand1 *near[LZ_KERNEL_OP_COUNT][2]; /* equals `one` where is_near holds */
    lz_expand1 *is_near[2];
    lz_expand1 *exp_minus32; /* exp(-x) */
} lz_expansions;

extern const lz_expansions lz_expansions_plain;
extern const lz_expansions lz_expansions_scale; /* with LZ_KERNEL_SCALE */

#endif
