/* lazy_table.h - which operators are recorded. Made by lazuli-gen from the operator files. */
#ifndef LZ_LAZY_LAZY_TABLE_H
#define LZ_LAZY_LAZY_TABLE_H

#include "op/op_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By lz_op: LZ_LAZY_ bits; 0: it falls back. */
extern const uint8_t lz_lazy_table[LZ_OP_COUNT];

#ifdef __cplusplus
}
#endif
#endif
