/* grad_row.h - the row type of grad_table.h, which is generated from ops/derivatives.yaml.
 *
 * A formula is a function of one form, lz_lower_fn, and calls operators through the builder:
 * with lz_lower.apply it records, without it lowers. It takes, in this order,
 *
 *     the operator's arguments     those in neither `whole` nor `facts` may be anything
 *     its results                  likewise
 *     a gradient for each result   None where there is none; with `zeros`, and of formulas
 *                                  that use grad, never
 *     a list of gradients          of the one result that is a list: of its items
 *     which gradients are wanted   a list of bools, one for each that it gives
 *
 * and gives one gradient for each bit of `gives`, or None; of an argument that is a list, a
 * list. A gradient may have the shape that the argument broadcasts to, and another floating
 * dtype: the caller sums and casts the gradient. A forward formula takes a tangent for each argument
 * in the place of the last three and gives tangents of results. */
#ifndef LZ_AUTOGRAD_GRAD_ROW_H
#define LZ_AUTOGRAD_GRAD_ROW_H

#include "lower/lower.h"

typedef enum lz_grad_kind {
    LZ_GRAD_NOT,   /* results never require gradients */
    LZ_GRAD_OWN,   /* one node, with these formulas */
    LZ_GRAD_PARTS, /* the operators of the lowering function are recorded and differentiated */
    LZ_GRAD_KINDS
} lz_grad_kind;

typedef enum lz_forward_kind {
    LZ_FORWARD_NONE,    /* two backward steps give the tangent */
    LZ_FORWARD_LINEAR,  /* the operator applied to the tangents */
    LZ_FORWARD_ELEMENT, /* the backward formula applied to the tangent */
    LZ_FORWARD_WRITTEN,
    LZ_FORWARD_KINDS
} lz_forward_kind;

/* Bit i stands for argument i; bits of results follow those of all arguments without out. */
typedef struct lz_grad_formula {
    lz_lower_fn *fn;
    uint64_t gives; /* a forward formula: results, from bit 0 */
    uint64_t whole; /* saved whole */
    uint64_t facts; /* saved as dtype and sizes */
    bool zeros;     /* missing gradients of other results are passed as zeros */
} lz_grad_formula;

typedef struct lz_grad_row {
    uint8_t kind, forward;
    uint8_t nformulas, nforwards;
    uint64_t args, results; /* that can have gradients */
    const lz_grad_formula *formulas, *forwards;
} lz_grad_row;

#endif
