/* config.h - facts about single operators for the static runtime: which it implements by hand, which it
 * leaves out, and with which inputs to test an operator.
 *
 * These are data (lists.h). Inputs follow one rule for all operators: two rounds, the second with larger
 * tensors. Some forty operators need special inputs (sizes that match, indices in range): for those the list
 * `fitted_inputs` has an object a round, of arguments and C++ expressions. A name with '?' behind it stands
 * for an argument that only some overloads have; other names that are no arguments become variables, too. */
#ifndef LZG_STATIC_RUNTIME_CONFIG_H
#define LZG_STATIC_RUNTIME_CONFIG_H

#include "base/json.h"
#include "gen/model/model.h"

bool lzg_is_hand_written(const lzg_ops *ops, lz_str base);
bool lzg_is_blocked(const lzg_ops *ops, lz_str base);
/* The object of a round, or NULL: the rule below holds for all arguments. */
LZ_MUST_USE lz_err *lzg_fitted_inputs(const lzg_ops *ops, lz_str base, int round, const lz_json **out);
bool lzg_keeps_memory(const lzg_ops *ops,
                      lz_str name); /* its result need not be resized in the second round */

typedef enum lzg_elements { LZG_REAL_ELEMENTS, LZG_INT_ELEMENTS, LZG_COMPLEX_ELEMENTS } lzg_elements;

enum { LZG_INPUT_RANK = 4, LZG_INPUT_ROUNDS = 2 };

/* A tensor of random elements, or a value as C spells it. */
typedef struct lzg_input {
    lzg_base_ty type;
    lzg_elements elements; /* real and complex ones from 0 to 1, integers from 1 to 99 */
    size_t rank;
    int64_t sizes[LZG_INPUT_RANK];
    bool listed;         /* the sizes are those of a list */
    const char *literal; /* NULL for a tensor */
} lzg_input;

/* For an argument of that type, optional or not, in round 0 or 1. LZ_ERR_UNSUPPORTED for
 * types that the static runtime does not take. */
LZ_MUST_USE lz_err *lzg_input_for(const lzg_ops *ops, lz_str base, const lzg_type *t, int round,
                                  lzg_input *out);

#endif
