/* formula_diff.h - the derivatives of the project's own operators, understood.
 *
 * Entries are read and matched by load_derivatives.h; their formulas are in the language
 * of all formulas and are checked here against the operators. Every formula sees the same
 * values, in this order: the operator's arguments, its results, the gradients of these
 * (None where there is none), all of them as the list `grads`, and grad_input_mask; in a
 * forward formula tangents stand where gradients stand, one for each argument. What a
 * formula asks of a value is either its dtype and sizes or the whole.
 *
 * Every operator is of one kind: it has a derivative, it is differentiated through the
 * parts of its formula, nothing can be differentiated, or, a mistake, nobody says how. */
#ifndef LZG_FORMULA_DIFF_H
#define LZG_FORMULA_DIFF_H

#include "gen/formula/formula_define.h"
#include "gen/load_derivatives.h"

typedef struct lzg_diff_formula {
    lzg_definition def; /* a formula whose given names are the values above */
    lz_str name;        /* what it gives: "self", "self_other" */
    uint64_t gives;     /* arguments; of a forward formula, results: values come in their order */
    uint64_t whole;     /* arguments and behind them results that it needs the elements of */
    uint64_t facts;     /* and those of which dtype and sizes will do */
    bool zeros;         /* missing gradients come as zeros */
} lzg_diff_formula;

typedef enum lzg_diff_kind {
    LZG_DIFF_NOT,     /* nothing to differentiate */
    LZG_DIFF_OWN,     /* formulas */
    LZG_DIFF_PARTS,   /* those of what its own formula calls */
    LZG_DIFF_MISSING, /* nobody says how */
    LZG_DIFF_KINDS
} lzg_diff_kind;

typedef enum lzg_diff_forward {
    LZG_FORWARD_NONE,    /* by two backward steps */
    LZG_FORWARD_LINEAR,  /* the operator itself, of the tangents */
    LZG_FORWARD_ELEMENT, /* the backward formula, of the tangent */
    LZG_FORWARD_WRITTEN,
    LZG_FORWARD_KINDS
} lzg_diff_forward;

typedef struct lzg_diff {
    const lzg_function *function;
    lzg_diff_kind kind;
    const struct lzg_diff *like; /* whose formulas serve; maybe itself */
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

/* Reads entries of derivatives. Mistakes go into diag; among them is each operator that
 * nobody says how to differentiate. Returns only memory errors; deinit is due in any case.
 * Operators, definitions and entries must live longer. */
LZ_MUST_USE
lz_err *lzg_diffs_init(lzg_diffs *d, const lzg_ops *ops, const lzg_definitions *definitions,
                       const lzg_yaml *entries, lzg_diag *diag);
void lzg_diffs_deinit(lzg_diffs *d);
const lzg_diff *lzg_diff_of(const lzg_diffs *d, const lzg_function *f);

/* How many values formulas of f see, and where those behind the arguments begin. */
typedef struct lzg_diff_layout {
    size_t args, results, grads, list, mask, n;
} lzg_diff_layout;
lzg_diff_layout lzg_diff_layout_of(const lzg_schema *s);

#endif
