/* arg.h - values of a graph, and of calls, as arguments of operators.
 *
 * What an argument is turned into depends on the type that the schema gives it: one int
 * may be a number, a dtype or a memory format. Tensors are found by whoever asks. */
#ifndef LZ_LOWER_ARG_H
#define LZ_LOWER_ARG_H

#include "graph/gvalue.h"
#include "lower/lower.h"
#include <lazuli/schema.h>

typedef struct lz_arg_source {
    lz_lower *b;
    lz_err *(*tensor)(void *user, lz_gv v, lz_lv *out); /* of a value that is neither number nor None */
    void *user;
} lz_arg_source;

enum { LZ_KNOWN_NOW = -1 };

/* slot: of run-time numbers, if v is a number that is passed at run time, or LZ_KNOWN_NOW. */
LZ_MUST_USE lz_err *lz_arg_of_gv(const lz_arg_source *s, const lz_type_row *type, lz_gv v, int64_t slot,
                                 lz_lv *out);

/* The same where the type is no list, or for an element of one. */
LZ_MUST_USE lz_err *lz_arg_one(const lz_arg_source *s, lz_kind kind, lz_gv v, int64_t slot, lz_lv *out);

/* Of a call's argument that is neither a tensor nor a list of them. Lists are copied. */
LZ_MUST_USE lz_err *lz_arg_of_value(lz_lower *b, const lz_value *v, lz_lv *out);

/* The kind of a list's elements; 0: it is no list. */
lz_kind lz_arg_element(lz_kind list);

#endif
