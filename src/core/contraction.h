/* contraction.h - Einstein summation: an equation such as "ij,jk->ik", and the steps that compute it.
 *
 * Every subscript is a label of a dimension; a dimension of size 1 broadcasts. A label that is not in the
 * output is summed over. Dimensions of an ellipsis are aligned at the right.
 *
 * The plan is a list of numbers: first how many steps there are, then the steps, each beginning with its own
 * length (that number included) and an lz_contraction_step. Operands are named by their position in the
 * present list: DIAGONAL i, p, q          dimensions p < q of operand i become one, at p SQUEEZE i, dims...
 * dimensions of size 1 that another operand has in full are dropped SUM i, dims...            dimensions that
 * no other operand and no output has PAIR i, j, nb, nl, nk, order of i..., order of j...    i < j are
 * removed; their product is appended. Sorted in the given order, i has nb dimensions of a batch, nl of its
 * own and nk that are summed; j has the batch, the nk and its own dimensions. The product has the batch, the
 * nl and those of j. PERMUTE 0, order...       the last step, unless the order is right Example: "ij,jk->ik"
 * is 1; 11, PAIR, 0, 1, 0, 1, 1, 0, 1, 0, 1. */
#ifndef LZ_CORE_CONTRACTION_H
#define LZ_CORE_CONTRACTION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include <lazuli/value.h>

typedef enum lz_contraction_step {
    LZ_CONTRACTION_DIAGONAL,
    LZ_CONTRACTION_SQUEEZE,
    LZ_CONTRACTION_SUM,
    LZ_CONTRACTION_PAIR,
    LZ_CONTRACTION_PERMUTE
} lz_contraction_step;

/* path: the pairs to contract one after the other; NULL: an order with few operations is chosen, the best one
 * for up to 8 operands. *out belongs to the arena. */
LZ_MUST_USE lz_err *lz_contraction_plan(lz_arena *a, lz_str equation, const lz_ints *shapes, size_t n,
                                        const lz_ints *path, lz_ints *out);

#endif
