/* formula_check.h - checks formulas against the operator table.
 *
 * The check resolves every name, matches every call with one overload, and determines every type. A
 * mistake is an error with its place. Each formula is checked on its own; formula_define.h, which has
 * all formulas, checks that no formula leads back to itself. */
#ifndef LZG_FORMULA_CHECK_H
#define LZG_FORMULA_CHECK_H

#include "gen/formula/formula_term.h"

/* An operator as formulas call it. */
typedef struct lzg_callee lzg_callee;
struct lzg_callee {
    const lzg_function *function;
    const lzg_fty **params;    /* of its arguments, without out */
    bool *is_static;           /* the value must be known before the run */
    const lzg_term **defaults; /* made at the first use */
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
    const lzg_fty *const *results; /* the required type: one value, or a tuple */
    size_t nresults;
    bool inner; /* a scalar expression */
    lz_str who; /* the operator, for messages */
} lzg_expectation;

/* LZ_ERR_MODEL with the place; LZ_ERR_LIMIT if the formula is too large. */
LZ_MUST_USE
lz_err *lzg_formula_check(lz_arena *a, lzg_callees *callees, const lzg_expr *formula,
                          const lzg_expectation *expect, lzg_checked *out);

/* The number of values of a formula: the returns, then the new values of arguments that are written and
 * not returned. */
size_t lzg_formula_results(const lzg_schema *s);

/* The names of an operator's arguments and its returns. In an `inner` expression a tensor's name means
 * one element, a number. */
LZ_MUST_USE
lz_err *lzg_expectation_of(lz_arena *a, const lzg_function *f, const bool *is_static, bool inner,
                           lzg_expectation *out);

#endif
