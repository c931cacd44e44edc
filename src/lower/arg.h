/* arg.h - values of a graph, and of calls, as arguments of operators.
 *
 * The conversion of an argument depends on its type in the schema: one int may be a number, a dtype or a
 * memory format. The caller's function `tensor` converts tensors. */
#ifndef LZ_LOWER_ARG_H
#define LZ_LOWER_ARG_H

#include "graph/script_value.h"
#include "lower/lower.h"
#include <lazuli/schema.h>

typedef struct lz_arg_source {
    lz_lower *b;
    lz_err *(*tensor)(void *user, lz_script_value v,
                      lz_low_value *out); /* called for values that are neither number nor None */
    void *user;
} lz_arg_source;

enum { LZ_KNOWN_NOW = -1 };

/* slot: the slot of the run-time number if v is a number that is passed at run time, else LZ_KNOWN_NOW. */
LZ_MUST_USE lz_err *lz_arg_of_script_value(const lz_arg_source *s, const lz_type_row *type, lz_script_value v,
                                           int64_t slot, lz_low_value *out);

/* As lz_arg_of_script_value, for a type that is no list or for an element of a list. */
LZ_MUST_USE lz_err *lz_arg_one(const lz_arg_source *s, lz_kind kind, lz_script_value v, int64_t slot,
                               lz_low_value *out);

/* Converts an argument of a call that is neither a tensor nor a list of tensors. Copies lists. */
LZ_MUST_USE lz_err *lz_arg_of_value(lz_lower *b, const lz_value *v, lz_low_value *out);

/* The kind of a list's elements; 0: not a list. */
lz_kind lz_arg_element(lz_kind list);

#endif
