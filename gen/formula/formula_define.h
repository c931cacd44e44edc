/* formula_define.h - the definitions of all operators of a set.
 *
 * An operator is defined once. Entries of equal signature (a function, its in-place and its out form)
 * share a definition, which is in the functional entry if the files have one; a view_copy operator is
 * defined by its view. A definition is a `formula`, or, for a primitive, `inner` and `shape`. No
 * formula leads back to its own operator. */
#ifndef LZG_FORMULA_DEFINE_H
#define LZG_FORMULA_DEFINE_H

#include "gen/formula/formula_check.h"
#include "gen/formula/shape_rules.h"

typedef enum lzg_definition_kind {
    LZG_DEF_MISSING, /* there was an error */
    LZG_DEF_FORMULA,
    LZG_DEF_POINTWISE, /* a primitive with a scalar expression */
    LZG_DEF_PRIMITIVE, /* a primitive without a scalar expression */
    LZG_DEF_DERIVED,   /* from another operator */
    LZG_DEF_COUNT
} lzg_definition_kind;

const char *lzg_definition_kind_name(lzg_definition_kind kind); /* "formula", "pointwise", ... */

typedef struct lzg_definition {
    const lzg_function *function;
    lzg_definition_kind kind;
    const lzg_expr *expr;       /* FORMULA, POINTWISE: as written */
    lzg_checked checked;        /* the same, checked */
    const lzg_shape_rule *rule; /* POINTWISE, PRIMITIVE */
    const bool *is_static;      /* per argument of the schema */
    const lzg_function *from;   /* DERIVED */
} lzg_definition;

typedef struct lzg_definitions {
    lz_arena arena;
    lzg_callees callees;
    lzg_definition *list; /* in the order of ops->functions */
    size_t n;
    lz_map by_name;     /* "add.Tensor", outside of aten "ns::add.Tensor" */
    lz_map by_function; /* the bytes of a pointer to it */
} lzg_definitions;

/* Parses and checks the fields formula, inner, shape and static of all operators.
 * Mistakes go into diag. Returns only memory errors; call deinit in any case. The
 * operators must live longer. */
LZ_MUST_USE
lz_err *lzg_definitions_init(lzg_definitions *d, const lzg_ops *ops, lzg_diag *diag);
void lzg_definitions_deinit(lzg_definitions *d);
const lzg_definition *lzg_definitions_find(const lzg_definitions *d, lz_str name); /* or NULL */
const lzg_definition *lzg_definition_of(const lzg_definitions *d, const lzg_function *f);

#endif
