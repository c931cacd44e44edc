/* shape_rules.h - the rules that an entry's `shape` may name.
 *
 * A rule computes shape and dtype of an operator's results from its arguments. The rules are written by
 * hand in the run time; the generator has only names and required arguments, to check entries. The
 * table in docs/formulas.md explains each rule; a test compares the two. */
#ifndef LZG_FORMULA_SHAPE_RULES_H
#define LZG_FORMULA_SHAPE_RULES_H

#include "gen/model/model.h"

typedef struct lzg_shape_rule {
    const char *name;
    const char *needs; /* "argument:Type ..."; the type looks through ? and [] */
    size_t results;    /* 0: as many as the schema has */
    bool pointwise;    /* goes with `inner`, and only with it */
    bool truth;        /* the elements of the result are bool */
} lzg_shape_rule;

const lzg_shape_rule *lzg_shape_rule_find(lz_str name); /* or NULL */
/* All rules; *n is their number. */
const lzg_shape_rule *lzg_shape_rules(size_t *n);

/* Which dtypes the rule takes, for readers; NULL: any. */
const char *lzg_shape_rule_dtypes(const lzg_shape_rule *rule);

/* LZ_ERR_MODEL if the schema lacks an argument that the rule needs. */
LZ_MUST_USE
lz_err *lzg_shape_rule_check(const lzg_shape_rule *rule, const lzg_schema *s, lz_loc loc);

#endif
