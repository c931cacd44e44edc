/* script_value_type.h - checks and converts values by their types. */
#ifndef LZ_GRAPH_SCRIPT_VALUE_TYPE_H
#define LZ_GRAPH_SCRIPT_VALUE_TYPE_H

#include "graph/graph_type.h"
#include "graph/script_value.h"

/* Is v a value of that type, at all levels? What a tensor type says about sizes and dtype is ignored. Code
 * that accepts values from outside, or relies on an unchecked_cast, must check first: built-ins trust the
 * types in the graph. */
bool lz_script_value_fits(lz_script_value v, const lz_type *type);

/* Converts a literal, parsed without its type, to a value of the type: an int to a float, or to a bool if it
 * is 0 or 1; a string to a device; a braced literal to an array with the type's dtype and sizes. Takes over
 * v, even on failure. LZ_ERR_MODEL: it does not fit. */
LZ_MUST_USE lz_err *lz_script_value_coerce(lz_script_value v, const lz_type *type, lz_script_value *out);

/* Some value of that type, for prim::Uninitialized: 0, "", an empty list, ... None for a tensor and for types
 * whose values exist only in the executor. */
LZ_MUST_USE lz_err *lz_script_value_default(const lz_type *type, lz_script_value *out);

#endif
