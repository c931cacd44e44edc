/* functional_table.h - what views and operators that write are without memory. Made by
 * lazuli-gen from the operator files. */
#ifndef LZ_OP_FUNCTIONAL_TABLE_H
#define LZ_OP_FUNCTIONAL_TABLE_H

#include "op/op_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By lz_op; all zero: the operator neither looks nor writes, and has no in-place form. */
extern const lz_functional_row lz_functional_table[LZ_OP_COUNT];

#ifdef __cplusplus
}
#endif
#endif
