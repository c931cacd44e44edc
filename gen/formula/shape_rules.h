/* shape_rules.h - the names that an entry's `shape` may give.
 *
 * A rule says what shape and dtype an operator's results have, from its arguments.
 * Rules are written by hand where the run time is; here they only have names, so
 * that an entry cannot ask for one that does not exist or does not fit. The table in
 * docs/formulas.md says what each means; a test compares the two. */
#ifndef LZG_FORMULA_SHAPE_RULES_H
#define LZG_FORMULA_SHAPE_RULES_H

#include "gen/model.h"

typedef struct lzg_shape_rule {
    const char *name;
    const char *needs; /* "argument:Type ..."; the type looks through ? and [] */
    size_t results;
    bool pointwise; /* goes with `inner`, and only with it */
    bool truth;     /* the elements of the result are bool */
} lzg_shape_rule;

const lzg_shape_rule *lzg_shape_rule_find(lz_str name); /* or NULL */
/* All of them; *n is how many. */
const lzg_shape_rule *lzg_shape_rules(size_t *n);

/* LZ_ERR_MODEL if the schema has not what the rule needs. */
LZ_MUST_USE
lz_err *lzg_shape_rule_check(const lzg_shape_rule *rule, const lzg_schema *s, lz_loc loc);

#endif
