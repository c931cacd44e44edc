/* matmul_pairs.h - matrix products of bf16 (added up in f32) and of 8-bit integers (in i32) with instructions
 * that multiply two or four neighbours along k at once. */
#ifndef LZ_KERNEL_MATMUL_PAIRS_H
#define LZ_KERNEL_MATMUL_PAIRS_H

#include "kernel/gemm.h"

/* Changes g, the product of a call as our own computes it, to one of pairs or fours. */
typedef struct lz_matmul_pairs {
    const lz_strided *x, *y;
    lz_gemm g;
} lz_matmul_pairs;

/* Whether this machine has the instructions for the dtypes of the call. */
bool lz_matmul_has_pairs(const lz_kernel_call *c);
/* "avx512_bf16" or "avx512_vnni" */
const char *lz_matmul_pairs_name(const lz_kernel_call *c);
/* p->g is the product of the call in pairs; g points into p. */
void lz_matmul_pairs_init(lz_matmul_pairs *p, const lz_kernel_call *c, const lz_gemm *own);

#endif
