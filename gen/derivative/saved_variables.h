/* saved_variables.h - the values that a backward formula saves from the forward call.
 *
 * A formula that uses only a property of a tensor (self.sym_sizes()) saves the property; any other use
 * saves the whole value. The rewriting rules are a table, applied name by name in its order, each to
 * the result of the rule before. */
#ifndef LZG_SAVED_VARIABLES_H
#define LZG_SAVED_VARIABLES_H

#include "base/arena.h"
#include "base/err.h"
#include "gen/text/yaml_utils.h"

typedef struct lzg_names {
    const lz_str *data;
    size_t len;
} lzg_names;

bool lzg_names_have(lzg_names names, lz_str name);

/* Where a formula as written has that text; else where it begins. */
lz_loc lzg_formula_at(const lzg_yaml *written, lz_str text);

/* A C++ argument or return; the type is printed without const and references. */
typedef struct lzg_named_type {
    lz_str name, type;
} lzg_named_type;

typedef struct lzg_saved {
    lz_str name; /* of the field: self, self_sym_sizes, ... */
    lz_str type; /* C++ */
    lz_str expr; /* the expression of its value when it is saved */
} lzg_saved;

typedef struct lzg_saved_list {
    const lzg_saved *data;
    size_t len;
} lzg_saved_list;

/* Rewrites *formula and lists the values of `names` that it then needs. `vars`: the arguments that the
 * formula differentiates; `written`: the formula's node, for error places. */
LZ_MUST_USE
lz_err *lzg_saved_variables(lz_arena *a, const lzg_named_type *names, size_t n, lzg_names vars,
                            const lzg_yaml *written, lz_str *formula, lzg_saved_list *out);

/* The first of each name, in order. */
LZ_MUST_USE
lz_err *lzg_saved_unique(lz_arena *a, lzg_saved_list list, lzg_saved_list *out);

#endif
