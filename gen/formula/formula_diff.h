/* formula_diff.h - checks the derivatives of our own operators.
 *
 * load_derivatives.h reads and matches the entries; their formulas are in the language of all formulas and
 * are checked here against the operators. Every formula has the same values, in this order: the operator's
 * arguments, its results, the gradients of the results (None if there is no gradient), all gradients as the
 * list `grads`, and grad_input_mask. A forward formula has tangents in place of gradients, one for each
 * argument. A formula uses either dtype and sizes of a value or its elements too.
 *
 * Every operator is of one kind: it has a derivative, it is differentiated through the parts of its
 * formula, it is not differentiable, or its derivative is missing, which is a mistake. */
#ifndef LZG_FORMULA_DIFF_H
#define LZG_FORMULA_DIFF_H

#include "gen/derivative/load_derivatives.h"
#include "gen/formula/formula_define.h"

typedef struct lzg_diff_formula {
    lzg_definition def; /* a formula whose names are the values above */
    lz_str name;        /* the gradients that it computes: "self", "self_other" */
    uint64_t gives;     /* arguments; of a forward formula, results: values come in their order */
    uint64_t whole;     /* arguments, then results, whose elements it needs */
    uint64_t facts;     /* those of which it needs only dtype and sizes */
    bool zeros;         /* missing gradients are zeros */
} lzg_diff_formula;

typedef enum lzg_diff_kind {
    LZG_DIFF_NOT,     /* nothing to differentiate */
    LZG_DIFF_OWN,     /* formulas */
    LZG_DIFF_PARTS,   /* through the operators that its formula calls */
    LZG_DIFF_MISSING, /* missing */
    LZG_DIFF_KINDS
} lzg_diff_kind;

typedef enum lzg_diff_forward {
    LZG_FORWARD_NONE,    /* by two backward passes */
    LZG_FORWARD_LINEAR,  /* the operator itself, applied to the tangents */
    LZG_FORWARD_ELEMENT, /* the backward formula, applied to the tangent */
    LZG_FORWARD_WRITTEN,
    LZG_FORWARD_KINDS
} lzg_diff_forward;

typedef struct lzg_diff {
    const lzg_function *function;
    lzg_diff_kind kind;
    const struct lzg_diff *like; /* the operator whose formulas apply; maybe itself */
    uint64_t args, results;      /* that can have gradients */
    const lzg_diff_formula *formulas, *forwards;
    size_t nformulas, nforwards;
    lzg_diff_forward forward;
} lzg_diff;

typedef struct lzg_diffs {
    lz_arena arena;
    lzg_derivatives *read;
    const lzg_ops *ops;
    const lzg_definitions *definitions;
    lzg_diff *list; /* in the order of ops->functions */
    size_t n;
    lz_map by_function; /* the bytes of a pointer to it */
} lzg_diffs;

/* Checks the entries. Mistakes go into diag, among them each operator whose derivative is missing.
 * Returns only memory errors; call deinit in any case. Operators, definitions and entries must live
 * longer. */
LZ_MUST_USE
lz_err *lzg_diffs_init(lzg_diffs *d, const lzg_ops *ops, const lzg_definitions *definitions,
                       const lzg_yaml *entries, lzg_diag *diag);
void lzg_diffs_deinit(lzg_diffs *d);
const lzg_diff *lzg_diff_of(const lzg_diffs *d, const lzg_function *f);

/* The number of values that formulas of f have, and the index of the first one after the arguments. */
typedef struct lzg_diff_layout {
    size_t args, results, grads, list, mask, n;
} lzg_diff_layout;
lzg_diff_layout lzg_diff_layout_of(const lzg_schema *s);

#endif
