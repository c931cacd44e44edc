/* derivative_entry.h - one entry of derivatives.yaml: the operator that it is about and
 * the names that its formulas may use.
 *
 * An entry names its operator by the exact text of the schema. The entry is then about the form
 * that has the base name; about the in-place form, if the operator has no other. */
#ifndef LZG_DERIVATIVE_ENTRY_H
#define LZG_DERIVATIVE_ENTRY_H

#include "gen/api/derivative.h"

typedef struct lzg_derivative_entry {
    const lzg_yaml *schema; /* its name field */
    lz_str name;            /* base name in it */
    const lzg_yaml *given;  /* output_differentiability, or NULL */
    bool conditional;       /* that is a condition */
    const lzg_function *func;
    lzg_bindings args; /* of its C++ signature with SymInt */
    lzg_names arg_names;
    lzg_named_type *inputs, *outputs; /* its arguments and returns as formulas see them */
    lzg_names named_gradients;
} lzg_derivative_entry;

/* Functions by base name; the map is the caller's to deinit. */
LZ_MUST_USE
lz_err *lzg_namesakes_index(lz_arena *a, const lzg_ops *ops, lz_map *out);

/* Everything but the formulas. After an error out->schema may be set, for its text. */
LZ_MUST_USE
lz_err *lzg_entry_begin(lz_arena *a, const lzg_ops *ops, const lz_map *namesakes, const lzg_yaml *node,
                        lzg_derivative_entry *out);

#endif
