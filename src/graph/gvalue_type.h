/* gvalue_type.h - values and types together. */
#ifndef LZ_GRAPH_GVALUE_TYPE_H
#define LZ_GRAPH_GVALUE_TYPE_H

#include "graph/graph_type.h"
#include "graph/gvalue.h"

/* Whether v is a value of that type, all the way down. What a tensor type knows of sizes
 * and dtype does not count. Whoever lets values in from outside, or believes an
 * unchecked_cast, asks first: built-ins trust the types that the graph states. */
bool lz_gv_fits(lz_gv v, const lz_type *type);

/* A literal, as its text alone tells, made a value of the type: an int is a float, or a
 * bool if it is 0 or 1; a string a device; what stands in braces an array with the type's
 * dtype and sizes. Takes v over, also when it fails. LZ_ERR_MODEL: it is none. */
LZ_MUST_USE lz_err *lz_gv_coerce(lz_gv v, const lz_type *type, lz_gv *out);

/* Something of that type, for prim::Uninitialized: 0, "", an empty list, ... A tensor, or what
 * only exists elsewhere, is None. */
LZ_MUST_USE lz_err *lz_gv_default(const lz_type *type, lz_gv *out);

#endif
