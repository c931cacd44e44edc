/* expand.h - how functions are written in primitive operations of a builder.
 *
 * Every table gives the same bits; they differ in what the machine has instructions for. */
#ifndef LZ_JIT_EXPAND_H
#define LZ_JIT_EXPAND_H

#include "jit/kernel_ir.h"

typedef lz_kv lz_expand1(lz_kb *b, lz_kv x);
typedef lz_kv lz_expand2(lz_kb *b, lz_kv x, lz_kv y);

/* By f32, f64; NULL: there is none. */
typedef struct lz_expansions {
    lz_expand1 *one[LZ_KOP_COUNT][2];
    lz_expand2 *two[LZ_KOP_COUNT][2];
    lz_expand1 *near[LZ_KOP_COUNT][2]; /* the same as `one` where is_near holds */
    lz_expand1 *is_near[2];
    lz_expand1 *exp_minus32; /* exp(-x) */
} lz_expansions;

extern const lz_expansions lz_expansions_plain;
extern const lz_expansions lz_expansions_scale; /* with LZ_K_SCALE */

#endif
