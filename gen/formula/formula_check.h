/* formula_check.h - formulas against the operator table.
 *
 * Every name is resolved, every call matched with one overload, every type known
 * afterwards; what a formula cannot mean is an error that points at the spot. A
 * formula is checked on its own: that no formula leads back to itself is for those
 * who see them all (formula_define.h). */
#ifndef LZG_FORMULA_CHECK_H
#define LZG_FORMULA_CHECK_H

#include "gen/formula/formula_term.h"

/* An operator as formulas call it. */
typedef struct lzg_callee lzg_callee;
struct lzg_callee {
    const lzg_function *function;
    const lzg_fty **params;    /* of its arguments, without out */
    bool *is_static;           /* the value must be known before the run */
    const lzg_term **defaults; /* made when first asked for */
    size_t nparams, npositional;
    bool writes; /* an argument: formulas cannot call it */
    lzg_callee *next;
};

/* The operators of a set by name; "ns::name" outside of aten. */
typedef struct lzg_callees {
    lz_arena *arena; /* borrowed */
    lz_map by_base;  /* to the first lzg_callee, overloads in file order */
} lzg_callees;

LZ_MUST_USE
lz_err *lzg_callees_init(lzg_callees *t, lz_arena *a, const lzg_ops *ops);
void lzg_callees_deinit(lzg_callees *t);

typedef struct lzg_given {
    lz_str name;
    const lzg_fty *type;
    bool dynamic;
} lzg_given;

typedef struct lzg_expectation {
    const lzg_given *given; /* the names that the formula may use */
    size_t ngiven;
    const lzg_fty *const *results; /* what it must give: one value, or a tuple */
    size_t nresults;
    bool inner; /* a scalar expression */
    lz_str who; /* the operator, for messages */
} lzg_expectation;

/* LZ_ERR_MODEL with the place; LZ_ERR_LIMIT if it is beyond all measure. */
LZ_MUST_USE
lz_err *lzg_formula_check(lz_arena *a, lzg_callees *callees, const lzg_expr *formula,
                          const lzg_expectation *expect, lzg_checked *out);

/* How many values a formula gives: the returns, and behind them what the arguments become
 * that are written and do not come back. */
size_t lzg_formula_results(const lzg_schema *s);

/* The names of an operator's arguments and its returns. In an `inner` expression a
 * tensor is one of its elements, a number. */
LZ_MUST_USE
lz_err *lzg_expectation_of(lz_arena *a, const lzg_function *f, const bool *is_static, bool inner,
                           lzg_expectation *out);

#endif
