/* op_find.h - operators by name. */
#ifndef LZ_OP_OP_FIND_H
#define LZ_OP_OP_FIND_H

#include "base/err.h"
#include "base/str.h"
#include "op/op_table.h"

/* "aten::add.Tensor", or "add.Tensor" in any namespace; NULL: none. Costs a binary search. */
const lz_op_row *lz_op_find(lz_str name);

/* The family of operators that are not planned to which "aten::_coalesce" or "to_sparse.sparse_dim" belongs;
 * NULL: none. */
const char *lz_op_left_out(lz_str name);

/* The error for a name that is no operator: code, and the family if it is known. */
LZ_MUST_USE lz_err *lz_op_unknown(lz_code code, lz_str name);

#endif
