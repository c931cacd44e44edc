/* ir_call.h - builds graphs by hand. */
#ifndef LZ_TEST_IR_CALL_H
#define LZ_TEST_IR_CALL_H

#include "graph/ir.h"

/* A call by name, appended to a block; the schema gives the types of the outputs. */
LZ_MUST_USE lz_err *ir_call(lz_graph *g, lz_ssa_block *block, const char *name, lz_ssa_value *const *in,
                            uint32_t nin, lz_ssa_node **out);

#endif
